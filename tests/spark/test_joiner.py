"""The Spark engine against the Python engine, product by product: what random programs seldom have."""

import gc
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.products import product

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, STRING, Base, nullable
from ripplenest.nrc.values import NAN
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source
from ripplenest.run import sizes
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.local import LocalJoiner
from ripplenest.spark import frames
from ripplenest.spark import joiner as joiner_module
from ripplenest.spark.joiner import FEW_JOINS, MANY_JOINS, SparkJoiner

MAYBE = nullable(DOUBLE)
assert isinstance(MAYBE, Base)
EVERY = (
    BOOL,
    Base("int"),
    LONG,
    MAYBE,
    Base("decimal", True, 10, 2),
    Base("string", True),
    Base("date"),
    Base("timestamp"),
    Base("binary"),
)
ROWS = {
    (True, 1, 2**62, NAN, Decimal("1.50"), "é\x00`", date(1, 1, 1), datetime(1582, 10, 4, tzinfo=UTC), b"\x00"): 2,
    (False, -1, -(2**63), None, None, None, date(9999, 12, 31), datetime(9999, 12, 31, tzinfo=UTC), b""): -1,
    (False, -1, 0, 0.0, Decimal("-0.01"), "", date(1970, 1, 1), datetime(1969, 12, 31, tzinfo=UTC), b"x"): 3,
}


def made(name: str, types: tuple[Base, ...]) -> Target:
    return Target(name, types, name)


@pytest.fixture(autouse=True)
def columns_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "FEW", 0)


def same(spark: SparkSession, tasks: list[Task], maps: list[Target]) -> dict[str, dict[tuple[object, ...], int]]:
    expected = {name: rows.counts() for name, rows in PythonJoiner().join(tasks, maps).items()}
    for joiner in (LocalJoiner(), SparkJoiner(spark)):
        assert {name: rows.counts() for name, rows in joiner.join(tasks, maps).items()} == expected
    return expected


def copy(types: tuple[Base, ...]) -> Product:
    head: tuple[Scalar, ...] = tuple(Col(0, i, t) for i, t in enumerate(types))
    return product((Source("T", At.DELTA, types),), (), head)


def test_every_type_goes_there_and_back(spark: SparkSession) -> None:
    rows = Rows.of_counts(EVERY, ROWS)
    assert same(spark, [Task("m", copy(EVERY), (rows,))], [made("m", EVERY)]) == {"m": ROWS}


@pytest.mark.parametrize("sizes_of_pieces", [(0,), (0, 3), (3, 0), (2, 0, 1), (0, 0, 1, 0, 0, 2)])
def test_rows_in_pieces_some_of_which_are_empty(spark: SparkSession, sizes_of_pieces: tuple[int, ...]) -> None:
    """As joins and what is seen of sums make them: Spark alone would lose what is behind such a piece."""
    ends = [sum(sizes_of_pieces[:i]) for i in range(len(sizes_of_pieces))]
    table = pa.table({"c0": range(3), "w": [1, 1, 1]})
    pieces = pa.concat_tables([table.slice(end, n) for end, n in zip(ends, sizes_of_pieces, strict=True)])
    rows = Rows((LONG,), table=pieces)
    found = same(spark, [Task("m", copy((LONG,)), (rows,))], [made("m", (LONG,))])
    assert len(found["m"]) == sum(sizes_of_pieces)


@pytest.mark.parametrize("holds", [True, False, None])
def test_products_without_sources(spark: SparkSession, holds: bool | None) -> None:
    """One row when the conditions are true, none when they are false or NULL."""
    p = product((), (Op("eq", (Const(holds, BOOL), Const(True, BOOL)), BOOL),), (Const("a", STRING),), -3)
    found = same(spark, [Task("m", p, ())], [made("m", (STRING,))])
    assert found == {"m": {("a",): -3} if holds else {}}


def test_a_constant_condition_beside_sources(spark: SparkSession) -> None:
    never = Op("eq", (Const(1, LONG), Const(2, LONG)), BOOL)
    p = copy((LONG,))
    p = product(p.sources, (never,), p.head)
    rows = Rows.of_counts((LONG,), {(1,): 1})
    assert same(spark, [Task("m", p, (rows,))], [made("m", (LONG,))]) == {"m": {}}


