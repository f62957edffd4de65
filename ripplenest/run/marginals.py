"""What statements see of a sum map: a bag that adds up to the same as the rows that it is made of.

Stored is one row for each key: how many rows there are of it, n, and of each product x of columns in how many there is
a value, nₓ, and what these come to, s. What is seen are n copies of the key. The first of them has s in x, the others
up to nₓ have 0, and behind these there is NULL. Of a product that is the value of its first factor, and the digits of
the others are 1; what a sum has beyond 37 digits is a copy more, with as many digits again in other factors, and one
with 0 less. Law: for each x the rows of a key are there n times, have a value in x nₓ times, and add up to s
there; and what is seen of a sum of stored rows is the sum of what is seen. So whoever reads each x by itself, and only
adds up, sees what the rows are that it is made of.

What a batch does to the map before the turn of a statement is seen as the rows that statements have made, which are
not added up yet: they are of the same columns, and come to the same. So nobody waits for stored rows to be read. Very
many of them are added up by key, those that come and those that go, if what is seen of that is much fewer.
"""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data.grouping import about_different
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema, arrow_type
from ripplenest.nrc.functions.folds import LIMB
from ripplenest.nrc.functions.integers import decoded
from ripplenest.nrc.functions.meanings import EXACT
from ripplenest.nrc.types import Base
from ripplenest.plan.groups import Answered, Folding
from ripplenest.plan.planned import PlannedMap
from ripplenest.store.files import Filed
from ripplenest.vector import folding, integers

MANY = 1 << 12  # rows from which on it may pay to add them up
FEWER = 4  # times as many as are left of them
Ints = np.typing.NDArray[np.int64]
Bools = np.typing.NDArray[np.bool_]


def fewer(m: PlannedMap, made: Rows) -> Rows:
    """Rows that statements have ``made`` of a sum map, or much fewer that come to the same; those in files stay there.
    """
    if len(made) < MANY or isinstance(made, Filed):
        return made
    if about_different(made.arrow(), tuple(range(m.adding.keys))) * FEWER > len(made):
        return made
    came, gone = (_added_up(m, made, sign) for sign in (1, -1))
    if came is None or gone is None or (len(came) + len(gone)) * FEWER > len(made):
        return made
    return came.plus(gone.negated())


def _added_up(m: PlannedMap, made: Rows, sign: int) -> Rows | None:
    """What is seen of the rows that are there more than 0 times, or of those less, as often as they lack, by key. None
    where a sum could leave 62 bits."""
    table = made.arrow()
    own = Rows(made.types, table=table.filter(pc.equal(pc.sign(table.column(WEIGHT)), sign)))
    if own.is_empty:
        return own
    found = folding.sums(m.adding, None, own if sign > 0 else own.negated(), Rows.empty(m.types))
    return None if found is None else seen(m, folding.change(m.adding, found))


def seen(m: PlannedMap, rows: Rows) -> Rows:
    """What statements see of stored ``rows`` of a sum map, or of their change."""
    f, table = m.adding, rows.arrow().combine_chunks()
    schema, weights = arrow_schema(m.made), table.column(WEIGHT).to_numpy()
    pieces = []
    for factors, copies in _copies(f, table):
        found = [*table.columns[: f.keys], *factors, pa.array(weights * copies)]
        pieces.append(pa.Table.from_arrays(found, schema=schema).filter(pa.array(copies != 0)))
    return Rows(m.made, table=pa.concat_tables(pieces))


def _copies(f: Folding, table: pa.Table) -> Iterator[tuple[list[pa.Array], Ints]]:
    """Values of the factors of what is summed, for each key, and how many copies of it have them."""
    own = [_Product.of(f, a, table) for a in f.answers]
    n = table.column(f.keys).to_numpy()
    yield [x for p in own for x in p.values(p.limbs[0], p.count > 0)], np.minimum(n, 1)
    before = np.ones_like(n)
    for last in np.maximum(np.sort(np.vstack([*(p.count for p in own), n]), axis=0), 1):
        yield [x for p in own for x in p.values(p.nothing, p.count >= last)], last - before
        before = last
    for p in own:
        for limb in range(1, len(p.limbs)):
            there = p.has(limb)
            for digits, copies in ((p.limbs[limb], there), (p.nothing, -there)):
                yield [x for q in own for x in q.values(digits, (there > 0) & (q is p), limb)], copies


@frozen
class _Product:
    """What products of columns come to, by key: factors of these ``types`` have a value in ``count`` rows. Of a sum of
    too many digits for one number there are several ``limbs``, the lowest first."""

    types: tuple[Base, ...]
    count: Ints
    limbs: tuple[pa.Array, ...]

    @classmethod
    def of(cls, f: Folding, a: Answered, table: pa.Table) -> "_Product":
        assert a.total is not None
        kept, own = table.column(f.keys + a.total).combine_chunks(), f.accumulators[a.total]
        types = tuple(f.made[i] for i in own.args)
        limbs = _limbs(kept, types[0]) if own.of == "endless" else (kept.view(arrow_type(types[0])),)
        return cls(types, table.column(f.keys + a.count).to_numpy(), limbs)

    @property
    def nothing(self) -> pa.Array:
        return _number(0, self.types[0], len(self.count))

    def has(self, limb: int) -> Ints:
        """1 for the keys whose sums have so many limbs, else 0."""
        found: Ints = pc.not_equal(self.limbs[limb], self.nothing).to_numpy(zero_copy_only=False).astype(np.int64)
        return found

    def values(self, first: pa.Array, there: Bools, limb: int = 0) -> Iterator[pa.Array]:
        """The factors of a limb whose digits are ``first``, where there is one."""
        for i, t in enumerate(self.types):
            digits = first if i == 0 else _number(LIMB if i <= limb else 1, t, len(there))
            yield pc.if_else(pa.array(there), digits, pa.scalar(None, arrow_type(t)))


def _limbs(kept: pa.Array, t: Base) -> tuple[pa.Array, ...]:
    """Integers without end as numbers of type ``t`` without a point."""
    found = integers.of_bytes(pa.chunked_array([kept]))
    if found is not None:
        return (integers.as_decimals(found, t),)
    sums = [decoded(stored) for stored in kept.to_pylist()]
    columns: list[pa.Array] = []
    while any(sums) or not columns:
        low = [n % LIMB if n >= 0 else -(-n % LIMB) for n in sums]
        columns.append(pa.array([Decimal(n).scaleb(-t.scale, EXACT) for n in low], arrow_type(t)))
        sums = [(n - own) // LIMB for n, own in zip(sums, low, strict=True)]
    return tuple(columns)


def _number(digits: int, t: Base, rows: int) -> pa.Array:
    """The number of type ``t`` with these digits without a point, in so many rows."""
    return pa.repeat(pa.scalar(Decimal(digits).scaleb(-t.scale, EXACT), arrow_type(t)), rows)
