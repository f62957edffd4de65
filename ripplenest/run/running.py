"""Running totals of places that come and go: told by those near them, where rows lie in between (``plan/running.py``).

Of rows R before a batch and ΔR, with places L that the totals T of before the batch are of: a place l that comes is

    T(l) = T(p) ⊎ {r ∈ R | p < r ≤ l} ⊎ {r ∈ ΔR | r ≤ l}        p = the greatest of L that is less than l

and what goes is T(l), with what ΔR adds to it, as rows take their turn before places: ΔR is ∅ where they do not. So
what is read is what lies between a place and the next one, and not all rows up to it: of a place at the end, hardly
any.

Rows of several tables are added up, Rᵢ and ΔRᵢ, as those of a ledger of debits and of credits are.

Law (running = joined): these are the contributions of the statement.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data import columnar
from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import index_of, matches
from ripplenest.data.order import LEAST, MOST, Edges, Firsts, Within, prefixes_or
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Product
from ripplenest.plan.running import Running
from ripplenest.run.inputs import Run
from ripplenest.vector import folding, windows
from ripplenest.vector.binding import Input
from ripplenest.vector.column import nulls

Types = tuple[Base, ...]
WORTH = 1 << 14  # rows that keys find, from which on reading in order is worth it


@frozen
class _Near:
    """Places that ``came``, those ``with_near`` first, of which the nearest ones are ``near`` in this order."""

    came: pa.Table
    near: pa.Table

    @property
    def with_near(self) -> int:
        return len(self.near)


def contributed(run: Run, m: PlannedMap, told: Sequence[tuple[Product, Running]]) -> Rows | None:
    """What the change of the places of ``m`` contributes to it, in pieces. None where that is not worth it, or what is
    read is not stored in order, or a sum could leave 62 bits."""
    _, first = told[0]
    places = _compared(first, run.changes[first.asked].consolidated())
    if not all(_is_stored(run, p, r) for p, r in told) or sum(_many(run, r, places) for _, r in told) < WORTH:
        return None
    near = _near(run, first, columnar.positive(places))
    found = [_held(run, m, near, columnar.negative(places))]
    for p, r in told:
        found += _between(run, m, p, r, near)
        if r.have_changed and r.of in run.changes:
            found.append(windows.folded(p, m.adding, r.window, run.indexed(places), run.indexed(run.changes[r.of])))
    pieces = [rows for rows in found if rows is not None]
    return pieces[0].plus(*pieces[1:]) if len(pieces) == len(found) else None


def _compared(r: Running, places: Rows) -> Rows:
    """The places that compare with rows."""
    return columnar.where(places, places.arrow().column(r.first).is_valid())


def _is_stored(run: Run, p: Product, r: Running) -> bool:
    """Whether places and rows are stored in their orders, as they are not in some states of before."""
    places, rows = r.window.places, r.window.rows
    for table, order, source in ((r.asked, r.near, places), (r.of, r.rows, rows)):
        keys, nothing = Rows.empty(tuple(p.sources[source].types[c] for c in order.key)), np.empty(0, np.uint64)
        if run.reader.within(table, Within(order, keys, nothing, nothing)) is None:
            return False
    return True


def _many(run: Run, r: Running, places: Rows) -> int:
    """How many rows keys alone would find: without keys it is worth it."""
    if r.rows.key not in run.plan.indexes.get(r.of, ()):
        return WORTH
    return int(run.reader.many(r.of, r.rows.key, columnar.distinct(places, r.asks)).sum())


def _near(run: Run, r: Running, came: Rows) -> _Near:
    """The nearest places: those of another first value. Of places that share it nothing would be saved, as they are as
    many as rows."""
    table, at = came.arrow().combine_chunks(), came.arrow().column(r.first).combine_chunks()
    asked = Firsts(r.near, came.select(r.near.key), np.ones(len(came), np.int64), edges=Edges(at, open=True))
    found = run.reader.first(r.asked, asked)
    run.read.append(found.read)
    run.in_vain(r.asked, found.read - len(found.rows))
    near, of = found.rows.arrow().combine_chunks(), found.of
    some = np.flatnonzero(~nulls(near.column(r.first).combine_chunks()))  # NULL comes last, and is no edge
    alone = np.setdiff1d(np.arange(len(came)), of[some])
    return _Near(table.take(pa.array(np.concatenate([of[some], alone]))), near.take(pa.array(some)))


def _between(run: Run, m: PlannedMap, p: Product, r: Running, near: _Near) -> Iterator[Rows | None]:
    """What the rows between places and those near them come to."""
    types, n = p.sources[r.window.places].types, near.with_near
    at, far = (t.column(r.first).combine_chunks() for t in (near.came, near.near))
    far = pa.concat_arrays([far, pa.nulls(len(at) - n, far.type)])
    low, high = (far, at) if r.is_upper else (at, far)
    keys = Rows(types, table=near.came).select(r.asks)
    wanted = Within(r.rows, keys, prefixes_or(low, LEAST), prefixes_or(high, MOST), (low, high))
    looked = run.probes.within(r.of, wanted)
    assert looked is not None
    run.in_vain(r.of, looked.rows.cancelled())
    rows = run.indexed(looked.rows)
    other = tuple(evolve(c, column=len(types) + i) for i, c in enumerate(r.edge))
    beyond = evolve(r.window, edges=(*r.window.edges, (r.beyond, other)))
    edges = [near.near.column(c.column) for c in r.edge]
    told = pa.Table.from_arrays(
        [*near.came.slice(0, n).columns[:-1], *edges, near.came.slice(0, n).column(WEIGHT)],
        schema=arrow_schema((*types, *(c.type for c in r.edge))),
    )
    yield windows.folded(p, m.adding, beyond, _input((*types, *(c.type for c in r.edge)), told), rows)
    yield windows.folded(p, m.adding, r.window, _input(types, near.came.slice(n)), rows)


def _input(types: Types, table: pa.Table) -> Input:
    return Input.of(Rows(types, table=table, summed=True))


def _held(run: Run, m: PlannedMap, near: _Near, went: Rows) -> Rows | None:
    """What the places near those that come come to, for these; and once less what those that go do."""
    assert m.folding is not None
    key = m.own_key
    whose = pa.concat_tables([near.near.select([*key]), went.arrow().select([*key])]).combine_chunks()
    owners = pa.concat_tables([near.came.slice(0, near.with_near).select([*key]), went.arrow().select([*key])])
    labels = Rows.of_columns(went.types, _columns(whose, key))
    stored = run.reader.probe(m.name, key, columnar.distinct(labels, key))
    run.read.append(len(stored))
    run.in_vain(m.name, stored.cancelled())
    table, asked = stored.consolidated().arrow(), _columns(whose, key)
    which, places = matches(index_of(table, key), table, key, hash_columns(asked, len(whose)), asked)
    own = [c.take(pa.array(which)) for c in _columns(owners, key)]
    weights = np.where(which < near.with_near, 1, -1)
    return folding.moved(m.folding, table.take(pa.array(places)), own, weights)


def _columns(table: pa.Table, columns: Sequence[int]) -> list[pa.Array]:
    return [table.column(c).combine_chunks() for c in columns]
