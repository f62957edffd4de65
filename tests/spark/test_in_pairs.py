"""What Spark would make pair by pair: computed keys are joined by hash, what is compared is left to this process."""

import datetime as dt
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.products import product

import ripplenest as rn
from ripplenest import Bag
from ripplenest.data.grouping import crowd
from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, LONG, STRING
from ripplenest.plan import pairs
from ripplenest.plan.pairs import in_pairs, joins
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source
from ripplenest.run.joiner import Joined, Task
from ripplenest.run.local import LocalJoiner
from ripplenest.spark import joiner as joiner_module
from ripplenest.spark.joiner import SparkJoiner

A, B = Col(0, 0, LONG), Col(1, 0, LONG)
SUM = Op("add_long", (A, B), LONG)
LESS, SAME = Op("lt", (A, B), BOOL), Op("eq", (A, B), BOOL)


def two(*conditions: Scalar) -> Product:
    types = (LONG, STRING)
    return product((Source("T", At.OLD, types), Source("U", At.OLD, types)), conditions, (A, B))


def lower(source: int) -> Scalar:
    return Op("lower", (Col(source, 1, STRING),), STRING)


@pytest.mark.parametrize(
    ("conditions", "is_joined", "is_paired"),
    [
        ((SAME,), True, False),
        ((Op("eq", (lower(0), lower(1)), BOOL),), True, False),
        ((Op("same", (lower(0), lower(1)), BOOL),), True, False),
        ((Op("eq", (lower(0), Const("a", STRING)), BOOL),), False, True),  # of one side alone
        ((Op("eq", (SUM, A), BOOL),), False, True),  # of both on one side
        ((LESS,), False, True),
        ((SAME, LESS), True, True),
        ((), False, True),
    ],
)
def test_who_is_joined_by_what(conditions: tuple[Scalar, ...], is_joined: bool, is_paired: bool) -> None:
    p, many = two(*conditions), pairs.PAIRS
    assert joins(p.steps[1]) == is_joined

    def crowded(n: float) -> pairs.Crowd:
        return lambda source, columns: n if (source, columns) == (p.steps[1].source, [0]) else 1 / 0

    assert in_pairs(p, (many, many), crowded(pairs.CROWD + 1)) == is_paired
    assert in_pairs(p, (many, many), crowded(pairs.CROWD)) == (is_paired and not is_joined)
    assert not in_pairs(p, (many, 1), crowded(many)) and not in_pairs(p, (1, 1), crowded(1))


