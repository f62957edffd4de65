"""The views of the golden files: the paper's, joins, nested TPC-H without its aggregates, and one of each construct."""

from ripplenest.nrc.surface.python import Bag, record, view
from ripplenest.nrc.syntax import (
    TRUE,
    Call,
    Empty,
    Expr,
    Flatten,
    For,
    Let,
    LetVar,
    Lit,
    Neg,
    Plus,
    Pred,
    Product,
    Proj,
    Query,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.types import LONG, Record, nullable
from ripplenest.nrc.types import Bag as BagType
from support.related import MOVIE, RELATED


@record
class Pair:
    a: int | None
    b: int | None


@record
class Customer:
    custkey: int
    name: str


@record
class Order:
    orderkey: int
    custkey: int
    date: str


@record
class Line:
    orderkey: int
    partkey: int
    qty: float


@record
class Part:
    partkey: int
    p_name: str


@record
class NestedItem:
    partkey: int
    qty: float


@record
class NestedOrder:
    date: str
    parts: Bag[NestedItem]


@record
class NestedCustomer:
    name: str
    orders: Bag[NestedOrder]


@view
def three_way(R: Bag[Pair], S: Bag[Pair], T: Bag[Pair]):
    """R(a, b) ⋈ S(b, c) ⋈ T(c, d)"""
    return [{"a": r.a, "d": t.b} for r in R for s in S if s.a == r.b for t in T if t.a == s.b]


@view
def self_join(R: Bag[Pair]):
    """Paths of two edges: one relation twice, so that a change meets itself."""
    return [{"a": r.a, "b": s.b} for r in R for s in R if s.a == r.b]


@view
def f2(C: Bag[Customer], O: Bag[Order], L: Bag[Line]):  # noqa: E741
    """Nested TPC-H, flat to nested: customers with their orders with their parts."""
    return [
        {
            "c_name": c.name,
            "orders": [
                {"date": o.date, "parts": [{"part": l.partkey, "qty": l.qty} for l in L if l.orderkey == o.orderkey]}  # noqa: E741
                for o in O
                if o.custkey == c.custkey
            ],
        }
        for c in C
    ]


@view
def nf2(N: Bag[NestedCustomer], P: Bag[Part]):
    """Nested TPC-H, nested to flat, without its aggregate: the bag of ⟨name, part⟩ of everything unnested ⋈ P."""
    return [
        {"name": c.name, "part": p.p_name}
        for c in N
        for o in c.orders
        for i in o.parts
        for p in P
        if p.partkey == i.partkey
    ]


PAIR = Record((("a", nullable(LONG)), ("b", nullable(LONG))))
R, S = Rel("R", PAIR), Rel("S", PAIR)
INNER = Record((("os", BagType(LONG)),))
MAYBE = Record((("os", BagType(LONG, True)),))
N = Rel("N", INNER)
BAGS = Rel("R", BagType(LONG))


def _made() -> Expr:
    """for x in R union for b in sng_ι(sng(1)) union sng(⟨os: b⟩)"""
    return For("x", R, For("b", SngBag("ι", Sng(Lit(1, LONG))), Sng(Tuple((("os", Var("b")),)))))


def _every() -> Expr:
    """Each construct of the source calculus, some of them where the simplifier removes them."""
    same = Call("eq", (Proj(Var("x"), "a"), Proj(Var("y"), "a")))
    kept = For("y", LetVar("X"), For("_", Pred(same), Sng(Tuple((("_1", Var("x")), ("_2", Var("y")))))))
    gone = For("y", Empty(PAIR), Product(S, S))
    return Let("X", Plus(S, Neg(Neg(S))), Plus(For("x", R, Plus(kept, gone)), Neg(Product(R, S))))


def _weighed() -> Expr:
    """for x in R, y in S where x.a = y.a union w(x.b) × w(3 ∸ y.b) × w(2) × sng(⟨a: x.a⟩)"""
    same = Call("eq", (Proj(Var("x"), "a"), Proj(Var("y"), "a")))
    row: Expr = Sng(Tuple((("a", Proj(Var("x"), "a")),)))
    for count in (Lit(2, LONG), Call("monus_long", (Lit(3, LONG), Proj(Var("y"), "b"))), Proj(Var("x"), "b")):
        row = For("_", Weigh(count), row)
    return For("x", R, For("y", S, For("_", Pred(same), row)))


def _left_over() -> Expr:
    """What reading and inlining leave behind: for over sng, for over for, a constant predicate, flatten of sng_ι."""
    z = Flatten(SngBag("κ", Sng(Proj(Var("z"), "a"))))
    row = Sng(Tuple((("a", Proj(Var("y"), "b")),)))
    return For("x", For("y", R, row), For("z", Sng(Var("x")), For("_", Pred(TRUE), z)))


QUERIES: dict[str, Query] = {
    "related (section 2)": Query("related", RELATED, (("M", MOVIE),)),
    "flatten(R) × flatten(R) (example 4)": Query(
        "example4", Product(Flatten(BAGS), Flatten(BAGS)), (("R", BagType(LONG)),)
    ),
    "three-way join": three_way.query,
    "self-join": self_join.query,
    "F2: flat to nested": f2.query,
    "NF2: nested to flat": nf2.query,
    "stored and made bags in one sum": Query("both", Plus(N, _made()), (("N", INNER), ("R", PAIR))),
    "bags of a sum, unnested": Query(
        "unnested",
        For("n", Plus(N, Plus(_made(), Empty(INNER))), Flatten(Sng(Proj(Var("n"), "os")))),
        (("N", INNER), ("R", PAIR)),
    ),
    "bags that can be NULL, unnested": Query(
        "unnested", For("k", Rel("K", MAYBE), Flatten(Sng(Proj(Var("k"), "os")))), (("K", MAYBE),)
    ),
    "what inlining leaves behind": Query("left", _left_over(), (("R", PAIR),)),
    "rows as often as a column says": Query("weighed", _weighed(), (("R", PAIR), ("S", PAIR))),
    "one of each construct": Query("every", _every(), (("R", PAIR), ("S", PAIR))),
}
