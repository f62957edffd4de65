"""Lemma 3 (nrc-ivm, section 4.2): h is evaluated in time proportional to tcost(C[[h]]), for any database.

Steps are counted as the proof has them: the rows that every construct yields, with repetitions, where an inner bag
costs nothing until the result is expanded. The constant may depend on the query only: a step of each construct and one
of the expansion, and the factor of 2 for each ⊎, of which C charges the larger side. Databases are scaled by
multiplicities, so that a count that C forgot makes the bound fail by any factor, at the price of evaluating small bags.
As in the proof, let-variables are replaced by their definitions first.
"""

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

import pytest
from support.choices import Choices
from support.correlated import correlated_query
from support.laws import law
from support.queries import random_query
from support.schemas import random_database, random_schema
from support.updates import shredded_database

from ripplenest.cost.domains import bag_size, tcost
from ripplenest.cost.interpret import Sizes, cost, sizes_of
from ripplenest.nrc.bags import BagValue, LabelValue, Value
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import Database, Dictionary, Env, elem, evaluate
from ripplenest.nrc.syntax import (
    UNIT_ELEM,
    Apply,
    DictExpr,
    DictLit,
    Empty,
    Expr,
    Flatten,
    For,
    Let,
    LetVar,
    Neg,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Record, Type
from ripplenest.nrc.walk import nodes, rebuild, rebuild_dict, unique_binders
from ripplenest.shred.contexts import stored_parts
from ripplenest.shred.terms import shred

SCALE = 500


def rows(bag: BagValue) -> int:
    """|X| with repetitions."""
    return sum(abs(n) for _, n in bag)


def steps(e: Expr, db: Database, pi: Env) -> int:
    """The rows that ``e`` and its subterms yield before any inner bag is expanded; ``e`` has no let."""
    match e:
        case Rel() | Pred() | Sng() | Empty():
            return rows(evaluate(e, db, {}, pi))
        case SngBag():  # a closure
            return 1
        case For(var, source, body):
            each = sum(abs(n) * steps(body, db, {**pi, var: v}) for v, n in evaluate(source, db, {}, pi))
            return steps(source, db, pi) + each
        case Flatten(of) | Neg(of):
            return steps(of, db, pi) + rows(evaluate(e, db, {}, pi))
        case Product(left, right) | Plus(left, right):
            return steps(left, db, pi) + steps(right, db, pi) + rows(evaluate(e, db, {}, pi))
        case Apply(DictLit(_, var, body), label) if isinstance(elem(label, pi), LabelValue):
            return steps(body, db, {**pi, var: elem(label, pi)})
        case Apply():
            return rows(evaluate(e, db, {}, pi))
        case Let() | LetVar():
            raise AssertionError("let-variables are replaced first")
        case _:
            assert_never(e)


def without_let(e: Expr, lets: Mapping[str, Expr]) -> Expr:
    """``e``, whose binders are apart, with let-variables replaced by their definitions."""

    def dictionary(d: DictExpr) -> DictExpr:
        return rebuild_dict(d, lambda c: without_let(c, lets), dictionary)

    match e:
        case LetVar(name):
            return lets[name]
        case Let(name, definition, body):
            return without_let(body, {**lets, name: without_let(definition, lets)})
        case _:
            return rebuild(e, lambda c: without_let(c, lets), lambda t: t, dictionary)


def bound(h: Expr, sizes: Sizes) -> int:
    """constant(h) · tcost(C[[h]])"""
    terms = list(nodes(h))
    return (len(terms) + 1) * 2 ** sum(isinstance(t, Plus) for t in terms) * tcost(cost(h, sizes))


def claim(h: Expr, db: Database, types: Mapping[str, Type]) -> int:
    """The steps to the lazy result and to its expansion, which are as many as the base values in it."""
    h = without_let(unique_binders(h), {})
    taken = steps(h, db, {}) + tcost(bag_size(evaluate(h, db), check(h).row))
    assert taken <= bound(h, sizes_of(db, types))
    return taken


def scaled(value: Value) -> Value:
    """``value`` with SCALE times the rows in each bag."""
    match value:
        case BagValue():
            return BagValue({scaled(row): n * SCALE for row, n in value})
        case tuple():
            return tuple((name, scaled(v)) for name, v in value)
        case _:
            return value


def scaled_part(part: BagValue | Dictionary) -> BagValue | Dictionary:
    if isinstance(part, BagValue):
        return scaled_bag(part)
    return {label: scaled_bag(bag) for label, bag in part.items()}


def scaled_bag(bag: BagValue) -> BagValue:
    found = scaled(bag)
    assert isinstance(found, BagValue)
    return found


COUNTS: Counter[str] = Counter()


def count(taken: int) -> None:
    COUNTS["large"] += taken > 10**6


@law(examples=80)
def test_lemma_3(c: Choices) -> None:
    """Lemma 3: steps(h) ≤ constant(h) · tcost(C[[h]]), for nested terms and for shredded ones."""
    schema = random_schema(c)
    h = correlated_query(c, schema) if c.number(2) else random_query(c, schema)
    db = random_database(c, schema, size=3)
    types = dict(schema.relations)
    flat_types = {part: t for name, row in schema.relations for part, t in stored_parts(name, row).items()}
    try:
        count(claim(h, {name: scaled_bag(bag) for name, bag in db.items()}, types))
        parts = {name: scaled_part(part) for name, part in shredded_database(schema, db).items()}
        count(claim(shred(h).flat, parts, flat_types))
    except EvaluationError as e:
        assert "multiplicity" in e.what


@pytest.mark.parametrize("generators", [1, 2, 3])
def test_the_bound_has_the_right_order(generators: int) -> None:
    """n times as many rows are n^k times as many steps for k generators, as |R|^k says; so no smaller bound holds."""
    row = Record((("a", LONG),))
    h: Expr = Sng(Proj(Var("x0"), "a"))
    for i in range(generators):
        h = For(f"x{i}", Rel("R", row), h)
    taken = []
    for n in (100, 10_000):
        db = {"R": BagValue({(("a", i),): n for i in range(3)})}
        taken.append(claim(h, db, {"R": row}))
    assert taken[1] / taken[0] == pytest.approx(100**generators, rel=0.05)


def test_lazy_bags_that_are_dropped_cost_nothing() -> None:
    """for x in sng_ι(R × R) union sng(⟨⟩) takes the steps of one row (the remark after the proof)."""
    r = Rel("R", LONG)
    h = For("x", SngBag("ι", Product(r, r)), Sng(UNIT_ELEM))
    assert claim(h, {"R": BagValue({1: 10**6})}, {"R": LONG}) < 10


def test_coverage() -> None:
    if COUNTS:
        assert COUNTS["large"] > 20
