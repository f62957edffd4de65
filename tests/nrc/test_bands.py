"""Comparisons of columns that are moved by constants, as comparisons of the columns."""

from collections import Counter
from itertools import product

import pytest
from support.edges import EDGES

from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions.scalars import SCALARS, apply
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.bands import AFTER, MOVES, compared, moved_back
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Rel, Var
from ripplenest.nrc.types import LONG, Base, Record


@pytest.mark.parametrize("fn", MOVES)
def test_what_is_left_out_is_left_out_when_it_is_moved(fn: str) -> None:
    """Over the edges of what there is: where a moved edge has a value, each x beyond it is moved to beyond the edge."""
    kinds = SCALARS[fn].takes[0].split(", ")
    values, by = EDGES[Base(kinds[0], True)], Base(kinds[1])
    seen = 0
    for x, edge, n, upper in product(values, values, EDGES[Base(kinds[1], True)], (True, False)):
        back = moved_back(fn, n, by, upper)
        if back is None:
            continue
        try:
            moved = apply(fn, edge, back)
        except EvaluationError:
            continue  # then nothing is left out
        if apply("gt" if upper else "lt", x, moved):
            assert apply("gt" if upper else "lt", apply(fn, x, n), edge), (x, edge, n)
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("fn", AFTER)
def test_what_is_left_out_lies_too_far_apart_or_not_far_enough(fn: str) -> None:
    """Over the edges of what there is: where an edge has a value, what is beyond it does not fulfil the condition."""
    kind, seen = SCALARS[fn].takes[0].split(", ")[0], Counter[bool]()
    values = [v for v in EDGES[Base(kind, True)] if v is not None]
    p, q = Var("p"), Var("q")
    for a, b, op, n in product(values, values, ("lt", "le", "gt", "ge"), (0, 1, -1, 10**6, -(10**6), 2**63 - 1)):
        conditions = [Call(op, (Call(fn, (p, q)), Lit(n, LONG))), Call(op, (Lit(n, LONG), Call(fn, (q, p))))]
        for own, edge, upper, cond in compared(conditions):
            if own not in (p, q):
                continue
            assert isinstance(edge, Call)
            env = {p: a, q: b}
            try:
                found = apply(edge.fn, env[edge.args[0]], edge.args[1].value)
            except EvaluationError:
                continue  # then nothing is left out
            if apply("gt" if upper else "lt", env[own], found):
                one, other = (n if isinstance(t, Lit) else apply(fn, *(env[x] for x in t.args)) for t in cond.args)
                assert not apply(op, one, other), (a, b, cond)
                seen[upper] += 1
    assert min(seen[True], seen[False]) > 20


def test_what_is_moved_the_other_way_is_not_compared() -> None:
    """x + 1 ≤ y is no x ≤ y - 1 where x + 1 has no value; neither is what no number of the type moves back."""
    long, x, y = Base("long"), Var("x"), Var("y")
    found = {
        (n, fn): [(a, b, upper) for a, b, upper, _ in compared([Call(fn, (Call("add_long", (x, Lit(n, long))), y))])]
        for n in (1, -1, -(2**63))
        for fn in ("le", "ge")
    }
    moved = {case: [s for s in sides if s[0] == x] for case, sides in found.items()}
    assert moved == {
        (1, "le"): [],
        (1, "ge"): [(x, Call("add_long", (y, Lit(-1, long))), False)],
        (-1, "le"): [(x, Call("add_long", (y, Lit(1, long))), True)],
        (-1, "ge"): [],
        (-(2**63), "le"): [],
        (-(2**63), "ge"): [],
    }


def test_no_constant_is_taken_that_has_no_opposite() -> None:
    apart, least = Call("micros_between", (Var("p"), Var("q"))), Lit(-(2**63), LONG)
    assert {own for own, *_ in compared([Call("le", (apart, least))])} == {apart, least}


MAYBE = Base("long", True)
A, B, C = (Proj(Var(name), "x") for name in "abc")
MORE = Call("add_long", (A, Lit(1, LONG)))


@pytest.mark.parametrize(
    ("b", "others", "is_found"),
    [
        (LONG, (), True),
        (MAYBE, (), False),
        (MAYBE, (Call("lt", (B, A)),), True),
        (MAYBE, (Call("eq", (C, B)),), True),
        (MAYBE, (Call("same", (C, B)),), False),
        (MAYBE, (Call("lt", (B, Call("add_long", (C, Lit(1, LONG))))),), False),
        (MAYBE, (Call("lt", (C, A)),), False),
    ],
)
def test_beside_null_another_condition_must_be_null(b: Base, others: tuple[Elem, ...], is_found: bool) -> None:
    """Of a.x + 1 ≥ b.x, where a.x + 1 may have no value: who is beside NULL must be in no result all the same."""
    types = {"a": LONG, "b": b, "c": MAYBE}
    generators = tuple((name, Rel(name, Record((("x", t),)))) for name, t in types.items())
    (join,) = joins(Comprehension(generators, (Call("ge", (MORE, B)), *others), Lit(1, LONG)))
    first = join.product.conditions[0]
    assert any(bound.var == "a" and bound.condition == first for bound in join.bounds) is is_found


@pytest.mark.parametrize("nullable", [True, False])
def test_what_lies_between_null_and_anything_is_null(nullable: bool) -> None:
    """So who is beside NULL is in no result, and who is left out has a condition that has a value."""
    t = Base("timestamp", nullable)
    generators = tuple((name, Rel(name, Record((("x", t),)))) for name in "ab")
    condition = Call("le", (Call("micros_between", (A, B)), Lit(5, LONG)))
    (join,) = joins(Comprehension(generators, (condition,), Lit(1, LONG)))
    assert {(bound.var, bound.upper) for bound in join.bounds} == {("a", True), ("b", False)}
