"""Amortised rewriting: over 1,000 batches the rows that merges write, and the segments that are left, stay in bounds.

The shapes of batches are those that could break a geometric rule: all equal, growing, on a large base, rows that
cancel, sizes without a scale. They run on drafts over files in memory: every row is really merged, and nothing waits
for a disk.
"""

import math
import random
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from support.states import MEMORY

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Disk, Snapshot, Store, TableSpec, merging, parts
from ripplenest.store.commit import Draft
from ripplenest.store.database.chain import NO_SCHEMA, Head, first_version
from ripplenest.store.database.tables import SEGMENTS
from ripplenest.store.segments import Reader

BATCHES = 1000
TYPES = (Base("long"), Base("long"))  # a key that comes back, and a value that never does
SPEC = TableSpec("t", TYPES, ((0,),))
KEYS = [(key,) for key in range(0, 60, 3)]


class Memory(Disk):
    """Files that are never written."""

    def __init__(self):
        super().__init__(Path("/nowhere"))
        self.files = {}

    def write_bytes(self, file, chunks, _lasts=True):
        self.files[file] = pa.py_buffer(b"".join(map(bytes, chunks)))

    def map(self, blob):
        return self.files[blob.file].slice(blob.offset, blob.bytes)


class Table:
    """One table, batch by batch, with what its merges did."""

    def __init__(self):
        self.reader = Reader(Memory())
        first = Head(first_version(""), NO_SCHEMA, {})
        self.head = Draft(first, Change(tables=(SPEC,)), self.reader, Room(), 1).head
        self.next, self.changed, self.rewritten = 1, 0, 0
        self.times = Counter()  # by value, how often its row was rewritten
        self.rows = Counter()

    @property
    def live(self):
        return self.head.live.get(1, ())

    @property
    def tiers(self):
        """The tiers above tier 0 that a row can be in by now."""
        return max(merging.tier(s.rows) for s in self.live)

    def apply(self, pairs, cancelled=0):
        change = Change({"t": Rows.of_pairs(TYPES, pairs)}, cancelled={"t": cancelled})
        draft = Draft(self.head, change, self.reader, Room(), self.next)
        for pack in draft.packs:
            pack.write(self.reader.disk)
        for segment, _ in draft.born.segments:
            self.next = segment.id + 1
            if not segment.is_delta:
                self.times.update(self.reader.scan(segment).column("c1").to_pylist())
        self.head = draft.head
        self.changed += len(pairs)
        self.rewritten += draft.rewritten
        for row, n in pairs:
            self.rows[row] += n

    def check_segments(self, waiting=1):
        """The bound in the docstring of ``merging``; tiers that wait may have ``waiting`` times FANOUT segments."""
        most = waiting * merging.FANOUT - 1
        entries = sum(s.rows for s in self.live)
        assert len(self.live) <= most * (2 + math.log(max(entries / merging.TIER_ROWS, 1), merging.FANOUT))
        assert max(Counter(merging.tier(s.rows) for s in self.live).values(), default=0) <= most

    def check_rows(self):
        """What is stored is the sum of all batches, and a probe finds its part of it."""
        check_rows(snapshot_of(self), self.rows)


def snapshot_of(table):
    return Snapshot(table.head.version, table.head.schema, table.head.live, None, table.reader, None)


def check_rows(snapshot, rows):
    want = {row: n for row, n in rows.items() if n}
    assert snapshot.scan("t").counts() == want
    assert snapshot.probe("t", (0,), KEYS).counts() == {row: n for row, n in want.items() if row[:1] in KEYS}


# ---------------------------------------------------------------- shapes


def inserts(sizes):
    """Batches of new rows, so many in each."""
    value = iter(range(10**9))
    return [[((v % 1000, v), 1) for v in islice(value, size)] for size in sizes]


def updates(rows, each, hot):
    """A load of ``rows``, then batches that put new rows in the place of ``each`` of the ``hot`` first keys."""
    chance, value = random.Random(1), iter(range(rows, 10**9))
    held = {key: key for key in range(rows)}
    batches = [[((k, v), 1) for k, v in held.items()]]
    for _ in range(BATCHES):
        changed = {key: next(value) for key in chance.sample(range(hot), each)}
        batches.append([pair for k, v in changed.items() for pair in (((k, held[k]), -1), ((k, v), 1))])
        held |= changed
    return batches


