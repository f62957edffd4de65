"""Ranges of hashes that are merged each on its own, and the sorted runs that they make: the same rows, found by the
same keys, for no more work."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY

from ripplenest.data.grouping import hashes_of
from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import LawBroken, StateError
from ripplenest.nrc.types import LONG, STRING, nullable
from ripplenest.store import ranges
from ripplenest.store.disk import Disk
from ripplenest.store.index import probing
from ripplenest.store.index.indexes import RANGE, SHIFT, KeyIndex
from ripplenest.store.ranges import Unwritten, divided, merge, windows, written
from ripplenest.store.ref import TableRef, sorted_runs
from ripplenest.store.ref import ranges as between
from ripplenest.store.segments import Reader, of_hashes
from ripplenest.store.specs import Change, TableSpec, Written
from ripplenest.store.staging import Staging
from ripplenest.store.store import Store

COUNTS: Counter[str] = Counter()
TYPES = (nullable(LONG), STRING)
SPEC = TableSpec("T", TYPES, ((0,), (1, 0)))


def rows(c: Choices, many: int) -> Rows:
    pairs = [((c.pick((None, *range(40))), c.pick(("a", "", "bé"))), c.pick((1, 1, 2, -1))) for _ in range(many)]
    return Rows.of_pairs(TYPES, pairs).consolidated()


def runs(c: Choices, spec: TableSpec, disk: Disk, room: Room) -> tuple[TableRef, Rows]:
    """Some sorted runs in files, as tasks write them, and their sum."""
    given = [rows(c, c.pick((1, 5, 80))) for _ in range(1 + c.number(4))]
    drafts = [Unwritten(r, spec.indexes[:1], i) for i, r in enumerate(given) if len(r)]
    found = [s for draft in drafts for s in written([draft], disk, room)]
    return TableRef(spec, tuple(found)), Rows.empty(TYPES).plus(*given)


def filtered(sums: dict[Row, int], columns: tuple[int, ...], keys: list[Row]) -> dict[Row, int]:
    return {row: n for row, n in sums.items() if tuple(row[c] for c in columns) in keys}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LEAST", 1 << 10)


@law(examples=many(30, 60))
def test_ranges_of_runs_are_a_table(c: Choices) -> None:
    """What runs hold, summed; found by each key; in memory or in files; with what was there, and what comes later."""
    memory, spec = c.pick((1 << 10, 1 << 24)), c.pick((SPEC, TableSpec("T", TYPES)))
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        first = rows(c, 3) if c.one_in(2) else Rows.empty(TYPES)
        parent = store.commit(Change({"T": first}, (spec,)), store.version)
        with Staging.begin(Path(folder)) as staging:
            disk = Disk(staging.folder)
            room = Room(memory, disk.scratch)
            source, total = runs(c, spec, disk, room)
            work = divided(source, 4, store.reserved(), store.snapshot().number("T"))
            made = [s for piece in work if (s := merge(piece, Reader(disk), disk, room).segment) is not None]
            change = Change(written=Written(staging.folder, {"T": tuple(made)} if made else {}))
            assert store.commit(change, parent) == parent + 1
        wanted = first.plus(total).consolidated().counts()
        now = store.snapshot()
        assert now.scan("T").consolidated().counts() == wanted
        assert now.delta("T", parent).consolidated().counts() == total.consolidated().counts()
        COUNTS["ranges"] += len(made) > 1
        COUNTS["ranges without order"] += len(made) > 1 and not spec.indexes
        run = TableRef(spec, now.changed("T", parent).segments)
        pieces = [run.between(store._reader, *ends) for ends in between(0, RANGE, 5)]
        assert sum(map(len, pieces)) == run.size == len(total.consolidated())
        assert Rows.empty(TYPES).plus(*pieces).counts() == total.consolidated().counts()
        COUNTS["read in places"] += len(made) > 1 and not spec.indexes and all(map(len, pieces))
        COUNTS["rows twice"] += len(total) > len(total.consolidated()) + 3
        COUNTS["in files"] += memory == 1 << 10 and sum(s.rows for s in made) > 60
        for columns in spec.indexes:
            keys = [tuple(row[i] for i in columns) for row in [*wanted, (7, "no")] if c.one_in(3)]
            found = now.probe("T", columns, keys).consolidated().counts()
            assert found == filtered(wanted, columns, keys)
            COUNTS["keys"] += bool(found)
        more = rows(c, 40)
        store.commit(Change({"T": more}), store.version)
        assert store.snapshot().scan("T").consolidated().counts() == first.plus(total, more).consolidated().counts()
        store.compact(everything=True)
        assert store.snapshot().scan("T").consolidated().counts() == first.plus(total, more).consolidated().counts()
        assert store.check_segments() >= 0 and not store.usage().orphans


@law(examples=many(30, 60))
def test_the_difference_of_runs_and_a_table_is_its_change(c: Choices) -> None:
    """Law: T ⊎ (runs ⊎ ⊖T) = runs, whatever T is made of, in order or in none; and how often runs have a row."""
    memory, spec = c.pick((1 << 10, 1 << 24)), c.pick((SPEC, TableSpec("T", TYPES)))
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(spec,)), store.version)
        for _ in range(c.number(4)):
            store.commit(Change({"T": rows(c, c.pick((1, 5, 80)))}), store.version)
        now = store.snapshot()
        with Staging.begin(Path(folder)) as staging:
            disk, reader = Disk(staging.folder), Reader(Disk(Path(folder)))
            room = Room(memory, disk.scratch)
            source, total = runs(c, spec, disk, room)
            if c.one_in(3):  # what is there already is no change
                kept = now.scan("T").consolidated()
                if len(kept):
                    more = written([Unwritten(kept, spec.indexes[:1], 90)], disk, room)
                    source, total = TableRef(spec, (*source.segments, *more)), total.plus(kept)
            wanted, held = total.consolidated(), now.scan("T")
            below = f"{staging.disk.folder.name}/{staging.token}"
            stored = now.table("T").under("segments")
            work = divided(source.under(below), 4, store.reserved(), now.number("T"), stored)
            found = [merge(piece, reader, disk, room) for piece in work]
            assert max(m.heaviest for m in found) == wanted.heaviest()
            made = tuple(m.segment for m in found if m.segment is not None)
            change = wanted.plus(held.negated()).consolidated().counts()
            assert sum(s.rows for s in made) == len(change)
            store.commit(Change(written=Written(staging.folder, {"T": made} if made else {})), now.version)
        assert store.snapshot().delta("T", now.version).consolidated().counts() == change
        assert store.snapshot().scan("T").consolidated().counts() == wanted.counts()
        COUNTS["differences"] += 0 < len(change) < len(wanted) + len(held.consolidated())
        COUNTS["without order"] += not spec.indexes and len(now.segments("T")) > 1
        COUNTS["differences of ranges"] += len(made) > 1
        COUNTS["differences of ranges without order"] += len(made) > 1 and not spec.indexes


COVERED = (
    *("ranges", "rows twice", "in files", "keys", "differences", "without order", "differences of ranges"),
    *("ranges without order", "differences of ranges without order", "read in places"),
)


def test_what_ranges_covered() -> None:
    assert all(COUNTS[name] >= 3 for name in COVERED), COUNTS
    assert all(COUNTS[name] >= 5 for name in COVERED[:4]), COUNTS


def loaded(folder: Path, many: int, parts: int) -> Store:
    """A store with ``many`` rows that tasks have written as ``parts`` segments."""
    store = Store.open(folder)
    parent = store.commit(Change(tables=(SPEC,)), store.version)
    given = Rows.of_pairs(TYPES, [((i, f"t{i}"), 1) for i in range(many)]).consolidated()
    with Staging.begin(folder) as staging:
        disk, room = Disk(staging.folder), Room()
        (run,) = written([Unwritten(given, SPEC.indexes[:1], 0)], disk, room)
        source = TableRef(SPEC, (run,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranges, "LEAST", 1)
            work = divided(source, parts, store.reserved(), store.snapshot().number("T"))
        made = tuple(s for piece in work if (s := merge(piece, Reader(disk), disk, room).segment) is not None)
        assert len(made) == parts and len(sorted_runs(made)) == 1
        store.commit(Change(written=Written(staging.folder, {"T": made})), parent)
    return store


def test_a_probe_asks_the_segments_that_can_have_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first access key; by others each segment is asked."""
    asked: list[int | None] = []
    hits = probing.hits

    def counted(known: KeyIndex, *args: Any) -> Any:
        asked.append(known.segment)
        return hits(known, *args)

    monkeypatch.setattr(probing, "hits", counted)
    with loaded(tmp_path / "s", 3000, 20) as store:
        now = store.snapshot()
        for key in (0, 17, 2999):
            asked.clear()
            assert now.probe("T", (0,), [(key,)]).counts() == {(key, f"t{key}"): 1}
            assert len(asked) == 1
        asked.clear()
        assert len(now.probe("T", (0,), [(i,) for i in range(3000)])) == 3000 and len(asked) == 20
        asked.clear()
        assert len(now.probe("T", (1, 0), [("t5", 5)])) == 1 and len(asked) == 20


