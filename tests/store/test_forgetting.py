"""A file goes with the last thing in it: forgotten versions leave the files of what is still there."""

import pytest

from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec

TYPES = (Base("long"),)
KEY = ((0,),)


def row(n: int) -> Rows:
    return Rows.of_pairs(TYPES, [((n,), 1)])


def files(store: Store) -> set[str]:
    return {p.name for p in (store.path / "segments").iterdir()}


def replace(store: Store, table: str) -> None:
    """Give ``table`` a segment of its own in place of those that it has, and let commits forget the versions that had
    them; ``vacuum`` would look at all files anew."""
    store.commit(Change({table: row(1)}, merged=(table,)), store.version)
    for _ in range(4):
        store.commit(Change(), store.version)


def check_whole(store: Store, rows: dict[str, int]) -> None:
    """Everything that is named is there, for a process that has nothing open."""
    with Store.open(store.path) as again:
        assert again.check_segments() > 0 and again.usage().orphans == ()
        assert {t: sum(again.snapshot().scan(t).counts().values()) for t in rows} == rows
        for table, spec in again.tables().items():
            for columns in spec.indexes:
                again.snapshot().probe(table, columns, [(1,)])


@pytest.fixture
def store(tmp_path):
    """Two tables, whose first rows are in one file; ``plain`` has no access key."""
    with Store.open(tmp_path / "state", retain=1) as s:
        s.commit(Change(tables=(TableSpec("keyed", TYPES, KEY), TableSpec("plain", TYPES))), 0)
        s.commit(Change({"keyed": row(0), "plain": row(0)}), 1)
        yield s


def test_a_file_stays_as_long_as_a_living_segment_is_in_it(store):
    (first,) = files(store)
    replace(store, "keyed")
    assert first in files(store)
    check_whole(store, {"keyed": 2, "plain": 1})
    replace(store, "plain")
    assert first not in files(store)
    check_whole(store, {"keyed": 2, "plain": 2})


def test_a_file_stays_as_long_as_an_index_of_a_living_segment_is_in_it(store):
    """An access key that comes later is in a file with what the same commit merged."""
    store.commit(Change({"keyed": row(1)}, indexes={"plain": KEY}, merged=("keyed",)), 2)
    (shared,) = (f for f in files(store) if f.endswith(".merges"))
    replace(store, "keyed")
    assert shared in files(store)
    check_whole(store, {"keyed": 3, "plain": 1})
    replace(store, "plain")
    assert shared not in files(store)
    check_whole(store, {"keyed": 3, "plain": 2})
