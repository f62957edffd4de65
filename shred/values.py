"""s and u on values (nrc-ivm, figure 9): nested rows to flat rows with labels and back.

The paper leaves the association D_C between bags and labels open. Here a label names the *place* of a bag, not its
contents: two equal bags in two rows have two labels, so that a deep update reaches one of them. It is made of the keys
of the rows around the bag (``shred/places.py``); where rows have none, the caller numbers them (``Namer``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, assert_never

from attrs import frozen

from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.printing.shown import sort_key
from ripplenest.nrc.syntax import Keys
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.shred.contexts import stored_parts
from ripplenest.shred.places import Place


class Namer(Protocol):
    """How rows without a key are identified. Answers must not depend on the order in which rows came."""

    def numbers(self, place: Place, outer: tuple[Value, ...], rows: Sequence[Value]) -> Iterable[int]:
        """What identifies each of ``rows``, which are all those that come into the bag whose label is made of
        ``outer``, in an order of their own; asked only for rows with bags."""


Resolve = Callable[[LabelValue], BagValue | None]


@frozen
class Entry:
    """One flat row of one stored dictionary: under ``label``, ``row`` with multiplicity ``count``."""

    part: str
    label: LabelValue
    row: Value
    count: int


def shred_rows(
    bag: Iterable[tuple[Value, int]], row: Type, place: Place, outer: tuple[Value, ...], name: Namer
) -> Iterator[tuple[Value, int, list[Entry]]]:
    """s^F(value) and the entries of s^Γ for each row, of type ``row``, of the bag whose label is made of ``outer``.

    A row with inner bags comes once per occurrence, because each has labels of its own.
    """
    if not has_bag(row):
        yield from ((value, n, []) for value, n in bag)
        return
    each = [one for value, n in _in_order(bag, place) for one in ([(value, 1)] * n if n > 0 else [(value, n)])]
    for (value, n), own in zip(each, _identities([value for value, _ in each], place, outer, name), strict=True):
        entries: list[Entry] = []
        yield _shred(value, row, place, own, name, entries), n, entries


def _in_order(bag: Iterable[tuple[Value, int]], place: Place) -> Iterable[tuple[Value, int]]:
    """Rows that are numbered come in their own order."""
    return bag if place.key else sorted(bag, key=lambda pair: sort_key(pair[0]))


def _identities(
    rows: Sequence[Value], place: Place, outer: tuple[Value, ...], name: Namer
) -> Iterable[tuple[Value, ...]]:
    """What identifies each row, of which its labels are made."""
    if place.key:
        return ((*outer, *(field_of(value, k) for k in place.key)) for value in rows)
    return ((number,) for number in name.numbers(place, outer, rows))


def _shred(value: Value, a: Type, place: Place, own: tuple[Value, ...], name: Namer, entries: list[Entry]) -> Value:
    match a:
        case Record(fields):
            return tuple((n, _shred(field_of(value, n), t, place.field(n), own, name, entries)) for n, t in fields)
        case Bag(row):
            if not isinstance(value, BagValue):
                return None
            label = LabelValue(place.path, own)
            entries.extend(shred_bag(value, row, place, label, name))
            if not value:
                entries.append(Entry(place.path, label, None, 0))  # an empty bag is defined, and has no rows
            return label
        case Base() | Label() | Dict():
            return value


def shred_bag(bag: BagValue, row: Type, place: Place, label: LabelValue, name: Namer) -> Iterator[Entry]:
    """The definition of ``label``, which stands for ``bag`` at ``place``, and those of all labels inside."""
    for flat, n, below in shred_rows(bag, row, place.rows(row), label.args, name):
        yield Entry(place.path, label, flat, n)
        yield from below


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


def shred_relation(bag: BagValue, row: Type, relation: str, keys: Keys, name: Namer) -> Parts:
    """⟨R^F, R^Γ⟩ of a whole relation: its flat bag under ``relation`` and each dictionary under its path."""
    flats: list[tuple[Value, int]] = []
    entries: list[Entry] = []
    for flat, n, below in shred_rows(bag, row, Place.of(relation, row, keys), (), name):
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