def test_a_sorted_run_is_merged_as_one(tmp_path: Path) -> None:
    """Small batches leave it alone however many segments it has, and a compaction has nothing to do."""
    with loaded(tmp_path / "s", 4000, 40) as store:
        now = store.snapshot()
        assert now.scan("T").is_sum and len(now.segments("T")) == 40
        assert store.compact() == 0 and store.compact(everything=True) == 0
        for i in range(20):
            store.commit(Change({"T": Rows.of_pairs(TYPES, [((i, "new"), 1)])}), store.version)
        assert len(store.snapshot().segments("T")) >= 40 and store.rewritten < 200
        assert len(store.snapshot().scan("T").consolidated()) == 4020
        store.compact(everything=True)
        assert len(store.snapshot().segments("T")) == 1 and len(store.snapshot().scan("T")) == 4020


def test_segments_of_another_version_are_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        parent = store.commit(Change(tables=(SPEC,)), store.version)
        with Staging.begin(tmp_path / "s") as staging:
            disk, given = Disk(staging.folder), Rows.of_pairs(TYPES, [((1, "a"), 1)]).consolidated()
            table = store.snapshot().number("T")
            wrong = [
                Unwritten(given, SPEC.indexes, 1, table),  # which is a run
                Unwritten(given, SPEC.indexes, 1, table + 1, is_delta=True),  # of another table
                Unwritten(given, SPEC.indexes, 0, table, is_delta=True),  # with a number that is given
                Unwritten(given, SPEC.indexes[:1], 1, table, is_delta=True),  # without an index
            ]
            for draft in wrong:
                made = tuple(written([draft], disk, Room()))
                with pytest.raises(LawBroken, match="not made for this table"):
                    store.commit(Change(written=Written(staging.folder, {"T": made})), parent)
            with pytest.raises(StateError, match="no such stored table"):
                store.commit(Change(written=Written(staging.folder, {"U": made})), parent)
            both = Change({"T": given}, written=Written(staging.folder, {"T": tuple(
                written([Unwritten(given, SPEC.indexes, 1, table, is_delta=True)], disk, Room())
            )}))  # fmt: skip
            with pytest.raises(LawBroken, match="in two ways"):
                store.commit(both, parent)
        assert store.version == parent and not [*(tmp_path / "s" / "segments").iterdir()]


def test_windows_are_in_order(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    given = Rows.of_pairs(TYPES, [((i % 97, f"t{i}"), 1) for i in range(2000)]).consolidated()
    (run,) = written([Unwritten(given, SPEC.indexes[:1], 0)], disk, Room())
    found = [*windows(TableRef(SPEC, (run,)), Reader(disk), 0, RANGE, Room(1 << 13))]
    hashes = [h for own, _ in found for h in own.tolist()]
    assert len(found) > 10 and hashes == sorted(hashes) and len(hashes) == 2000


def test_a_hash_is_in_the_range_that_begins_with_it() -> None:
    """And in none that ends with it."""
    given = Rows.of_pairs(TYPES, [((i, "a"), 1) for i in range(50)]).arrow()
    hashes = (hashes_of(given, (0, 1)) >> SHIFT).tolist()
    for i, h in enumerate(hashes):
        assert of_hashes(given, (0, 1), h, h + 1).column("c0").to_pylist() == [i]
        assert of_hashes(given, (0, 1), 0, h).num_rows == sorted(hashes).index(h)
    assert of_hashes(given, (0, 1), 0, RANGE) is given
