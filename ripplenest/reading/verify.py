"""Is the state what it should be? Every stored table of one version, looked at whole; nothing is changed.

Three questions, each with its own evidence. Are the stored relations consistent (nrc-ivm, definition 1): each row of an
inner bag under a label that exactly one row holds? Is each map of each view what its definition gives on these
relations: it is computed from scratch and compared? Are the labels in the views' output those of known sites, and in
the domains of these? If asked, a fourth goes round the compiler: is the nested view what the reference interpreter
gives on the nested relations?

Tables are compared as Arrow does it, so that only rows that differ become Python rows.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen

from ripplenest.data import columnar
from ripplenest.data.columns import columns, from_leaves
from ripplenest.data.labels import Filled, Mark, Named, is_tagged, labels, site_columns, width
from ripplenest.data.naming import canonical_text
from ripplenest.data.room import Room
from ripplenest.data.rows import Pair, Rows
from ripplenest.data.sums import summed
from ripplenest.delta.compile import domain_name
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.text import part, path
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.positive import may_be_negative
from ripplenest.nrc.types import Base, Label, Record, Type
from ripplenest.plan.groups import stored_row
from ripplenest.reading.nested import nested_bag
from ripplenest.reading.seen import Seen, sound, whole
from ripplenest.reading.verification import Difference, Sample, Table, Verification
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.values import Entry, gather, nest
from ripplenest.state.declared import Declared
from ripplenest.state.recomputing import Checked, Differing
from ripplenest.state.views import Kept
from ripplenest.store.specs import Columns
from ripplenest.version.version import Version


def verify(
    declared: Declared,
    snapshot: Version,
    differing: Differing,
    checked: Checked,
    room: Room,
    deep: Collection[str] | None,
) -> Verification:
    """Everything that ``snapshot`` holds of what is ``declared``. ``differing`` compares maps with what their
    definitions give, and relations that are ``checked`` are looked at here if something is wrong with them. Views that
    are ``deep`` are evaluated on nested rows, too; None asks for none. Raises CorruptState for bytes that have
    changed."""
    run = _Run(snapshot, differing, room)
    for r in declared.relations.values():
        sizes = checked(r)
        if sizes is None:
            run.differences.extend(_relation(run, r))
        else:
            run.tables.extend(Table(p.name, _what(r, p), sizes[p.name]) for p in r.parts.values())
    seen: set[str] = set()
    for view in declared.views.values():
        run.differences.extend(_view(run, view, seen))
        seen |= {m.name for m in view.plan.maps}
    if deep:
        bags = {name: _nested(r, snapshot) for name, r in declared.relations.items()}
        for view in (view for name, view in declared.views.items() if name in deep):
            run.differences.extend(_deep(run, view, bags))
    for waiting in declared.waiting.values():
        run.not_compared.append(f"view {part(waiting.name)}: it waits to be rebuilt: {waiting.why}")
    found = tuple(run.differences)
    return Verification(snapshot.version, deep is not None, tuple(run.tables), found, tuple(run.not_compared))


@frozen
class _Run:
    """One verification at work."""

    snapshot: Version
    differing: Differing
    room: Room
    tables: list[Table] = field(factory=list)
    differences: list[Difference] = field(factory=list)
    not_compared: list[str] = field(factory=list)

    def read(self, name: str, of: str, row: Type) -> Seen:
        rows = summed(self.snapshot.scan(name), self.room)
        self.tables.append(Table(name, of, len(rows)))
        return Seen(self.tables[-1], row, rows)


# ---------------------------------------------------------------- relations


def _relation(run: _Run, r: Relation) -> Iterator[Difference]:
    seen = {p.name: run.read(p.name, _what(r, p), p.stored) for p in r.parts.values()}
    for name, t in seen.items():
        yield from sound(t)
        yield from whole(t, r.parts[name].given)
    for name, p in r.parts.items():
        if p.key:
            yield from _keys(p, seen[name], run.room)
    for name, holder in r.holders.items():
        yield from _labels(seen[holder.part.name], holder.columns, seen[name], r.parts[name].label)


def _what(r: Relation, p: Part) -> str:
    return f"relation {part(r.name)}, {'inner bags' if p.inner else 'flat rows'}"


def _keys(p: Part, t: Seen, room: Room) -> Iterator[Difference]:
    """Each key is there once, or once in each bag."""
    own = columns(t.row)
    key = Record(tuple((own[c].path, own[c].type) for c in p.key_columns))
    found = summed(t.rows.select(p.key_columns), room)
    several = columnar.where(found, pc.greater(columnar.weights(found), 1))
    yield from evolve(t, row=key).differs("keys of more than one row", several)


def _labels(holder: Seen, held_in: Columns, dictionary: Seen, label: Columns) -> Iterator[Difference]:
    """Definition 1: each label is held by one row, and each row of the dictionary is under a label that is held."""
    held = columnar.project(holder.rows, held_in, tuple(dictionary.rows.types[c] for c in label))
    for i in range(len(held_in)):
        held = columnar.where(held, columnar.column(held, i).is_valid())
    several = columnar.where(held, pc.greater(columnar.weights(held), 1))
    shared = columnar.where(holder.rows, columnar.among(holder.rows, held_in, several))
    yield from holder.differs(f"rows that share a label of {part(dictionary.table.name)}", shared)
    orphans = pc.invert(columnar.among(dictionary.rows, label, columnar.positive(held)))
    what = f"rows under a label that no row of {part(holder.table.name)} holds"
    yield from dictionary.differs(what, columnar.where(dictionary.rows, orphans))


# ---------------------------------------------------------------- views


def _view(run: _Run, view: Kept, seen: set[str]) -> Iterator[Difference]:
    """Every map of a view; auxiliary ones that an earlier view shares were looked at there."""
    maps = {m.name: m for m in view.program.maps if m.name not in seen}
    found = {name: run.read(name, _called(m, view.name), stored_row(m)) for name, m in maps.items()}
    differences: Mapping[str, Rows] = {}
    try:
        differences = run.differing(view.plan.only(maps), {name: t.rows for name, t in found.items()})
    except EvaluationError as error:
        what = f"the view cannot be computed: {error.what}"
        yield Difference(view.name, f"view {part(view.name)}", what)
    for name, m in maps.items():
        yield from sound(found[name], signed=any(may_be_negative(c) for c in m.products))
        if m.kind in (MapKind.FLAT, MapKind.DICTIONARY):
            yield from whole(found[name], None)
        if name in differences:
            yield from _compared(found[name], differences[name])
    yield from _output(view, found)


def _called(m: Map, view: str) -> str:
    """What a map is, for users."""
    site = path(m.at or m.site.name) if m.site else ""
    match m.kind:
        case MapKind.FLAT:
            what = "flat part"
        case MapKind.DICTIONARY:
            what = f"inner bags of ι[{site}]"
        case MapKind.DOMAIN:
            what = f"labels of ι[{site}] in use, each with a count"
        case MapKind.AUXILIARY:
            what = f"auxiliary map of {m.sums}" if m.summed else "auxiliary map"
        case MapKind.GROUP:
            what = f"what rows of {site} come to"
        case MapKind.ORDERED:
            what = f"rows of {site} in order"
        case MapKind.TOP:
            what = f"the first rows of {site}"
        case MapKind.JOINED:
            what = "joined rows"
        case _:
            assert_never(m.kind)
    return f"view {part(view)}, {what}"


def _compared(t: Seen, change: Rows) -> Iterator[Difference]:
    """Law 6: what is stored is what the definition gives, so that the ``change`` to that is nothing."""
    too_many = columnar.negative(change).negated()
    yield from t.differs("not what its definition gives on the relations", too_many, columnar.positive(change))


def _output(view: Kept, found: Mapping[str, Seen]) -> Iterator[Difference]:
    """Definition 1: the labels in the flat part and in the inner bags are of known sites, and in their domains."""
    program = view.program
    for m in (program.flat, *program.dictionaries):
        for at, label in _output_labels(m):
            t = found[m.name]
            if is_tagged(label):
                yield from _known(t, at, label)
            for s in site_columns(label, at):
                domain = found.get(domain_name(view.name, s.site.name))
                if domain is not None:
                    yield from _in_domain(t, s.params.start, domain, _made(t.rows, s.mark))


def _output_labels(m: Map) -> Iterator[tuple[int, Label]]:
    """The labels of the output in a map's rows, each with its first column; not a dictionary's own."""
    if m.kind is MapKind.FLAT:
        return labels(m.row)
    assert isinstance(m.row, Record)
    (_, own), (_, row) = m.row.fields
    return labels(row, width(own))


def _known(t: Seen, at: int, label: Label) -> Iterator[Difference]:
    tag = columnar.column(t.rows, at)
    names = pa.array([s.name for s in label.sites] + [None] * label.nullable, pa.string())
    unknown = columnar.where(t.rows, pc.invert(pc.is_in(tag, value_set=names)))
    yield from t.differs("rows with a label of no known site", unknown)


def _made(rows: Rows, mark: Mark) -> pa.ChunkedArray | None:
    """Which rows have a label of the site; None for all."""
    match mark:
        case None:
            return None
        case Named(column, site):
            return pc.equal(columnar.column(rows, column), site)
        case Filled(column):
            return columnar.column(rows, column).is_valid()
        case _:
            assert_never(mark)


def _in_domain(t: Seen, start: int, domain: Seen, made: pa.ChunkedArray | None) -> Iterator[Difference]:
    """The labels in the columns from ``start`` have a count above 0 in their domain."""
    types: tuple[Base, ...] = domain.rows.types
    rows = t.rows if made is None else columnar.where(t.rows, made)
    used = columnar.each_once(columnar.project(columnar.each_once(rows), range(start, start + len(types)), types))
    missing = columnar.positive(used.plus(columnar.positive(domain.rows).negated()).consolidated())
    what = f"labels that {part(t.table.name)} holds are not in use here"
    yield from domain.differs(what, Rows.empty(types), missing)


# ---------------------------------------------------------------- round the compiler


def _nested(r: Relation, snapshot: Version) -> BagValue:
    """The nested rows that the stored parts of a relation stand for."""
    flat, *inner = r.parts.values()
    entries = [
        Entry(p.name, label, field_of(value, "row"), n)
        for p in inner
        for value, n in _values(p, snapshot)
        if isinstance(label := field_of(value, "label"), LabelValue)
    ]
    bags = gather(entries)
    return nest(BagValue.weighted(_values(flat, snapshot)), r.row, lambda x: bags.get(x.site, {}).get(x, EMPTY))


def _values(p: Part, snapshot: Version) -> Iterator[tuple[Value, int]]:
    return ((from_leaves(row, p.stored), n) for row, n in snapshot.scan(p.name).counts().items())


def _deep(run: _Run, view: Kept, bags: Mapping[str, BagValue]) -> Iterator[Difference]:
    """Theorem 8: the view that its maps stand for is h[R] of the nested relations."""
    of = f"view {part(view.name)}, nested"
    try:
        wanted = evaluate(exact(view.query.body), bags)
    except EvaluationError as error:  # the reference also asks about rows that other conditions drop
        run.not_compared.append(f"{of}: the reference interpreter has no value: {error.what}")
        return
    change = nested_bag(view.shape, run.snapshot) - wanted
    if change:
        what = "not what the reference interpreter gives on the nested relations"
        too_many, missing = (Sample.of_pairs(pairs) for pairs in (_above(change), _above(-change)))
        yield Difference(view.name, of, what, ("row",), too_many, missing)


def _above(bag: BagValue) -> list[Pair]:
    """The rows that are there more than 0 times, as text."""
    return [((canonical_text(value),), n) for value, n in bag if n > 0]
