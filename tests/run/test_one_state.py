"""Rows of one state alone make the change that triggers make of rows that were and rows that came together."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.choices import Choices
from support.correlated import correlated_cases, folding_cases
from support.laws import law
from support.programs import Memory, Running, by_columns, changed_tables, planned, query_of
from support.running import running_query
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of, cases

import ripplenest as rn
from ripplenest import Bag
from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product
from ripplenest.run import one_state, propagate
from ripplenest.run import running as near
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import PythonJoiner

COUNTS: Counter[str] = Counter()


def running_case(c: Choices) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, running_query(c, schema), 2)


def of_one_state(m: PlannedMap, products: Iterable[Product], plan: Plan, changes: Collection[str]) -> bool:
    """``are_of_one_state``, of which it is counted what it said."""
    every = [*products]
    found = one_state.are_of_one_state(m, every, plan, changes)
    if every:
        COUNTS["apart" if found else "in between"] += 1
    return found


def any_case(c: Choices) -> tuple[Case, Options]:
    make = c.pick((cases(batches=2), correlated_cases, folding_cases, folding_cases))
    return make(c), Options(c.pick(MODES), force_domain=c.one_in(3))


@pytest.mark.xdist_group("one_state")
@law(any_case, examples=many(80, 2_000))
def test_they_make_the_same_change(given: tuple[Case, Options]) -> None:
    """Of every map, after every batch, by rows and by columns, beside maps that are in between."""
    make_the_same(*given)


@pytest.mark.xdist_group("one_state")
@law(running_case, examples=many(200, 2_000))
def test_they_make_the_same_running_totals(case: Case) -> None:
    """What places near those that change tell is no part of it."""
    make_the_same(case, Options())


def make_the_same(case: Case, options: Options) -> None:
    _, plan = planned(query_of(case.schema, case.query), options)
    running = Running.start(plan, case.parts)
    COUNTS["what places near tell"] += any(m.running for m in plan.maps)
    for batch in case.batches:
        changes = changed_tables(plan.program, batch.delta)
        memory = Memory(running.tables, plan.indexes)
        made = {part: rows for part, rows in changes.items() if not rows.is_empty}
        with by_columns(PythonJoiner()) as joiner, pytest.MonkeyPatch.context() as patch:
            patch.setattr(near, "WORTH", 0)
            wanted = propagate.propagate(plan, memory, changes, joiner)
            COUNTS["parts"] += len(made) > 1
            patch.setattr(propagate, "are_of_one_state", of_one_state)
            found = propagate._propagated(Run(plan, memory, made, apart=True), changes, joiner, None, None)
            COUNTS["both come and go"] += any(rows.has_both_signs() for rows in made.values())
            COUNTS["of several parts"] += len(made) > 1
            COUNTS["something"] += bool(found.changed)
        assert counts(found.changes) == counts(wanted.changes)
        running = running.grown({**changes, **wanted.changes})


def counts(changes: dict[str, Rows]) -> dict[str, Any]:
    return {name: found for name, rows in changes.items() if (found := rows.consolidated().counts())}


@pytest.mark.xdist_group("one_state")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    often = ("apart", "in between", "both come and go", "of several parts", "something")
    assert all(COUNTS[what] > many(20, 500) for what in often), COUNTS
    assert COUNTS["what places near tell"] > many(3, 80), COUNTS
    assert COUNTS["in between"] < COUNTS["apart"], COUNTS


@rn.record
class Part:
    n: int
    q: int


@rn.record
class Event:
    id: int
    user: int
    parts: Bag[Part]


@rn.record
class User:
    id: int
    w: int


@rn.view
def shares(E: Bag[Event]) -> list[Any]:
    return [{"id": e.id, "share": 100 // len([f for f in E if f.user == e.user])} for e in E]


@rn.view
def parts(E: Bag[Event]) -> list[Any]:
    return [{"id": e.id, "of": [p.q // len(e.parts) for p in e.parts]} for e in E]


@rn.view
def grouped(E: Bag[Event]) -> list[Any]:
    return [
        {"user": u, "kinds": [{"k": k, "share": len(xs) / len(es)} for k, xs in rn.group_by(es, lambda e: e.id % 3)]}
        for u, es in rn.group_by(E, lambda e: e.user)
    ]


@rn.view
def joined(E: Bag[Event], U: Bag[User]) -> list[Any]:
    """Of several sources, in a condition as well."""
    return [
        {"id": e.id, "left": u.w % len([f for f in E if f.user == u.id])}
        for u in U
        for e in E
        if e.user == u.id and u.w // len([f for f in E if f.user == u.id]) < 9
    ]


VIEWS = (shares, parts, grouped, joined)


@pytest.mark.parametrize("view", VIEWS)
def test_what_has_a_value_before_and_after_a_batch_is_not_made_again(tmp_path: Path, view: rn.View) -> None:
    not_made_again(rn.open(tmp_path / "state", engine="local", policy="strict"), view)


@pytest.mark.parametrize("view", VIEWS)
def test_nor_on_spark(tmp_path: Path, spark: SparkSession, view: rn.View) -> None:
    """Where its tasks read nothing by themselves."""
    not_made_again(rn.open(tmp_path / "state", spark=spark, engine="spark", policy="strict"), view)


def not_made_again(state: rn.Database, view: rn.View) -> None:
    """The first row of a group comes, its last one goes, and one goes to another: no state has a group of none. So
    strict takes it, and little is read."""
    with state as db:
        db.relation("E", Event, key="id", keys={"parts": "n"})
        db.relation("U", User, key="id")
        one = {"parts": [{"n": 1, "q": 7}]}
        db.load("E", [{"id": i, "user": i // 3, **one} for i in range(180)] + [{"id": 900, "user": 7, "parts": []}])
        db.load("U", [{"id": i, "w": i % 50} for i in (*range(60), 350, 351, 399)])
        db.create(view)
        changes: list[Any] = [
            lambda b: b.insert("E", [{"id": 1_000, "user": 350, **one}]),
            lambda b: [b.delete_key("E", id=i) for i in (3, 4, 5)],
            lambda b: b.at("E", id=6).set(user=351),
            lambda b: b.at("E", id=900).parts.insert([{"n": 2, "q": 4}, {"n": 3, "q": 9}]),
            lambda b: b.at("E", id=9).parts.delete_key(n=1),
            lambda b: (b.insert("E", [{"id": 1_001, "user": 399, **one}]), b.delete_key("U", id=3)),
        ]
        for change in changes:
            with db.batch() as b:
                change(b)
            assert b.report.verdict == "incremental" and b.report.rows_read < 60
            own = {name: db.relation(name).rows() for name, _ in view.query.relations}
            assert db.view(view.name).rows() == view(**own)
        assert db.verify().ok


def test_what_has_no_value_is_refused(tmp_path: Path) -> None:
    with rn.open(tmp_path / "state", engine="local", policy="incremental") as db:
        db.relation("U", User, key="id")
        db.relation("E", Event, key="id")
        db.load("U", [{"id": 1, "w": 5}])

        @rn.view
        def each(U: Bag[User], E: Bag[Event]) -> list[Any]:
            return [{"id": u.id, "n": 60 // u.w} for u in U for e in E if e.user == u.id]

        db.create(each)
        with pytest.raises(EvaluationError, match="division by zero"), db.batch() as b:
            b.insert("E", [{"id": 1, "user": 1, "parts": []}])
            b.at("U", id=1).set(w=0)
        assert db.view("each").rows() == []
