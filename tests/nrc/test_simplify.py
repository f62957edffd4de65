"""Simplification keeps meaning and type: on random terms, and each row of the table alone on terms that it fits."""

from collections.abc import Callable
from itertools import product

import pytest
from support.choices import Choices
from support.counts import Counts
from support.edges import EDGES
from support.laws import law
from support.nesting import agrees, labels_in_use, value_or_empty
from support.queries import Queries, Scope
from support.schemas import base_type, random_database, random_schema
from support.strategies import Case, cases
from support.updates import shredded_database

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import Database, elem, evaluate, look_up
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.rewriting.simplify import BY_ROOT, RULES, Rule, simplify, simplify_dict, simplify_elem
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictUnion,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    InL,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import check, elem_type, expr_type
from ripplenest.nrc.types import BOOL, INT, LONG, Bag, Base, Site, Type, join
from ripplenest.nrc.walk import nodes, unique_binders
from ripplenest.shred.contexts import BagContext, stored_parts
from ripplenest.shred.terms import shred

COUNTS = Counts()


@law(cases())
def test_simplified_terms(case: Case) -> None:
    """⟦simplify(e)⟧ = ⟦e⟧ and the type stays (it may say more about NULL), for source terms and for shredded ones."""
    s, db = shred(case.query), case.db
    for term, state in ((case.query, db), (s.flat, case.parts)):
        simple = simplify(term)
        assert evaluate(simple, state) == evaluate(term, state)
        assert agrees(check(simple).row, check(term).row)
    COUNTS.query(case.query)
    COUNTS.result(evaluate(case.query, db))


@law(cases())
def test_simplified_dictionaries(case: Case) -> None:
    """⟦simplify(d)⟧(l) = ⟦d⟧(l) for every label in use."""
    for d, labels in labels_in_use(shred(case.query), case.parts):
        simple = simplify_dict(d)
        for label in labels:
            found = (look_up(x, label, case.parts, {}, {}) for x in (d, simple))
            assert len({value_or_empty(bag) for bag in found}) == 1


@law(cases())
def test_unique_binders(case: Case) -> None:
    """Renaming bound variables keeps meaning and type, and leaves no two binders of one name."""
    apart = unique_binders(case.query)
    assert evaluate(apart, case.db) == evaluate(case.query, case.db)
    assert check(apart) == check(case.query)
    COUNTS.query(case.query)
    binders = [n for n in nodes(apart) if isinstance(n, For | Let)]
    names = [("for", n.var) if isinstance(n, For) else ("let", n.name) for n in binders]
    assert len(set(names)) == len(names)


# ---------------------------------------------------------------- each row alone


class Instances:
    """Random terms over one relation row ``x``, so that rows meet free variables too."""

    def __init__(self, c: Choices) -> None:
        self.c, self.schema = c, random_schema(c)
        self.make = Queries(c, self.schema)
        self.outer = self.schema.relations[0]
        self.scope = Scope(self.schema).bind("x", self.outer[1])
        self.db: Database = random_database(c, self.schema)

    def any(self, scope: Scope | None = None) -> Expr:
        return self.make.source(scope or self.scope, 4)

    def row(self) -> Type:
        return self.make.row(1)

    def bag(self, t: Type, scope: Scope | None = None) -> Expr:
        return self.make.bag(t, scope or self.scope, 4)

    def under(self, source: Expr, name: str = "y") -> Scope:
        return self.scope.bind(name, expr_type(source, {}, self.scope.pi).row)


def for_empty(i: Instances) -> Expr:
    row, source = i.row(), i.any()
    hollow = Empty(i.row())
    return For("y", hollow, i.bag(row, i.under(hollow))) if i.c.number(2) else For("y", source, Empty(row))


def for_sng(i: Instances) -> Expr:
    source = Sng(i.c.pick([path for path, _ in i.scope.paths()]))
    return For("y", source, i.bag(i.row(), i.under(source)))


def for_eta(i: Instances) -> Expr:
    return For("y", i.any(), Sng(Var("y")))


def for_for(i: Instances) -> Expr:
    a = i.any()
    b = i.any(i.under(a))
    inner = For("y", a, b)
    return For("z", inner, i.bag(i.row(), i.under(inner, "z")))


def flatten_sng(i: Instances) -> Expr:
    source, row = i.any(), i.row()
    return i.c.pick(
        (
            lambda: Flatten(SngBag("κ", source)),
            lambda: Flatten(Empty(Bag(row))),
            lambda: Flatten(For("y", source, i.bag(Bag(row), i.under(source)))),
        )
    )()


def plus_empty(i: Instances) -> Expr:
    row = i.row()
    sides = (Empty(row), i.bag(row))
    return Plus(*sides) if i.c.number(2) else Plus(*reversed(sides))


def neg_neg(i: Instances) -> Expr:
    return Neg(Neg(i.any())) if i.c.number(2) else Neg(Empty(i.row()))


def product_empty(i: Instances) -> Expr:
    sides = (Empty(i.row()), i.any())
    return Product(*sides) if i.c.number(2) else Product(*reversed(sides))


def pred_constant(i: Instances) -> Expr:
    return Pred(Lit(i.c.pick((True, False, None)), BOOL))


def weigh_constant(i: Instances) -> Expr:
    return Weigh(i.c.pick((Lit(1, LONG), Lit(0, INT), Lit(None, Base("long", True)))))