def emptied():
    """Half of the batches bring rows, the others take them away again, the oldest first."""
    filled = inserts([10] * (BATCHES // 2))
    return filled + [[(row, -1) for row, _ in batch] for batch in filled]


def skewed(most):
    chance = random.Random(2)
    return inserts([min(int(chance.paretovariate(0.7)), most) for _ in range(BATCHES)])


INSERTS = {
    "one row": lambda: inserts([1] * BATCHES),
    "ten rows": lambda: inserts([10] * BATCHES),
    "a tier in each": lambda: inserts([merging.TIER_ROWS] * BATCHES),
    "bulk, then one row": lambda: inserts([50 * merging.TIER_ROWS] + [1] * BATCHES),
    "one row, and bulk now and then": lambda: inserts(([1] * 99 + [20 * merging.TIER_ROWS]) * (BATCHES // 100)),
    "growing": lambda: inserts(n * merging.TIER_ROWS // 256 for n in range(BATCHES)),
    "skewed": lambda: skewed(30 * merging.TIER_ROWS),
}
UPDATES = {
    "updates": lambda: updates(1000, 2, 1000),
    "updates of a few rows": lambda: updates(1000, 2, 10),
    "updates of a small table": lambda: updates(40, 2, 40),
    "filled and emptied": emptied,
}
FAST = ("bulk, then one row", "skewed", "updates of a few rows", "filled and emptied")


def cases(shapes):
    """Each shape with the real tiers and with small ones, of which 1,000 batches fill more."""
    return [
        pytest.param(shape, rows, marks=() if shape in FAST and rows == 8 else pytest.mark.long)
        for shape in shapes
        for rows in (8, 128)
    ]


def in_tier_0():
    """How often a row is rewritten there: each time at least FANOUT - 1 rows join it, until there are TIER_ROWS."""
    return math.ceil(merging.TIER_ROWS / (merging.FANOUT - 1))


def without_budget(monkeypatch, tier_rows):
    monkeypatch.setattr(merging, "TIER_ROWS", tier_rows)
    monkeypatch.setattr(parts, "BUDGET", 10**9)


def test_the_tiers_that_are_used_are_rewritten_as_often_as_promised():
    """One row a batch, with the real sizes: the dearest shape per changed row."""
    table = Table()
    for batch in INSERTS["one row"]():
        table.apply(batch)
    assert merging.TIER_ROWS == 128 and table.tiers == 1
    assert 10 < max(table.times.values()) <= in_tier_0() + table.tiers
    assert table.rewritten <= table.changed * (in_tier_0() / 2 + 1)


@pytest.mark.parametrize("shape, tier_rows", cases(INSERTS))
def test_a_row_is_rewritten_once_in_each_tier(monkeypatch, shape, tier_rows):
    without_budget(monkeypatch, tier_rows)
    table = Table()
    for batch in INSERTS[shape]():
        table.apply(batch)
        table.check_segments()
    assert table.tiers >= 1 and table.rewritten > 0
    assert max(table.times.values()) <= in_tier_0() + table.tiers
    table.check_rows()


@pytest.mark.parametrize("shape, tier_rows", cases(UPDATES))
def test_rows_that_cancel_cost_no_more(monkeypatch, shape, tier_rows):
    """What cancels shrinks what is left in a tier, which is then written again with the next merge there. So a changed
    row pays for more than itself, but that is less than what the smallest rows that fill the tier again must bring."""
    without_budget(monkeypatch, tier_rows)
    table = Table()
    load, *batches = UPDATES[shape]()
    table.apply(load)
    for batch in batches:
        table.apply(batch)
        table.check_segments()
    above = 1 + merging.FANOUT / (merging.FANOUT - 1)
    assert 0 < table.rewritten <= (table.changed - len(load)) * (1 + in_tier_0() + above * table.tiers)
    table.check_rows()


# ---------------------------------------------------------------- what was read in vain


def read_and_updated(each, hot, rounds=200):
    """Batches of updates that read the rows of their keys, as who keeps a group does: how many rows a batch read, at
    most, after the first ten, and how many rows merges wrote for each that was read in vain."""
    table, most, in_vain = Table(), 0, 0
    load, *batches = updates(1000, each, hot)
    table.apply(load)
    for n, batch in enumerate(batches[:rounds]):
        found = snapshot_of(table).probe("t", (0,), sorted({row[:1] for row, _ in batch}))
        before = table.rewritten
        table.apply(batch, found.cancelled())
        assert table.rewritten - before <= merging.WORTH * found.cancelled() + merging.TIER_ROWS * merging.FANOUT
        in_vain += found.cancelled()
        most = max(most, len(found)) if n > 10 else most
    table.check_rows()
    return most, table.rewritten / in_vain


def test_keys_that_change_in_each_batch_are_read_as_few_rows():
    """Of a key the row that was loaded, what took it away, its last row, and what batches since the last merge have
    left: not two rows more for each batch."""
    most, rewritten = read_and_updated(20, 20)
    assert most <= 20 * (3 + 2 * 2)
    assert 0 < rewritten <= merging.WORTH
    most, _ = read_and_updated(500, 500)
    assert most <= 500 * (3 + 2 * merging.WORN)


@pytest.mark.parametrize("little", [merging.LITTLE, 64])
@pytest.mark.parametrize("each", [100, 200, 333])
def test_what_is_read_does_not_grow_with_the_number_of_batches(monkeypatch, each, little):
    """Of a table of which a part changes in each batch. Merges of the smallest segments let two of them take turns,
    each of which kept two rows of a key for each turn: 333 of 1,000 keys read 5,465 rows at most in 40 batches and
    15,079 in 120."""
    monkeypatch.setattr(merging, "LITTLE", little)
    first, _ = read_and_updated(each, 1000, 60)
    most, _ = read_and_updated(each, 1000, 180)
    assert most <= first * 1.25 and most <= each * (3 + 2 * merging.FANOUT)


def test_without_what_was_read_they_would_not_be(monkeypatch):
    monkeypatch.setattr(merging, "WORTH", 0)
    most, _ = read_and_updated(20, 20)
    assert most > 20 * (3 + 2 * 2)


def test_what_is_worth_merging_is_the_youngest_segments():
    """Rows in vain pay for as many segments as they can; of more rows than cost nothing, WORN at least."""
    few, many = merging.LITTLE // 4, merging.LITTLE
    assert merging.worn([], 10) == merging.worn([few], 10 * few) == merging.worn([few, few], 0) == []
    assert merging.worn([50 * many, few, 2 * few], 3 * few // merging.WORTH) == [1, 2]
    assert merging.worn([50 * many, few, 2 * few], 3 * few // merging.WORTH - 1) == []
    assert merging.worn([50 * many, many, many, many], 50 * many // merging.WORTH) == []
    assert merging.worn([50 * many, *[many] * merging.WORN], 50 * many // merging.WORTH) == [1, 2, 3, 4]
    assert merging.worn([few, 2 * few, 50 * many, few, few], few) == [3, 4]


@given(st.lists(st.integers(1, 2000), max_size=60), st.none() | st.integers(0, 20_000), st.integers(0, 20_000))
def test_what_is_merged_are_always_the_youngest(sizes, budget, cancelled):
    """So what changes a key comes to two rows at most: nothing is left out in between."""
    for places in (merging.due(sizes, budget), merging.worn(sizes, cancelled)):
        assert places == list(range(len(sizes) - len(places), len(sizes))) and len(places) != 1


def test_few_rows_that_were_merged_lie_in_the_file_of_the_change():
    """A file less is a sync less, for batches that merge nearly each time."""
    table = Table()
    table.apply([((1, 1), 1)])
    files = len(table.reader.disk.files)
    table.apply([((1, 1), -1), ((1, 2), 1)], cancelled=2)
    assert table.rewritten > 0 and len(table.reader.disk.files) == files + 1
    table.check_rows()


# ---------------------------------------------------------------- the budget of a batch


@pytest.mark.parametrize(
    "shape", ["updates", *(pytest.param(s, marks=pytest.mark.long) for s in ("ten rows", "skewed"))]
)
def test_a_batch_rewrites_what_its_budget_pays_for_or_what_cannot_wait(monkeypatch, shape):
    monkeypatch.setattr(merging, "TIER_ROWS", 8)
    monkeypatch.setattr(parts, "BUDGET", 100)
    waited, forced = [], []

    def watched(sizes, budget):
        places = merging.due(sizes, budget)
        rows = sum(sizes[p] for p in places)
        if places and rows > budget:
            forced.append(rows)
            assert max(Counter(map(merging.tier, sizes)).values()) >= 2 * merging.FANOUT
        waited.append(not places and bool(merging.due(sizes, None)))
        return places

    monkeypatch.setattr(parts, "due", watched)
    table = Table()
    for batch in (INSERTS | UPDATES)[shape]():
        before = len(forced), table.rewritten
        table.apply(batch)
        if len(forced) == before[0]:
            assert table.rewritten - before[1] <= parts.BUDGET
        table.check_segments(waiting=2)
    assert sum(waited) > 20 and len(forced) > 2, (sum(waited), forced)
    table.check_rows()


# ---------------------------------------------------------------- a store, and compaction of its own


def left_to_merge(store):
    sizes = {t: [s.rows for s in store.snapshot().segments(t)] for t in store.tables()}
    return [t for t, rows in sizes.items() if merging.due(rows, None)]


@pytest.fixture
def filled(monkeypatch):
    """A store whose batches left much to merge, and by version the rows that "t" had then."""
    monkeypatch.setattr(merging, "TIER_ROWS", 8)
    monkeypatch.setattr(parts, "BUDGET", 60)
    chance, rows, seen = random.Random(3), Counter(), {}
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(SPEC, TableSpec("u", TYPES, ((1,),)), TableSpec("empty", TYPES))), 0)
        while store.version < 90 or len(left_to_merge(store)) < 2:
            n = store.version
            delta = {(chance.randrange(60), chance.randrange(9)): chance.choice([1, 1, 2, -1]) for _ in range(15)}
            given = Rows.of_pairs(TYPES, delta.items())
            store.commit(Change({"t": given, "u": given}), n)
            for row, weight in delta.items():
                rows[row] += weight
            seen[n + 1] = dict(rows)
        assert store.rewritten > 100
        yield store, seen


@pytest.mark.parametrize("everything", [False, True])
def test_compaction_finishes_what_batches_left_and_disturbs_no_reader(filled, everything):
    store, seen = filled
    last, before = store.version, store.rewritten
    pinned = [store.snapshot(n) for n in range(2, last + 1, 10)]
    with Store.open(store.path) as other:
        elsewhere = other.snapshot()
        assert store.compact(everything) == store.rewritten - before > parts.BUDGET
        check_rows(elsewhere, seen[last])
        check_rows(other.snapshot(), seen[last])
    assert not left_to_merge(store)
    assert store.version > last + 1, "one commit did all of it"
    if everything:
        assert [len(store.snapshot().segments(t)) for t in ("t", "u", "empty")] == [1, 1, 0]
        assert store.snapshot().segments("t")[0].rows == len({row for row, n in seen[last].items() if n})
    for snapshot in [*pinned, *(store.snapshot(n) for n in range(2, last + 1, 10))]:
        check_rows(snapshot, seen[snapshot.version])
    check_rows(store.snapshot(), seen[last])
    assert all(store.snapshot().delta(t, last).is_empty for t in store.tables())
    assert (
        store.snapshot().delta("t", last - 20).counts()
        == Rows.of_counts(TYPES, seen[last]).plus(Rows.of_counts(TYPES, seen[last - 20]).negated()).counts()
    )
    assert (store.compact(everything), store.version) == (0, store.version)


def test_compaction_takes_turns_with_other_writers(filled, monkeypatch):
    store, seen = filled
    rows, turns = Counter(seen[store.version]), []
    advance = Store._advance

    def beaten(self, change, parent, merge):
        if merge is not None and len(turns) < 5:
            turns.append(parent)
            other.commit(Change({"t": Rows.of_pairs(TYPES, [((1, 1), 1)])}), other.version)
            rows[1, 1] += 1
        return advance(self, change, parent, merge)

    with Store.open(store.path) as other:
        monkeypatch.setattr(Store, "_advance", beaten)
        assert store.compact(everything=True) > 0
        check_rows(other.snapshot(), rows)
    assert len(turns) == 5 and len(store.snapshot().segments("t")) == 1
    check_rows(store.snapshot(), rows)


def test_readers_go_on_during_compaction(filled):
    store, seen = filled
    last, reads, done = store.version, [], threading.Event()

    def read():
        with Store.open(store.path) as mine:
            while not done.is_set():
                check_rows(mine.snapshot(), seen[last])
                reads.append(mine.version)

    with ThreadPoolExecutor() as pool:
        reader = pool.submit(read)
        while not reads and not reader.done():
            time.sleep(0.001)
        store.compact()
        store.compact(everything=True)
        seen_last = len(reads)
        while len(reads) <= seen_last + 1 and not reader.done():
            time.sleep(0.001)
        done.set()
        reader.result()
    assert min(reads) >= last and max(reads) == store.version > last


def test_a_store_counts_what_its_merges_wrote(monkeypatch):
    """And also what one merge wrote for the next in the same commit, which is never stored."""
    monkeypatch.setattr(merging, "TIER_ROWS", 8)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(SPEC,)), 0)
        for n, batch in enumerate(inserts([3] * 120), 1):
            store.commit(Change({"t": Rows.of_pairs(TYPES, batch)}), n)
        with store._catalogue.transaction() as c:
            of_merges = sa.select(sa.func.sum(SEGMENTS.c.rows)).where(SEGMENTS.c.is_delta == 0)
            stored = c.execute(of_merges).scalar_one()
        assert 360 < stored <= store.rewritten <= 360 * (in_tier_0() + 2)
