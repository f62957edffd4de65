"""What a deep operation means in a state: from the steps of an address to inner bags, or to stored rows.

The address was checked against the row types when it was made (``ripplenest/api/address.py``); here it meets the rows.
"""

from collections.abc import Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.data.rows import Row
from ripplenest.errors import Ambiguous, UnknownKey, UnknownLabel
from ripplenest.intake.operations import Deep, Field, Named, Set, Step, Where, way
from ripplenest.nrc.types import Record, is_plain
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

    def column(self, field: Named) -> int:
        """The column of a field of the record."""
        return self.part.column((*self.trail, *way(field)))


def inner_bags(overlay: Overlay, r: Relation, o: Deep, where: str) -> list[InnerBag]:
    """The bags that a deep operation means. Raises UnknownKey, UnknownLabel or Ambiguous."""
    if o.label is not None:
        return [_labelled(overlay, r, o.path, o.label, where)]
    (at,) = _chosen(overlay, r, [o.steps], where)
    return _entered(r, at, None if o.verb == "discard_key" else where)  # it is passed over, as a key that is not there


def chosen_rows(overlay: Overlay, r: Relation, o: Set, where: str) -> ChosenRows:
    """The rows whose fields are set. A record that is NULL has none, where all are meant. Raises UnknownKey,
    UnknownLabel or Ambiguous."""
    (at,) = _chosen(overlay, r, [o.steps], where)
    exists = at.part.exists(at.trail)
    there = {row: n for row, n in at.rows.items() if all(row[c] for c in exists)}
    if len(there) < len(at.rows) and not any(isinstance(step, Where) and step.many for step in o.steps):
        whole = [f"`.set({at.trail[0]}={{...}})` of the row that holds it"] if _is_plain(at) else []
        possible = [*whole, f"an upsert of the row of {at.part.name} that holds it, with the record"]
        raise UnknownLabel("this record is NULL", where=f"{where}: {at.path}", wanted="a record", possible=possible)
    return evolve(at, rows=there)


def _is_plain(at: ChosenRows) -> bool:
    """Whether the record in the rows, in which the way ends, holds no bags."""
    assert isinstance(at.part.flat, Record)
    found = at.part.flat.there.get(at.trail[0])
    return found is not None and is_plain(found)


def fetch(overlay: Overlay, r: Relation, group: Sequence[Deep | Set]) -> list[list[InnerBag]]:
    """Reads what the addresses of operations of one shape meet, at once for all of them; and the bags that each of them
    means, none for one that sets fields or goes wrong."""
    found = _chosen(overlay, r, [o.steps for o in group], None)
    return [_entered(r, at, None) if isinstance(o, Deep) else [] for o, at in zip(group, found, strict=True)]


def _chosen(overlay: Overlay, r: Relation, group: Sequence[Sequence[Step]], where: str | None) -> list[ChosenRows]:
    """For each of some addresses of one shape the rows that its last ``Where`` chose, and the fields after it. What
    goes wrong is raised under ``where``; without that it chooses nothing. A bag that is NULL has no rows where all are
    meant that have some fields, be it of those that hold bags or of those in them."""
    at = [ChosenRows(r.parts[r.name], {}) for _ in group]
    bags, many = [[InnerBag(r.parts[r.name], ())] for _ in group], False
    for steps in zip(*group, strict=True):
        if isinstance(steps[0], Field):
            at = [evolve(rows, trail=(*rows.trail, steps[0].name)) for rows in at]
            continue
        if at[0].trail:
            passed_over = many or steps[0].many
            bags = [_entered(r, rows, None if passed_over else where) for rows in at]
        part, many = r.parts[at[0].path], steps[0].many
        keys = [_keys(part, own, step) for own, step in zip(bags, steps, strict=True)]
        overlay.fetch(part.name, keys[0][0], [key for _, own in keys for key in own])
        at = [ChosenRows(part, _found(overlay, part, own, step)) for own, step in zip(keys, steps, strict=True)]
        for rows, step in zip(at, steps, strict=True) if where is not None else ():
            _check(rows.rows, step, part, f"{where}: {part.name}")
    return at


