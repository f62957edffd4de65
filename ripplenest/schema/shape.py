"""The shape of what is read: the nested type of a view or relation, and the stored tables that it is nested from.

Readers and publishers need this and nothing else of a program, so a relation, which has none, is read by the same code.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from ripplenest.data.labels import labels, width
from ripplenest.data.naming import digest
from ripplenest.delta.compile import dictionary_name
from ripplenest.delta.program import TriggerProgram
from ripplenest.nrc.printing import text
from ripplenest.nrc.printing.shown import INSIDE, Path, Shown, agreed
from ripplenest.nrc.rewriting.positive import may_be_negative
from ripplenest.nrc.syntax import Sorting, dict_row
from ripplenest.nrc.types import Bag, Base, Label, Record, Site, Type, has_columns, nullable
from ripplenest.schema.relation import Relation
from ripplenest.shred.contexts import stored_dictionaries, stored_rows
from ripplenest.shred.places import Place
from ripplenest.store.layouts import is_wider
from ripplenest.store.specs import Columns

VALUE = "value"  # the column of rows that are no records


@frozen
class FlatPart:
    """The table of the flat rows: columns of the flat type ``row``."""

    table: str
    row: Type


@frozen
class Dictionary:
    """The table of one site: columns of the label's parameters, then the columns of the flat ``row``.

    ``of_input``: it is a dictionary of a relation, whose labels a view passes on.
    """

    site: Site
    table: str
    stored: Type
    row: Type
    of_input: bool

    @property
    def label_width(self) -> int:
        return sum(width(t) for _, t in self.site.params)

    @property
    def label_columns(self) -> Columns:
        """The columns of the label."""
        return tuple(range(self.label_width))


@frozen(slots=False, repr=False)
class OutputShape:
    """``name`` shows rows of the nested type ``row``: those of ``flat``, with the bags that ``dictionaries`` define for
    their labels, outer ones first. ``fingerprint`` is that of the program that keeps the tables; a relation has none.
    ``found_by``: by dictionary of a relation, the columns by which the rows that hold its labels are found there.
    ``shown``: by path, how the rows of bags are sorted, those of all rows at (). ``is_signed``: stored rows may be
    there less than 0 times.
    """

    name: str
    row: Type
    flat: FlatPart
    dictionaries: tuple[Dictionary, ...]
    fingerprint: str = ""
    found_by: Mapping[str, Columns] = field(factory=dict, eq=False)
    shown: Shown = field(factory=dict, eq=False)
    is_signed: bool = field(default=False, eq=False)

    def __repr__(self) -> str:
        return f"OutputShape({text.path(self.name)}: {self.row})"

    @cached_property
    def _by_site(self) -> dict[str, Dictionary]:
        return {d.site.name: d for d in self.dictionaries}

    @property
    def sites(self) -> tuple[str, ...]:
        """Every site whose labels the output can hold, outer ones first."""
        return tuple(self._by_site)

    def dictionary(self, site: str) -> Dictionary:
        """The table that defines the labels of ``site``."""
        return self._by_site[site]

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The tables that are stored parts of relations."""
        own = {d.table for d in self.dictionaries if d.of_input}
        return frozenset(own if self.fingerprint else {*own, self.flat.table})

    @property
    def where(self) -> str:
        """Its place for messages."""
        return f"relation {self.name}" if self.flat.table in self.inputs else f"view {self.name}"

    def same_tables(self, other: "OutputShape") -> bool:
        """Whether both are nested from the same tables in the same way, whichever programs keep these."""
        return (self.row, self.flat, self.dictionaries) == (other.row, other.flat, other.dictionaries)

    @cached_property
    def structure(self) -> str:
        """A digest of what is the same of two definitions whose nested rows differ by what changed in their tables:
        the tables, how rows are nested from them, and in which order bags are shown."""
        return digest(repr((self.row, self.flat, self.dictionaries, sorted(self.shown.items()))))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read, the flat part first."""
        return (self.flat.table, *(d.table for d in self.dictionaries))


def shape_of(program: TriggerProgram) -> OutputShape:
    """What the view of ``program`` shows."""
    stored = stored_rows(program.relations, program.keys)

    def dictionary(site: str) -> Dictionary:
        if site in stored:
            return _dictionary(site, stored[site], of_input=True)
        table = dictionary_name(program.view, site)
        return _dictionary(table, program.by_name[table].row, of_input=False)

    flat = FlatPart(program.flat.name, program.flat.row)
    keys = dict(program.keys)
    own_found_by: dict[str, Columns] = {}
    for name, row in program.relations:
        own_found_by |= found_by(Relation(name, row, keys.get(name, ()), keys=program.keys))
    reached = _reached(flat.row, dictionary)
    shown = _shown(program, {d.site.name: d for d in reached})
    signed = any(may_be_negative(c) for m in program.maps for c in m.products)
    return OutputShape(program.view, program.row, flat, reached, program.fingerprint, own_found_by, shown, signed)


def _shown(program: TriggerProgram, dictionaries: Mapping[str, Dictionary]) -> Shown:
    """By path how rows are sorted, from the sites of the labels that come there."""
    by_site = dict(program.shown)

    def walk(a: Type, flat: Type, path: Path) -> Iterator[tuple[Path, tuple[Sorting, ...]]]:
        match a, flat:
            case Record(fields), Record(flats):
                for (name, inner), (_, own) in zip(fields, flats, strict=True):
                    yield from walk(inner, own, (*path, name))
            case Bag(row), Label(sites):
                for site in sites:
                    yield path, by_site.get(site.name, ())
                    yield from walk(row, dictionaries[site.name].row, (*path, INSIDE))

    found = [((), by_site.get("", ())), *walk(program.row, program.flat.row, (INSIDE,))]
    if not has_columns(program.row):  # shown as a record of one field
        found += walk(program.row, program.flat.row, (INSIDE, VALUE))
    return agreed(found)


def with_inputs(shape: OutputShape, inputs: Mapping[str, Dictionary]) -> OutputShape | None:
    """``shape`` over dictionaries of relations that got other fields since: the bags that it passes on show these. None
    where their labels have values of other types, or rows of the view's own are in one bag with theirs.

    Law: with the ``inputs`` that it has it is ``shape``.
    """
    own = {d.site.name: d for d in shape.dictionaries}
    passed = {name: d.site for name, d in own.items() if d.of_input}
    if any(name not in inputs or not _alike(inputs[name].site, site) for name, site in passed.items()):
        return None
    reached = _reached(shape.flat.row, lambda site: inputs[site] if site in inputs else own[site])
    row = _nested(shape.row, shape.flat.row, {d.site.name: d for d in reached})
    return None if row is None else evolve(shape, row=row, dictionaries=reached)


def _alike(a: Site, b: Site) -> bool:
    """Whether labels have the same columns: a key that was renamed is in its place."""
    return [t for _, t in a.params] == [t for _, t in b.params]


def _nested(old: Type | None, flat: Type, dictionaries: Mapping[str, Dictionary]) -> Type | None:
    """The type of what rows of a ``flat`` type are nested to, which was ``old`` where there was one: nothing else says
    what may be NULL for the view, or is in a bag that no place makes. None for a bag of rows of several types."""
    match flat, old:
        case Record(fields), _:
            known = dict(old.fields) if isinstance(old, Record) else {}
            found = [(name, _nested(known.get(name), t, dictionaries)) for name, t in fields]
            kept = tuple((name, t) for name, t in found if t is not None)
            return Record(kept) if len(kept) == len(found) else None
        case Label(sites, is_null), _ if sites:
            row, may_be = (old.row, old.nullable) if isinstance(old, Bag) else (None, False)
            rows = {_nested(row, dictionaries[site.name].row, dictionaries) for site in sites}
            one = rows.pop()
            return None if rows or one is None else Bag(one, is_null or may_be)
        case Label(), Bag():
            return old
        case Base(), Base():
            return old if is_wider(flat, old) else nullable(flat) if old.nullable else flat
        case _:
            return flat


def shapes(program: TriggerProgram) -> Iterator[Dictionary]:
    """The dictionaries of the relations that a view reads."""
    for name, row in program.relations:
        for d in stored_dictionaries(row, Place.of(name, row, program.keys)):
            yield _dictionary(d.name, dict_row(d.row, d.name, d.params), of_input=True)


def shape_of_relation(r: Relation) -> OutputShape:
    """What a relation shows: it is the view that is nothing but the relation."""
    flat = FlatPart(r.name, r.parts[r.name].flat)
    found = _reached(flat.row, lambda site: _dictionary(site, r.parts[site].stored, of_input=True))
    return OutputShape(r.name, r.row, flat, found, found_by=found_by(r))


def found_by(r: Relation) -> dict[str, Columns]:
    """By dictionary of a relation, the columns by which the rows that hold its labels are found."""
    return {site: holder.found_by for site, holder in r.holders.items()}


def _dictionary(table: str, stored: Type, of_input: bool) -> Dictionary:
    assert isinstance(stored, Record)
    label, row = stored.get("label"), stored.get("row")
    assert isinstance(label, Label)
    assert row is not None
    return Dictionary(label.sites[0], table, stored, row, of_input)


def _reached(flat: Type, dictionary: Callable[[str], Dictionary]) -> tuple[Dictionary, ...]:
    """The dictionaries of all labels that ``flat`` and their rows can hold."""
    found: dict[str, Dictionary] = {}
    todo = [flat]
    while todo:
        for _, label in labels(todo.pop(0)):
            for site in label.sites:
                if site.name not in found:
                    found[site.name] = dictionary(site.name)
                    todo.append(found[site.name].row)
    return tuple(found.values())
