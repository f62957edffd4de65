"""What a change makes of a version: segments, merges, indexes. Nothing is written here, so nothing can half happen.

A delta segment is also the changelog of its version: it stays when a merge has taken its place in the table.
"""

import json
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from secrets import token_hex

import pyarrow as pa
from attrs import evolve

from ripplenest.data.order import Ordering, orderings
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import LawBroken, StateError, WrongColumns
from ripplenest.store.database.catalogue import Born, now
from ripplenest.store.database.chain import (
    DROPPED,
    LAYOUTS,
    TOMB,
    Head,
    Live,
    Schema,
    Table,
    Version,
    live_digest,
    segments_digest,
)
from ripplenest.store.database.records import RESERVED, grouped
from ripplenest.store.disk import Blob
from ripplenest.store.layouts import Layout, check_reshape
from ripplenest.store.making import Made, index_on, made_of
from ripplenest.store.mapped import Mapped, lightened
from ripplenest.store.merging import LITTLE, tier
from ripplenest.store.parts import Merge, Merger, Part, Parts
from ripplenest.store.ref import Segments
from ripplenest.store.segments import Pack, Reader, Segment, Stored
from ripplenest.store.specs import (
    Access,
    Change,
    Columns,
    TableSpec,
    columns_text,
    same_columns,
    unknown_table,
)

REMEMBERED = 1 << 15  # bytes of a blob that stays in memory when it was written; larger ones are mapped when asked for