def test_maps_without_columns_and_without_tasks(spark: SparkSession) -> None:
    """Rows of no column are counted; a map that nothing changes is in the answer; slots are shared by type."""
    rows = Rows.of_counts((LONG, STRING), {(1, "a"): 2, (2, "a"): 5})
    unit = product((Source("T", At.DELTA, (LONG, STRING)),), (), ())
    tasks = [Task("unit", unit, (rows,)), Task("both", copy((LONG, STRING)), (rows,)), Task("unit", unit, (rows,))]
    maps = [made("unit", ()), made("both", (LONG, STRING)), made("idle", (STRING, STRING))]
    found = same(spark, tasks, maps)
    assert found == {"unit": {(): 14}, "both": {(1, "a"): 2, (2, "a"): 5}, "idle": {}}


def test_one_product_of_several_targets(spark: SparkSession) -> None:
    """Equal products are one object, and each target has its rows."""
    rows = Rows.of_counts((LONG,), {(1,): 2, (2,): -1})
    p = copy((LONG,))
    tasks = [Task("a", p, (rows,)), Task("b", p, (rows,)), Task("a", p, (rows,))]
    joiner, targets = SparkJoiner(spark), [made("a", (LONG,)), made("b", (LONG,))]
    expected = {"a": {(1,): 4, (2,): -2}, "b": {(1,): 2, (2,): -1}}
    assert same(spark, tasks, targets) == expected
    for _ in range(2):
        assert {name: found.counts() for name, found in joiner.join(tasks, targets).items()} == expected


def test_weights_beyond_64_bits_are_refused(spark: SparkSession) -> None:
    rows = Rows.of_counts((LONG,), {(1,): 2**62})
    square = product((Source("T", At.DELTA, (LONG,)),) * 2, (), (Col(0, 0, LONG),))
    for joiner in (PythonJoiner(), LocalJoiner(), SparkJoiner(spark)):
        with pytest.raises(EvaluationError):
            joiner.join([Task("m", square, (rows, rows))], [made("m", (LONG,))])


def test_rows_are_there_as_often_as_times_say(spark: SparkSession) -> None:
    """The weight of a combination times its times: columns of one source and of several, ints, constants, and what can
    fail; NULL and 0 are no times."""
    few, maybe = Base("int"), Base("long", True)
    left = Rows.of_counts((LONG, maybe), {(1, 3): 2, (1, -2): 1, (1, 0): 5, (1, None): 5, (2, 7): 1})
    right = Rows.of_counts((LONG, few), {(1, 5): 3, (1, 0): 1, (2, 1): 1})
    a, b = Col(0, 1, maybe), Col(1, 1, few)
    less = Op("monus_int", (Const(6, few), b), few)
    not_0 = tuple(Op("ne", (t, Const(0, kind)), BOOL) for t, kind in ((a, LONG), (b, few), (less, few)))
    join = Op("eq", (Col(0, 0, LONG), Col(1, 0, LONG)), BOOL)
    sources = (Source("T", At.DELTA, (LONG, maybe)), Source("U", At.OLD, (LONG, few)))
    p = product(sources, (join, *not_0), (Col(0, 0, LONG),), -1, (a, b, less, Const(2, LONG)))
    assert less not in p.conditions and p.partial == (not_0[2],)
    found = same(spark, [Task("m", p, (left, right))], [made("m", (LONG,))])
    assert found == {"m": {(1,): -(3 * 2 - 2) * 5 * 3 * 2, (2,): -7 * 1 * 5 * 2}}


def test_times_beyond_64_bits_are_refused(spark: SparkSession) -> None:
    rows = Rows.of_counts((LONG,), {(2**62,): 2})
    p = product((Source("T", At.DELTA, (LONG,)),), (), (), times=(Col(0, 0, LONG),))
    for joiner in (PythonJoiner(), LocalJoiner(), SparkJoiner(spark)):
        with pytest.raises(EvaluationError):
            joiner.join([Task("m", p, (rows,))], [made("m", ())])
    smaller = Rows.of_counts((LONG,), {(2**62,): 1, (2**62 - 1,): 1})
    assert same(spark, [Task("m", p, (smaller,))], [made("m", ())]) == {"m": {(): 2**63 - 1}}


