"""Nesting and size are bounded wherever a term comes in and after each pass: an error of ours, never a dead process.

Terms are built by the constructors, which take anything; what takes a term checks it first.
"""

from collections.abc import Callable
from functools import reduce
from itertools import product

import pytest

from ripplenest.delta.compile import compile_view
from ripplenest.nrc.errors import QueryError, TooBig, TooDeep
from ripplenest.nrc.limits import MAX_DEPTH, MAX_NODES, check_limits, check_type_limits
from ripplenest.nrc.rewriting.normal import normal
from ripplenest.nrc.serial import query_to_json
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictUnion,
    Elem,
    Expr,
    Flatten,
    For,
    InL,
    IsSite,
    Let,
    Lit,
    Neg,
    OutL,
    Plus,
    Product,
    Proj,
    Query,
    Rel,
    Sng,
    SngBag,
    Term,
    Tuple,
    Var,
)
from ripplenest.nrc.types import BOOL, LONG, Bag, Label, Record, Site, Type

SITE = Site("ι", ())
ROW = Record((("a", LONG),))
R = Rel("R", ROW)
X = Var("x")

# One level more around a term, for each construct that has terms inside.
EXPRS: dict[str, Callable[[Expr], Expr]] = {
    "let, bound": lambda e: Let("X", e, R),
    "let, body": lambda e: Let("X", R, e),
    "for, source": lambda e: For("x", e, R),
    "for, body": lambda e: For("x", R, e),
    "sng": lambda e: SngBag("ι", e),
    "flatten": Flatten,
    "product": lambda e: Product(e, R),
    "plus, left": lambda e: Plus(e, R),
    "plus, right": lambda e: Plus(R, e),
    "neg": Neg,
    "definition": lambda e: Apply(DictLit(SITE, "l", e), X),
}
ELEMS: dict[str, Callable[[Elem], Elem]] = {
    "field": lambda t: Proj(t, "a"),
    "call": lambda t: Call("not", (t,)),
    "record": lambda t: Tuple((("a", t),)),
    "label": lambda t: InL("ι", (("a", t),)),
    "parameter": lambda t: OutL(t, SITE, "a"),
    "site": lambda t: IsSite(t, "ι"),
}
DICTS: dict[str, Callable[[DictExpr], DictExpr]] = {
    "sum": lambda d: DictPlus(d, DictEmpty(LONG)),
    "union": lambda d: DictUnion(DictEmpty(LONG), d),
}
TYPES: dict[str, Callable[[Type], Type]] = {
    "bag": Bag,
    "record": lambda t: Record((("a", t),)),
    "label": lambda t: Label((Site("ι", (("a", t),)),)),
}
LEVELS = [101, 10_000, 1_000_000]


def deep(levels: int, kind: str) -> Term:
    """A term of ``levels`` times the construct."""
    if kind in EXPRS:
        return reduce(lambda e, _: EXPRS[kind](e), range(levels), R)
    if kind in ELEMS:
        return Sng(reduce(lambda t, _: ELEMS[kind](t), range(levels), X))
    return Apply(reduce(lambda d, _: DICTS[kind](d), range(levels), DictEmpty(LONG)), X)


@pytest.mark.parametrize("kind", [*EXPRS, *ELEMS, *DICTS])
@pytest.mark.parametrize("levels", LEVELS[:2])
def test_terms_that_are_too_deep(levels: int, kind: str) -> None:
    """Every construct, 101 and 10,000 levels."""
    with pytest.raises(TooDeep) as caught:
        check_limits(deep(levels, kind), "simplify")
    assert str(caught.value) == f"simplify: the term is nested too deeply\n  wanted   at most {MAX_DEPTH} levels"


@pytest.mark.parametrize(("levels", "kind"), [*product(LEVELS[:2], TYPES), (LEVELS[2], "bag")])
def test_types_that_are_too_deep(levels: int, kind: str) -> None:
    """Of themselves, and as the rows of a term that is not deep."""
    t: Type = reduce(lambda t, _: TYPES[kind](t), range(levels), LONG)
    with pytest.raises(TooDeep, match="R: the type is nested"):
        check_type_limits(t, "R")
    with pytest.raises(TooDeep, match="the type is nested"):
        check_limits(Neg(Rel("R", t)))


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("take", [compile_view, query_to_json], ids=["compile", "store"])
def test_what_takes_a_query_checks_it_first(take: Callable[[Query], object], levels: int) -> None:
    """101, 10,000 and a million levels; and the term can be thrown away afterwards."""
    body = deep(levels, "neg")
    assert isinstance(body, Neg)
    with pytest.raises(TooDeep):
        take(Query("v", body, (("R", ROW),)))


def test_what_is_just_within_the_limits_passes_all_passes() -> None:
    """A hundred levels and thousands of nodes are compiled, not refused."""
    assert compile_view(Query("v", deep(MAX_DEPTH - 1, "neg"), (("R", ROW),))).row == ROW
    wide = Tuple(tuple((f"f{i}", Proj(X, "a")) for i in range(5_000)))
    check_limits(For("x", R, Sng(wide)))


def test_too_many_nodes() -> None:
    """A wide record, a term that is small only because it shares, and a union of too many."""
    wide = Sng(Tuple(tuple((f"f{i}", Lit(True, BOOL)) for i in range(MAX_NODES))))
    shared: Expr = reduce(lambda e, _: Plus(e, e), range(60), R)
    for term in (wide, shared):
        with pytest.raises(TooBig, match="at most 50000 nodes"):
            check_limits(term)


def balanced(n: int) -> Expr:
    """R ⊎ … ⊎ R, n of them, not deep."""
    return R if n == 1 else Plus(balanced(n // 2), balanced(n - n // 2))


def test_unions_of_thousands() -> None:
    """5,000 summands in a row are too deep; 6,000 in a tree are too many for a normal form, but no term is too big."""
    chain: Expr = reduce(lambda e, _: Plus(e, R), range(5_000), R)
    with pytest.raises(TooDeep):
        compile_view(Query("v", chain, (("R", ROW),)))
    check_limits(balanced(6_000))
    with pytest.raises(TooBig, match="combinations"):
        normal(balanced(6_000))


EXPLODING: dict[str, Expr] = {
    "for over sums": reduce(lambda e, _: For("y", Plus(R, R), e), range(40), R),
    "product of sums": reduce(lambda e, _: Product(e, Plus(R, R)), range(30), Plus(R, R)),
    "let of let": reduce(lambda e, i: Let(f"X{i}", Product(R, R), e), range(40), R),
    "self joins": reduce(lambda e, _: Product(e, R), range(25), R),
}


@pytest.mark.parametrize("name", EXPLODING)
def test_queries_whose_delta_explodes(name: str) -> None:
    """The answer is a program or TooBig, and it comes."""
    try:
        compile_view(Query("v", EXPLODING[name], (("R", ROW),)))
    except QueryError as error:
        assert isinstance(error, TooBig), error