def let_unused(i: Instances) -> Expr:
    return Let("Z", i.any(), i.any())


def let_empty(i: Instances) -> Expr:
    row = i.row()
    return Let("Z", Empty(row), i.c.pick((Plus(LetVar("Z"), i.bag(row)), Product(LetVar("Z"), i.any()), i.any())))


def top_empty(i: Instances) -> Expr:
    return Top("κ", "y", Empty(base_type(i.c)), (), 2)


def apply_empty(i: Instances) -> Expr:
    row = i.row()
    d: DictExpr = i.c.pick((DictLit(Site("κ", ()), "l", Empty(row)), DictEmpty(row)))
    other = DictLit(Site("λ", ()), "l", Empty(row))
    d = i.c.pick((d, DictUnion(d, other), DictPlus(other, d)))
    return Apply(d, InL(i.c.pick(("κ", "λ")), ()))


def apply_lit(i: Instances) -> Expr:
    """Labels and definitions come from shredding, over the stored parts."""
    name, row = i.outer
    s = shred(For("x", Rel(name, row), SngBag("κ", i.any())))
    assert isinstance(s.flat, For) and isinstance(s.flat.body, Sng) and isinstance(s.context, BagContext)
    i.db, i.outer = shredded_database(i.schema, i.db), (name, stored_parts(name, row)[name])
    return Apply(s.context.dictionary, s.flat.body.elem if i.c.number(4) else InL("other", ()))


MAKERS: tuple[Callable[[Instances], Expr], ...] = (
    for_empty,
    for_sng,
    for_eta,
    for_for,
    flatten_sng,
    plus_empty,
    neg_neg,
    product_empty,
    pred_constant,
    weigh_constant,
    top_empty,
    let_unused,
    let_empty,
    apply_empty,
    apply_lit,
)
INSTANCES = {maker.__name__: maker for maker in MAKERS}


def test_every_row_has_instances() -> None:
    assert {rule.__name__ for rule in RULES} == INSTANCES.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.__name__)
@law()
def test_rule_alone(rule: Rule, c: Choices) -> None:
    """⟦rule(e)⟧ = ⟦e⟧ at every row x of a relation, and the type stays."""
    i = Instances(c)
    e = INSTANCES[rule.__name__](i)
    name, row = i.outer
    pi = {"x": row}
    apart = unique_binders(e)
    assert rule in BY_ROOT[type(apart)]
    wanted = expr_type(apart, {}, pi)
    simpler = rule(apart, wanted)
    assert simpler is not None
    assert agrees(expr_type(simpler, {}, pi).row, wanted.row)
    part = i.db[name]
    assert isinstance(part, BagValue)
    for value, _ in part:
        assert evaluate(simpler, i.db, None, {"x": value}) == evaluate(e, i.db, None, {"x": value})


def elem_forms(i: Instances) -> tuple[Elem, Elem]:
    """What ``simplify_elem`` rewrites, and the same before."""
    p, q = i.make.condition(i.scope, 1), i.make.condition(i.scope, 1)
    constant = Lit(i.c.pick((True, False, None)), BOOL)
    site = Site("κ", (("p", elem_type(p, i.scope.pi)), ("q", elem_type(q, i.scope.pi))))
    label = InL("κ", (("p", p), ("q", q)))
    fn = i.c.pick(("and", "or"))
    return i.c.pick(
        (
            (Proj(Tuple((("a", p), ("b", q))), "b"), q),
            (OutL(label, site, "q"), q),
            (IsSite(label, i.c.pick(("κ", "λ"))), constant),
            (Call(fn, (constant, p)), constant),
            (Call(fn, (p, constant)), constant),
        )
    )


@law()
def test_simplified_elements(c: Choices) -> None:
    """⟨f: t⟩.f = t, outL(inL(ε)).p = ε.p, inL(ε) ∈ κ, constants of and, or: equal at every row x."""
    i = Instances(c)
    e, smaller = elem_forms(i)
    simple = simplify_elem(e)
    if not isinstance(smaller, Lit):
        assert simple == simplify_elem(smaller)
    before, after = elem_type(e, i.scope.pi), elem_type(simple, i.scope.pi)
    assert join(before, after) == before
    rows = i.db[i.outer[0]]
    assert isinstance(rows, BagValue)
    for value, _ in rows:
        assert elem(simple, {"x": value}) is elem(e, {"x": value})


def test_coverage() -> None:
    """The cases above were not empty ones."""
    COUNTS.check()


@pytest.mark.parametrize("fn", SWAPPED)
@pytest.mark.parametrize("t", EDGES, ids=str)
def test_what_is_not_less_is_at_least(t: Base, fn: str) -> None:
    """Law: of all values, NULL and NaN among them."""
    for a, b in product(EDGES[t], repeat=2):
        compared = Call(fn, (Lit(a, t), Lit(b, t)))
        told = simplify_elem(Call("not", (compared,)))
        assert told == Call(OPPOSITE[fn], compared.args)
        value = elem(compared, {})
        assert elem(told, {}) is (None if value is None else not value)


def test_not_not_is_nothing_said() -> None:
    """Also of NULL, of which not is NULL."""
    x = Proj(Var("x"), "a")
    assert simplify_elem(Call("not", (Call("not", (x,)),))) == x
    assert simplify_elem(Call("not", (Call("not", (Call("not", (x,)),)),))) == Call("not", (x,))
