"""The rows that arrays of inner bags stand for, by columns: of all arrays at once, as ``arrays.py`` makes them.

Law: the rows, their labels and their numbers are those that ``Fold.shredded`` makes array by array. All levels are read
first, from the outside in, because the rows of a bag that have bags take their numbers before what is in these. What is
not as it was written has no answer here: row by row it is said what is wrong.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import InvalidOperation
from itertools import chain
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen

from ripplenest.data.grouping import Ints
from ripplenest.data.rows import Rows, arrow_type, canonical_doubles
from ripplenest.nrc.serial import read_constant
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.schema.relation import Part
from ripplenest.version.arrays import Unclear

Fills = Mapping[str, list[Any]]
_BROKEN = (ValueError, TypeError, OverflowError, InvalidOperation, pa.ArrowException)


def standing(parts: Mapping[str, Part], root: str, fills: Sequence[tuple[str, str]], arrays: Rows) -> dict[str, Rows]:
    """By part the rows that signed ``arrays`` (label, text, first number) of the bag ``root`` stand for; ``parts`` are
    its dictionary and those below it, and ``fills`` what rows of older texts have in fields that came later. Raises
    Unclear."""
    *columns, weights = arrays.consolidated().arrow().combine_chunks().columns
    *labels, texts, starts = (c.combine_chunks() for c in columns)
    try:
        reader = _Reader(parts, {part: json.loads(found) for part, found in fills})
        level = reader.level(root, [json.loads(text) for text in texts.to_pylist()])
    except _BROKEN:
        raise Unclear from None
    found = _Rows()
    found.add(level, labels, starts.to_numpy(), weights.to_numpy())
    return {name: found.rows.get(name, Rows.empty(part.types)) for name, part in parts.items()}


@frozen(eq=False)
class _Level:
    """The rows of some bags of a part: by row which ``bag`` it is in, its weight, and its ``values``, the name of a
    dictionary where labels of it are. ``inner``: of each dictionary, which rows have a bag, and these. ``numbers``: how
    many rows of and in each bag have."""

    part: Part
    bag: Ints
    weights: Ints
    values: list[pa.Array | str]
    inner: Mapping[str, tuple[Ints, "_Level"]]
    numbers: Ints

    @property
    def is_numbered(self) -> bool:
        return bool(self.part.held) and not self.part.key

    def below(self) -> Ints:
        """How many numbers what is in the bags of each row takes."""
        found = np.zeros(len(self.bag), np.int64)
        for where, level in self.inner.values():
            found[where] += level.numbers
        return found


@frozen(eq=False)
class _Reader:
    """Plain JSON as columns."""

    parts: Mapping[str, Part]
    fills: Fills

    def level(self, name: str, bags: list[list[Any]]) -> _Level:
        """The rows of ``bags`` of a part. Raises Unclear, or one of the errors of values that are none."""
        part = self.parts[name]
        bag = np.repeat(np.arange(len(bags)), np.fromiter(map(len, bags), np.int64, len(bags)))
        rows, counts = _columns(list(chain.from_iterable(bags)), 2)
        weights = np.array(counts, np.int64)
        if (weights < 1).any() or (part.held and part.key and (weights > 1).any()):
            raise Unclear
        if part.held and (weights > 1).any():  # each of them has labels of its own
            each = np.repeat(np.arange(len(rows)), weights)
            rows, bag, weights = [rows[int(i)] for i in each], bag[each], np.ones(len(each), np.int64)
        inner: dict[str, tuple[Ints, _Level]] = {}
        values = list(self._values(part.flat, rows, part.name, inner))
        if sum(len(part.held[v]) if isinstance(v, str) else 1 for v in values) + len(part.label) != len(part.types):
            raise Unclear
        level = _Level(part, bag, weights, values, inner, np.empty(0, np.int64))
        each_row = level.below() + level.is_numbered
        numbers = np.bincount(bag, each_row, len(bags)).astype(np.int64)
        return _Level(part, bag, weights, values, inner, numbers)

    def _values(
        self, t: Type, raw: Sequence[Any], path: str, inner: dict[str, tuple[Ints, _Level]]
    ) -> Iterator[pa.Array | str]:
        match t:
            case Base():
                yield _base(raw, t)
            case Record(fields):
                for column, (name, kind) in zip(_columns(self._filled(raw, t, path), len(fields)), fields, strict=True):
                    yield from self._values(kind, column, f"{path}.{name}", inner)
            case Label((site,)):
                where = np.flatnonzero([bag is not None for bag in raw])
                inner[site.name] = where, self.level(site.name, [bag for bag in raw if bag is not None])
                yield site.name
            case Label():
                raise Unclear
            case Bag() | Dict():
                raise AssertionError(f"only flat types have columns, not {t}")
            case _:
                assert_never(t)

    def _filled(self, raw: Sequence[Any], t: Record, path: str) -> Sequence[Any]:
        if path not in self.fills:
            return raw
        last, n = self.fills[path], len(t.fields)
        return [[*row, *last[len(row) - n :]] if len(row) < n else row for row in raw]


@define(eq=False)
class _Rows:
    """Rows by part, from the outside in."""

    rows: dict[str, Rows] = field(factory=dict)

    def add(self, level: _Level, labels: list[pa.Array], starts: Ints, weights: Ints) -> None:
        """The rows of bags with ``labels``, of which what is numbered begins with ``starts``, ``weights`` times."""
        part, bag = level.part, level.bag
        columns, begin = [label.take(pa.array(bag)) for label in labels], starts[bag]
        for value in level.values:
            places = len(part.held[value]) if isinstance(value, str) else 1
            columns += [None if isinstance(value, str) else value] * places
        if part.key:
            own = [columns[c] for c in part.key_columns]
        else:
            number = begin + _within(np.ones(len(bag), np.int64), bag)
            own = [pa.array(number)]
        if level.is_numbered:
            begin = begin + np.bincount(bag, minlength=len(starts))[bag]
        begin = begin + _within(level.below(), bag)
        for name, (where, inner) in level.inner.items():
            for at, column in zip(part.held[name], own, strict=True):
                columns[at] = _where(column, where)
            self.add(inner, [column.take(pa.array(where)) for column in own], begin[where], weights[bag[where]])
            begin[where] += inner.numbers
        found = Rows.of_columns(part.types, columns, pa.array(level.weights * weights[bag]))
        self.rows[part.name] = found


def _within(each: Ints, bag: Ints) -> Ints:
    """The sum of ``each`` over the rows before in the same bag; rows of a bag follow one another."""
    before = np.cumsum(each) - each
    first = np.searchsorted(bag, bag)
    return before - before[first]


def _where(column: pa.Array, where: Ints) -> pa.Array:
    """The column where a row has a bag, else NULL."""
    if len(where) == len(column):
        return column
    present = np.zeros(len(column), np.bool_)
    present[where] = True
    return pc.if_else(pa.array(present), column, pa.scalar(None, column.type))


def _columns(raw: Sequence[Any], width: int) -> list[Sequence[Any]]:
    """Lists of ``width`` values as columns."""
    if not raw:
        return [()] * width
    if set(map(type, raw)) != {list}:
        raise Unclear
    columns: list[Sequence[Any]] = list(zip(*raw, strict=True))
    if len(columns) != width:
        raise Unclear
    return columns


def _base(raw: Sequence[Any], t: Base) -> pa.Array:
    """Base values, each different one read once."""
    if len(set(map(type, raw)) - {type(None)}) > 1:
        raise Unclear
    known = dict.fromkeys(raw)
    values = pa.array([read_constant(v, t) for v in known], arrow_type(t))
    if t.kind == "double":
        values = canonical_doubles(values)
    place = {v: i for i, v in enumerate(known)}
    return values.take(pa.array([place[v] for v in raw], pa.int64()))