def test_computed_keys_are_joined_by_hash(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either kind of equality, and also of the third source, whose join is with what the first two make."""
    types, plans = (LONG, STRING), list[str]()

    def told(products: list[object]) -> object:
        found = together(products)
        plans.append(found._jdf.queryExecution().executedPlan().toString())
        return found

    together = joiner_module.together
    monkeypatch.setattr(joiner_module, "together", told)
    for fn in ("eq", "same"):
        equal = tuple(Op(fn, (lower(i), lower(i + 1)), BOOL) for i in range(2))
        p = product(tuple(Source(x, At.OLD, types) for x in "TUV"), equal, tuple(Col(i, 0, LONG) for i in range(3)))
        rows = [Rows.of_counts(types, dict.fromkeys(enumerate(own), 1)) for own in ("Ab", "aB", "AC")]
        found = SparkJoiner(spark).join([Task("m", p, tuple(rows))], [Target("m", (LONG,) * 3, "m")])
        assert found["m"].counts() == {(0, 0, 0): 1}
    assert len(plans) == 2
    for plan in plans:
        assert plan.count("ShuffledHashJoin") == 2 and "CartesianProduct" not in plan and "NestedLoop" not in plan


def test_only_targets_of_pairs_are_joined_here(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of such a target, whatever else makes its rows, and nothing of others; nor what tasks look up."""
    monkeypatch.setattr(pairs, "PAIRS", 3)
    monkeypatch.setattr(pairs, "CROWD", 0)
    here = mock.Mock(wraps=LocalJoiner())
    engine = SparkJoiner(spark, here=here)
    rows = Rows.of_counts((LONG, STRING), {(i, "a"): 1 for i in range(3)})
    compared, plain, both = two(LESS), two(SAME), (rows, rows)
    tasks = [Task("a", compared, both), Task("a", plain, both), Task("b", plain, both)]
    targets = [Target(name, (LONG, LONG), name) for name in "abc"]
    found = engine.join(tasks, targets)
    wanted = SparkJoiner(spark).join(tasks, targets)
    assert {n: own.counts() for n, own in found.items()} == {n: own.counts() for n, own in wanted.items()}
    assert found["a"].counts() == {(a, b): 1 for a in range(3) for b in range(3) if a <= b}
    assert (found.jobs, found.here, wanted.here) == (1, 3, 0)
    (mine, of), _ = here.join.call_args
    assert [t.target for t in mine] == ["a", "a"] and [t.name for t in of] == ["a"]
    alone = engine.join(tasks[:2], targets)
    assert (alone.jobs, alone.here) == (0, 3) and not alone["b"].counts() and set(alone) == {*"abc"}
    here.reset_mock()
    monkeypatch.setattr(joiner_module, "MOST", 2)  # rows that this process does at most
    assert engine.join(tasks, targets).here == 0 and not here.join.called


def test_how_many_have_the_key_of_a_row() -> None:
    """On average of rows, of several tables together: of 1, 1, 1 and 2 they are three times 3 and once 1."""
    one, other = (pa.table({"c0": own, "c1": ["x"] * len(own)}) for own in ([1, 1, 2], [1]))
    assert crowd([one, other], (0,)) == 2.5 and crowd([one, other], (0, 1)) == 2.5 and crowd([other], (1,)) == 1
    assert crowd([], (0,)) == crowd([one.slice(0, 0)], (0,)) == 0


def test_both_add_up() -> None:
    rows = Rows.of_counts((LONG,), {(1,): 1})
    a, b = Joined({"a": rows}, 1, 2, frozenset("a"), 3), Joined({"b": rows}, 10, 20, frozenset(), 30)
    found = a.beside(b)
    assert {*found} == {"a", "b"} and (found.jobs, found.read, found.here, found.in_pieces) == (11, 22, 33, {"a"})


@rn.record
class Entry:
    id: int
    acct: int
    at: int
    day: dt.date
    n: int


@rn.view
def balances(E: Bag[Entry]):
    """Running totals, of an account and of all; windows; what overlaps; sums that may be too large, and are equal."""
    return [
        {
            "id": e.id,
            "own": sum(o.n for o in E if o.acct == e.acct and o.at <= e.at),
            "all": sum(o.n for o in E if o.at <= e.at),
            "after": len([o for o in E if o.acct == e.acct and e.at <= o.at < e.at + 3]),
            "near": [o.id for o in E if e.at < o.at < e.at + 2],
            "same": [o.id for o in E if o.at + o.n == e.at + e.n],
        }
        for e in E
    ]


def entry(i: int) -> dict[str, object]:
    return {"id": i, "acct": i % 2, "at": i * 7 % 11, "day": dt.date(2024, 1, 1 + i % 3), "n": i * 3 % 5}


def test_views_are_the_same_and_reports_say_who_joined(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "PAIRS", 3)
    monkeypatch.setattr(pairs, "CROWD", 1)
    local = rn.open(tmp_path / "local", engine="local")
    there = rn.open(tmp_path / "there", engine="spark", spark=spark)
    for db in (local, there):
        db.relation("E", Entry, key="id")
        db.load("E", [entry(i) for i in range(8)])
        db.create(balances)
        with db.batch() as b:
            b.insert("E", [entry(i) for i in range(8, 20)])
            b.delete_key("E", id=3)
    rows = [sorted(db.view("balances").rows(), key=lambda r: r["id"]) for db in (local, there)]
    assert rows[0] == rows[1] and len(rows[0]) == 19 and there.verify().ok
    assert there.report is not None and there.report.engine == "spark"
    assert "were joined in this process, where a job would take longer" in str(there.report)
