"""DuckDB tells at the end of a process what nobody collected; what is frozen (``tests/conftest.py``) nobody does."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def collected() -> Iterator[None]:
    yield
    gc.unfreeze()
