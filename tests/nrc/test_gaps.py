"""What comparisons of the same two values say of each other."""

import datetime
from collections import Counter

import pytest
from support.choices import Choices
from support.edges import EDGES
from support.laws import law
from support.sizes import many

from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.gaps import as_difference, gap, needed
from ripplenest.nrc.syntax import Call, Elem, Lit, Var
from ripplenest.nrc.types import LONG, Base

COUNTS: Counter[str] = Counter()
OPS = ("lt", "le", "gt", "ge")
KINDS = {"long": "add_long", "timestamp": "micros_after", "date": "days_after", "double": "", "string": ""}
BETWEEN = {"timestamp": "micros_between", "date": "days_between"}


def comparison(c: Choices, kind: str) -> Elem:
    """x or y with the other one, or one of them with a constant, either moved by little."""
    x, y = (Var(name) for name in c.pick(("xy", "yx")))
    n, m = (Lit(c.number(5) - 2, LONG) for _ in range(2))
    if kind in BETWEEN and c.one_in(2):
        x, y = (Call(KINDS[kind], (v, Lit(c.number(5) - 2, LONG))) if c.one_in(3) else v for v in (x, y))
        apart: Elem = Call(BETWEEN[kind], (x, y))
        apart = Call("to_long", (apart,)) if kind == "date" else apart
        return Call(c.pick(OPS), c.pick(((apart, n), (n, apart))))
    if moves := KINDS[kind]:
        x, y = (Call(moves, (v, n)) if c.one_in(2) else v for v, n in ((x, n), (y, m)))
    return Call(c.pick(OPS), (x, y))


def value(c: Choices, kind: str) -> object:
    if c.one_in(3):
        return c.pick(EDGES[Base(kind, True)])
    match kind:
        case "long":
            return c.number(5)
        case "timestamp":
            return datetime.datetime(2024, 1, 1, 0, 0, 0, c.number(5), tzinfo=datetime.UTC)
        case "date":
            return datetime.date(2024, 1, 1 + c.number(5))
    return c.pick(EDGES[Base(kind, True)])


def truth(t: Elem, env: dict[str, object]) -> object:
    """What it is; an error is one of its values."""
    try:
        return elem(t, env)
    except EvaluationError:
        return "no value"


@pytest.mark.parametrize("kind", KINDS)
@law(examples=many(300, 10_000))
def test_what_comparisons_say_of_each_other(kind: str, c: Choices) -> None:
    one, other = (comparison(c, kind) for _ in range(2))
    env = {name: value(c, kind) for name in "xy"}
    a, b, said = truth(one, env), truth(other, env), (gap(one), gap(other))
    assert None not in said
    if "no value" in (a, b):
        return
    if said[0].implies(said[1]):
        COUNTS["implies"] += 1
        assert a is not True or b is True, (one, other, env)
    if said[0].excludes(said[1]):
        COUNTS["excludes"] += 1
        assert a is not True or b is not True, (one, other, env)


@pytest.mark.parametrize("kind", KINDS)
@law(examples=many(300, 10_000))
def test_a_difference_is_true_of_the_same_values(kind: str, c: Choices) -> None:
    """And has a value where the comparison has none."""
    t = comparison(c, kind)
    found, env = as_difference(t), {name: value(c, kind) for name in "xy"}
    assert truth(t, env) in (truth(found, env), "no value")
    assert gap(found) == gap(t)
    COUNTS["differences"] += found != t
    if kind in BETWEEN:
        assert truth(found, env) != "no value"
        COUNTS["no value before"] += truth(t, env) == "no value"


@law(examples=many(300, 10_000))
def test_what_others_imply_is_left_out(c: Choices) -> None:
    kind = c.pick([*KINDS])
    conditions = [*dict.fromkeys(comparison(c, kind) for _ in range(2 + c.number(3)))]
    env = {name: value(c, kind) for name in "xy"}
    every = [truth(t, env) for t in conditions]
    found = needed(conditions, lambda _: True)
    if "no value" in every:
        return
    if found is None:
        assert any(t is not True for t in every), (conditions, env)
    else:
        left = [truth(t, env) for t in found]
        assert all(t is True for t in left) == all(t is True for t in every), (conditions, env)
        assert found
        COUNTS["left out"] += len(found) < len(conditions)
    COUNTS["never true"] += found is None


def test_what_may_have_no_value_is_asked() -> None:
    x, y = Var("x"), Var("y")
    more, less = Call("gt", (Call("add_long", (x, Lit(1, LONG))), y)), Call("gt", (x, y))
    assert needed([more, less], lambda t: t != more) == [more, less]
    assert needed([more, less], lambda _: True) == [less]


def test_enough_was_met() -> None:
    wanted = ("implies", "excludes", "differences", "left out", "never true")
    assert min(COUNTS[what] for what in wanted) > many(50, 1700), COUNTS
    assert COUNTS["no value before"] > many(8, 300), COUNTS
