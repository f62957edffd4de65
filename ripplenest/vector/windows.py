"""Windows folded over columns: what each place comes to is the difference of two sums (``plan/windows.py``).

Rows are put in the order of their key, then of what is compared. Those of a place are next to each other there, from
``low`` on and before ``high``, which are found by value: exactly, so no condition is asked again. Accumulators are sums
of integers that all together stay within 62 bits, so their sums from the first row on do as well, and the difference of
two of them is exact, also of doubles (``vector/reals.py``).

Cost: (places + rows) × log, however many rows lie in each window. Law (windows): what is folded of the pieces is what
is folded of all that the product makes.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.argsort import argsort
from ripplenest.data.grouping import Ints, hashes_of
from ripplenest.data.order import By, key_numbers, ranks_by
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.plan.groups import Folding
from ripplenest.plan.product import Product, sources_of
from ripplenest.plan.windows import Window, window
from ripplenest.vector import folding
from ripplenest.vector.binding import Binding, Input, times
from ripplenest.vector.column import Column, nulls
from ripplenest.vector.join import fulfilling
from ripplenest.vector.numbers import longs

WORTH, TIMES = 1 << 14, 4  # combinations, and for each place and row, from which on they are not made

Beside = Literal["left", "right"]  # of equal values
LOW: Mapping[str, Beside] = {"ge": "left", "gt": "right"}  # by comparison, where the first row is
HIGH: Mapping[str, Beside] = {"lt": "left", "le": "right"}  # and the first that is none any more


@frozen(eq=False)
class Spans:
    """The ``places`` that have rows, and of each the first one and the first behind it, of rows in ``order``."""

    places: Ints
    low: Ints
    high: Ints
    order: Ints


def parts(p: Product, f: Folding, sources: Sequence[Rows], room: Room) -> list[Sequence[Rows]]:
    """``sources`` in parts whose windows are folded at a time: those of a key are in one. Where nothing divides them
    they are one."""
    w = window(p, f.keys)
    many = max(-(-len(rows) // room.rows(rows.types)) for rows in sources) if w is not None and w.keys else 1
    if w is None or many <= 1:
        return [sources]
    keys = {w.places: w.keys_of_places, w.rows: w.keys_of_rows}
    divided = [_divided(rows, [c.column for c in keys[i]], many) for i, rows in enumerate(sources)]
    return list(zip(*divided, strict=True))


def _divided(rows: Rows, key: Sequence[int], many: int) -> list[Rows]:
    table = rows.arrow()
    part = hashes_of(table, tuple(key)) % np.uint64(many)
    return [Rows(rows.types, table=table.filter(pa.array(part == i)), summed=rows.is_sum) for i in range(many)]


def may_be_worth(sizes: Sequence[int], places: int) -> bool:
    """Whether sources of these sizes, if one row of each other goes with one of another, may make many combinations."""
    return sizes[places] * max(n for i, n in enumerate(sizes) if i != places) >= WORTH


def pieces(p: Product, f: Folding, sources: Sequence[Rows]) -> Rows | None:
    """What ``p`` adds to the keys of ``f``, in pieces. None where it makes no windows, or few combinations, or a sum
    that could leave 62 bits, or where some value that may not be asked for cannot be computed."""
    w = window(p, f.keys)
    if w is None:
        return None
    own = [Input.of(rows) for rows in sources]
    places, rows = own[w.places], own[w.rows]
    least = max(WORTH, TIMES * (len(places) + len(rows)))
    if len(places) * rows.crowd(tuple(b.column for _, b in w.keys)) < least:
        return None
    return folded(p, f, w, places, rows, least)


def folded(p: Product, f: Folding, w: Window, places: Input, rows: Input, least: int = 0) -> Rows | None:
    """The same of these places and rows, where they make at ``least`` so many combinations."""
    asked, own = _bound(p, w.places, places), _bound(p, w.rows, rows)
    spans = _spans(w, asked, own)
    if spans is None or (spans.high - spans.low).sum() < least:
        return None
    return _folded(p, f, w, asked, own, spans)


def _bound(p: Product, source: int, rows: Input) -> Binding:
    """The rows of a source that can take part."""
    return fulfilling(Binding.of(source, rows), p.conditions_on(source))


def _spans(w: Window, places: Binding, rows: Binding) -> Spans | None:
    """None where a value cannot be computed."""
    edges, by = [[places.value(e) for e in edge] for _, edge in w.edges], [rows.value(b) for b in w.by]
    if any(c.failed is not None for some in (*edges, by) for c in some):
        return None
    keys, own = ([b.value(k).values for k in some] for b, some in ((places, w.keys_of_places), (rows, w.keys_of_rows)))
    asked, there = _there(w, keys, [c for edge in edges for c in edge]), _there(w, own, by)
    sides = [_taken([*own, *_values(by)], there), *(_taken([*keys, *_values(edge)], asked) for edge in edges)]
    every = [pa.concat_arrays(same) for same in zip(*sides, strict=True)]
    group, at = _numbers(pa.table(every, [f"c{i}" for i in range(len(every))]), len(own), w.turned)
    order, (begins, ends) = argsort(at[: len(there)]), (group[len(there) : len(there) + len(asked)] + i for i in (0, 1))
    found, far = at[: len(there)][order], len(at) + 1
    low, high = np.searchsorted(found, begins * far), np.searchsorted(found, ends * far)
    for (fn, _), edge in zip(w.edges, at[len(there) :].reshape(len(edges), -1), strict=True):
        low = np.maximum(low, np.searchsorted(found, edge, LOW[fn])) if fn in LOW else low
        high = np.minimum(high, np.searchsorted(found, edge, HIGH[fn])) if fn in HIGH else high
    some = high > low
    return Spans(asked[some], low[some], high[some], there[order])


def _numbers(table: pa.Table, keys: int, turned: Sequence[bool]) -> tuple[Ints, Ints]:
    """By row a number of its key, and one that is the greater the later it comes by key and all other columns, of which
    some are ``turned``."""
    group = key_numbers(table, range(keys))
    return group, group * (len(table) + 1) + ranks_by(table, [By(keys + i, down) for i, down in enumerate(turned)])


def _values(columns: Sequence[Column]) -> list[pa.Array]:
    return [c.values for c in columns]


def _there(w: Window, keys: Sequence[pa.Array], values: Sequence[Column]) -> Ints:
    """Who is compared: NULL with nothing, and with NULL only where it is equal to it."""
    compared = [*(c.values for c in values), *(k for k, safe in zip(keys, w.safe, strict=True) if not safe)]
    return np.flatnonzero(~np.logical_or.reduce([nulls(c) for c in compared]))


def _taken(columns: Sequence[pa.Array], places: Ints) -> list[pa.Array]:
    some = pa.array(places)
    return [c.take(some) for c in columns]


def _folded(p: Product, f: Folding, w: Window, places: Binding, rows: Binding, spans: Spans) -> Rows | None:
    """The pieces of places; None where a value cannot be computed, or a sum could leave 62 bits."""
    keys, values = [places.value(s) for s in p.head[: f.keys]], [rows.value(s) for s in p.head[f.keys :]]
    often, counts = _often(p, w.places, places), _often(p, w.rows, rows)
    if often is None or counts is None or any(c.failed is not None for c in (*keys, *values)):
        return None
    sums = folding.windows(f, _made(f, values, counts, spans.order), spans.low, spans.high)
    if sums is None:
        return None
    own = pa.table(_taken([c.values for c in keys], spans.places), [f"k{i}" for i in range(f.keys)])
    return folding.as_piece(f, folding.Sums(own, sums, sums), times(often, np.array([p.weight]))[spans.places])


def _made(f: Folding, values: Sequence[Column], counts: Ints, order: Ints) -> pa.Table:
    """Contributions in this ``order``, whose keys nobody asks for."""
    schema = arrow_schema(f.made)
    taken = _taken([c.values for c in values], order)
    typed = [c if c.type == t else c.cast(t) for c, t in zip(taken, schema.types[f.keys :], strict=False)]
    nothing = [pa.nulls(len(order), t) for t in schema.types[: f.keys]]
    return pa.Table.from_arrays([*nothing, *typed, pa.array(counts[order])], schema=schema)


def _often(p: Product, source: int, rows: Binding) -> Ints | None:
    """How often each row counts; None where that cannot be computed."""
    found = rows.weights
    for c in (rows.value(t) for t in p.times if sources_of(t) == {source}):
        if c.failed is not None:
            return None
        found = times(found, longs(c.values))
    return found

