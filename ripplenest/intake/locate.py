"""Deep updates: from ``at(custkey=7).orders.at(orderkey=11).items`` to the ids of the bags that it means.

``At`` and ``Into`` are what the user chains; they check every step against the row types and change nothing.
``resolve`` finds the bags in the state when the batch runs.
"""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from ripplenest.data.columns import columns, from_leaves, label_site
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.operations import Deep, Field, Step, Verb, Where
from ripplenest.nrc.bags import LabelValue, Value, field_of
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import Ambiguous, Immutable, TypeMismatch, UnknownKey, UnknownLabel, UnknownName
from ripplenest.nrc.types import STRING, Bag, Base, Record, Type
from ripplenest.nrc.values import to_value
from ripplenest.schema.relation import Relation
from ripplenest.shred.contexts import child_path
from ripplenest.version.overlay import Overlay

Emit = Callable[[Deep], None]


@frozen
class _Address:
    """Where a chain has arrived: the path of the field, its type, and the steps to it."""

    relation: Relation
    path: str
    type: Type
    steps: tuple[Step, ...]
    label: str | None
    emit: Emit


@public
class Rows:
    """Rows chosen by ``at``: their fields lead to inner bags, ``.orders`` or ``["orders"]``."""

    def __init__(self, address: _Address) -> None:
        self._address = address

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return _field(self._address, self._address.type, name)


def _field(a: _Address, row: Type, name: str) -> "Rows | Inner":
    fields = dict(row.fields) if isinstance(row, Record) else {}
    if name not in fields:
        raise UnknownName("there is no such field", where=a.path, got=name, possible=fields)
    below = evolve(a, path=child_path(a.path, name), type=fields[name], steps=(*a.steps, Field(name)))
    if isinstance(below.type, Record):
        return Rows(below)
    if isinstance(below.type, Bag):
        return Inner(below)
    raise TypeMismatch("a deep update reaches inner bags", where=below.path, wanted="a bag", got=below.type)


