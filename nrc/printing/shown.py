"""The order in which rows of bags are shown: at the edge, where a bag becomes a list."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.functions.ordering import Direction
from ripplenest.nrc.syntax import Sorting
from ripplenest.nrc.types import EXISTS

Path = tuple[str, ...]  # of a bag in a row: fields, and INSIDE for the rows of a bag
Shown = Mapping[Path, tuple[Sorting, ...]]
INSIDE = "[]"
THERE, NOT_THERE = ((EXISTS, True),), ((EXISTS, False),)  # how values of records that may be NULL begin
ANYHOW: Shown = {}


def agreed(orders: Iterable[tuple[Path, tuple[Sorting, ...]]]) -> Shown:
    """By path how rows are sorted: a bag that comes from several places is, where all of them say the same."""
    found: dict[Path, set[tuple[Sorting, ...]]] = defaultdict(set)
    for path, order in orders:
        found[path].add(order)
    return {path: min(ways) for path, ways in found.items() if len(ways) == 1 and ways != {()}}


def in_order(bag: BagValue, order: tuple[Sorting, ...]) -> list[tuple[Value, int]]:
    """The rows of ``bag``, sorted; those that agree, and all where there is no order, by all that they hold. Who
    agrees comes with NULL last, as among columns (``ripplenest/data/order.py``)."""
    rows = sorted(bag, key=lambda pair: sort_key(pair[0], nulls_last=bool(order)))
    for by in reversed(order):
        way = Direction(by.descending, by.nulls_first)
        own = [way.of(reduce(field_of, by.path, value)) for value, _ in rows]
        rows = [rows[i] for i in sorted(range(len(rows)), key=own.__getitem__, reverse=by.descending)]
    return rows


def sort_key(value: Value, nulls_last: bool = False) -> tuple[Any, ...]:
    """A total order over the values of one type: NULL first unless it is last, NaN behind all numbers, bags by their
    sorted contents."""
    match value:
        case None:
            return (2 if nulls_last else 0,)
        case float():
            return (1, math.isnan(value), 0.0 if math.isnan(value) else value)
        case tuple():
            told = value[:1] if value[:1] == NOT_THERE else value  # nobody sees what else it holds
            return (1, *(sort_key(v, nulls_last) for _, v in told))
        case BagValue():
            return (1, *sorted((sort_key(v, nulls_last), n) for v, n in value))
        case LabelValue(site, args):
            return (1, site, *(sort_key(v, nulls_last) for v in args))
        case _:
            return (1, value)
