"""s and u on values (nrc-ivm, figure 9): nested rows to flat rows with labels and back.

The paper leaves the association D_C between bags and labels open. Here a label names the *place* of a bag, not its
contents: two equal bags in two rows have two labels, so that a deep update reaches one of them. The caller says how
a place is named (``Namer``); the store names it from the key, or from the batch and the content.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, assert_never

from attrs import frozen

from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.shred.contexts import child_path, stored_parts


class Namer(Protocol):
    """How places and the rows of inner bags are identified. Answers must not depend on the order of rows."""

    def place(self, path: str, identity: str) -> str:
        """The id of the bag at ``path`` of the row ``identity``: what its label holds."""

    def row(self, path: str, place: str, value: Value) -> str:
        """The identity of one row of the bag at ``place``; asked once per occurrence, and only for rows with bags."""


Resolve = Callable[[LabelValue], BagValue | None]


@frozen
class Entry:
    """One flat row of one stored dictionary: under ``label``, ``row`` with multiplicity ``count``."""

    part: str
    label: LabelValue
    row: Value
    count: int


def shred_row(value: Value, row: Type, path: str, identity: str, name: Namer) -> tuple[Value, list[Entry]]:
    """s^F(value) and the entries of s^Γ for one row of the bag stored under ``path``.

    ``identity`` says which row of its bag this is; labels of its inner bags are named from it.
    """
    entries: list[Entry] = []
    flat = _shred(value, row, child_path(path, "[]") if isinstance(row, Bag) else path, identity, name, entries)
    return flat, entries


def _shred(value: Value, a: Type, path: str, identity: str, name: Namer, entries: list[Entry]) -> Value:
    match a:
        case Record(fields):
            return tuple(
                (n, _shred(field_of(value, n), t, child_path(path, n), identity, name, entries)) for n, t in fields
            )
        case Bag(row):
            if not isinstance(value, BagValue):
                return None
            label = LabelValue(path, (name.place(path, identity),))
            entries.extend(shred_bag(value, row, path, label, name))
            if not value:
                entries.append(Entry(path, label, None, 0))  # an empty bag is defined, and has no rows
            return label
        case Base() | Label() | Dict():
            return value


def shred_bag(bag: BagValue, row: Type, path: str, label: LabelValue, name: Namer) -> Iterator[Entry]:
    """The definition of ``label``, which stands for ``bag`` at ``path``, and those of all labels inside."""
    place = str(label.args[0])
    for inner, n in occurrences(bag, row):
        identity = name.row(path, place, inner) if has_bag(row) else ""
        flat, below = shred_row(inner, row, path, identity, name)
        yield Entry(path, label, flat, n)
        yield from below


def occurrences(bag: BagValue, row: Type) -> Iterator[tuple[Value, int]]:
    """The rows of ``bag``; a row with inner bags comes once per occurrence, because each has its own labels."""
    for value, n in bag:
        if has_bag(row) and n > 0:
            yield from ((value, 1) for _ in range(n))
        else:
            yield value, n


def has_bag(t: Type) -> bool:
    """True when values of ``t`` hold inner bags."""
    match t:
        case Bag():
            return True
        case Record(fields):
            return any(has_bag(f) for _, f in fields)
        case _:
            return False


def nest(flat: BagValue, row: Type, resolve: Resolve) -> BagValue:
    """u: the nested bag of rows ``row`` that the flat bag stands for. Raises CorruptState on an undefined label.

    Law (lemma 6): nest(s^F(v), s^Γ) = v.
    """
    value_of = _nester(row, resolve)
    return BagValue.weighted((value_of(value), n) for value, n in flat)


def _nester(a: Type, resolve: Resolve) -> Callable[[Value], Value]:
    """u for the values of one type, which is looked at once and not for each value."""
    match a:
        case Record(fields):
            if not has_bag(a):
                return _same
            of = [(n, _nester(t, resolve)) for n, t in fields]
            return lambda value: tuple((n, inner(field_of(value, n))) for n, inner in of)
        case Bag(row):
            return _looked_up(_nester(row, resolve), resolve)
        case Base() | Label() | Dict():
            return _same
        case _:
            assert_never(a)


def _same(value: Value) -> Value:
    return value


def _looked_up(value_of: Callable[[Value], Value], resolve: Resolve) -> Callable[[Value], Value]:
    """The bag of a label; a bag that several rows hold is made once."""
    memo: dict[LabelValue, BagValue] = {}

    def bag_of(label: Value) -> Value:
        if not isinstance(label, LabelValue):
            return None
        if label not in memo:
            found = resolve(label)
            if found is None:
                raise CorruptState("a label without definition (nrc-ivm, definition 1)", got=label)
            memo[label] = BagValue.weighted((value_of(v), n) for v, n in found)
        return memo[label]

    return bag_of


Parts = dict[str, BagValue | dict[LabelValue, BagValue]]


def shred_relation(bag: BagValue, row: Type, relation: str, identities: Callable[[int], str], name: Namer) -> Parts:
    """⟨R^F, R^Γ⟩ of a whole relation: its flat bag under ``relation`` and each dictionary under its path."""
    flats: list[tuple[Value, int]] = []
    entries: list[Entry] = []
    for i, (value, n) in enumerate(occurrences(bag, row)):
        flat, below = shred_row(value, row, relation, identities(i), name)
        flats.append((flat, n))
        entries.extend(below)
    parts: Parts = {part: {} for part in stored_parts(relation, row)}
    return {**parts, relation: BagValue.weighted(flats), **gather(entries)}


def gather(entries: list[Entry]) -> dict[str, dict[LabelValue, BagValue]]:
    """Entries as dictionaries; a label with an empty bag is in the support."""
    rows: dict[str, dict[LabelValue, list[tuple[Value, int]]]] = {}
    for e in entries:
        rows.setdefault(e.part, {}).setdefault(e.label, []).append((e.row, e.count))
    return {
        part: {label: BagValue.weighted(pairs) for label, pairs in labels.items()} for part, labels in rows.items()
    }


def resolver(parts: Mapping[str, object]) -> Resolve:
    """Looks labels up in the dictionaries of ``parts``, which are named like the labels' sites."""

    def resolve(label: LabelValue) -> BagValue | None:
        part = parts.get(label.site)
        found = part.get(label) if isinstance(part, Mapping) else None
        return found if isinstance(found, BagValue) else None

    return resolve
