"""Products whose rows are each there once as they are made: they are not looked for among each other."""

from collections import Counter
from random import Random

import pytest
from support.products import product

from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import LONG
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source
from ripplenest.run import sizes
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.local import LocalJoiner

R, S = (Source(name, At.OLD, (LONG, LONG)) for name in "RS")
COLUMNS = [Col(i, c, LONG) for i in range(2) for c in range(2)]
COUNTS: Counter[bool] = Counter()


def equal(a: Scalar, b: Scalar, fn: str = "eq") -> Op:
    return Op(fn, (a, b), LONG)


def some(r: Random) -> Product:
    """A join of R and S by some of their columns, with some of them in its head."""
    conditions = [equal(*r.sample(COLUMNS, 2)) for _ in range(r.randrange(3))]
    constants = [equal(r.choice(COLUMNS), Const(1, LONG), r.choice(["eq", "same"]))] if r.randrange(3) == 0 else []
    head = r.sample(COLUMNS, r.randrange(1, 5)) if r.randrange(4) else [COLUMNS[0], Op("neg_long", (COLUMNS[2],), LONG)]
    return product([R, S], [*dict.fromkeys(conditions), *constants], head)


def rows_of(r: Random) -> Rows:
    values = {(r.choice([0, 1, 2, None]), r.choice([0, 1, 2, None])): r.choice([-2, 1, 1, 3]) for _ in range(6)}
    return Rows.of_pairs((LONG, LONG), list(values.items()))


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_are_kept_apart_are_there_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: what a product that ``keeps_apart`` makes is a sum as it is made, also beside other targets."""
    monkeypatch.setattr(sizes, "FEW", 0)
    r = Random(seed)
    products, inputs = [some(r), some(r)], (rows_of(r), rows_of(r))
    targets = [Target(str(i), tuple(s.type for s in p.head), str(i)) for i, p in enumerate(products)]
    tasks = [Task(str(i), p, inputs) for i, p in enumerate(products)]
    wanted, found = PythonJoiner().join(tasks, targets), LocalJoiner().join(tasks, targets)
    for target, p in zip(targets, products, strict=True):
        own = found[target.name]
        assert own.is_sum and Rows.of_pairs(own.types, own.pairs()).counts() == wanted[target.name].counts()
        assert len(own) == len(wanted[target.name].counts())
        COUNTS[p.keeps_apart] += len(own) > 0


def test_equal_columns_stand_for_each_other() -> None:
    x, y, z, w = COLUMNS
    assert product([R, S], [equal(x, z)], [x, y, w]).keeps_apart
    assert not product([R, S], [equal(x, z)], [x, y]).keeps_apart
    assert not product([R, S], [], [x, y, z]).keeps_apart
    assert not product([R], [], [Op("neg_long", (x,), LONG), y]).keeps_apart


def test_two_products_of_one_target_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "FEW", 0)
    own = product([R], [], [COLUMNS[0], COLUMNS[1]])
    rows = Rows.of_pairs((LONG, LONG), [((n, n), 1) for n in range(5)])
    tasks = [Task("t", own, (some,)) for some in (rows, rows.negated())]
    found = LocalJoiner().join(tasks, [Target("t", (LONG, LONG), "t")])
    assert own.keeps_apart and found["t"].counts() == {}


def test_coverage() -> None:
    if COUNTS:
        assert min(COUNTS[True], COUNTS[False]) > 10, COUNTS
