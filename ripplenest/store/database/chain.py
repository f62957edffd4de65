"""The records of the catalogue and the digests that tie them together.

    state(n) = seal(state(n-1), n, time, source, seq, digest, note, changes(n), live(n), schema(n))

``changes`` seals the delta segments born at n, ``live`` the segments that tables are made of at n, ``schema`` the
tables, access keys and meta values (only the newest is kept). A database notices some damage itself, but not a flipped
bit in a value, and a segment that silently goes missing is a wrong answer.

Everything that is read is checked first. A version's digest seals the one before it, its batch, its note, its
changes, the segments that tables are made of and the schema; a segment has digests of its blocks, each compared when
a process first touches it. A database notices some damage itself, but not a flipped bit in a value, and Parquet without
digests answers wrongly in half of such cases.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from ripplenest.data.order import Ordering
from ripplenest.nrc.types import Base
from ripplenest.store.database.seal import seal
from ripplenest.store.layouts import Layout
from ripplenest.store.segments import Segment
from ripplenest.store.specs import TableSpec, columns_text

Live = Mapping[int, tuple[Segment, ...]]
DROPPED = "dropped"  # meta key: a list of [id, name, died]
LAYOUTS = "layouts"  # meta key: by table id, a list of [version, types, fills]
TOMB = "\0dropped "


@frozen
class Version:
    """One row of the chain; ``time`` is UTC in ISO 8601, ``note`` JSON text, ``parent`` the state before."""

    n: int
    time: str
    source: str | None
    seq: int | None
    digest: str
    note: str
    changes: str
    live: str
    schema: str
    parent: str

    @property
    def state(self) -> str:
        sealed = (self.changes, self.live, self.schema)
        return seal(self.parent, self.n, self.time, self.source, self.seq, self.digest, self.note, *sealed)


@frozen
class Table:
    """A stored table in the versions born ≤ v < died, or until now; its id is never given to another."""

    id: int
    spec: TableSpec
    born: int
    died: int | None = None

    def at(self, version: int) -> bool:
        """Whether it was there at ``version``."""
        return self.born <= version and (self.died is None or version < self.died)


@frozen
class Schema:
    """Tables with their ids and the versions that made them, and meta values, at the newest version.

    ``dropped`` are tables that versions still have which are kept. Their rows stay in the catalogue, under a name that
    no other table has; what they were called and when they went is the meta value DROPPED. ``layouts`` are by table id
    the types that it got, oldest first.
    """

    tables: Mapping[str, TableSpec]
    ids: Mapping[str, int]
    born: Mapping[str, int]
    meta: Mapping[str, str]
    dropped: tuple[Table, ...] = ()
    layouts: Mapping[int, tuple[Layout, ...]] = field(factory=dict)

    @property
    def digest(self) -> str:
        named = [*((t.spec.name, t) for t in self.living), *((tombstone(t.id), t) for t in self.dropped)]
        tables = [(t.id, name, types_text(t.spec.types), t.born) for name, t in named]
        indexes = [(t.id, columns_text(access), i) for _, t in named for i, access in t.spec.placed]
        return schema_digest(tables, indexes, self.stored_meta.items())

    @property
    def orders(self) -> Iterator[Ordering]:
        """Those of tables that versions have which are kept."""
        return (o for t in (*self.living, *self.dropped) for o in t.spec.ordered)

    @property
    def living(self) -> list[Table]:
        return [Table(self.ids[name], spec, self.born[name]) for name, spec in self.tables.items()]

    @property
    def stored_meta(self) -> Mapping[str, str]:
        """The meta values as they are stored: with what was dropped or reshaped, if anything was."""
        found = dict(self.meta)
        if self.dropped:
            found[DROPPED] = json.dumps([[t.id, t.spec.name, t.died] for t in self.dropped])
        if self.layouts:
            plain = {str(table): [layout.plain() for layout in layouts] for table, layouts in self.layouts.items()}
            found[LAYOUTS] = json.dumps(plain)
        return found

    def table(self, name: str, version: int) -> Table | None:
        """The table of this name at ``version``."""
        if name in self.tables and self.born[name] <= version:
            return Table(self.ids[name], self.tables[name], self.born[name])
        return next((t for t in self.dropped if t.spec.name == name and t.at(version)), None)

    def names(self, version: int) -> Mapping[str, TableSpec]:
        """The tables that there are at ``version``."""
        gone = {t.spec.name: t.spec for t in self.dropped if t.at(version)}
        return {**gone, **{name: spec for name, spec in self.tables.items() if self.born[name] <= version}}


def tombstone(table: int) -> str:
    """What a dropped table is called in the catalogue."""
    return f"{TOMB}{table}"


NO_SCHEMA = Schema({}, {}, {}, {})


@frozen
class Head:
    """The newest version with all that belongs to it."""

    version: Version
    schema: Schema
    live: Live


@frozen
class Known:
    """What is known of a batch that was applied: its version and the digest of its content. The note goes with the
    version, when that is no longer kept."""

    n: int
    seq: int
    digest: str
    note: str


def first_version(time: str) -> Version:
    """Version 0: nothing."""
    nothing = segments_digest(())
    return Version(0, time, None, None, "", "{}", nothing, nothing, NO_SCHEMA.digest, "")


def segments_digest(segments: Iterable[Segment]) -> str:
    return seal(*sorted(s.digest for s in segments))


def live_digest(live: Live) -> str:
    return segments_digest(s for segments in live.values() for s in segments)


def schema_digest(*parts: Iterable[Any]) -> str:
    return seal(*(sorted(map(list, part), key=repr) for part in parts))


def types_text(types: tuple[Base, ...]) -> str:
    return json.dumps([[t.kind, t.nullable, t.precision, t.scale] for t in types])


def types_of(text: str) -> tuple[Base, ...]:
    return tuple(Base(*t) for t in json.loads(text))