class Draft:
    """The version after ``head`` that ``change`` makes, ready to be written: ``packs`` first, then the rows.

    Without ``merge`` the tables that change are merged within the budget of a batch; with it, all tables are merged
    until the budget is used: "due" what the tiers ask for, "all" each table into one segment. ``rewritten`` counts
    the rows that merges wrote. Dropped tables go for good that no version from ``oldest`` on has. Raises StateError,
    WrongColumns or EvaluationError when the change does not fit; nothing is changed then.
    """

    def __init__(
        self,
        head: Head,
        change: Change,
        reader: Reader,
        room: Room,
        next_segment: int,
        merge: Merge | None = None,
        oldest: int = 0,
    ) -> None:
        self._reader = reader
        self._n = head.version.n + 1
        self._next, self.rewritten = next_segment, 0
        name = f"{self._n:010d}-{token_hex(8)}"
        self._room = room
        self._deltas, self._merges = Pack(f"{name}.deltas", room), Pack(f"{name}.merges", room)
        self.made: list[tuple[Blob, Stored]] = []  # what is in small blobs
        self._born: list[tuple[Segment, int | None]] = []
        self._dead: list[int] = []
        self._indexes: list[tuple[int, Access, Blob]] = []
        schema = extended(head.schema, change, self._n, oldest)
        self._layouts = schema.layouts
        self.adopted: list[tuple[Path, str]] = []
        self._made = {spec.name for spec in change.tables}
        written = self._taken(change, schema)
        live = dict(head.live)
        for table in change.dropped:
            self._dead += [segment.id for segment in live.pop(head.schema.ids[table], ())]
        changed = {*change.deltas, *change.indexes, *change.ordered, *written, *change.replaced}
        tables = [self._parts(change, schema, t, live, written) for t in sorted(schema.tables if merge else changed)]
        self.rewritten += Merger(self._scan, room, merge, change.merged).run(tables, self.rewritten)
        for parts in tables:
            live[parts.id] = (*self._stored(parts), *written.get(parts.spec.name, ()))
        sealed = head.version.schema if schema is head.schema else schema.digest
        self.head = Head(self._version(head.version, change, sealed, live), schema, live)

    @property
    def born(self) -> Born:
        """What the catalogue must take in."""
        return Born(self._born, self._dead, self._indexes)

    @property
    def changes(self) -> Live:
        """By table id, the delta segments of this version."""
        return grouped((s for s, _ in self._born if s.is_delta), attrgetter("table"))

    @property
    def merged(self) -> bool:
        """Whether any segments became one, or none."""
        return bool(self._dead)

    @property
    def packs(self) -> list[Pack]:
        return [pack for pack in (self._deltas, self._merges) if pack]

    def _taken(self, change: Change, schema: Schema) -> dict[str, Segments]:
        """What tasks wrote, as segments of this version in files of its own. Raises StateError for tables that there
        are not, and LawBroken for what was not made for them."""
        written = change.written
        if written is None:
            return {}
        names: dict[str, str] = {}
        found = {}
        for table, segments in written.segments.items():
            if table not in schema.tables:
                raise unknown_table(table, schema.tables)
            is_delta = table not in change.replaced
            for s in segments:
                names.setdefault(s.blob.file, f"{self._n:010d}-{token_hex(8)}.{'deltas' if is_delta else 'merges'}")
            number = schema.ids[table] if table in self._made else None
            found[table] = tuple(_renamed(s, names, self._n, number) for s in segments)
            self._check_taken(found[table], schema, table, is_delta)
        self.adopted = [(written.folder / old, new) for old, new in names.items()]
        every = [s for segments in found.values() for s in segments]
        self._born += [(s, None) for s in every]
        self._indexes += [(s.id, access, blob) for s in every for access, blob in s.indexes.items()]
        self._next = max((s.id + 1 for s in every), default=self._next)
        return found

    def _kept(self, change: Change, schema: Schema, table: str, live: Live) -> Segments:
        """The live segments of ``table``, without those that are replaced. Raises LawBroken for some that are not
        there."""
        before, gone = live.get(schema.ids[table], ()), change.replaced.get(table, frozenset())
        if not gone:
            return before
        self._dead += sorted(gone)
        self.rewritten += sum(s.rows for s, _ in self._born if s.table == schema.ids[table])
        if not gone <= {s.id for s in before}:
            raise LawBroken("segments are replaced that are not there", where=table, got=sorted(gone))
        return tuple(s for s in before if s.id not in gone)

    def _check_taken(self, segments: Segments, schema: Schema, table: str, is_delta: bool) -> None:
        wanted = (schema.ids[table], is_delta, {*schema.tables[table].access})
        for s in segments:
            if s.id < self._next or (s.table, s.is_delta, {*s.indexes}) != wanted:
                raise LawBroken("a segment that was not made for this table", where=table, wanted=wanted, got=s)

    def _version(self, old: Version, change: Change, schema: str, live: dict[int, tuple[Segment, ...]]) -> Version:
        changes = segments_digest(s for s, _ in self._born if s.is_delta)
        note = note_text(change.note)
        sealed = (changes, live_digest(live), schema, old.state)
        return Version(self._n, now(), change.source, change.seq, change.digest, note, *sealed)

    def _parts(
        self, change: Change, schema: Schema, table: str, live: Live, written: Mapping[str, Segments]
    ) -> Parts:
        """What ``table`` has with its delta. Raises StateError for one that is not there."""
        if table not in schema.tables:
            raise unknown_table(table, schema.tables)
        spec = schema.tables[table]
        delta = _delta(change, spec)
        if delta is not None and table in written:
            raise LawBroken("rows of a table that come in two ways", where=table)
        before = self._kept(change, schema, table, live)
        return Parts.of(spec, schema.ids[table], before, delta, change.cancelled.get(table, 0))

    def _stored(self, parts: Parts) -> Segments:
        """The live segments of a table once its ``parts`` are in packs, each with every index."""
        spec, after = parts.spec, parts.after
        self._dead += parts.gone
        for part in parts.fresh:
            if part not in after:
                self._write(part, spec, parts.id, died=self._n)
        kept = ([self._indexed(s, spec) for s in p.stored] or [self._write(p, spec, parts.id)] for p in after)
        return tuple(s for segments in kept for s in segments)

    def _scan(self, segment: Segment) -> pa.Table:
        return self._reader.scan(segment, self._layouts.get(segment.table, ()))

    def _write(self, part: Part, spec: TableSpec, table_id: int, died: int | None = None) -> Segment:
        """Put ``part`` into its pack; one that is dead at birth is never probed and needs no index."""
        pack = self._deltas if part.is_delta or part.size <= LITTLE else self._merges  # a file less is a sync less
        assert part.rows is not None
        table, made = made_of(part.rows.arrow(), () if died else spec.access, self._next, self._room)
        blob = self._added(pack, lightened(table), Mapped(table))
        segment = Segment(self._next, table_id, blob, part.size, tier(part.size), self._n, part.is_delta)
        self._next += 1
        self._born.append((segment, died))
        return self._with_indexes(segment, made, pack)

    def _indexed(self, segment: Segment, spec: TableSpec) -> Segment:
        """A stored segment with the access keys that this commit adds."""
        missing = tuple(a for a in spec.access if a not in segment.indexes)
        if not missing:
            return segment
        table = self._scan(segment)
        made = {access: index_on(table, access, segment.id, self._room) for access in missing}
        return self._with_indexes(segment, made, self._merges)

    def _with_indexes(self, segment: Segment, made: Mapping[Access, Made], pack: Pack) -> Segment:
        added = {access: self._added(pack, index.table, index) for access, index in made.items()}
        self._indexes += [(segment.id, access, blob) for access, blob in added.items()]
        return evolve(segment, indexes={**segment.indexes, **added}) if added else segment

    def _added(self, pack: Pack, table: pa.Table, what: Stored) -> Blob:
        """The blob of ``table``, which stands for ``what``."""
        blob = pack.add(table)
        if blob.bytes <= REMEMBERED:
            self.made.append((blob, what))
        return blob


