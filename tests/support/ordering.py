"""Rows in order, by Python's own comparisons: what the order over columns is compared with."""

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from math import isnan

from ripplenest.data.order import By, Ordering
from ripplenest.data.rows import Row
from ripplenest.nrc.types import Base
from support.choices import Choices
from support.edges import EDGES

KINDS = list(EDGES)
Counts = Mapping[Row, int]


def row_of(c: Choices, types: Sequence[Base], values: int = 100) -> Row:
    """A row of edge values, of few different ones for each type."""
    return tuple(c.pick([None, *EDGES[t][:values]]) for t in types)


def ordering(c: Choices, width: int, least: int = 0) -> Ordering:
    """Some columns are the key, and some order its rows, some of them among the key's; perhaps it is said how far these
    reach in one."""
    key = tuple(i for i in range(width) if i >= least and c.one_in(4))
    by = [i for i in range(width) if c.one_in(2)]
    by = by if c.one_in(2) else by[::-1]
    return Ordering(key, tuple(By(i, c.one_in(2), c.one_in(2)) for i in by), c.pick((None, c.number(width))))


def compared(a: object, b: object, by: By) -> int:
    """-1, 0 or 1, as a comes before b, is b, or comes after it."""
    if a is None or b is None:
        return ((a is None) - (b is None)) * (-1 if by.nulls_first else 1)
    pair = [(isnan(x), 0 if isnan(x) else x) if isinstance(x, float) else x for x in (a, b)]
    return ((pair[0] > pair[1]) - (pair[0] < pair[1])) * (-1 if by.descending else 1)


def in_order(o: Ordering) -> Callable[[Row], object]:
    """By what ``sorted`` sorts rows: the ordering, then all other columns in their order."""

    def compare(a: Row, b: Row) -> int:
        named = [by.column for by in o.by]
        every = [*o.by, *(By(i) for i in range(len(a)) if i not in named)]
        return next((n for by in every if (n := compared(a[by.column], b[by.column], by))), 0)

    return cmp_to_key(compare)


def key_of(row: Row, o: Ordering) -> str:
    """NaN is NaN, and 0 is no False."""
    return repr(tuple(row[c] for c in o.key))


def first_copies(counts: Counts, o: Ordering, limits: Callable[[Row], int]) -> dict[Row, int]:
    """What ``first_of`` finds among rows whose multiplicities are ``counts``."""
    taken: dict[str, int] = {}
    found: dict[Row, int] = {}
    for row in sorted((row for row, n in counts.items() if n), key=in_order(o)):
        key = key_of(row, o)
        n = min(counts[row], limits(row) - taken.get(key, 0))
        if n > 0:
            found[row] = n
            taken[key] = taken.get(key, 0) + n
    return found


def shown(counts: Counts) -> dict[str, int]:
    """By text: NaN is equal to itself there."""
    return {repr(row): n for row, n in counts.items()}
