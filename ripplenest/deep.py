"""Deep updates: from ``at(custkey=7).orders.at(orderkey=11).items`` to the ids of the bags that it means.

``At`` and ``Into`` are what the user chains; they check every step against the row types and change nothing.
``resolve`` finds the bags in the state when the batch runs.
"""

from collections.abc import Callable, Iterator

from attrs import evolve, frozen

from ripplenest.nrc.bags import LabelValue, Value, field_of
from ripplenest.nrc.errors import Ambiguous, TypeMismatch, UnknownKey, UnknownLabel, UnknownName
from ripplenest.nrc.types import Bag, Base, Record, Type
from ripplenest.nrc.values import to_value
from ripplenest.operations import Deep, Field, Step, Verb, Where
from ripplenest.overlay import Overlay
from ripplenest.plan.columns import columns, from_leaves, label_site
from ripplenest.relation import Relation
from ripplenest.shred.contexts import child_path

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


class Rows:
    """Rows chosen by ``at``: its fields lead to inner bags. ``["insert"]`` reaches a field with a method's name."""

    def __init__(self, address: _Address) -> None:
        self._address = address

    def __getattr__(self, name: str) -> "Rows | Inner":
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> "Rows | Inner":
        a = self._address
        fields = dict(a.type.fields) if isinstance(a.type, Record) else {}
        if name not in fields:
            raise UnknownName("there is no such field", where=a.path, got=name, possible=fields)
        below = evolve(a, path=child_path(a.path, name), type=fields[name], steps=(*a.steps, Field(name)))
        if isinstance(below.type, Record):
            return Rows(below)
        if isinstance(below.type, Bag):
            return Inner(below)
        raise TypeMismatch("a deep update reaches inner bags", where=below.path, wanted="a bag", got=below.type)


class Inner:
    """An inner bag: insert and delete its rows, or choose some of them and go deeper."""

    def __init__(self, address: _Address) -> None:
        self._address = address

    def insert(self, rows: object) -> None:
        """Add ``rows`` (dicts, records or base values) to the bag."""
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

    def _write(self, verb: Verb, rows: object) -> None:
        a = self._address
        assert isinstance(a.type, Bag)
        values = to_value(rows, Bag(a.type.row), "rows")
        listed = tuple(row for row, n in values for _ in range(n))  # type: ignore[attr-defined]
        a.emit(Deep(verb, a.relation.name, a.path, a.steps, a.label, listed))

    def _chosen(self, fields: dict[str, object], many: bool) -> Rows:
        a = self._address
        if a.label is not None:
            raise TypeMismatch("a label names the bag itself", where=a.path, possible=["insert", "delete"])
        assert isinstance(a.type, Bag)
        return Rows(evolve(a, type=a.type.row, steps=(*a.steps, _where(a.type.row, fields, many, a.path))))


def start(relation: Relation, label: object, fields: dict[str, object], many: bool, emit: Emit) -> Rows:
    """The rows of a relation that a batch's ``at`` chooses: by fields, or whichever row holds the bag ``label``."""
    if label is not None:
        if fields:
            raise TypeMismatch("either a label or fields", where=relation.name, got=sorted(fields))
        return Rows(_Address(relation, relation.name, relation.row, (), label_id(label, relation.name), emit))
    step = _where(relation.row, fields, many, relation.name)
    return Rows(_Address(relation, relation.name, relation.row, (step,), None, emit))


def label_id(label: object, where: str) -> str:
    """The id in a label, given as a string, or as the label column of ``flat()`` or ``dictionaries()``."""
    if isinstance(label, str):
        return label
    if isinstance(label, LabelValue) and len(label.args) == 1 and isinstance(label.args[0], str):
        return label.args[0]
    found = label.get("id") if isinstance(label, dict) else getattr(label, "id", None)
    if isinstance(found, str):
        return found
    raise UnknownLabel("not a label of an input relation", where=where, wanted="its id", got=type(label).__name__)


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
                rows = _chosen(_top(overlay, r, step), step, f"{where}: {path}")
            case Where():
                found = [row for row in rows for row in _bag_rows(overlay, r, path, row, where)]
                rows = _chosen(iter(found), step, f"{where}: {path}")
            case Field(name):
                path = child_path(path, name)
                rows = [field_of(row, name) for row in rows]
    return [_place(path, label, where) for label in rows]


def _place(path: str, label: Value, where: str) -> Place:
    if not isinstance(label, LabelValue):
        raise UnknownLabel("this inner bag is NULL", where=f"{where}: {path}", wanted="a bag", possible=["upsert"])
    return Place(path, str(label.args[0]))


def _labelled(overlay: Overlay, r: Relation, path: str, label: str, where: str) -> Place:
    """The bag ``label`` at ``path``, which some row must hold."""
    for part in r.parts.values():
        for column in part.labels:
            if label_site(part.stored, column) == path and overlay.rows(part.name, (column,), (label,)):
                return Place(path, label)
    raise UnknownLabel("no row holds this label", where=f"{where}: {path}", got=label)


def _top(overlay: Overlay, r: Relation, step: Where) -> Iterator[Value]:
    part = r.parts[r.name]
    if r.key and {n for n, _ in step.fields} == set(r.key):
        values = dict(step.fields)
        paths = columns(part.stored)
        stored = overlay.rows(r.name, r.key_columns, tuple(values[paths[c].path] for c in r.key_columns))
    else:
        stored = overlay.scan(r.name)
    return (from_leaves(row, part.stored) for row, n in stored.items() for _ in range(max(n, 0)))


def _bag_rows(overlay: Overlay, r: Relation, path: str, label: Value, where: str) -> Iterator[Value]:
    place = _place(path, label, where)
    part = r.parts[path]
    for row, n in overlay.rows(path, (0,), (place.id,)).items():
        for _ in range(max(n, 0)):
            yield field_of(from_leaves(row, part.stored), "row")


def _chosen(rows: Iterator[Value], step: Where, where: str) -> list[Value]:
    found = [row for row in rows if all(field_of(row, n) == v for n, v in step.fields)]
    names = ", ".join(n for n, _ in step.fields)
    if not found:
        raise UnknownKey(f"no row has this {names}", where=where, wanted="one row", got="none")
    if len(found) > 1 and not step.many:
        got = f"{len(found)} rows"
        raise Ambiguous(f"several rows have this {names}", where=where, wanted="one row", got=got, possible=["at_all"])
    return found
