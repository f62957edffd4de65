"""Products as DataFrames: sources are aliased apart, joined in access order, and projected on the head.

Every column name here is one of ours (``s0.c1``); user names never reach Spark.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, mul
from typing import Literal, assert_never

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.data.columnar import without_gaps
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.nrc.types import Base, Type, nullable
from ripplenest.plan.pairs import joins
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Step
from ripplenest.spark.scalars import column, literal, spark_type

SMALL_ROWS = 200_000
"""Inputs of up to this many rows are joined in one task, where a shuffle costs more than it saves; and what that makes
comes back as it is if it is not more, where summing it takes Spark longer than this process."""


def few(inputs: Iterable[Rows]) -> bool:
    """True when joining ``inputs`` in one task beats a shuffle."""
    return sum(map(len, inputs)) <= SMALL_ROWS


def frame(spark: SparkSession, rows: Rows) -> DataFrame:
    """``rows`` with columns c0, …, w; one partition when they are few."""
    df = spark.createDataFrame(without_gaps(rows.arrow()))
    return df.coalesce(1) if few([rows]) else df


@frozen
class Layout:
    """The columns that the rows of several targets share in one frame.

    ``tag`` says whose a row is, and each slot holds a column of its type of any of them: ``slots`` by target.
    """

    tags: dict[str, int]
    slots: dict[str, tuple[str, ...]]
    types: dict[str, Base]
    nulls: dict[str, Column]


def layout(targets: Sequence[Target]) -> Layout:
    """As few slots as the widest target needs of each type, so that frames stay narrow however many there are."""
    types: dict[str, Base] = {}
    kinds: dict[Type, int] = {}
    slots: dict[str, tuple[str, ...]] = {}
    for target in targets:
        used: Counter[int] = Counter()
        own = []
        for t in target.types:
            kind = kinds.setdefault(nullable(t), len(kinds))
            own.append(f"k{kind}_{used[kind]}")
            used[kind] += 1
            types.setdefault(own[-1], t)
        slots[target.name] = tuple(own)
    nulls = {slot: F.lit(None).cast(spark_type(t).simpleString()).alias(slot) for slot, t in types.items()}
    return Layout({target.name: i for i, target in enumerate(targets)}, slots, types, nulls)


@frozen
class Joined:
    """How a source is joined with what was read before: rows for which ``condition`` is true; or, where there may be
    none for a ``place``, those of the place or nothing, of which those stay for which it is true."""

    step: Step
    condition: Column | None
    place: Column | None = None

    def with_rows(self, before: DataFrame, own: DataFrame) -> DataFrame:
        """``before`` joined with the rows of its source."""
        if self.place is None:
            return before.crossJoin(own) if self.condition is None else before.join(own, self.condition, "inner")
        found = before.join(own, self.place, "left")
        return found if self.condition is None else found.filter(self.condition)


@frozen
class Join:
    """One product as columns, made once and used by every batch: each is a round trip to the JVM.

    ``steps`` are in access order, each with the condition that is ready then; ``constant`` reads no source.
    """

    product: Product
    steps: tuple[Joined, ...]
    constant: Column | None
    select: tuple[Column, ...]

    def frame(self, spark: SparkSession, frames: Sequence[DataFrame], small: bool) -> DataFrame:
        """The rows of the product in the columns of its layout, not summed."""
        joined: DataFrame | None = None
        for number, one in enumerate(self.steps):
            own = frames[one.step.source].alias(f"s{one.step.source}")
            if joined is None and one.place is None:
                joined = own if one.condition is None else own.filter(one.condition)
            elif joined is not None and small:
                joined = one.with_rows(joined.coalesce(1) if number > 1 else joined, own.hint(_hint(one.step)))
            else:
                joined = one.with_rows(_one_row(spark) if joined is None else joined, own)
        joined = _one_row(spark) if joined is None else joined
        joined = joined if self.constant is None else joined.filter(self.constant)
        return joined.select(*self.select)


def _one_row(spark: SparkSession) -> DataFrame:
    return spark.range(1).coalesce(1)


def _hint(step: Step) -> str:
    """How Spark is to join two single partitions so that neither moves: by hash, or every row with every row. What that
    makes is one partition as well, of which Spark has to be told before the next join. What is computed of either side
    may be equal as well, where nothing is looked up by it."""
    return "shuffle_hash" if joins(step) else "shuffle_replicate_nl"


def join_of(p: Product, name: str, shared: Layout, nothing: Mapping[str, Sequence[Const]] | None = None) -> Join:
    """The product ``p`` of the target ``name``. ``nothing``: by table what the last columns are of a place that has no
    row, where there may be some: where it has been read, the row has been put in."""
    read = _Read.of(p, nothing or {})
    select = (*placed(name, shared, map(read.scalar, p.head)), _weight(p, read).alias(WEIGHT))
    constant = [read.scalar(c) for c in p.constant]
    return Join(p, tuple(_steps(p, read)), reduce(and_, constant) if constant else None, select)


def placed(name: str, shared: Layout, columns: Iterable[Column]) -> Iterator[Column]:
    """The tag and the slots of a row of the target ``name``."""
    own = {slot: c.alias(slot) for slot, c in zip(shared.slots[name], columns, strict=True)}
    yield F.lit(shared.tags[name]).alias("tag")
    yield from (own.get(slot, null) for slot, null in shared.nulls.items())


@frozen
class _Read:
    """The columns of sources as a product reads them; ``completed`` are those of places that may have no row."""

    completed: Mapping[int, Sequence[Column]]

    @classmethod
    def of(cls, p: Product, nothing: Mapping[str, Sequence[Const]]) -> "_Read":
        found: dict[int, Sequence[Column]] = {}
        for step in (step for step in p.steps if step.place):
            source = p.sources[step.source]
            if source.table in nothing:
                asked = [cls(found).scalar(k.scalar) for k in step.keys]
                answers = [scalar(c) for c in nothing[source.table]]
                found[step.source] = [
                    F.when(_is_absent(step.source), other.cast(spark_type(t))).otherwise(F.col(f"s{step.source}.c{i}"))
                    for i, (other, t) in enumerate(zip([*asked, *answers], source.types, strict=True))
                ]
        return cls(found)

    def scalar(self, s: Scalar) -> Column:
        return scalar(s, self.completed)

    def weight(self, source: int) -> Column:
        own = F.col(f"s{source}.{WEIGHT}")
        return F.coalesce(own, F.lit(1).cast("bigint")) if source in self.completed else own


def _is_absent(source: int) -> Column:
    return F.col(f"s{source}.{WEIGHT}").isNull()


def _steps(p: Product, read: _Read) -> Iterator[Joined]:
    for step in p.steps:
        ready = [read.scalar(c) for c in step.ready]
        guarded = [_guarded([read.scalar(c) for c in step.guarded], p, ready, read)] if step.guarded else []
        condition = reduce(and_, [*ready, *guarded]) if ready or guarded else None
        yield Joined(step, condition, _place(step, read) if step.source in read.completed else None)


def _place(step: Step, read: _Read) -> Column:
    """Which row is that of the place."""
    equal = (F.col(f"s{step.source}.c{k.column}").eqNullSafe(read.scalar(k.scalar)) for k in step.keys)
    return reduce(and_, equal, F.lit(True))


def _guarded(partial: Sequence[Column], p: Product, others: Sequence[Column], read: _Read) -> Column:
    """Conditions that can fail, each where it is asked about rows of every source that fulfil those before it: Spark
    would ask it about the rows of one source before they are joined, and an error would end the job."""
    joined = reduce(and_, [*others, *(read.weight(i) != 0 for i in range(len(p.sources)))])
    *before, last = partial
    return F.when(reduce(_when, before, joined), last)


def _when(first: Column, then: Column) -> Column:
    """``then`` where ``first`` is true, NULL elsewhere: unlike ``and``, this says in which order they are asked."""
    return F.when(first, then)


def _weight(p: Product, read: _Read) -> Column:
    weights = [*(read.weight(i) for i in range(len(p.sources))), *(read.scalar(t).cast("bigint") for t in p.times)]
    factor = [] if p.weight == 1 and weights else [F.lit(p.weight).cast("bigint")]
    return reduce(mul, [*factor, *weights])


def together(products: Sequence[DataFrame]) -> DataFrame:
    """Products of all targets as one frame, not summed, which one job computes in one task: no more than shows that it
    makes too many rows for that."""
    union = reduce(DataFrame.unionAll, products)
    return (union.coalesce(1) if len(products) > 1 else union).limit(SMALL_ROWS + 1)


def summed(products: Sequence[DataFrame], shared: Layout) -> DataFrame:
    """Products of all targets as one frame with w summed. Grouping is null-safe."""
    grouped = reduce(DataFrame.unionAll, products).groupBy("tag", *shared.types)
    return grouped.agg(F.sum(WEIGHT).alias(WEIGHT)).filter(F.col(WEIGHT) != 0)


def answered(answer: pa.Table, target: Target, shared: Layout) -> Rows:
    """The rows of one target out of the collected answer of ``together`` or ``summed``."""
    own = answer.filter(pc.equal(answer.column("tag"), shared.tags[target.name]))
    arrays = [own.column(slot) for slot in (*shared.slots[target.name], WEIGHT)]
    names = [*(f"c{j}" for j in range(len(target.types))), WEIGHT]
    return Rows.of_arrow(target.types, pa.Table.from_arrays(arrays, names=names))


def scalar(s: Scalar, completed: Mapping[int, Sequence[Column]] | None = None) -> Column:
    """A scalar over the columns of a product's aliased sources; of some other columns stand for theirs."""
    match s:
        case Col(source, number):
            own = (completed or {}).get(source)
            return F.col(f"s{source}.c{number}") if own is None else own[number]
        case Const(value, t):
            return literal(value, t)
        case Op("eq" | "same" | "ne" as fn, (Col() as a, b)) if a == b:
            return _itself(fn, scalar(a, completed))
        case Op(fn, args, t):
            return column(fn, [scalar(a, completed) for a in args], [a.type for a in args], t)
        case _:
            assert_never(s)


def _itself(fn: Literal["eq", "same", "ne"], own: Column) -> Column:
    """A column compared with itself. Spark is not asked: in a join of a table with itself it takes ``s1.c = s1.c`` for
    ``s0.c = s1.c`` (spark.sql.selfJoinAutoResolveAmbiguity)."""
    return F.lit(True) if fn == "same" else F.when(own.isNotNull(), F.lit(fn == "eq"))
