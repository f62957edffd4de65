"""What a deep operation means in a state: from the steps of an address to inner bags, or to stored rows.

The address was checked against the row types when it was made (``ripplenest/api/address.py``); here it meets the rows.
"""

from collections.abc import Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.data.rows import Row
from ripplenest.errors import Ambiguous, UnknownKey, UnknownLabel
from ripplenest.intake.operations import Deep, Field, Set, Step, Where
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.places import child_path
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Found, Overlay


@frozen
class InnerBag:
    """One inner bag: the part that has its rows, and the columns of its label."""

    part: Part
    label: Row


@frozen
class ChosenRows:
    """Rows of a part, with their multiplicities, and the way to a record inside of them."""

    part: Part
    rows: Found
    trail: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Of the field at the end of the way."""
        return reduce(child_path, self.trail, self.part.name)

    def column(self, name: str) -> int:
        """The column of a base field of the record."""
        return self.part.column((*self.trail, name))


def inner_bags(overlay: Overlay, r: Relation, o: Deep, where: str) -> list[InnerBag]:
    """The bags that a deep operation means. Raises UnknownKey, UnknownLabel or Ambiguous."""
    if o.label is not None:
        return [_labelled(overlay, r, o.path, o.label, where)]
    return _entered(r, _chosen(overlay, r, o.steps, where), where)


def chosen_rows(overlay: Overlay, r: Relation, o: Set, where: str) -> ChosenRows:
    """The rows whose fields are set. Raises UnknownKey, UnknownLabel or Ambiguous."""
    return _chosen(overlay, r, o.steps, where)


def fetch(overlay: Overlay, r: Relation, group: Sequence[Deep | Set]) -> list[tuple[Part, list[Row]]]:
    """Reads what the addresses of operations of one shape meet, step by step at once for all of them; for each, the
    part and the labels of the bags where it ends, and no label where it ends at rows, or goes wrong."""
    root = r.parts[r.name]
    bags: list[list[Row]] = [[()] for _ in group]
    part, at = root, [ChosenRows(root, {}) for _ in group]
    for i, step in enumerate(group[0].steps):
        if isinstance(step, Field):
            at = [evolve(chosen, trail=(*chosen.trail, step.name)) for chosen in at]
            continue
        if at[0].trail:
            part, bags = _inside(r, at)
        asked = [o.steps[i] for o in group]
        keys = [key for of, where in zip(bags, asked, strict=True) for key in _keys(part, of, where)[1]]
        overlay.fetch(part.name, _keys(part, [], asked[0])[0], keys)
        at = [ChosenRows(part, _found(overlay, part, of, where)) for of, where in zip(bags, asked, strict=True)]
    if not at[0].trail:
        return [(part, []) for _ in group]
    part, bags = _inside(r, at)
    return [(part, labels) for labels in bags]


def _inside(r: Relation, at: Sequence[ChosenRows]) -> tuple[Part, list[list[Row]]]:
    """The part of the bags at the end of the one trail of all, and their labels; of NULL there are none."""
    path = at[0].path
    held = at[0].part.held[path]
    labels = [[tuple(row[c] for c in held) for row in chosen.rows] for chosen in at]
    return r.parts[path], [[label for label in found if None not in label] for found in labels]


def _chosen(overlay: Overlay, r: Relation, steps: Sequence[Step], where: str) -> ChosenRows:
    """The rows that the last ``Where`` of ``steps`` chose, and the fields after it."""
    at = ChosenRows(r.parts[r.name], {})
    bags = [InnerBag(at.part, ())]
    for step in steps:
        match step:
            case Where():
                if at.trail:
                    bags = _entered(r, at, where)
                part = bags[0].part
                found = _found(overlay, part, [bag.label for bag in bags], step)
                _check(found, step, f"{where}: {part.name}")
                at = ChosenRows(part, found)
            case Field(name):
                at = ChosenRows(at.part, at.rows, (*at.trail, name))
    return at


def _entered(r: Relation, at: ChosenRows, where: str) -> list[InnerBag]:
    """The inner bags at the end of the trail."""
    path = at.path
    labels = [tuple(row[c] for c in at.part.held[path]) for row in at.rows]
    if any(None in label for label in labels):
        possible = ["upsert", "delete"]
        raise UnknownLabel("this inner bag is NULL", where=f"{where}: {path}", wanted="a bag", possible=possible)
    return [InnerBag(r.parts[path], label) for label in labels]


def _labelled(overlay: Overlay, r: Relation, path: str, label: Row, where: str) -> InnerBag:
    """The bag ``label`` at ``path``, which some row must hold."""
    holder = r.holders[path]
    found = overlay.rows(holder.part.name, holder.found_by, label)
    if not any(tuple(row[c] for c in holder.columns) == label for row in found):
        got = ", ".join(map(str, label))
        raise UnknownLabel("no row holds this label", where=f"{where}: {path}", got=got)
    return InnerBag(r.parts[path], label)


def _keys(part: Part, labels: Sequence[Row], step: Step) -> tuple[Columns, list[Row]]:
    """By which columns the rows of the bags with these labels are found that have the fields of ``step``, and the keys
    that are asked for."""
    assert isinstance(step, Where)
    values = {part.column((name,)): value for name, value in step.fields}
    known = {*part.label, *values}
    wanted = part.key_columns if known.issuperset(part.key_columns or (-1,)) else tuple(sorted(known))
    return wanted, [tuple(values[c] if c in values else label[c] for c in wanted) for label in labels]


def _found(overlay: Overlay, part: Part, labels: Sequence[Row], step: Step) -> Found:
    """The rows of the bags with these labels that have the fields of ``step``."""
    assert isinstance(step, Where)
    wanted, keys = _keys(part, labels, step)
    overlay.fetch(part.name, wanted, keys)
    stored = ((row, n) for key in keys for row, n in overlay.rows(part.name, wanted, key).items())
    values = {part.column((name,)): value for name, value in step.fields}
    # In tuples, the one NaN equals itself.
    return {row: n for row, n in stored if all((row[c],) == (v,) for c, v in values.items())}


def _check(found: Found, step: Where, where: str) -> None:
    names = ", ".join(n for n, _ in step.fields)
    rows = sum(found.values())
    if not found and not step.many:
        raise UnknownKey(f"no row has this {names}", where=where, wanted="one row", got="none")
    if rows > 1 and not step.many:
        got = f"{rows} rows"
        raise Ambiguous(f"several rows have this {names}", where=where, wanted="one row", got=got, possible=["at_all"])
