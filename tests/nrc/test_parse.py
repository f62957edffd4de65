"""Law 7: parse(show(e)) = e, exactly, for what every stage of the compiler makes, and for all that a name can be."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from itertools import product
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import Choices
from support.correlated import correlated_case
from support.counts import Counts
from support.laws import law
from support.sizes import many
from support.strategies import Case, random_case

from ripplenest.delta.rules import delta
from ripplenest.nrc.errors import ParseError, QueryError, TypeMismatch, UnknownName
from ripplenest.nrc.functions.scalars import SCALARS
from ripplenest.nrc.printing.layout import layout, layout_dict
from ripplenest.nrc.printing.pretty import show, show_dict, show_elem
from ripplenest.nrc.printing.text import RESERVED, literal, show_type
from ripplenest.nrc.reserved import is_shared
from ripplenest.nrc.rewriting.normal import normal, term
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.surface.text import Environment, environment_of, parse_dict, parse_elem, parse_expr, parse_type
from ripplenest.nrc.syntax import (
    TRUE,
    Apply,
    At,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Elem,
    Empty,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    InL,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    Order,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Sorting,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import BOOL, INT, LONG, STRING, Bag, Base, Dict, Label, Record, Site, Type, nullable
from ripplenest.nrc.values import NAN
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import dictionaries
from ripplenest.shred.terms import shred

COUNTS = Counts()
CONTEXT = Context(prec=80)
WORDS = (
    *RESERVED.pattern.replace("[₀-₉]*", "₂").split("|"),
    *("p", "weigh", "flatten", "difference", "ι", "view", "Δx", "x⁺", "a.b", "a.[]", "_1"),
)
MET: set[type] = set()
WIDTHS = (20, 70)


def same_term(e: Expr, free: Environment | None = None) -> None:
    """parse(show(e)) = e, and the same for the lines of layout(e)."""
    MET.update(map(type, nodes(e)))
    env = environment_of(e).with_free(*((free.gamma, free.pi) if free else ()))
    for text in (show(e), *("\n".join(layout(e, w)) for w in WIDTHS)):
        assert parse_expr(text, env) == e, text


def same_dictionary(d: DictExpr) -> None:
    """parse(show(d)) = d"""
    MET.update(map(type, nodes(d)))
    for text in (show_dict(d), *("\n".join(layout_dict(d, w)) for w in WIDTHS)):
        assert parse_dict(text, environment_of(d)) == d, text


def law_7(case: Case) -> None:
    """For the query, what it is shredded into, the deltas of that, and its normal form."""
    COUNTS.query(case.query)
    same_term(case.query)
    shredded = shred(simplify(case.query))
    flat = simplify(shredded.flat)
    for e in (simplify(case.query), shredded.flat, flat, term(normal(flat), check(flat).row)):
        same_term(e)
    for d in dictionaries(shredded.context):
        same_dictionary(d)
        same_dictionary(simplify_dict(d))
    for part in case.batches[0].parts:
        same_term(delta(flat, frozenset((part,)), telescoped=False))
        same_term(delta(flat, frozenset((part,)), telescoped=True))


MAKERS: dict[str, Callable[[Choices], Case]] = {"random": random_case, "correlated": lambda c: correlated_case(c, 1)}


@pytest.mark.parametrize("kind", MAKERS)
@law(examples=many(22, 100), shown=lambda c, kind: MAKERS[kind](c))
def test_law_7_over_terms(kind: str, c: Choices) -> None:
    """Random terms, and views as people write them."""
    law_7(MAKERS[kind](c))


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
@law(examples=1500, fresh=True, shown=lambda c, kind: MAKERS[kind](c))
def test_law_7_over_many_terms(kind: str, c: Choices) -> None:
    law_7(MAKERS[kind](c))


# ---------------------------------------------------------------- what random terms rarely are

ROW = Record((("a", LONG), ("m.b", nullable(STRING)), ("union", BOOL), ("bags", Bag(LONG, True))))
R, S = Rel("R", ROW), Rel("S", ROW)
X, A = Var("x"), Proj(Var("x"), "a")
SITE = Site("v.f", (("m.a", LONG), ("a", LONG), ("l", Label((Site("w", ()),), True))))
OTHER = Site("other", (("a", LONG),))
L = Var("l")
FREE = Environment(pi={"x": ROW, "d": Base("decimal", False, 5, 2), "k": Label((SITE, OTHER))}, gamma={"X": Bag(ROW)})


def where(cond: Elem, body: Expr, var: str = "_") -> For:
    return For(var, Pred(cond), body)


COUNT, SUM = Fold("n", "count", (), LONG), Fold("s", "sum", (A, A), nullable(LONG))


def both(fn: str) -> Call:
    return Call(fn, (A, A))


@pytest.mark.parametrize(
    "e",
    [
        For("x", R, where(both("eq"), where(both("lt"), Sng(X)))),
        For("x", R, where(Call("and", (both("eq"), both("lt"))), Sng(X))),
        For("x", R, where(both("eq"), where(both("lt"), Sng(X), "_12"), "_3")),
        For("_x", Pred(both("eq")), Sng(X)),
        For("_", R, Sng(Proj(Var("_"), "a"))),
        where(both("eq"), Sng(Var("_"))),
        Plus(Plus(R, S), R), Plus(R, Plus(S, R)),
        Product(For("x", R, S), Let("X", R, S)), Plus(For("x", R, S), Let("X", R, S)),
        Product(Product(R, S), R), Product(R, Product(S, R)), Neg(Neg(For("x", R, R))),
        Let("X", Let("X", R, LetVar("X")), For("X", LetVar("X"), Product(LetVar("X"), Sng(Var("X"))))),
        Let("R", S, Product(R, LetVar("R"))),
        Group("by", "x", Plus(R, S), (("k.a", A), ("b", Proj(X, "m.b"))), ()), Group("a b", "x", R, None, (COUNT,)),
        For("g", Group("fold", "x", For("x", R, R), (("k", A),), (COUNT,)), Group("ι", "x", R, None, (COUNT, SUM))),
        Top("α", "y", For("x", R, Sng(A)), (Order(Var("y"), True), Order(TRUE, nulls_first=True)), 3),
        For("top", Top("a b", "order", For("x", R, Sng(Tuple((("desc", A), ("m.b", Proj(X, "m.b")))))), (), 12), R),
        SngBag("s", R, (Sorting(("a",), True), Sorting(("m.b",), nulls_first=True))),
        SngBag("t", Sng(A), (Sorting(()),)),
        For("_", Weigh(Call("least_long", (Lit(2, LONG), Lit(-1, LONG)))), Weigh(Lit(None, Base("int", True)))),
        Let("ΔR", S, Plus(Rel("R", ROW, At.DELTA), Plus(LetVar("ΔR"), Rel("ΔR", ROW)))),
        Let("R⁺", S, Plus(Rel("R", ROW, At.NEW), Plus(LetVar("R⁺"), Rel("R⁺", ROW)))),
        Let("a b⁺", S, Plus(Rel("a b", ROW, At.NEW), LetVar("a b⁺"))),
        Plus(Rel("R", ROW, At.DELTA, 3), Rel("ʹR", ROW, At.DELTA)),
        Plus(Rel("a b", ROW, At.DELTA, 2), Rel("v/D[v.f]", ROW, At.DELTA)),
        Plus(Rel("M/0123456789ab", ROW, At.NEW), Rel("a/b", ROW)),
        *(Plus(Rel(f"{kind}/{16 * 'a'}", ROW, At.DELTA), Rel(f"{kind}/{16 * '0'}", ROW)) for kind in "AGMZ"),
        For("R", R, Plus(R, Sng(Var("R")))),
        Flatten(Sng(Proj(X, "bags"))), Flatten(SngBag("a b", R)), SngBag("sng", SngBag("ι", Empty(LONG))),
        Sng(Tuple((("m.b", Proj(X, "m.b")), ("union", Proj(X, "union")), ("for", Tuple(()))))),
        Sng(Proj(Tuple((("a", X),)), "a")),
        Empty(Record((("l", Label((SITE,), True)), ("none", Label(())), ("d", Bag(Record(())))))),
        Apply(DictRel("R.bags", LONG, At.NEW), OutL(Var("k"), SITE, "l")),
        Apply(DictRel("p", LONG, At.DELTA, 2), Var("k")), Apply(DictRel("upper", LONG), Var("k")),
        Apply(DictPlus(DictEmpty(LONG), DictUnion(DictRel("R.bags", LONG), DictEmpty(LONG))), Var("k")),
        Sng(OutL(Var("k"), SITE, "m.a")), Sng(OutL(Var("k"), SITE, "a")), Sng(OutL(Var("k"), OTHER, "a")),
        Pred(Call("not", (IsSite(Var("k"), "other"),))), Sng(InL("v.f", (("m.a", A), ("a", A), ("l", InL("w", ()))))),
    ],
    ids=show,
)  # fmt: skip
def test_law_7_for(e: Expr) -> None:
    same_term(e, FREE)


@pytest.mark.parametrize("kind", ["A", "G", "Q"])
def test_a_shared_map_is_written_as_it_is_called(kind: str) -> None:
    """Of any kind: what is reserved, printed and read is said once, and the grammar agrees."""
    name = f"{kind}/0123456789abcdef"
    assert is_shared(name) and show(Rel(name, ROW, At.DELTA)) == f"Δ{name}"


@pytest.mark.parametrize(
    "d",
    [
        DictLit(SITE, "l", Sng(OutL(L, SITE, "m.a"))),
        DictLit(SITE, "k", Sng(OutL(Var("k"), SITE, "m.a"))),
        DictLit(SITE, "l", Sng(Tuple((("whole", L), ("a", OutL(L, SITE, "a")))))),
        DictLit(SITE, "a", For("l", Sng(Var("a")), Sng(OutL(L, SITE, "a")))),
        DictLit(SITE, "l", For("l", Sng(InL("other", (("a", OutL(L, SITE, "a")),))), Sng(OutL(L, OTHER, "a")))),
        DictLit(SITE, "l", For("l", Sng(L), Sng(OutL(L, SITE, "a")))),
        DictLit(SITE, "l", For("a", R, Sng(OutL(L, SITE, "m.a")))),
        DictLit(SITE, "l", For("a", R, Sng(Tuple((("a", Proj(Var("a"), "a")), ("b", OutL(L, SITE, "a"))))))),
        DictLit(SITE, "l", Apply(DictLit(OTHER, "k", Sng(Tuple((("a", OutL(Var("k"), OTHER, "a")),)))), L)),
        DictLit(SITE, "l", Apply(DictLit(SITE, "k", Sng(OutL(L, SITE, "m.a"))), L)),
        DictLit(Site("for", ()), "l", Empty(LONG)),
        DictEmpty(Record((("l", Label((SITE,))),))),
    ],
    ids=show_dict,
)
def test_law_7_for_dictionaries(d: DictExpr) -> None:
    same_dictionary(d)


def same_elem(t: Elem, pi: dict[str, Type]) -> None:
    assert parse_elem(show_elem(t), Environment(pi=pi)) == t, show_elem(t)


KINDS: tuple[Base, ...] = tuple(
    Base(k, null)
    for k in ("bool", "int", "long", "double", "string", "date", "timestamp", "binary")
    for null in (0, 1)  # type: ignore[arg-type]
)
DECIMALS = (Base("decimal", False, 5, 2), Base("decimal", True, 9, 0))


@pytest.mark.parametrize("fn", SCALARS)
def test_law_7_for_every_function(fn: str) -> None:
    """Of variables, constants and calls in the place of every argument; a call that would fit no rule is left out."""
    made = 0
    for types in (ts for n in (1, 2, 3) for ts in product((*KINDS, *DECIMALS), repeat=n)):
        if (len(types) == 3 and types[2] not in types[:2]) or SCALARS[fn].rule(types) is None:
            continue
        variables: list[Elem] = [Var(f"x{i}") for i in range(len(types))]
        pi: dict[str, Type] = {f"x{i}": t for i, t in enumerate(types)}
        same_elem(Call(fn, tuple(variables)), pi)
        for i, t in enumerate(types):
            for other in (Lit(None, t), Call("coalesce", (variables[i],)), Lit(SAMPLES[t.kind], t)):
                same_elem(Call(fn, (*variables[:i], other, *variables[i + 1 :])), pi)
        made += 1
    assert made


SAMPLES: dict[str, object] = {
    "bool": True, "int": -7, "long": -7, "double": -0.5, "decimal": Decimal("-3"), "string": 'a"\n`',
    "binary": b"\x00\xff", "date": date(1, 1, 1), "timestamp": datetime(2024, 2, 29, 1, 2, 3, 4, UTC),
}  # fmt: skip


OPERATORS = ("or", "and", "eq", "add_long", "mul_long", "neg_long", "not")


@pytest.mark.parametrize(("a", "b"), list(product(OPERATORS, repeat=2)))
def test_law_7_for_every_nesting_of_operators(a: str, b: str) -> None:
    """Where a and b take the same types, so that brackets alone tell (x a y) b z from x a (y b z)."""
    unary = ("neg_long", "not")
    pi: dict[str, Type] = {"b": BOOL, "n": LONG}
    leaf = {"or": "b", "and": "b", "not": "b", "eq": "b"}

    def call(fn: str, *inner: Elem) -> Elem:
        args = inner if inner else (Var(leaf.get(fn, "n")),)
        return Call(fn, args[:1] if fn in unary else (*args, *args)[:2])

    for t in (call(a, call(b)), call(a, Var(leaf.get(a, "n")), call(b)), call(a, call(b), Var(leaf.get(a, "n")))):
        try:
            check(Pred(t) if leaf.get(a) else Sng(t), None, pi)
        except QueryError:
            continue
        same_elem(t, pi)


CONSTANTS: list[tuple[str, object]] = [
    ("bool", True), ("int", 5), ("int", -(2**31)), ("long", 5), ("long", -(2**63)), ("double", 5.0), ("double", -0.0),
    ("double", 5e-324), ("double", 1e300), ("double", float("-inf")), ("double", NAN), ("string", ""),
    ("string", "null"), ("string", 'a"\u202e\x00é😀\\u0041`'), ("binary", b""), ("binary", b"\x00\xff"),
    ("date", date(9999, 12, 31)), ("timestamp", datetime(1, 1, 1, tzinfo=UTC)),
    ("timestamp", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), CONSTANTS)
def test_law_7_for_constants_of_nullable_and_other_types(kind: str, value: object) -> None:
    for null, v in product((False, True), (value, None)):
        same_elem(Lit(v, Base(kind, null)), {})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["1.50", "-1E-38", "0", "0.00", "99999999999999999999999999999999999999"])
def test_law_7_for_decimals(text: str) -> None:
    value = Decimal(text)
    for base in (Base("decimal", False, 38, 38), Base("decimal", True, 38, 0), Base("decimal", False, 3, 2)):
        if value.quantize(Decimal(1).scaleb(-base.scale), context=CONTEXT) == value and abs(value) < 10 ** (
            base.precision - base.scale
        ):
            same_elem(Lit(value, base), {})


def test_different_constants_have_different_text() -> None:
    constants = [*CONSTANTS, ("int", None), ("long", None)]
    found = [literal(v, Base(k, null)) for k, v in constants for null in (False, True)]  # type: ignore[arg-type]
    assert len(set(found)) == len(found)


@settings(max_examples=60)
@given(st.lists(st.text(), min_size=6, max_size=6, unique=True), st.permutations(WORDS), st.sampled_from(At))
def test_law_7_for_any_names(names: list[str], words: list[str], at: At) -> None:
    """Of relations, variables, let-variables, fields, sites and parameters."""
    for r, v, x, f, s, p in (names, words[:6]):
        rel, site = Rel(r, Record(((f, LONG), ("other", LONG))), at), Site(s, ((p, LONG),))
        read = Proj(Var(v), f)
        label = InL(s, ((p, read),))
        definition = DictLit(site, v, Let(x, rel, For(r, LetVar(x), Sng(Tuple(((f, OutL(Var(v), site, p)),))))))
        same_term(Let(x, rel, For(v, LetVar(x), SngBag(s, Sng(Tuple(((f, read), (f"{f}2", label))))))))
        same_term(For(v, rel, Apply(definition, label)))
        same_term(For(v, rel, Apply(DictRel(r, LONG), label)))


@pytest.mark.parametrize(
    "t",
    [
        *KINDS, *DECIMALS, Record(()), ROW, Bag(Bag(ROW, True)), Label(()), Label((OTHER, SITE), True),
        Dict(Record((("l", Label((OTHER,))),))), Record((("Bag", LONG), ("a b", LONG), ("string", STRING), ("ι", INT))),
    ],
    ids=show_type,
)  # fmt: skip
def test_law_7_for_types(t: Type) -> None:
    env = Environment(sites={"v.f": SITE, "other": OTHER})
    assert parse_type(show_type(t), env) == t


def test_a_name_with_two_types_in_one_term_has_no_text() -> None:
    with pytest.raises(TypeMismatch):
        environment_of(Product(R, Rel("R", LONG)))


# ---------------------------------------------------------------- what show never prints


@pytest.mark.parametrize(
    ("sugar", "plain"),
    [
        ("R + S", "(R ⊎ S)"), ("R - S", "(R ⊎ ⊖(S))"), ("R ⊖ S", "(R ⊎ ⊖(S))"), ("R * S", "(R × S)"), ("-R", "⊖(R)"),
        ("R × S ⊎ R × S", "((R × S) ⊎ (R × S))"), ("[] ⊎ R", "(∅[{row}] ⊎ R)"), ("empty[{row}]", "∅[{row}]"),
        ("for x in R where x.a != 1 and x.a <= 2 union sng(<a: x.a>)",
         "for x in R where x.a ≠ 1 and x.a ≤ 2 union sng(⟨a: x.a⟩)"),
        ("for x in R where x.a > 2.5 union sng({a: x.a / 2})",
         "for x in R where to_double(x.a) > 2.5 union sng(⟨a: to_double(x.a) / 2.0⟩)"),
        ("for x in R where x.`m.b` is not null union sng(x.`m.b` + \"!\")",
         "for x in R where not x⟨m.b⟩ is null union sng(concat(x⟨m.b⟩, \"!\"))"),
        ("for x in R where x.a in (1, 2) union sng(coalesce(x⟨m.b⟩, null))",
         "for x in R where x.a = 1 or x.a = 2 union sng(coalesce(x⟨m.b⟩, string? null))"),
        ("for x in R union x.bags", "for x in R union flatten(sng(x.bags))"),
        ("[x.a | x in R, x.a = 1]", "for x in R where x.a = 1 union sng(x.a)"),
        ("[1, 2]", "(sng(1) ⊎ sng(2))"),
        ("[{a: x.a, s: [y.a | y in S, y.a = x.a]} | x in R]",
         "for x in R union for b in sng[s.item](for y in S where y.a = x.a union sng(y.a)) union sng(⟨a: x.a, s: b⟩)"),
        ("sng(R)", "sng[item](R)"), ("-- all\nR # of it\n", "R"), ("sng(-(5))", "sng(-5)"),
        ("sng(decimal 1.5) ", 'sng(decimal "1.5")'), ("sng(0xFF)", "sng(0xff)"), ("((R))", "R"),
    ],
)  # fmt: skip
def test_sugar(sugar: str, plain: str) -> None:
    env, row = environment_of(Product(R, S)), show_type(ROW)
    found = parse_expr(sugar.replace("{row}", row), env)
    assert show(found) == plain.replace("{row}", row)
    check(found)


def test_an_int_column_beside_a_whole_number_stays_an_int() -> None:
    env = Environment(pi={"n": INT})
    assert parse_elem("n + 1 = 2", env) == Call("eq", (Call("add_int", (Var("n"), Lit(1, INT))), Lit(2, INT)))
    assert show_elem(parse_elem("n + int 1", env)) == "n + int 1"


@pytest.mark.parametrize(
    ("text", "error", "where"),
    [
        ("sng(k⟨a⟩)", TypeMismatch, "text:1:5"), ("sng(k⟨v.f: b⟩)", UnknownName, "text:1:5"),
        ("sng(⟨ι[v.f], 1⟩)", TypeMismatch, "text:1:5"), ("sng(⟨ι[x]⟩)", UnknownName, "text:1:5"),
        ("R(k)", UnknownName, "text:1:1"), ("[(ι[v.f]) ↦ R](k)", TypeMismatch, "text:1:1"),
        ("[(ι[v.f]; a, b, c) ↦ R](1)", TypeMismatch, "text:1:1"), ("R ∪ R", TypeMismatch, "text:1:1"),
        ("∅[𝕃 ↦ Bag(long)]", TypeMismatch, "text:1:1"), ("sng(⟨a: 1, a: 2⟩)", ParseError, "text:1:12"),
        ('sng(date "2024-02-30")', ParseError, "text:1:5"), ("sng(int 3000000000)", ParseError, "text:1:5"),
        ('sng("\\ud800")', ParseError, "text:1:5"), ("sng(1e999)", ParseError, "text:1:5"),
        ("∅[decimal(2,3)]", ParseError, "text:1:3"), ("∅[long(2,3)]", ParseError, "text:1:3"),
        ("sng(null)", TypeMismatch, "text:1:5"), ("p(x.a = null)", TypeMismatch, "text:1:3"),
        ("p(1)", TypeMismatch, "text:1:1"), ("p(x.a)", TypeMismatch, "text:1:1"), ("R ⊎ 1", TypeMismatch, "text:1:5"),
        ("flatten(R)", TypeMismatch, "text:1:1"), ("flatten(R, R)", TypeMismatch, "text:1:1"),
        ("R ⊎\n  S ⊎ sng(1)", TypeMismatch, "text:1:1"), ("", ParseError, "text:1:1"),
        ("for x in R\nwhere x.b = 1\nunion R", UnknownName, "text:2:7"), ("sng(upper(1))", TypeMismatch, "text:1:5"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_is(text: str, error: type[QueryError], where: str) -> None:
    env = environment_of(Product(R, S), Sng(InL("v.f", (("m.a", A), ("a", A), ("l", A)))), Sng(OutL(X, SITE, "a")))
    with pytest.raises(QueryError) as caught:
        parse_expr(text, env.with_free(FREE.gamma, FREE.pi))
    assert (type(caught.value), caught.value.where) == (error, where)
    assert str(caught.value).splitlines()[2].lstrip().startswith("^")


def test_what_was_covered() -> None:
    """Every construct of the three sorts, and enough of each in random terms."""
    COUNTS.check()
    assert {*get_args(Expr), *get_args(DictExpr), *get_args(Elem)} <= MET
