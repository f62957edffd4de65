"""What statements see of sum maps of products.

Families: what is seen of stored rows adds up to what they are made of, and folds to them again, by rows and by columns;
integers without end, as bytes.
"""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.choices import Choices
from support.laws import law
from support.programs import planned
from support.sizes import many

import ripplenest as rn
from ripplenest.data.rows import Row, Rows
from ripplenest.delta.compile import Options
from ripplenest.nrc.functions.integers import decoded, encoded
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import PlannedMap
from ripplenest.run import groups, marginals, sizes
from ripplenest.spark.groups import folded as folded_by_spark
from ripplenest.vector.integers import as_bytes, of_bytes

COUNTS: Counter[str] = Counter()
RELATIONS = """
relation A : Bag(⟨i: long, a: long?⟩)
relation B : Bag(⟨i: long, j: long, x: {x}, y: {y}, z: {z}, v: {x}⟩)
"""
VIEW = "view p = group[g](r in [⟨a: a.a, b: b⟩ | a in A, b in B, b.i = a.i] by j: r.b.j of {folds})"
KINDS = ("int", "int?", "long", "long?", "decimal(9,2)", "decimal(38,3)?")
FEW_DIGITS, MANY_DIGITS = {"int", "int?", "decimal(9,2)"}, "decimal(38,3)?"


def sum_map(*kinds: str) -> PlannedMap:
    """Of the sums x·y·z and v by i and j."""
    folds = "s: sum(r.a, r.b.x, r.b.y, r.b.z), t: sum(r.b.v, r.a), n: count(r.b.v)"
    text = RELATIONS.format(**dict(zip("xyz", kinds, strict=True))) + VIEW.format(folds=folds)
    (view,) = rn.parse(text, "p").views
    _, plan = planned(view.query, Options("full"))
    ((name, summed),) = [(m.name, m.summed) for m in plan.program.maps if m.summed and "B" in m.reads]
    assert {len(factors) for factors in summed} <= {1, 3}
    return plan.by_name[name]


def kinds(c: Choices) -> list[str]:
    """Those of three factors: two of the most digits leave room for one of few, else there is no sum of them."""
    while True:
        found = [c.pick(KINDS) for _ in "xyz"]
        if found.count(MANY_DIGITS) < 2 or FEW_DIGITS & {*found}:
            return found


def value(c: Choices, t: Base) -> Any:
    """Mostly a small one; else the largest there are, and NULL."""
    if t.nullable and c.one_in(4):
        return None
    if t.kind != "decimal":
        most = 2**31 if t.kind == "int" else 2**63
        return c.pick((most - 1, -most)) if c.one_in(3) else c.number(9) - 4
    return Decimal((c.number(2), (9,) * t.precision, -t.scale)) if c.one_in(3) else Decimal(c.number(9) - 4).scaleb(-2)


def rows_of(c: Choices, m: PlannedMap) -> Counter[Row]:
    assert m.folding is not None
    keys = len(m.own_key)
    made: Counter[Row] = Counter()
    for _ in range(1 + c.number(12)):
        made[(*(c.number(2) for _ in range(keys)), *(value(c, t) for t in m.folding.made[keys:]))] += 1 + c.number(3)
    return made


def folded(m: PlannedMap, made: Rows, stored: Rows, few: int, seen: bool = False) -> Rows:
    assert m.folding is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", few)
        return groups.folded(m, m.adding if seen else m.folding, made, stored).change


def added_up(m: PlannedMap, rows: Counter[Row]) -> dict[Row, list[Fraction]]:
    """By key how many rows there are, and of each product how many values it has, and what they come to."""
    assert m.folding is not None
    found: dict[Row, list[Fraction]] = {}
    args = [m.folding.accumulators[a.total or 0].args for a in m.folding.answers]
    for row, n in rows.items():
        own = found.setdefault(row[: m.folding.keys], [Fraction(0)] * (1 + 2 * len(args)))
        own[0] += n
        for i, places in enumerate(args):
            factors = [row[p] for p in places]
            if None not in factors:
                own[1 + 2 * i] += n
                own[2 + 2 * i] += n * prod(map(Fraction, factors))
    return {key: sums for key, sums in found.items() if any(sums)}


@law(examples=many(22, 1500))
def test_what_is_seen_adds_up_to_what_is_there(c: Choices) -> None:
    """Law (seen): by key and product as many rows, values and as much; of what came, and of what went as well."""
    m = sum_map(*kinds(c))
    assert m.folding is not None
    held: Counter[Row] = Counter()
    stored, nothing = Rows.empty(m.types), Rows.empty(m.types)
    for _ in range(3):
        step = rows_of(c, m)
        step.subtract({row: c.number(n + 1) for row, n in held.items()})
        held.update(step)
        made = Rows.of_counts(m.folding.made, {row: n for row, n in step.items() if n})
        by_columns, by_rows = (folded(m, made, stored, few) for few in (0, 10**9))
        assert by_columns.counts() == by_rows.counts()
        assert added_up(m, marginals.seen(m, by_rows).counts()) == added_up(m, step)
        stored = stored.plus(by_rows).consolidated()
        seen = marginals.seen(m, stored)
        assert added_up(m, seen.counts()) == added_up(m, held)
        assert folded(m, seen, nothing, c.pick((0, 10**9)), seen=True).counts() == stored.counts()
        COUNTS["steps"] += 1
        endless = [i for i, t in enumerate(m.types) if t.kind == "binary"]
        COUNTS["beyond 64 bits"] += any(len(row[i]) > 8 for row in stored.counts() for i in endless)
        COUNTS["of few digits"] += any(len(row[i]) == 8 for row in stored.counts() for i in endless)
        COUNTS["of several limbs"] += any(abs(decoded(row[i])) > 10**38 for row in stored.counts() for i in endless)


@law(examples=many(2, 30), tries=6)
def test_spark_adds_up_what_is_added_up_here(spark: SparkSession, c: Choices) -> None:
    m = sum_map("int", *(c.pick(KINDS) for _ in "yz"))
    assert m.folding is not None and m.folding.is_endless
    made = Rows.of_counts(m.folding.made, rows_of(c, m))
    found: pa.Table = folded_by_spark(m.folding, spark.createDataFrame(made.arrow())).toArrow()
    assert Rows.of_arrow(m.types, found).counts() == folded(m, made, Rows.empty(m.types), 0).counts()


EDGES = [s * (2**bits + d) for bits in (0, 7, 8, 62, 63, 64, 127, 200) for d in (-1, 0, 1) for s in (1, -1)]


def test_integers_are_their_bytes() -> None:
    """Equal integers have equal bytes, so that rows that hold them are equal; those of 64 bits are read at once."""
    assert [decoded(encoded(n)) for n in EDGES] == EDGES
    narrow = [n for n in EDGES if -(2**63) <= n < 2**63]
    column = as_bytes(pa.array(narrow).to_numpy())
    assert column.to_pylist() == list(map(encoded, narrow))
    for parts in ([column], [column[:5], column[7:], column[:0]], []):
        wanted = [decoded(b) for part in parts for b in part.to_pylist()]
        found = of_bytes(pa.chunked_array(parts, pa.binary()))
        assert found is not None and found.tolist() == wanted
    assert of_bytes(pa.chunked_array([column, [encoded(2**63)]])) is None


def test_coverage() -> None:
    """The law above saw what it is about."""
    if COUNTS["steps"] < 100:
        pytest.skip("the tests of this module did not all run")
    assert min(COUNTS["beyond 64 bits"], COUNTS["of few digits"], COUNTS["of several limbs"]) > 5, COUNTS