def test_what_can_fail_is_asked_last(spark: SparkSession) -> None:
    """1 / x.a > 0.1 is asked only about rows that find a partner and fulfil the other conditions, whatever their order;
    an equality that can fail is a key and not a nested loop."""
    both = (LONG, DOUBLE)
    left = Rows.of_counts(both, {(1, 0.0): 1, (2, 4.0): 2, (3, 0.0): 1})
    right = Rows.of_counts(both, {(2, 8.0): 3, (3, 0.0): 1})
    partial = Op("gt", (Op("div_double", (Const(1.0, DOUBLE), Col(0, 1, DOUBLE)), DOUBLE), Const(0.1, DOUBLE)), BOOL)
    join = Op("eq", (Col(0, 0, LONG), Col(1, 0, LONG)), BOOL)
    large = Op("gt", (Col(1, 1, DOUBLE), Const(5.0, DOUBLE)), BOOL)
    sources = (Source("T", At.DELTA, both), Source("U", At.OLD, both))
    for conditions in ((partial, join, large), (large, join, partial)):
        p = product(sources, conditions, (Col(0, 0, LONG),))
        assert same(spark, [Task("m", p, (left, right))], [made("m", (LONG,))]) == {"m": {(2,): 6}}
    shifted = Op("eq", (Op("add_long", (Col(0, 0, LONG), Const(1, LONG)), LONG), Col(1, 0, LONG)), BOOL)
    p = product(sources, (partial, shifted), (Col(0, 0, LONG),))
    ok = Rows.of_counts(both, {(1, 4.0): 1, (2, 4.0): 2})
    assert same(spark, [Task("m", p, (ok, right))], [made("m", (LONG,))]) == {"m": {(1,): 3, (2,): 2}}
    for joiner in (PythonJoiner(), LocalJoiner(), SparkJoiner(spark)):
        with pytest.raises(EvaluationError):
            joiner.join([Task("m", p, (left, right))], [made("m", (LONG,))])