@public
class Inner:
    """An inner bag: insert and delete its rows, or choose some of them and go deeper.

    Below a label no rows are chosen: fields spell the path of the label's bag, ``["insert"]`` for a method's name.
    """

    def __init__(self, address: _Address) -> None:
        self._address = address

    def insert(self, rows: object) -> None:
        """Add ``rows`` to the bag: dicts, records, base values, a pyarrow.Table or a DataFrame."""
        self._write("insert", rows)

    def delete(self, rows: object) -> None:
        """Take ``rows`` out of the bag; each must be there."""
        self._write("delete", rows)

    def at(self, **fields: object) -> Rows:
        """The one row with these fields; an error when none or several match."""
        return self._chosen(fields, many=False)

    def at_all(self, **fields: object) -> Rows:
        """Every row with these fields; an error when none matches."""
        return self._chosen(fields, many=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        a = self._address
        assert isinstance(a.type, Bag)
        if a.label is None:
            possible = ["insert", "delete", "at", "at_all"]
            raise UnknownName("a bag has rows to choose, not fields", where=a.path, got=name, possible=possible)
        return _field(a, a.type.row, name)

    def _write(self, verb: Verb, rows: object) -> None:
        a = self._address
        assert isinstance(a.type, Bag)
        if a.path in a.relation.fixed:
            what = "the relation declares this bag immutable"
            raise Immutable(what, where=a.path, got=verb, possible=["upsert", "delete and insert its row"])
        values = read_rows(rows, a.type.row, f"{verb} {a.path}: rows")
        a.emit(Deep(verb, a.relation.name, a.path, a.steps, a.label, values))

    def _chosen(self, fields: dict[str, object], many: bool) -> Rows:
        a = self._address
        if a.label is not None:
            raise TypeMismatch("a label names the bag itself", where=a.path, possible=["insert", "delete"])
        assert isinstance(a.type, Bag)
        return Rows(evolve(a, type=a.type.row, steps=(*a.steps, _where(a.type.row, fields, many, a.path))))


def start(relation: Relation, fields: dict[str, object], many: bool, emit: Emit) -> Rows:
    """The rows of a relation that a batch's ``at`` chooses: by fields, or whichever row holds the bag ``label``."""
    if not many and "label" in fields and not _is_field(relation.row, "label", fields["label"]):
        if len(fields) > 1:
            raise TypeMismatch("either a label or fields", where=relation.name, got=sorted(fields))
        label = label_id(fields["label"], relation.name)
        return Rows(_Address(relation, relation.name, relation.row, (), label, emit))
    step = _where(relation.row, fields, many, relation.name)
    return Rows(_Address(relation, relation.name, relation.row, (step,), None, emit))


def _is_field(row: Type, name: str, value: object) -> bool:
    """Whether ``value`` is for the base field ``name`` of the row, rather than a label's struct."""
    base = isinstance(row, Record) and isinstance(dict(row.fields).get(name), Base)
    return base and not isinstance(value, LabelValue | dict) and not hasattr(value, "asDict")


def label_id(label: object, where: str) -> str:
    """The id in a label, given as a string, or as the label column of ``flat()`` or ``dictionaries()``."""
    found = _id_of(label)
    if not isinstance(found, str):
        what = "not a label of an input relation"
        raise UnknownLabel(what, where=where, wanted="its id", got=type(label).__name__)
    to_value(found, STRING, f"{where}: label")
    return found


def _id_of(label: object) -> object:
    if isinstance(label, str):
        return label
    if isinstance(label, LabelValue):
        return label.args[0] if len(label.args) == 1 else None
    as_dict = getattr(label, "asDict", None)  # a Spark row, without importing Spark
    fields = as_dict() if callable(as_dict) else label
    if isinstance(fields, dict):
        # A label of several sites says which made it, and has the id as ``<site>.id``.
        return fields.get(f"{fields.get('site')}.id", fields.get("id"))
    return None


def _where(row: Type, fields: dict[str, object], many: bool, where: str) -> Where:
    own = dict(row.fields) if isinstance(row, Record) else {}
    base = {n: t for n, t in own.items() if isinstance(t, Base)}
    if not fields:
        raise UnknownKey("at() needs at least one field", where=where, possible=base)
    for name in fields:
        if name not in base:
            raise UnknownName("rows are addressed by base fields", where=where, got=name, possible=base)
    return Where(tuple((n, to_value(v, base[n], f"{where}.{n}")) for n, v in sorted(fields.items())), many)


# ---------------------------------------------------------------- in the state


@frozen
class Place:
    """One inner bag: the table of its dictionary and its id."""

    part: str
    id: str


def resolve(overlay: Overlay, r: Relation, o: Deep, where: str) -> list[Place]:
    """The bags that a deep operation means. Raises UnknownKey, UnknownLabel or Ambiguous."""
    if o.label is not None:
        return [_labelled(overlay, r, o.path, o.label, where)]
    rows: list[Value] = []
    path = r.name
    for i, step in enumerate(o.steps):
        match step:
            case Where() if i == 0:
                rows = _chosen(_found(overlay, r, path, step), step, f"{where}: {path}")
            case Where():
                bags = [_place(path, label, where).id for label in rows]
                found = [row for bag in bags for row in _found(overlay, r, path, step, bag)]
                rows = _chosen(found, step, f"{where}: {path}")
            case Field(name):
                path = child_path(path, name)
                rows = [field_of(row, name) for row in rows]
    return [_place(path, label, where) for label in rows]


def _place(path: str, label: Value, where: str) -> Place:
    if not isinstance(label, LabelValue):
        possible = ["upsert", "delete"]
        raise UnknownLabel("this inner bag is NULL", where=f"{where}: {path}", wanted="a bag", possible=possible)
    return Place(path, str(label.args[0]))


def _labelled(overlay: Overlay, r: Relation, path: str, label: str, where: str) -> Place:
    """The bag ``label`` at ``path``, which some row must hold."""
    for part in r.parts.values():
        for column in part.labels:
            if label_site(part.stored, column) == path and overlay.rows(part.name, (column,), (label,)):
                return Place(path, label)
    raise UnknownLabel("no row holds this label", where=f"{where}: {path}", got=label)


def _found(overlay: Overlay, r: Relation, path: str, step: Where, bag: str | None = None) -> list[tuple[Value, int]]:
    """The rows stored under ``path`` (of the inner bag ``bag``) that have the fields of ``step``."""
    part = r.parts[path]
    paths = [c.path for c in columns(part.flat)]
    values = {paths.index(name) + part.inner: value for name, value in step.fields}
    if bag is not None:
        values[0] = bag
    by_key = bag is None and r.key and values.keys() >= set(r.key_columns)
    wanted = r.key_columns if by_key else tuple(sorted(values))
    stored = overlay.rows(part.name, wanted, tuple(values[c] for c in wanted))
    # In tuples, the one NaN equals itself.
    equal = ((row, n) for row, n in stored.items() if all((row[c],) == (v,) for c, v in values.items()))
    rows = ((from_leaves(row, part.stored), n) for row, n in equal)
    return [(field_of(row, "row") if part.inner else row, n) for row, n in rows]


def _chosen(found: list[tuple[Value, int]], step: Where, where: str) -> list[Value]:
    names = ", ".join(n for n, _ in step.fields)
    rows = sum(n for _, n in found)
    if not found:
        raise UnknownKey(f"no row has this {names}", where=where, wanted="one row", got="none")
    if rows > 1 and not step.many:
        got = f"{rows} rows"
        raise Ambiguous(f"several rows have this {names}", where=where, wanted="one row", got=got, possible=["at_all"])
    return [row for row, _ in found]
