"""The tables of one version without its catalogue: what another process reads, on this machine or on one that shares
the folder. Nothing is named anew while it reads, and what is compacted meanwhile stays until it is forgotten."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from attrs import evolve, frozen

from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import First, Firsts, Within
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import LawBroken
from ripplenest.store.disk import SEGMENTS, Disk
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Reader
from ripplenest.store.specs import Columns


@frozen
class Detached:
    """The tables ``refs`` of the state in ``folder`` at ``version``, and what ``deltas`` changed in them after
    ``since``."""

    folder: str
    version: int
    refs: Mapping[str, TableRef]
    since: int | None = None
    deltas: Mapping[str, TableRef] = {}

    @property
    def emptied(self) -> "Detached":
        """The same tables without rows."""
        return evolve(self, refs={name: evolve(ref, segments=()) for name, ref in self.refs.items()})

    @property
    def reader(self) -> Reader:
        return _reader(self.folder)

    @property
    def access_keys(self) -> Mapping[str, tuple[Columns, ...]]:
        """By table, the columns that ``probe`` finds rows by."""
        return {name: ref.spec.indexes for name, ref in self.refs.items()}

    def scan(self, table: str) -> Rows:
        """All rows of ``table``. Raises CorruptState, as all that reads here."""
        return self.refs[table].scan(self.reader)

    def some(self, table: str, most: int) -> Rows:
        """At least ``most`` different rows of ``table``, or all."""
        return self.refs[table].some(self.reader, most)

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """The rows whose ``columns`` are one of ``keys``; NULL matches NULL."""
        return self.refs[table].probe(self.reader, columns, keys)

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:
        """By key, how many entries have its hash."""
        return self.refs[table].many(self.reader, columns, keys)

    def first(self, table: str, asked: Firsts) -> First:
        """The first rows of keys, as ``Snapshot.first`` has it."""
        return self.refs[table].first(self.reader, asked)

    def within(self, table: str, *asked: Within) -> Rows | None:
        """The rows between values, as ``Snapshot.within`` has it."""
        return self.refs[table].within(self.reader, *asked)

    def size(self, table: str) -> int:
        """At least the number of different rows of ``table``."""
        return self.refs[table].size

    def delta(self, table: str, since: int) -> Rows:
        """The changes of ``table`` after ``since``, which must be the version that this was made for."""
        if since != self.since:
            raise LawBroken("changes that were not handed on", where=table, wanted=self.since, got=since)
        return self.deltas[table].scan(self.reader)


@lru_cache(maxsize=16)
def _reader(folder: str) -> Reader:
    """What this process has mapped and checked of a state, whichever tables are asked for."""
    return Reader(Disk(Path(folder) / SEGMENTS))