@pytest.mark.parametrize("many", [0, frames.SMALL_ROWS])
def test_of_what_is_there_0_times_nothing_is_asked(
    spark: SparkSession, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a row of which what came and what went are stored apart."""
    monkeypatch.setattr(frames, "SMALL_ROWS", many)
    two = Op("mod_long", (Const(100, LONG), Col(0, 0, LONG)), LONG)
    rows = Rows.of_counts((LONG,), {(0,): 1, (7,): 1}).plus(Rows.of_counts((LONG,), {(0,): -1}))
    p = product((Source("T", At.OLD, (LONG,)),), (), (two,))
    assert same(spark, [Task("m", p, (rows,))], [made("m", (LONG,))]) == {"m": {(2,): 1}}


def test_what_is_prepared_is_forgotten_and_made_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which targets are asked for at once depends on what a batch changes; few such sets are remembered."""
    monkeypatch.setattr(joiner_module, "PREPARED", 1)
    joiner, rows = SparkJoiner(spark), Rows.of_counts((LONG, STRING), {(1, "a"): 2})
    p, targets = copy((LONG, STRING)), [made(name, (LONG, STRING)) for name in "abc"]
    for asked in (targets, targets[1:], targets[::-1], targets):
        found = joiner.join([Task(t.name, p, (rows,)) for t in asked], asked)
        assert {name: own.counts() for name, own in found.items()} == {t.name: {(1, "a"): 2} for t in asked}
        assert len(joiner._prepared) == 1


def test_few_rows_that_make_many_are_summed_there(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as inputs of one task may have come back as they are; more than that are a job more, which sums them."""
    monkeypatch.setattr(frames, "SMALL_ROWS", 5)
    monkeypatch.setattr(joiner_module, "SMALL_ROWS", 5)
    pair = (Source("T", At.DELTA, (LONG,)), Source("U", At.OLD, (LONG,)))
    two, three = (Rows.of_counts((LONG,), {(i,): 2 for i in range(n)}) for n in (2, 3))
    for right, head, jobs in ((two, (Col(0, 0, LONG),), 1), (three, (Col(0, 0, LONG),), 2)):
        tasks = [Task("m", product(pair, (), head), (two, right))]
        same(spark, tasks, [made("m", (LONG,))])
        assert SparkJoiner(spark).join(tasks, [made("m", (LONG,))]).jobs == jobs


@pytest.mark.parametrize("pages", ["small", pytest.param("large", marks=pytest.mark.long)])
def test_very_many_joins_are_several_jobs(spark: SparkSession, pages: str) -> None:
    """Each hash join holds memory until its task ends; what does not fit into one task is summed over several."""
    text = (STRING,)
    tables = tuple(Rows.of_counts(text, {(f"a{i}",): n}) for i, n in ((1, 2), (1, 3), (1, 5)))
    sources = tuple(Source(f"T{i}", At.OLD if i else At.DELTA, text) for i in range(3))
    joins = tuple(Op("eq", (Col(i, 0, STRING), Col(i + 1, 0, STRING)), BOOL) for i in range(2))
    chain = product(sources, joins, (Col(0, 0, STRING),))
    joiner = SparkJoiner(spark)
    assert joiner._most == MANY_JOINS  # the session of the tests is one of ours
    joiner._most = joiner._most if pages == "small" else FEW_JOINS
    count = 50
    found = joiner.join([Task("m", chain, tables)] * count, [made("m", text), made("idle", text)])
    assert {name: rows.counts() for name, rows in found.items()} == {"m": {("a1",): 30 * count}, "idle": {}}
    assert found.jobs == (1 if pages == "small" else 9)


@pytest.mark.long
def test_what_spark_was_given_is_let_go(spark: SparkSession) -> None:
    """However seldom Python looks for cycles, in which all that was asked of Java is held: plans with their rows, too,
    of which these have some 25 MB each."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]

    def used() -> int:
        runtime.gc()
        return int(runtime.totalMemory() - runtime.freeMemory()) >> 20

    rows = Rows.of_arrow((LONG, LONG), pa.table({"c0": range(100_000), "c1": range(100_000), "w": [1] * 100_000}))
    joiner, task = SparkJoiner(spark), Task("m", copy((LONG, LONG)), (rows,))
    joiner.join([task], [made("m", (LONG, LONG))])
    gc.collect()
    gc.disable()
    try:
        before = used()
        for _ in range(16):
            joiner.join([task], [made("m", (LONG, LONG))])
        assert used() - before < 200
    finally:
        gc.enable()


def test_a_column_compared_with_itself(spark: SparkSession) -> None:
    """In joins of a table with itself, of two and of three, by any condition that says something of a column alone:
    Spark takes ``s1.c = s1.c`` in such a join for ``s0.c = s1.c``."""
    maybe = Base("long", True)
    rows = Rows.of_counts((LONG, maybe), {(1, 5): 1, (1, 6): 2, (1, None): 1, (2, 6): 1, (2, 7): -1})
    tasks, targets = [], []
    for many in (2, 3):
        sources = (Source("R", At.OLD, (LONG, maybe)),) * many
        keys = [Op("eq", (Col(i, 0, LONG), Col(0, 0, LONG)), BOOL) for i in range(1, many)]
        for source in range(many):
            own: Scalar = Col(source, 1, maybe)
            for fn in ("eq", "same", "ne"):
                it = Op(fn, (own, own), BOOL)
                nothing = Op("is_null", (it,), BOOL)
                for i, asked in enumerate((it, Op("not", (it,), BOOL), nothing, Op("or", (it, nothing), BOOL))):
                    name = f"{many} {source} {fn} {i}"
                    head = tuple(Col(n, 1, maybe) for n in range(many))
                    tasks.append(Task(name, product(sources, (*keys, asked), head), (rows,) * many))
                    targets.append(made(name, (maybe,) * many))
    found = same(spark, tasks, targets)
    assert sum(map(bool, found.values())) > len(tasks) / 2
