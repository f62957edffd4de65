"""A batch is refused exactly where the view has no value: views with scalars that fail at every depth.

Families: building and triggers in this process, over batches that insert, delete and reach inner bags and leave orphans
behind; the same through a database, with the policies that maintain. ``support/failing.py`` says what a value is.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from support.choices import Choices, seeded
from support.counts import ENOUGH
from support.failing import SCHEMA, Level, random_level, term, widest
from support.laws import law
from support.programs import Running, planned, query_of
from support.schemas import Database, random_database, random_value
from support.sizes import many
from support.updates import Batch, nested_database, random_batch, shredded_database

import ripplenest as rn
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.syntax import Call, Expr, Lit, Pred, Proj, Query, Var, Weigh
from ripplenest.nrc.types import INT
from ripplenest.nrc.walk import rebuild
from ripplenest.shred.consistency import add
from ripplenest.shred.values import Parts

COUNTS: Counter[str] = Counter()


@frozen
class Meaning:
    """The values of a view in one state as it is written and in the widest reading; None where there is none."""

    written: BagValue | None
    widest: BagValue | None

    def check(self, accepted: BagValue | None, what: str) -> None:
        """Accepted ⟺ there is a value in the widest reading, and it is that value."""
        assert accepted == self.widest, what
        COUNTS[f"{what}: {'accepted' if accepted is not None else 'refused'}"] += 1


def meaning(level: Level, db: Database) -> Meaning:
    found = Meaning(_value(lambda: evaluate(exact(term(level)), db)), _value(lambda: widest(level, db)))
    assert found.written is None or found.written == found.widest
    COUNTS["meanings"] += 1
    COUNTS["the readings differ"] += (found.written is None) != (found.widest is None)
    return found


def _value(make: Any) -> Any:
    try:
        return make()
    except EvaluationError:
        return None


def above(parts: Parts, batch: Batch) -> Parts:
    """What was there before the batch or comes with it: triggers ask about no other rows."""
    gained: Parts = {}
    for part, change in batch.delta.items():
        if isinstance(change, BagValue):
            gained[part] = _positive(change)
        else:
            gained[part] = {label: _positive(bag) for label, bag in change.items()}
    return Batch(gained).after(parts)


def _positive(bag: BagValue) -> BagValue:
    return BagValue({row: n for row, n in bag if n > 0})


def count(level: Level) -> None:
    COUNTS["views"] += 1
    COUNTS[f"levels {level.levels}"] += 1


@law(examples=many(50, 400))
def test_a_batch_is_refused_exactly_where_the_view_has_no_value(c: Choices) -> None:
    """Building, and recomputing a batch: accepted ⟺ the view has a value, in the widest reading; so wherever the
    reference interpreter has one of the term as it is written.

    Triggers also ask about rows that go: they accept a batch when the view has a value of all rows that were there or
    came, and only when it has one of the rows that are there afterwards. ``auto`` recomputes where they refuse.
    """
    level = random_level(c)
    accepts_exactly(level, term(level), c)


@law(examples=many(25, 200))
def test_weights_are_asked_for_as_conditions_are(c: Choices) -> None:
    """p(x) = w(if p then 1 else 0), also of conditions that have no value for some rows."""
    level = random_level(c)
    accepts_exactly(level, by_weights(term(level)), c)


def by_weights(e: Expr) -> Expr:
    """``e`` with weights of 1 and 0 for its conditions, but for equalities of columns: these join."""
    match e:
        case Pred(Call("eq", (Var() | Proj(), Var() | Proj()))):
            return e
        case Pred(cond):
            COUNTS["weights"] += 1
            return Weigh(Call("if", (cond, Lit(1, INT), Lit(0, INT))))
        case _:
            return rebuild(e, by_weights, lambda t: t, lambda d: d)


def accepts_exactly(level: Level, e: Expr, c: Choices) -> None:
    """The law above of a term that means what ``level`` does."""
    count(level)
    _, program = planned(query_of(SCHEMA, e), Options(c.pick(MODES), force_domain=c.one_in(4)))
    db = random_database(c, SCHEMA, 2)
    if meaning(level, db).widest is None:
        db = {name: BagValue() for name in SCHEMA.names}
    parts: Parts = shredded_database(SCHEMA, db)
    running = Running.start(program, parts)
    pending: Parts = {}
    for i in range(5):
        batch = Batch(add(pending, random_batch(c, SCHEMA, add(parts, pending), f"Δ{i}-", most=5).delta))
        after = applied(level, running, parts, batch)
        running, parts = (running, parts) if after is None else (after, batch.after(parts))
        pending = batch.delta if after is None else {}  # what is refused comes again, with more


def applied(level: Level, running: Running, parts: Parts, batch: Batch) -> Running | None:
    """The state after the batch under ``auto``; None when it is refused."""
    after = batch.after(parts)
    now = meaning(level, nested_database(SCHEMA, after))
    built = _value(lambda: Running.start(running.plan, after))
    now.check(built and built.nested(), "build")
    done = _value(lambda: running.apply(batch.delta))
    if done is not None:
        now.check(done.nested(), "triggers")
        assert done.maps() == built.maps()
    else:
        assert meaning(level, nested_database(SCHEMA, above(parts, batch))).widest is None
        COUNTS["triggers: refused"] += 1
        COUNTS["recomputed"] += built is not None
    return built


# ---------------------------------------------------------------- through a database


@rn.record
class Loose:
    k: int
    a: int | None


@rn.record
class Row:
    k: int
    a: int


@rn.record
class Holder:
    k: int
    items: rn.Bag[Row]


@frozen
class Named:
    query: Query


RELATIONS: dict[str, Any] = {"B": Loose, "C": Row, "N": Holder}


def plain(value: Any) -> Any:
    """A nested value as dicts and lists."""
    if isinstance(value, BagValue):
        return [plain(row) for row, n in value for _ in range(n)]
    return {name: plain(v) for name, v in value} if isinstance(value, tuple) else value


def step(c: Choices, db: Database, b: Any) -> Database:
    """Some rows come and some go, in ``b`` and in the database that is returned."""
    after = dict(db)
    for _ in range(1 + c.number(6)):
        name = c.pick(SCHEMA.names)
        gone = [row for row, _ in after[name]]
        insert = not gone or c.number(3) > 0
        row = random_value(c, SCHEMA[name], 2) if insert else c.pick(gone)
        (b.insert if insert else b.delete)(name, [plain(row)])
        after[name] = after[name] + BagValue({row: 1 if insert else -1})
    return after


@pytest.mark.parametrize("policy", ["auto", "incremental"])
@pytest.mark.parametrize("seed", range(many(32, 90)))
def test_through_a_database(tmp_path: Path, seed: int, policy: Any) -> None:
    """As above, batch by batch; a batch that is refused changes nothing, and later ones go on from there."""
    c = seeded(seed)
    level = random_level(c)
    now: Database = {name: BagValue() for name in SCHEMA.names}
    with rn.open(tmp_path / "state", engine="local", policy=policy) as db:
        for name, row in RELATIONS.items():
            db.relation(name, row)
        db.create(Named(Query("V", term(level), SCHEMA.relations)))
        for _ in range(6):
            try:
                with db.batch() as b:
                    after = step(c, now, b)
            except EvaluationError:
                union = {name: rows + _positive(after[name] + -rows) for name, rows in now.items()}
                assert meaning(level, after if policy == "auto" else union).widest is None
                COUNTS[f"{policy}: refused"] += 1
            else:
                meaning(level, after).check(db.view("V").bag(), policy)
                now = after


def test_coverage() -> None:
    """Enough of both answers, in all depths, and readings that hardly ever differ."""
    if COUNTS["views"] < ENOUGH:
        pytest.skip("the tests of this module did not all run")
    assert min(COUNTS[f"levels {n}"] for n in (1, 2, 3)) >= many(25, 50), COUNTS
    for what in ("build", "triggers", "auto", "incremental"):
        assert min(COUNTS[f"{what}: accepted"], COUNTS[f"{what}: refused"]) >= many(12, 20), COUNTS
    assert COUNTS["recomputed"] >= 1 and COUNTS["weights"] > 20, COUNTS
    assert COUNTS["the readings differ"] < COUNTS["meanings"] / 5, COUNTS
