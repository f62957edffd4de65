"""Sizes of relations and stored parts without their values: symbols, and numbers for those whose rows are counted.

What has no row count keeps its symbol, so that the cost of a view can be told before there is any row.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import assert_never

from attrs import frozen

from ripplenest.cost.counts import Count, symbol
from ripplenest.cost.domains import ONE, BagCost, Cost, RecordCost, bottom, record_cost, sup
from ripplenest.cost.interpret import Sizes, cost, lookup_key
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.syntax import At, Expr
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type

STATES = (At.OLD, At.DELTA)  # R⁺ costs what R ⊎ ΔR does


Rows = Mapping[str, int]


def nested_sizes(
    relations: Mapping[str, Type], rows: Rows | None = None, largest: Rows | None = None
) -> dict[str, BagCost]:
    """size(R) and size(ΔR) of nested relations by key: ``|C|{⟨1, |C.orders|{…}⟩}``.

    ``rows`` of parts by key (``C``, ``ΔC``, ``C.orders``) take the place of symbols. A change of a counted part is one
    row unless it is counted, too. The size of inner bags is that of the largest (nrc-ivm, section 4.2: the supremum),
    where ``largest`` says what it is: costs bound what evaluation takes. Else it is the average, rounded up, in the
    change as before it: costs are estimates. Raises UnknownName on a counted change of a part that is not.
    """
    known = _Known(rows or {}, largest or {})
    return {at.show(name): known.bag(name, row, at, nested=False) for name, row in relations.items() for at in STATES}


def stored_sizes(
    bags: Mapping[str, Type], dictionaries: Mapping[str, Type], rows: Rows | None = None, largest: Rows | None = None
) -> dict[str, BagCost]:
    """The sizes of stored parts by key, as ``sizes_of`` has them: ``bags`` and ``dictionaries`` with their flat row
    types; of a dictionary also what one label stands for, under ``lookup_key``. ``rows`` and ``largest`` as above.
    """
    known, sizes = _Known(rows or {}, largest or {}), {}
    for at in STATES:
        for name, row in bags.items():
            sizes[at.show(name)] = BagCost(known.rows_of(name, at, total=False), bottom(row))
        for name, row in dictionaries.items():
            entry = RecordCost((("label", ONE), ("row", bottom(row))))
            sizes[at.show(name)] = BagCost(known.rows_of(name, at, total=True), entry)
            sizes[lookup_key(at.show(name))] = BagCost(known.one_bag(name, at), bottom(row))
    return sizes


def derived_sizes(
    sizes: Sizes,
    terms: Mapping[str, Expr],
    changes: Mapping[str, Sequence[Expr]],
    groups: Mapping[str, Type] | None = None,
) -> dict[str, BagCost]:
    """``sizes``, and those of stored maps: a map costs what its term does, its change what the largest of ``changes``.

    ``terms`` are in an order in which each reads parts and earlier maps only. ``groups`` are given by the rows that
    readers see: at most one for each row of the term, and for each row of a change one that goes and one that comes.
    Where rows are not counted, a group is a part of a size of its own, of which a batch changes less.
    """
    found = dict(sizes)
    for name, term in terms.items():
        found[name] = cost(term, found)
        least = BagCost(1, found[name].inner)  # a flat row costs the same everywhere
        found[At.DELTA.show(name)] = reduce(sup, (cost(change, found) for change in changes.get(name, ())), least)
        if groups is not None and name in groups:
            found |= _group_sizes(name, groups[name], found[name], found[At.DELTA.show(name)], bool(changes.get(name)))
    return found


def _group_sizes(name: str, row: Type, made: BagCost, change: BagCost, moves: bool) -> dict[str, BagCost]:
    delta = At.DELTA.show(name)
    if isinstance(made.count, int) and isinstance(change.count, int):
        changed = 2 * change.count if moves else made.count
        return {name: BagCost(made.count, bottom(row)), delta: BagCost(changed, bottom(row))}
    return {at.show(name): BagCost(symbol(name, at, total=False), bottom(row)) for at in (At.OLD, At.DELTA)}


@frozen
class _Known:
    """The parts whose rows are counted."""

    rows: Rows
    largest: Rows

    def rows_of(self, name: str, at: At, total: bool) -> Count:
        """All rows of a part."""
        key = at.show(name)
        if name not in self.rows:
            if key in self.rows:
                raise UnknownName(f"{key!r} is counted, {name!r} is not", got=name, possible=sorted(self.rows))
            return symbol(name, at, total)
        return max(self.rows.get(key, 1), 1)

    def one_bag(self, path: str, at: At, strict: bool = True) -> Count:
        """The rows of one bag below ``path``: of the largest, if that is known; all of a change can be in one bag."""
        if path in self.largest and path in self.rows:
            return max(self.largest[path] if at is At.OLD else self.rows.get(at.show(path), 1), 1)
        parent = next((self.rows[above] for above in _above(path) if above in self.rows), 0)
        if path not in self.rows or not parent:
            return symbol(path, at, strict=strict)
        return max(-(-self.rows.get(at.show(path), 1) // parent), 1)

    def bag(self, path: str, row: Type, at: At, nested: bool) -> BagCost:
        """size of the bag under ``path``."""
        below = self._value(row, f"{path}.[]" if isinstance(row, Bag) else path, at)
        if not nested:
            return BagCost(self.rows_of(path, at, total=False), below)
        counted = path in self.rows
        return BagCost(self.one_bag(path, At.OLD if counted else at, strict=False), below)

    def _value(self, a: Type, path: str, at: At) -> Cost:
        match a:
            case Base() | Label():
                return ONE
            case Record(fields):
                return record_cost(tuple((name, self._value(t, f"{path}.{name}", at)) for name, t in fields))
            case Bag(row) | Dict(row):
                return self.bag(path, row, at, nested=True)
            case _:
                assert_never(a)


def _above(path: str) -> list[str]:
    """The paths around ``path``, the nearest first."""
    steps = path.split(".")
    return [".".join(steps[:n]) for n in range(len(steps) - 1, 0, -1)]
