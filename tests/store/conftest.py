import pytest

from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec


@pytest.fixture
def pair() -> TableSpec:
    return TableSpec("pair", (Base("long"), Base("string", True)), ((1,), (1, 0)))


@pytest.fixture
def store(tmp_path, pair):
    """A store with the table ``pair`` at version 1, in the folder ``state``."""
    with Store.open(tmp_path / "state") as s:
        s.commit(Change(tables=(pair,)), 0)
        yield s
