"""The first rows behind the edges of places: what they are, and how they change (``delta/groups/nearest.py``).

A batch changes places and rows. Of a place that comes the first rows behind its edge are read, and what a place that
goes had is taken away. A row x that comes or goes is one of the first n behind an edge only if fewer than n copies lie
between the two. So let s be the n-th copy that came before x in the order: these are the places of its group whose
edges are at x, at s, or between them. For of any other place n copies were nearer than x, and if one of these goes, it
is a row that goes, with places of its own. What is read is what changes in the answers, a few rows beside each row that
changes, and those that went and are not merged yet, once, however many rows and places a group has.

Law (nearest = first): the answer of each place is the first n copies of all rows of its group that are behind its edge.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.argsort import argsort_by
from ripplenest.data.index import Places, ranges
from ripplenest.data.order import (
    LEAST,
    MOST,
    By,
    Edges,
    First,
    Firsts,
    Within,
    first_of,
    key_numbers,
    prefixes_or,
    ranks,
    ranks_by,
)
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.ranking import Ranked
from ripplenest.version.version import Tables

Types = tuple[Base, ...]


@frozen
class Moved:
    """How the first rows of places change, and how many stored rows were ``read`` for it; by table, how many of them
    were ``cancelled`` by others."""

    change: Rows
    read: int
    cancelled: Mapping[str, int]


@frozen
class Made:
    """Signed places, and signed rows, in the columns of their tables, each once."""

    places: Rows
    rows: Rows

    @classmethod
    def of(cls, r: Ranked, made: Rows, types: Types) -> "Made":
        """Of what was made for a map whose rows have ``types``."""
        table, width = made.arrow(), len(types)
        asked = table.column(width)
        rows = [i for i in range(width) if i not in r.asked_by]
        return cls(
            _columns(table.filter(asked), range(r.keys), types),
            _columns(table.filter(pc.invert(asked)), rows, types),
        )


def _columns(table: pa.Table, columns: Sequence[int], types: Types) -> Rows:
    own = tuple(types[i] for i in columns)
    arrays = [*(table.column(i) for i in columns), table.column(table.num_columns - 1)]
    return Rows(own, table=pa.Table.from_arrays(arrays, schema=arrow_schema(own))).consolidated()


# ---------------------------------------------------------------- what a batch changes


def moved(m: PlannedMap, r: Ranked, made: Rows, tables: Tables) -> Moved:
    """What changes by ``made``. Raises LawBroken for rows that are there less than 0 times."""
    own = Made.of(r, made, m.types)
    near, cancelled = _near(r, own, tables)
    went = columnar.negative(own.places)
    stay = columnar.positive(near.rows.plus(went).consolidated())
    touched = columnar.distinct(near.rows.plus(went), m.own_key)
    held = tables.probe(m.name, m.own_key, touched)
    found = _answers(m, r, stay.plus(columnar.positive(own.places)), own.rows, tables)
    cancelled += Counter({m.name: held.cancelled(), r.kept: found.read - len(found.rows)})  # of what is above 0
    return Moved(found.rows.plus(held.negated()).consolidated(), near.read + len(held) + found.read, cancelled)


def _near(r: Ranked, own: Made, tables: Tables) -> tuple[First, Counter[str]]:
    """The stored places whose first rows those are that change, each once; and what was read in vain, by table."""
    assert r.nearest is not None
    if own.rows.is_empty:
        return First(Rows.empty(own.places.types), 0), Counter()
    by = r.all_rows.by[0]
    values = columnar.distinct(own.rows, (*r.group, by.column))
    keys, at = values.select(r.group), values.arrow().column(len(r.group)).combine_chunks()
    order, limits = r.all_rows.backwards(len(own.rows.types)), np.full(len(values), r.limit)
    before = tables.first(r.kept, Firsts(order, keys, limits, edges=Edges(at, open=True)))
    far = _last(before, by.column, limits)
    low, high = (at, far) if by.descending else (far, at)
    wanted = Within(r.by_edge, keys, prefixes_or(low, LEAST), prefixes_or(high, MOST), (low, high))
    found = tables.within(r.nearest.asked, wanted)
    if found is None:
        raise LawBroken("places that are not stored in their order", where=r.nearest.asked)
    cancelled = Counter({r.kept: before.read - len(before.rows), r.nearest.asked: found.cancelled()})
    return First(columnar.support(found.consolidated()), before.read + len(found)), cancelled


def _last(found: First, column: int, limits: Places) -> pa.Array:
    """By key the value of the last row that was found; NULL where there were fewer than were asked for."""
    table = found.rows.arrow()
    copies, last = np.zeros(len(limits), np.int64), np.zeros(len(limits), np.int64)
    np.add.at(copies, found.of, table.column(WEIGHT).to_numpy())
    np.maximum.at(last, found.of, np.arange(len(found.of)))
    return table.column(column).combine_chunks().take(pa.array(last, mask=copies != limits))


def _answers(m: PlannedMap, r: Ranked, asked: Rows, changed: Rows, tables: Tables) -> First:
    """The first rows of the places that are ``asked`` for, after the batch. NULL has nothing behind it."""
    assert r.nearest is not None
    places = asked.arrow().filter(pc.is_valid(asked.arrow().column(r.edge))).combine_chunks()
    keys = Rows(asked.types, table=places).select(r.group)
    edges = Edges(places.column(r.edge).combine_chunks(), r.nearest.open)
    limits, plus = np.full(len(keys), r.limit), None if changed.is_empty else changed
    found = tables.first(r.kept, Firsts(r.all_rows, keys, limits, plus=plus, edges=edges))
    return First(_placed(m.types, r, places.take(pa.array(found.of)), found.rows.arrow()), found.read)


def _placed(types: Types, r: Ranked, places: pa.Table, rows: pa.Table) -> Rows:
    """Rows as those of their places."""
    columns = [*places.columns[: r.keys], *rows.columns[len(r.group) :]]
    return Rows(types, table=pa.Table.from_arrays(columns, schema=arrow_schema(types)))


# ---------------------------------------------------------------- all of them


def built(r: Ranked, made: Rows, types: Types) -> Rows:
    """The first rows of all places, where all places and rows of some groups were ``made``. Rows are sorted, and the
    first that is behind an edge is searched for. Raises LawBroken for rows that are there less than 0 times."""
    assert r.nearest is not None
    own = Made.of(r, made, types)
    rows = own.rows.arrow().combine_chunks()
    places = own.places.arrow().filter(pc.is_valid(own.places.arrow().column(r.edge))).combine_chunks()
    groups, at = _numbers(r, rows, places)
    order = argsort_by(groups[: len(rows)], ranks(rows, r.all_rows))
    far = len(groups) + 1
    found, edges = (groups[: len(rows)] * far + at[: len(rows)])[order], groups[len(rows) :] * far + at[len(rows) :]
    first = np.searchsorted(found, edges, "right" if r.nearest.open else "left")
    many = np.minimum(np.searchsorted(found, (groups[len(rows) :] + 1) * far) - first, r.limit)
    which, behind = np.repeat(np.arange(len(places)), many), order[ranges(first, many)]
    some = _placed(types, r, places.take(pa.array(which)), rows.take(pa.array(behind)))
    return first_of(some, r.order, r.limit)


def _numbers(r: Ranked, rows: pa.Table, places: pa.Table) -> tuple[Places, Places]:
    """Of rows, and then of places, the number of the group, and that of the value that orders rows first, or behind
    which they are."""
    both = together(r, rows, places)
    return key_numbers(both, r.group), ranks_by(both, [By(r.edge, r.compared.descending)])


def together(r: Ranked, rows: pa.Table, places: pa.Table) -> pa.Table:
    """The groups of rows, and then of places, with what compares with an edge, or is one."""
    asked = places.select([*r.group, r.edge])
    columns = [rows.column(i) for i in (*r.group, r.compared.column)]
    return pa.concat_tables([pa.Table.from_arrays(columns, schema=asked.schema), asked]).combine_chunks()