def _renamed(s: Segment, names: Mapping[str, str], born: int, table: int | None) -> Segment:
    """The same segment, its digest too, in the file of another name, and born; of a table that is made now, with the
    number that it gets."""
    indexes = {access: evolve(blob, file=names[blob.file]) for access, blob in s.indexes.items()}
    blob = evolve(s.blob, file=names[s.blob.file])
    return Segment(s.id, s.table if table is None else table, blob, s.rows, s.level, born, s.is_delta, indexes)


def _delta(change: Change, spec: TableSpec) -> Rows | None:
    """The consolidated delta of a table, None when it is nothing. Raises WrongColumns for rows of other types."""
    rows = change.deltas.get(spec.name)
    if rows is None or rows.is_empty:
        return None
    if not same_columns(rows.types, spec.types):
        shown = [", ".join(map(str, types)) for types in (spec.types, rows.types)]
        raise WrongColumns("a delta of other columns than its table", where=spec.name, wanted=shown[0], got=shown[1])
    summed = rows.consolidated()
    return summed if len(summed) else None


def note_text(note: Mapping[str, object]) -> str:
    """``note`` as JSON; raises StateError when JSON cannot hold it."""
    try:
        return json.dumps(dict(note), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise StateError("a note that JSON cannot hold", wanted="text, numbers, lists and maps", got=e) from e


def extended(schema: Schema, change: Change, n: int, oldest: int = 0) -> Schema:
    """``schema`` with the tables, access keys, orderings and meta values of ``change``, which makes version ``n``, and
    without dropped tables that no version from ``oldest`` on has.

    Raises StateError when they do not fit."""
    dropped = tuple(t for t in schema.dropped if t.died is None or t.died > oldest)
    changed = (change.tables, change.indexes, change.ordered, change.meta, change.dropped, change.reshaped)
    if not (any(changed) or dropped != schema.dropped):
        return schema
    tables, ids, born = dict(schema.tables), dict(schema.ids), dict(schema.born)
    last = max((*ids.values(), *(t.id for t in schema.dropped)), default=0)
    for name in change.dropped:
        if name not in tables:
            raise unknown_table(name, tables)
        dropped = (*dropped, Table(ids.pop(name), tables.pop(name), born.pop(name), n))
    gone = {t.id for t in schema.dropped} - {t.id for t in dropped}
    layouts = {table: found for table, found in schema.layouts.items() if table not in gone}
    for name, reshape in change.reshaped.items():
        if name not in tables:
            raise unknown_table(name, tables)
        layout = Layout(n, reshape.types, reshape.fills)
        check_reshape(name, tables[name].types, layout)
        tables[name] = evolve(tables[name], types=reshape.types)
        layouts[ids[name]] = (*layouts.get(ids[name], ()), layout)
    for spec in change.tables:
        if spec.name in tables:
            raise StateError("a stored table of this name exists", where=spec.name)
        if spec.name.startswith(TOMB):
            raise StateError("a table name that the store keeps for itself", where=spec.name)
        last += 1
        ids[spec.name] = last
        born[spec.name] = born[change.beside[spec.name]] if spec.name in change.beside else n
        tables[spec.name] = _with_access(evolve(spec, indexes=(), ordered=()), spec.indexes, spec.ordered)
    for name in dict.fromkeys((*change.indexes, *change.ordered)):
        if name not in tables:
            raise unknown_table(name, tables)
        tables[name] = _with_access(tables[name], change.indexes.get(name, ()), change.ordered.get(name, ()))
    for key in (*RESERVED, DROPPED, LAYOUTS):
        if key in change.meta:
            raise StateError("a meta key that the store keeps for itself", where=key)
    meta = {key: value for key, value in {**schema.meta, **change.meta}.items() if value is not None}
    return Schema(tables, ids, born, meta, dropped, layouts)


def _with_access(spec: TableSpec, keys: tuple[Columns, ...], ordered: tuple[Ordering, ...]) -> TableSpec:
    for columns in keys:
        if len(set(columns)) != len(columns) or not all(0 <= i < len(spec.types) for i in columns):
            wanted = f"different columns below {len(spec.types)}"
            raise StateError("an access key that is not one", where=spec.name, wanted=wanted, got=columns)
    for o in orderings(len(spec.types), ordered):
        wanted = f"different columns below {len(spec.types)}"
        raise StateError("an ordering that is not one", where=spec.name, wanted=wanted, got=columns_text(o))
    indexes, both = dict.fromkeys((*spec.indexes, *keys)), dict.fromkeys((*spec.ordered, *ordered))
    return evolve(spec, indexes=tuple(indexes), ordered=tuple(both))
