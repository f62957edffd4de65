"""Degree and the tower of higher-order deltas (nrc-ivm, sections 4.1 and 5.2)."""

import pytest
from support.correlated import correlated_cases
from support.laws import law
from support.sizes import many
from support.strategies import Case, cases
from support.updates import Batch

from ripplenest.delta import rules
from ripplenest.delta.degree import deg, deg_dict
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.delta.tower import tower
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import LawBroken, QueryError, TooBig, TooDeep
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import (
    Apply,
    At,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    Flatten,
    For,
    InL,
    Let,
    LetVar,
    Lit,
    Neg,
    Plus,
    Pred,
    Product,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.types import BOOL, LONG, Bag, Record, Site
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import dictionaries
from ripplenest.shred.terms import shred
from ripplenest.shred.values import Parts

ROW = Record((("a", LONG),))
R, S, BAGS = Rel("R", ROW), Rel("S", ROW), Rel("B", Bag(ROW))
ALL = frozenset({"R", "S", "B", "D"})
D = DictRel("D", ROW)
SITE = Site("ι", ())
CONST = Sng(Tuple((("a", Lit(1, LONG)),)))

DEGREES: list[tuple[Expr, int]] = [
    (R, 1),
    (Rel("R", ROW, At.NEW), 1),
    (Rel("R", ROW, At.DELTA), 0),
    (Rel("T", ROW), 0),
    (LetVar("X"), 3),
    (Let("X", Product(R, R), Product(LetVar("X"), LetVar("X"))), 4),
    (For("x", R, For("y", S, Sng(Var("x")))), 2),
    (Pred(Lit(True, BOOL)), 0),
    (CONST, 0),
    (Sng(InL("ι", ())), 0),
    (SngBag("ι", CONST), 0),
    (Flatten(BAGS), 1),
    (Neg(Product(R, S)), 2),
    (Product(Flatten(BAGS), Flatten(BAGS)), 2),
    (Plus(Product(R, R), R), 2),
    (Empty(ROW), 0),
    (Product(Empty(ROW), R), 0),
    (Apply(D, InL("ι", ())), 1),
    (For("x", R, Apply(DictLit(SITE, "l", Product(R, S)), InL("ι", ()))), 3),
]


@pytest.mark.parametrize(("e", "degree"), DEGREES)
def test_the_degree_of_each_construct(e: Expr, degree: int) -> None:
    """deg_φ, rule by rule."""
    assert deg(e, ALL, {"X": 3}) == degree


DICTIONARIES: list[tuple[DictExpr, int]] = [
    (D, 1),
    (DictRel("D", ROW, At.DELTA), 0),
    (DictLit(SITE, "l", Product(R, S)), 2),
    (DictUnion(D, DictLit(SITE, "l", Product(R, S))), 2),
    (DictPlus(DictLit(SITE, "l", CONST), D), 1),
    (DictEmpty(ROW), 0),
]


@pytest.mark.parametrize(("d", "degree"), DICTIONARIES)
def test_the_degree_of_each_dictionary(d: DictExpr, degree: int) -> None:
    """deg([l ↦ e]) = deg(e), deg(d₁ ∪ d₂) = max(deg(d₁), deg(d₂))."""
    assert deg_dict(d, ALL) == degree


def test_an_inner_bag_that_depends_on_the_database_has_no_degree() -> None:
    """Only shredded terms have one: sng(R) is not in IncNRC⁺."""
    with pytest.raises(QueryError, match="ι"):
        deg(SngBag("ι", R), ALL)
    assert deg(SngBag("ι", R), frozenset({"S"})) == 0


def fall_by_one(e: Expr, parts: frozenset[str]) -> None:
    """``delta`` checks the equation on what it derives; what it returns is simplified, which can drop more."""
    before, change = deg(e, parts), delta(e, parts)
    assert deg(change, parts) <= max(before - 1, 0)
    for part in parts:
        assert deg(delta(e, frozenset((part,))), parts) <= max(before - 1, 0)
    if before == 0:
        assert isinstance(change, Empty)


@law(cases(), examples=many(100, 400))
def test_theorem_2(case: Case) -> None:
    """Theorem 2: deg(δ(h)) = deg(h) - 1, which each derivation checks itself; lemma 1: deg(h) = 0 gives δ(h) = ∅."""
    s = shred(case.query)
    (batch,) = case.batches
    fall_by_one(s.flat, batch.parts)
    fall_by_one(simplify(s.flat), batch.parts)
    for d in dictionaries(s.context):
        delta_dict(d, Scope(batch.parts, telescoped=False))


def test_a_delta_that_breaks_theorem_2_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check is made in production: a rule that forgets to take a delta is found by its degree."""
    monkeypatch.setattr(rules, "_delta", lambda e, s: e)  # noqa: ARG005
    with pytest.raises(LawBroken, match="theorem 2"):
        delta(R, ALL)


def test_a_delta_beyond_the_limits_is_refused_at_once() -> None:
    """Of a term and of a dictionary: its size doubles with each factor, and nothing walks it before it is measured."""
    wide: Expr = R
    for _ in range(20):
        wide = Product(wide, R)
    with pytest.raises((TooBig, TooDeep), match="delta"):
        delta(wide, ALL)
    with pytest.raises((TooBig, TooDeep), match="delta"):
        delta_dict(DictLit(SITE, "l", wide), Scope(ALL, telescoped=False))


@law(correlated_cases, examples=60)
def test_the_tower(case: Case) -> None:
    """δᵏ(h)[R ⊎ U, …] = δᵏ(h)[R, …] ⊎ δᵏ⁺¹(h)[R, U, …]: proposition 4.1 for every order, with an update per order."""
    h = shred(case.query).flat
    first, second, _ = case.batches
    parts = first.parts | second.parts
    floors = tower(h, parts)
    assert len(floors) == deg(h, parts) + 1
    assert not {n.name for n in nodes(floors[-1]) if isinstance(n, Rel) and n.at is At.OLD} & parts
    if len(floors) > 1:
        assert evaluate(h, first.after(case.parts)) == evaluate(h, case.parts) + evaluate(
            floors[1], {**case.parts, **updates(first, parts, 1)}
        )
    if len(floors) > 2:
        after = second.after(case.parts)
        new, old = (evaluate(floors[1], {**state, **updates(first, parts, 1)}) for state in (after, case.parts))
        both = {**case.parts, **updates(first, parts, 2), **updates(second, parts, 1)}
        assert new == old + evaluate(floors[2], both)


def updates(batch: Batch, parts: frozenset[str], order: int) -> Parts:
    """The batch as updates of all ``parts``, under the names of that order; dictionaries have a dot in their names."""
    return {At.DELTA.show(p, order): batch.delta.get(p, {} if "." in p else BagValue()) for p in parts}
