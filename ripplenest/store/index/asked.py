"""What first rows are asked for, as columns: keys, how many copies of each, and where they begin."""

from functools import cached_property

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.argsort import argsort_by
from ripplenest.data.grouping import same
from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Columns, Places, index_of, matches, ranges
from ripplenest.data.order import By, Edges, Firsts, Ordering, key_numbers, ranks_by, weighed, wide
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema, arrow_type
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import Base

NOBODY = -1  # whose rows of other keys are that have the same hash


@frozen
class Start:
    """Where rows begin, in an order by columns ``by``: at a row, or behind it if that is ``open``."""

    by: tuple[By, ...]
    open: bool = False

    def numbers(self, rows: pa.Table, starts: Places) -> Places:
        """For each of ``rows`` a number that is less than that of the rows at ``starts`` among them if it comes before
        them."""
        found = ranks_by(rows, self.by)
        found[starts] += self.open
        return found


def rows_at(values: pa.Array, column: int, types: tuple[Base, ...]) -> pa.Table:
    """Rows of which only a column is known."""
    columns = [pa.nulls(len(values), arrow_type(t)) for t in types]
    columns[column] = values.cast(arrow_type(types[column]))
    return pa.Table.from_arrays([*columns, pa.nulls(len(values), pa.int64())], schema=arrow_schema(types))


@frozen(eq=False)
class Chain:
    """Keys that may come again, in the ``order`` in which their rows begin, those that are one key together: by key how
    many copies are ``wanted``, and the one that begins ``after`` it, or NOBODY."""

    order: Places
    wanted: Places
    after: Places
    last: Places  # by key, the place in the order of the one of it that begins last
    most: Places  # by key, how many copies are wanted of the one of it of which most are

    @classmethod
    def of(cls, keys: Places, begin: Places, limits: Places) -> "Chain":
        """By the numbers of keys, and of where they begin."""
        order = argsort_by(keys, begin)
        same = keys[order[1:]] == keys[order[:-1]]
        after, last = np.full(len(keys), NOBODY, np.int64), np.empty(len(keys), np.int64)
        after[order[:-1][same]] = order[1:][same]
        ends = np.flatnonzero(np.append(~same, True)[: len(keys)])
        sizes, wanted, most = np.diff(np.append(-1, ends)), np.maximum(limits, 0), np.empty(len(keys), np.int64)
        last[order] = np.repeat(ends, sizes)
        if len(keys):
            most[order] = np.repeat(np.maximum.reduceat(wanted[order], ends - sizes + 1), sizes)
        return cls(order, wanted, after, last, most)

    def first(self, rows: pa.Table, of: Places) -> tuple[pa.Table, Places]:
        """By key the first copies of the ``rows`` of its piece, and of those behind it; and of which key each row is.
        Rows are ``of`` keys, and those of a piece in their order: a piece that was not read to its end has enough."""
        many = len(self.order)
        place = np.empty(many, np.int64)
        place[self.order] = np.arange(many)
        pieces = place[of]
        sequence = np.argsort(pieces, kind="stable")
        pieces = pieces[sequence]
        counts = rows.column(WEIGHT).to_numpy()[sequence]
        copies = wide(np.append(counts, self.wanted))[: len(counts)]
        until = np.cumsum(copies)
        before = until - copies
        begin, end = np.searchsorted(pieces, place), np.searchsorted(pieces, self.last, "right")
        base = np.append(before, until[-1:] if len(until) else [0])[begin]
        stop = np.minimum(np.searchsorted(until, base + self.wanted) + (self.wanted > 0), end)
        found = np.maximum(stop - begin, 0)
        whose, at = np.repeat(np.arange(many), found), ranges(begin, found)
        left = np.minimum(copies[at], self.wanted[whose] - (before[at] - base[whose])).astype(np.int64)
        return weighed(rows, sequence[at], left), whose


@frozen(eq=False, slots=False)
class Asked:
    """What is asked for: by key how many copies, and where they begin. A key is there once, but where rows begin at
    edges: then it is read in pieces, from each edge to the next one (``chain``), until as many copies are found as are
    wanted of it most."""

    order: Ordering
    types: tuple[Base, ...]
    keys: pa.Table
    limits: Places
    start: pa.Table  # full rows
    starts: Places  # by key its row of ``start``; NOBODY for a key that is read from its beginning
    begin: Start
    chain: Chain | None = None

    @classmethod
    def of(cls, firsts: Firsts, types: tuple[Base, ...]) -> "Asked":
        """Rows of ``start`` whose keys are not asked for do not matter. Raises LawBroken for a key that is asked for
        twice, or begins at two rows."""
        o, keys = firsts.order, firsts.keys
        if firsts.edges is not None:
            return cls._behind(firsts, firsts.edges, types)
        begin = (Rows.empty(types) if firsts.start is None else firsts.start).arrow().combine_chunks()
        asked, starts = keys.arrow().combine_chunks(), np.full(len(keys), NOBODY, np.int64)
        which, owners = owned(asked, begin, o.key)
        starts[owners] = which
        for numbers in (key_numbers(asked, range(len(o.key))), owners):
            if len(np.unique(numbers)) < len(numbers):
                raise LawBroken("a key whose first rows are asked for twice", wanted="different keys", got=len(numbers))
        return cls(o, types, asked, np.maximum(firsts.limits, 0), begin, starts, Start(o.every(len(types))))

    @classmethod
    def _behind(cls, firsts: Firsts, edges: Edges, types: tuple[Base, ...]) -> "Asked":
        """Of the rows at which keys begin only what orders them first is known."""
        first, starts = firsts.order.by[0], np.arange(len(edges))
        begin, asked = rows_at(edges.values, first.column, types), firsts.keys.arrow().combine_chunks()
        chain = Chain.of(key_numbers(asked, range(len(firsts.order.key))), ranks_by(begin, (first,)), firsts.limits)
        return cls(firsts.order, types, asked, chain.most, begin, starts, Start((first,), edges.open), chain)

    @cached_property
    def hashes(self) -> U64:
        """Of the keys, which each segment is asked for."""
        return hash_columns([c.combine_chunks() for c in self.keys.columns[:-1]], self.keys.num_rows)

    def is_of(self, rows: pa.Table, owners: Places) -> Places:
        """For each row its owner, whose hash it has, or NOBODY if that is another key."""
        equal = np.ones(len(owners), np.bool_)
        for column, key in zip(self.order.key, self.keys.columns, strict=False):
            equal &= same(rows.column(column).combine_chunks(), key.take(pa.array(owners)).combine_chunks())
        return np.where(equal, owners, NOBODY)


def owned(keys: pa.Table, rows: pa.Table, columns: Columns) -> tuple[Places, Places]:
    """(which, owner): row number ``which`` has key number ``owner``."""
    own = [rows.column(c).combine_chunks() for c in columns]
    own = [a.cast(t) for a, t in zip(own, keys.schema.types, strict=False)]
    place = tuple(range(len(columns)))
    return matches(index_of(keys, place), keys, place, hash_columns(own, rows.num_rows), own)
