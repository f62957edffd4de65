"""Changes between versions are read once, for all tables together, and checked against what versions have sealed."""

from threading import Thread

import pytest
import sqlalchemy as sa
from support.shop import Movie
from support.transactions import transactions

import ripplenest as rn
from ripplenest.data.rows import Rows
from ripplenest.errors import NotKept
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec
from ripplenest.store.changelog import RANGES
from ripplenest.store.segments import Reader

TYPES = (Base("long"),)


@pytest.fixture
def scanned(monkeypatch):
    """The segments that were read, one after another."""
    found, scan = [], Reader.scan
    monkeypatch.setattr(Reader, "scan", lambda self, s, *rest: (found.append(s), scan(self, s, *rest))[1])
    return found


@pytest.fixture
def many(tmp_path):
    """A store with so many tables, each of which changes in every one of so many versions after the first."""

    def make(tables: int, versions: int) -> Store:
        store = Store.open(tmp_path / f"{tables}-{versions}")
        store.commit(Change(tables=tuple(TableSpec(f"t{i}", TYPES, ((0,),)) for i in range(tables))), 0)
        for n in range(versions):
            store.commit(Change({f"t{i}": Rows.of_pairs(TYPES, [((n,), 1)]) for i in range(tables)}), n + 1)
        return store

    return make


@pytest.mark.parametrize(("tables", "versions"), [(1, 4), (5, 4), (5, 20)])
def test_the_changes_of_all_tables_are_one_question(many, scanned, tables, versions):
    with many(tables, versions) as store:
        snapshot = store.snapshot()
        scanned.clear()
        with transactions() as made:
            for i in range(tables):
                assert snapshot.delta(f"t{i}", 1).counts() == {(n,): 1 for n in range(versions)}
        assert (made.reads, made.writes) == (1, 0) and made.asked <= 3, made.statements
        assert len(scanned) == len({s.id for s in scanned}) == tables * versions


def test_what_a_commit_changed_is_not_asked_for(many):
    with many(3, 4) as store:
        with transactions() as made:
            assert store.seen().delta("t1", store.seen().version - 1).counts() == {(3,): 1}
        assert made.statements == []
        assert store.snapshot().delta("t1", 4).counts() == Store.open(store.path).snapshot().delta("t1", 4).counts()


def test_few_ranges_are_remembered(many):
    with many(2, 2 * RANGES) as store:
        snapshot = store.snapshot()
        for since in range(2 * RANGES):
            snapshot.delta("t0", since)
        assert len(snapshot._changelog._ranges) == RANGES


def test_threads_read_a_range_once(many):
    with many(4, 6) as store:
        snapshot, found = store.snapshot(), []
        with transactions() as made:
            readers = [Thread(target=lambda i=i: found.append(snapshot.delta(f"t{i}", 1).counts())) for i in range(4)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
        assert made.reads == 1 and found == [{(n,): 1 for n in range(6)}] * 4


@pytest.mark.parametrize("what", ["rows", "born", "is_delta"])
def test_a_change_of_any_table_that_was_lost_or_altered_is_an_error_for_all(many, what):
    """Each range is checked against what all its versions have sealed, whichever table is asked for."""
    with many(3, 4) as store:
        snapshot = Store.open(store.path).snapshot()  # it knows no changes yet
        segments = sa.table("segments", *map(sa.column, ("id", "table_id", "rows", "born", "is_delta")))
        with store._catalogue.transaction(write=True) as c:
            its_own = (segments.c.table_id == 3) & (segments.c.born == 4)
            c.execute(sa.update(segments).where(its_own).values({what: 1 - segments.c[what]}))
        with pytest.raises(CorruptState, match=r"changes of version 4"):
            snapshot.delta("t0", 2)


def test_a_range_that_was_read_ends_with_a_clear_error_when_its_files_have_gone(many):
    with many(1, 20) as store:
        snapshot = Store.open(store.path).snapshot()
        assert len(snapshot.delta("t0", 15).counts()) == 6
        store.compact(everything=True)
        store.vacuum(0)
        with pytest.raises(NotKept, match="no longer kept"):
            snapshot.delta("t0", 14)


def test_a_rollback_and_the_changes_of_a_view_cost_one_question(tmp_path):
    """However many relations there are, and versions between."""

    @rn.view
    def films(R0: rn.Bag[Movie]):
        return R0

    asked = {}
    for relations, versions in ((1, 3), (6, 3), (6, 12)):
        with rn.open(tmp_path / f"{relations}-{versions}", engine="local") as db:
            for i in range(relations):
                db.relation(f"R{i}", Movie)
            db.create(films)
            first = db.version
            for n in range(versions):
                with db.batch() as b:
                    for i in range(relations):
                        b.insert(f"R{i}", [{"name": f"{n}", "gen": None, "dir": None}])
            with transactions() as made:
                assert len(db.view("films").changed_rows(since=first)[1]) == versions
            with transactions() as rolled:
                db.rollback(first)
            asked[relations, versions] = (len(made.statements), rolled.reads, rolled.writes)
            assert db.view("films").count() == 0
    assert len(set(asked.values())) == 1, asked
