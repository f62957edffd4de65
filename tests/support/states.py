"""What a database holds, for tests that nothing has changed, and that views are what their definitions say."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ripplenest import Database, RipplenestError, View
from ripplenest.reading.nested import nested_bag

SHARED, ENOUGH = Path("/dev/shm"), 2**30  # bytes: a container may have 64 MB
# Many commits and no need of a disk: no waiting for fsync.
MEMORY = str(SHARED) if SHARED.is_dir() and shutil.disk_usage(SHARED).free >= ENOUGH else None


def state(db: Database) -> dict[str, Any]:
    """The version, every stored table with its multiplicities, what the catalogue knows, and every answer."""
    store, read = db._store, db._state.snapshot()
    snapshot = store.snapshot()
    return {
        "version": snapshot.version,
        "tables": {t: dict(snapshot.scan(t).consolidated().counts()) for t in store.tables()},
        "keys": {t: spec.indexes for t, spec in store.tables().items()},
        "meta": store.all_meta(),
        "answers": {name: nested_bag(view.shape, read) for name, view in db._state.declared.views.items()},
    }


@contextmanager
def unchanged(db: Database) -> Iterator[None]:
    before = state(db)
    yield
    assert state(db) == before


@contextmanager
def refused(db: Database, error: type[RipplenestError], *shown: str) -> Iterator[None]:
    """The block raises exactly ``error``, its text shows every one of ``shown``, and ``db`` is as before."""
    with unchanged(db):
        with pytest.raises(error) as caught:
            yield
        assert type(caught.value) is error
        missing = [text for text in shown if text not in str(caught.value)]
        assert not missing, f"{missing} not in: {caught.value}"


def recomputed(db: Database, views: Mapping[str, View], relations: Mapping[str, list[Any]]) -> None:
    """P1: each view is its definition on the accumulated rows."""
    for name, view in views.items():
        wanted = view(**{r: relations[r] for r, _ in view.query.relations})
        assert db.view(name).rows() == wanted, name
