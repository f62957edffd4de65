"""The life of a store: tables, batches, merges, compaction, a vacuum, and a second process that goes on."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from ripplenest.data.order import By, Firsts, Ordering
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Snapshot, Store, TableSpec
from support.crashes import Tell
from support.lives import SOURCE, Found, Life, digest_of
from support.ordering import first_copies

Pairs = list[tuple[tuple[Any, ...], int]]
TYPES = (Base("long"), Base("string", True))
ORDER = Ordering((1,), (By(0, descending=True),), until=1)
SPECS = (TableSpec("t", TYPES, ((1,),), (ORDER,)), TableSpec("u", TYPES))


def batch_of(seq: int) -> dict[str, Pairs]:
    """Batch ``seq``: rows come, and most go again with the batch after the next."""
    fresh: Pairs = [((seq, f"row {seq}"), 1), ((seq // 2, None), 1)]
    gone: Pairs = [((seq - 2, f"row {seq - 2}"), -1)] if seq > 2 and seq % 3 else []
    return {"t": [*fresh, *gone]} | ({"u": [((seq, "é"), -1)]} if seq % 2 else {})


def change_of(seq: int, specs: Mapping[str, tuple[Base, ...]]) -> Change:
    deltas = {t: Rows.of_pairs(specs[t], pairs) for t, pairs in batch_of(seq).items()}
    return Change(deltas, source=SOURCE, seq=seq, digest=f"digest {seq}", note={"batches": seq})


def summed(table: str, batches: int) -> dict[tuple[Any, ...], int]:
    """What ``table`` holds after ``batches``."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for seq in range(1, batches + 1):
        for row, n in batch_of(seq).get(table, []):
            counts[row] += n
    return {row: n for row, n in counts.items() if n}


@frozen
class StoreLife(Life[Store]):
    """Tables, batches, merges, compaction, a vacuum in the middle, and a second process that goes on.

    After batch ``compact_after`` comes a compaction, and in the second process a vacuum that keeps ``keep`` versions.
    Each commit forgets versions beyond ``retain``, so that compaction, vacuum and the last batch leave files behind.
    """

    batches: int = 5
    compact_after: int = 2
    keep: int = 0
    retain: int = 1

    def open(self, folder: Path) -> Store:
        return Store.open(folder, retain=self.retain)

    def go_on(self, handle: Store, tell: Tell) -> None:
        before = handle.last_seq(SOURCE) or 0
        self._first(handle, before, tell)
        self._second(handle, before, tell)

    def live(self, folder: Path, tell: Tell) -> None:
        with self.open(folder) as store:
            before = store.last_seq(SOURCE) or 0
            self._first(store, before, tell)
        with self.open(folder) as store:
            self._second(store, before, tell)

    def _first(self, store: Store, before: int, tell: Tell) -> None:
        """Until the compaction, which is done again unless a batch came after it; ``before`` is the last batch."""
        tell(f"{store.version} {before}")
        if not store.tables():
            tell(f"{store.commit(Change(tables=SPECS), store.version)} 0")
        for seq in range(1, self.compact_after + 1):
            submit(store, seq, tell)
        if before <= self.compact_after:
            compact(store, tell)

    def _second(self, store: Store, before: int, tell: Tell) -> None:
        """Not every process that comes back vacuums: a commit alone must clean up as well."""
        if before < self.compact_after:
            store.vacuum(self.keep)
        for seq in range(self.compact_after + 1, self.batches + 1):
            submit(store, seq, tell)

    def look(self, handle: Store) -> Found:
        newest, batches, seqs = handle.snapshot(), handle.last_seq(SOURCE) or 0, kept(handle)
        self._known(handle, batches)
        assert (newest.version, batches) == max(seqs.items()), seqs
        for version in seqs:
            snapshot = handle.snapshot(version)
            for table in snapshot.tables:
                assert snapshot.scan(table).counts() == summed(table, seqs[version]), (table, version)
        for table in newest.tables:
            self._reads(newest, table, min(seqs.items()), batches)
        return Found(newest.version, batches)

    def digest(self, handle: Store) -> str:
        newest = handle.snapshot()
        tables = {t: sorted(map(repr, newest.scan(t).counts().items())) for t in newest.tables}
        return digest_of((tables, handle.last_seq(SOURCE), handle.tables()))

    def _known(self, store: Store, batches: int) -> None:
        """Each batch up to the last one is known, and no other."""
        seqs = range(1, self.batches + 1)
        known = [store.applied(SOURCE, seq) for seq in seqs]
        assert [a and a.digest for a in known] == [f"digest {seq}" if seq <= batches else None for seq in seqs]

    def _reads(self, newest: Snapshot, table: str, oldest: tuple[int, int], batches: int) -> None:
        """The other ways to read the newest version: by a key, in order, and as the difference to the oldest."""
        rows = summed(table, batches)
        for columns in newest.tables[table].indexes:
            keys = {tuple(row[i] for i in columns) for row in rows}
            assert newest.probe(table, columns, keys).counts() == rows, (table, columns)
        for o in newest.tables[table].ordered:
            asked = Rows.of_counts(TYPES, rows).select(o.key).consolidated()
            found = newest.first(table, Firsts(o, asked, np.full(len(asked), 2)))
            assert found.rows.counts() == first_copies(rows, o, lambda _: 2), (table, o)
        before = Counter(summed(table, oldest[1]))
        changed = {row: rows.get(row, 0) - before[row] for row in {*rows, *before}}
        assert newest.delta(table, oldest[0]).counts() == {row: n for row, n in changed.items() if n}

    @property
    def last(self) -> str:
        tables = {s.name: sorted(map(repr, summed(s.name, self.batches).items())) for s in SPECS}
        return digest_of((tables, self.batches, {s.name: s for s in SPECS}))


def kept(store: Store) -> dict[int, int]:
    """By version that can be read, how many batches are in it."""
    found: dict[int, int] = {}
    batches = store.last_seq(SOURCE) or 0
    for entry in store.history():  # newest first
        found[entry.version] = batches
        batches -= entry.source == SOURCE
    return found


def submit(store: Store, seq: int, tell: Tell) -> None:
    """Send a batch that may have been applied."""
    if store.applied(SOURCE, seq) is None:
        tell(f"{store.commit(change_of(seq, {s.name: s.types for s in SPECS}), store.version)} {seq}")


def compact(store: Store, tell: Tell) -> None:
    """Merge everything: one version more when there is something to merge."""
    store.compact(everything=True)
    tell(f"{store.version} {store.last_seq(SOURCE) or 0}")