def _entered(r: Relation, at: ChosenRows, where: str | None) -> list[InnerBag]:
    """The inner bags at the end of the trail. One that is NULL is none, and raised under ``where``."""
    part, held = r.parts[at.path], at.part.held[at.path]
    labels = [tuple(row[c] for c in held) for row in at.rows]
    if where is not None and any(None in label for label in labels):
        how, is_row = "an upsert" if at.part.key else "delete and insert", at.part.name == r.name
        whole = f"{how} of the row of {at.part.name} that holds it, with the bag"
        possible = [f"{whole}: `b.upsert({at.part.name!r}, [...])`" if is_row and at.part.key else whole]
        raise UnknownLabel("this inner bag is NULL", where=f"{where}: {part.name}", wanted="a bag", possible=possible)
    return [InnerBag(part, label) for label in labels if None not in label]


def _labelled(overlay: Overlay, r: Relation, path: str, label: Row, where: str) -> InnerBag:
    """The bag ``label`` at ``path``, which some row must hold."""
    holder = r.holders[path]
    found = overlay.rows(holder.part.name, holder.found_by, label)
    if not any(tuple(row[c] for c in holder.columns) == label for row in found):
        got = ", ".join(map(str, label))
        raise UnknownLabel("no row holds this label", where=f"{where}: {path}", got=got)
    return InnerBag(r.parts[path], label)


def _keys(part: Part, bags: Sequence[InnerBag], step: Step) -> tuple[Columns, list[Row]]:
    """By which columns the rows of some bags are found that have the fields of ``step``, and the keys that are asked
    for."""
    values = _values(part, step)
    known = {*part.label, *values}
    wanted = part.key_columns if known.issuperset(part.key_columns or (-1,)) else tuple(sorted(known))
    return wanted, [tuple(values[c] if c in values else bag.label[c] for c in wanted) for bag in bags]


def _found(overlay: Overlay, part: Part, asked: tuple[Columns, list[Row]], step: Step) -> Found:
    """The rows with the keys ``asked`` that have the fields of ``step``, which one that is NULL has not."""
    values, (columns, keys) = {**_values(part, step), **dict.fromkeys(part.there, True)}, asked
    stored = ((row, n) for key in keys for row, n in overlay.rows(part.name, columns, key).items())
    # In tuples, the one NaN equals itself.
    return {row: n for row, n in stored if all((row[c],) == (v,) for c, v in values.items())}


def _values(part: Part, step: Step) -> dict[int, object]:
    """By column the fields that a step asks for."""
    assert isinstance(step, Where)
    return {part.column((name,)): value for name, value in step.fields}


def _check(found: Found, step: Step, part: Part, where: str) -> None:
    assert isinstance(step, Where)
    names = ", ".join(n for n, _ in step.fields)
    rows = sum(found.values())
    if not found and not step.many:
        possible = [*_adding(part, step), f"at_all({_spelled(step)}), which may be none"]
        raise UnknownKey(f"no row has this {names}", where=where, wanted="one row", got="none", possible=possible)
    if rows > 1 and not step.many:
        possible = [f"at_all({_spelled(step)}), which is all of them", "more fields"]
        got = f"{rows} rows"
        raise Ambiguous(f"several rows have this {names}", where=where, wanted="one row", got=got, possible=possible)


def _spelled(step: Where) -> str:
    return ", ".join(f"{n}=..." for n, _ in step.fields)


def _adding(part: Part, step: Where) -> list[str]:
    """What writes a row that may not be there yet, where the step asks for its key."""
    if not part.key or {*part.key} != {n for n, _ in step.fields}:
        return []
    verb = f'b.upsert("{part.name}", [...])' if "." not in part.name else "an upsert of the bag"
    return [f"{verb}, of whole rows, which adds it"]
