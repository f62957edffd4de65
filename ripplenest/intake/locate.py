"""The bags of a state that a deep operation means: from the steps of an address to the ids of inner bags.

The address was checked against the row types when it was made (``ripplenest/api/address.py``); here it meets the rows.
"""

from attrs import frozen

from ripplenest.data.columns import columns, from_leaves, label_site
from ripplenest.errors import Ambiguous, UnknownKey, UnknownLabel
from ripplenest.intake.operations import Deep, Field, Where
from ripplenest.nrc.bags import LabelValue, Value, field_of
from ripplenest.schema.relation import Relation
from ripplenest.shred.contexts import child_path
from ripplenest.version.overlay import Overlay


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
