"""What callers of the store say and get: table specifications, changes, and the record of an applied batch."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from ripplenest.data.order import Ordering, ordering_of
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.data.sheet import Sheet, Tabular
from ripplenest.nrc.errors import StateError
from ripplenest.nrc.types import Base

if TYPE_CHECKING:
    from ripplenest.store.segments import Segment

Columns = tuple[int, ...]  # an access key: positions of columns
Access = Columns | Ordering  # what a segment has an index for


@frozen
class TableSpec:
    """A stored table: its name, the types of c0…c{n-1}, the access keys by which it can be probed, and the orders in
    which rows of a key can be read."""

    name: str
    types: tuple[Base, ...]
    indexes: tuple[Columns, ...] = ()
    ordered: tuple[Ordering, ...] = ()

    @property
    def access(self) -> tuple[Access, ...]:
        """What each of its segments has an index for."""
        return (*self.indexes, *self.ordered)

    @property
    def placed(self) -> Iterator[tuple[int, Access]]:
        """The same, each with its number among those of its kind."""
        yield from enumerate(self.indexes)
        yield from enumerate(self.ordered)


def columns_text(access: Access) -> str:
    """As the catalogue has it: a list for an access key, an object for an ordering, which releases that know only the
    first cannot make an index for."""
    return json.dumps(access.plain() if isinstance(access, Ordering) else access)


def spec_of(name: str, types: tuple[Base, ...], access: Iterable[Access]) -> TableSpec:
    """The table that has an index for each ``access``."""
    every = tuple(access)
    indexes = tuple(a for a in every if not isinstance(a, Ordering))
    return TableSpec(name, types, indexes, tuple(a for a in every if isinstance(a, Ordering)))


def columns_of(text: str) -> Access:
    found = json.loads(text)
    return ordering_of(found) if isinstance(found, dict) else tuple(found)


def unknown_table(name: str, tables: Iterable[str]) -> StateError:
    """The error for a table that is none of ``tables``."""
    return StateError("no such stored table", where=name, possible=sorted(tables))


def same_columns(a: tuple[Base, ...], b: tuple[Base, ...]) -> bool:
    """True when two rows of types are stored alike: equal up to nullability."""
    return a == b or bool(arrow_schema(a).types == arrow_schema(b).types)


@frozen
class Reshape:
    """New types of a table, wider than those that it has, and the values that its rows get in the columns that come at
    the end (``store/layouts.py``)."""

    types: tuple[Base, ...]
    fills: tuple[object, ...] = ()


@frozen
class Written:
    """Rows that are in files already, made by tasks (``store/staging.py``): by table the segments that hold them, in
    files of ``folder``, of which no two share a row. Their numbers have not been given (``Readable.reserved``)."""

    folder: Path
    segments: Mapping[str, "tuple[Segment, ...]"]


@frozen
class Change:
    """One commit. ``deltas`` are signed rows by table name; everything in it becomes visible together or not at all.

    Tables ``dropped`` go first; those ``reshaped`` get other types; ``tables`` are made, also of names that went, and
    without rows in the versions before that have the table which they are ``beside``, if they are beside one; then
    ``indexes`` and ``ordered`` are added to tables (those that exist already are fine), then deltas. Versions that are
    kept keep what they have of a dropped table. ``meta`` replaces values by key, and removes those that become None.
    ``(source, seq)`` names the batch, once; ``digest`` is of its content. ``note`` is kept with the version and must
    survive JSON. ``merged`` tables become one segment each, or none: what a delta takes out of a table whole would
    otherwise stay in it, with its negation. What is ``written`` is added, too; where it is ``replaced``, in the place
    of the segments with these numbers, of which it is the sum. By table so many of the rows that were read to find this
    change were ``cancelled`` by others of it: what is worth merging.
    """

    deltas: Mapping[str, Rows] = field(factory=dict)
    tables: tuple[TableSpec, ...] = ()
    indexes: Mapping[str, tuple[Columns, ...]] = field(factory=dict)
    meta: Mapping[str, str | None] = field(factory=dict)
    source: str | None = None
    seq: int | None = None
    digest: str = ""
    note: Mapping[str, object] = field(factory=dict)
    merged: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    reshaped: Mapping[str, Reshape] = field(factory=dict)
    written: Written | None = None
    ordered: Mapping[str, tuple[Ordering, ...]] = field(factory=dict)
    replaced: Mapping[str, frozenset[int]] = field(factory=dict)
    beside: Mapping[str, str] = field(factory=dict)
    cancelled: Mapping[str, int] = field(factory=dict)


Batch = tuple[str, int, str]  # source, seq and digest of a batch that was applied


@frozen
class Applied:
    """The version that a batch became, with the digest and the note it came with."""

    version: int
    digest: str
    note: Mapping[str, object]


@frozen
class Standing:
    """How far the batches of a source have come: the greatest seq applied, and the batch that was asked for, if it was
    applied before."""

    last: int | None
    batch: Applied | None


@frozen
class Entry:
    """One version in the history: when it was committed (UTC), the batch that it is if it is one, and its note."""

    version: int
    time: datetime
    source: str | None
    seq: int | None
    note: Mapping[str, object]

    @property
    def what(self) -> str:
        """What made the version, in a few words."""
        kind = str(self.note.get("kind", "" if self.version else "new state"))
        match kind:
            case "batch":
                how = ", recomputed" if self.note.get("verdict") == "full" else ""
                return f"batch {self.source}:{self.seq}{how}"
            case "rollback":
                return f"rollback to {self.note.get('to')}"
            case "alter":
                return f"alter {self.note.get('name')}: {self.note.get('what')}"  # rename year to day
        return f"{kind} {self.note.get('name', '')}".strip()


@frozen
class Swept:
    """What a vacuum removed: versions that can be read no longer, files and their bytes."""

    versions: int
    files: int
    bytes: int


@frozen
class Usage(Tabular):
    """What a state takes up: versions that are kept, files with their bytes, live segments, and files that nothing
    names (a writer that died left them; the next writer removes them)."""

    oldest: int
    newest: int
    retain: int
    files: int
    bytes: int
    segments: int
    orphans: tuple[str, ...]

    def sheet(self) -> Sheet:
        """The table, as its cells."""
        names = ("oldest", "newest", "retain", "files", "bytes", "segments")
        rows = [(name, f"{getattr(self, name):,}") for name in names]
        return Sheet(("what", "how much"), (*rows, ("orphans", f"{len(self.orphans):,}")), right=(1,))
