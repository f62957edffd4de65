"""The records of the catalogue and the digests that tie them together.

    state(n) = seal(state(n-1), n, time, source, seq, digest, note, changes(n), live(n), schema(n))

``changes`` seals the delta segments born at n, ``live`` the segments that tables are made of at n, ``schema`` the
tables, access keys and meta values (only the newest is kept). A database notices some damage itself, but not a flipped
bit in a value, and a segment that silently goes missing is a wrong answer.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from ripplenest.nrc.types import Base
from ripplenest.store.seal import seal
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Columns, TableSpec

Live = Mapping[int, tuple[Segment, ...]]


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
class Schema:
    """Tables with their ids and the versions that made them, and meta values, at the newest version."""

    tables: Mapping[str, TableSpec]
    ids: Mapping[str, int]
    born: Mapping[str, int]
    meta: Mapping[str, str]

    @property
    def digest(self) -> str:
        tables = [(self.ids[t.name], t.name, types_text(t.types), self.born[t.name]) for t in self.tables.values()]
        indexes = [(self.ids[n], columns_text(c), i) for n, t in self.tables.items() for i, c in enumerate(t.indexes)]
        return schema_digest(tables, indexes, self.meta.items())


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


def columns_text(columns: Columns) -> str:
    return json.dumps(columns)


def columns_of(text: str) -> Columns:
    return tuple(json.loads(text))
