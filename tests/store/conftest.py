import tempfile
from pathlib import Path

import pytest
from support.compiling import compiled_once
from support.lives import merging_soon
from support.states import MEMORY

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


@pytest.fixture
def quick():
    """Merges after a few batches, and views compiled once: what lives of a state are made of comes soon."""
    with merging_soon(), compiled_once():
        yield


@pytest.fixture
def memory():
    """A folder in memory, where no commit waits for a disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder).resolve()
