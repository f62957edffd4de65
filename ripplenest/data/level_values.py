"""Values of the calculus as levels, and back.

Laws: of_values(values_of(l)) has the rows of l; values_of(of_values(v)) = v.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import assert_never

import numpy as np
import pyarrow as pa

from ripplenest.data.levels import Bags, Level
from ripplenest.data.rows import arrow_columns, arrow_type, python_column
from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, is_flat


def of_values(values: Sequence[Value], t: Type) -> Level:
    """Canonical ``values`` of the nested type ``t``, one row each; multiplicities in bags are 1 or more."""
    columns: list[pa.Array] = []
    bags: list[Bags] = []
    _add(values, t, columns, bags)
    return Level(len(values), columns, bags)


def _add(values: Sequence[Value], t: Type, columns: list[pa.Array], bags: list[Bags]) -> None:
    match t:
        case Base():
            columns.extend(arrow_columns((t,), [(value,) for value in values]))
        case Record(fields):
            for i, (_, inner) in enumerate(fields):
                _add([value[i][1] for value in values], inner, columns, bags)  # type: ignore[index]
        case Bag(row):
            bags.append(_bags(values, row, t.nullable))
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested rows")
        case _:
            assert_never(t)


def _bags(values: Sequence[Value], row: Type, nullable: bool) -> Bags:
    found = [list(value) if isinstance(value, BagValue) else [] for value in values]
    present = np.fromiter((value is not None for value in values), np.bool_, len(values)) if nullable else None
    pairs = list(chain.from_iterable(found))
    if is_flat(row):
        below = of_values([value for value, _ in pairs], row)
        weights = np.fromiter((n for _, n in pairs), np.int64, len(pairs))
        counts = np.fromiter(map(len, found), np.int64, len(found))
        return Bags(counts, Level(below.size, below.columns, weights=weights), present)
    each = [value for value, n in pairs for _ in range(n)]
    counts = np.fromiter((sum(n for _, n in bag) for bag in found), np.int64, len(found))
    return Bags(counts, of_values(each, row), present)


def total(value: Value, t: Type) -> int:
    """The rows that a row is: itself and those in its bags. Law: of a level of rows, ``total`` is the sum of theirs."""
    return 1 + _inside(value, t)


def _inside(value: Value, t: Type) -> int:
    match t:
        case Record(fields):
            assert isinstance(value, tuple)
            return sum(_inside(v, inner) for (_, v), (_, inner) in zip(value, fields, strict=True))
        case Bag(row) if isinstance(value, BagValue):
            return sum(n * total(v, row) for v, n in value)
        case _:
            return 0


def values_of(level: Level, t: Type) -> list[Value]:
    """The rows of a level of type ``t``, in their order; a row that is there several times comes once."""
    return _values(t, iter(level.columns), iter(level.bags), level.size)


def _values(t: Type, columns: Iterator[pa.Array], bags: Iterator[Bags], n: int) -> list[Value]:
    match t:
        case Base():
            return python_column(t, next(columns))
        case Record(fields):
            inner = [_values(field, columns, bags, n) for _, field in fields]
            names = [name for name, _ in fields]
            if not fields:
                return [()] * n
            return [tuple(zip(names, row, strict=True)) for row in zip(*inner, strict=True)]
        case Bag(row):
            return _bag_values(next(bags), row)
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested rows")
        case _:
            assert_never(t)


def _bag_values(bag: Bags, row: Type) -> list[Value]:
    rows = values_of(bag.rows, row)
    weights = [1] * len(rows) if bag.rows.weights is None else bag.rows.weights.tolist()
    pairs = list(zip(rows, weights, strict=True))
    ends = np.cumsum(bag.counts).tolist()
    found: list[Value] = []
    start = 0
    for end in ends:
        found.append(BagValue.weighted(pairs[start:end]))
        start = end
    if bag.present is not None:
        found = [value if there else None for value, there in zip(found, bag.present.tolist(), strict=True)]
    return found


def nested_type(t: Type, leaf: Callable[[Base], pa.DataType] = arrow_type) -> pa.DataType:
    """The Arrow type of values of the nested type ``t``, whose base values are of type ``leaf``."""
    match t:
        case Base():
            return leaf(t)
        case Record():
            return pa.struct([(name, nested_type(inner, leaf)) for name, inner in t.there.fields])
        case Bag(row):
            return pa.list_(nested_type(row, leaf))
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested rows")
        case _:
            assert_never(t)
