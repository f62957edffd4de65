"""What callers of the store say and get: table specifications, changes, and the record of an applied batch."""

from collections.abc import Mapping

from attrs import field, frozen

from ripplenest.nrc.types import Base
from ripplenest.rows import Rows

Columns = tuple[int, ...]  # an access key: positions of columns


@frozen
class TableSpec:
    """A stored table: its name, the types of c0…c{n-1}, and the access keys by which it can be probed."""

    name: str
    types: tuple[Base, ...]
    indexes: tuple[Columns, ...] = ()


@frozen
class Change:
    """One commit. ``deltas`` are signed rows by table name; everything in it becomes visible together or not at all.

    ``tables`` are made first, then ``indexes`` are added to tables (those that exist already are fine), then deltas are
    added. ``meta`` replaces values by key. ``(source, seq)`` names the batch, once; ``digest`` is of its content.
    ``note`` is kept with the version and must survive JSON.
    """

    deltas: Mapping[str, Rows] = field(factory=dict)
    tables: tuple[TableSpec, ...] = ()
    indexes: Mapping[str, tuple[Columns, ...]] = field(factory=dict)
    meta: Mapping[str, str] = field(factory=dict)
    source: str | None = None
    seq: int | None = None
    digest: str = ""
    note: Mapping[str, object] = field(factory=dict)


@frozen
class Applied:
    """The version that a batch became, with the digest and the note it came with."""

    version: int
    digest: str
    note: Mapping[str, object]
