"""Terms as text: brackets where they are needed, names that cannot mislead, and lines that say the same as one line."""

from datetime import date
from decimal import Decimal

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from support.choices import Choices
from support.laws import law
from support.strategies import random_case

from ripplenest.nrc.printing.layout import layout, layout_elem
from ripplenest.nrc.printing.pretty import open_definition, show, show_dict, show_elem
from ripplenest.nrc.printing.text import literal, part, path, show_type
from ripplenest.nrc.syntax import (
    Call,
    DictLit,
    Elem,
    Empty,
    Expr,
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
    Tuple,
    Var,
)
from ripplenest.nrc.types import BOOL, LONG, STRING, Bag, Base, Label, Record, Site, nullable

ROW = Record((("a", LONG), ("m.b", nullable(STRING))))
R, S = Rel("R", ROW), Rel("S", ROW)
X, A = Var("x"), Proj(Var("x"), "a")
SITE = Site("v.f", (("m.a", LONG), ("a", LONG)))


def call(fn: str, *args: Elem) -> Call:
    return Call(fn, args)


@pytest.mark.parametrize(
    ("elem", "text"),
    [
        (call("and", call("or", X, A), X), "(x or x.a) and x"),
        (call("or", call("and", X, A), X), "x and x.a or x"),
        (call("and", call("and", X, A), X), "x and x.a and x"),
        (call("and", X, call("and", A, X)), "x and (x.a and x)"),
        (call("not", call("and", X, A)), "not (x and x.a)"),
        (call("and", call("not", X), call("is_null", A)), "not x and x.a is null"),
        (call("is_true", call("eq", X, A)), "(x = x.a) is true"),
        (call("eq", call("eq", X, A), X), "(x = x.a) = x"),
        (call("sub_long", A, call("sub_long", A, A)), "x.a - (x.a - x.a)"),
        (call("mul_long", call("add_long", A, A), A), "(x.a + x.a) · x.a"),
        (call("add_long", A, call("mul_long", A, A)), "x.a + x.a · x.a"),
        (call("if", X, A, A), "if(x, x.a, x.a)"),
        (Proj(X, "m.b"), "x⟨m.b⟩"),
        (Proj(X, "a b"), "x⟨`a b`⟩"),
        (Tuple((("a", A), ("m.b", X))), "⟨a: x.a, m.b: x⟩"),
        (InL("v.f", (("m.a", A),)), "⟨ι[v.f], x.a⟩"),
        (OutL(X, SITE, "m.a"), "x⟨v.f: m.a⟩"),
        (call("neg_long", call("neg_long", A)), "-(-x.a)"),
        (call("neg_long", Lit(5, LONG)), "neg_long(5)"),
        (Proj(Var("union"), "union"), "`union`.union"),
        (IsSite(X, "v.f"), "x ∈ ι[v.f]"),
    ],
)
def test_elements(elem: Elem, text: str) -> None:
    assert show_elem(elem) == text


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (None, BOOL, "bool null"), (None, nullable(BOOL), "bool? null"), (True, BOOL, "true"), (-3, LONG, "-3"),
        (-3, Base("int"), "int -3"), (3, nullable(LONG), "long? 3"), (0.5, Base("double"), "0.5"),
        (float("nan"), Base("double"), 'double "nan"'),
        ('a"\x1b\u202e', STRING, '"a\\"\\u001b\\u202e"'), (b"\x00\xff", Base("binary"), "0x00ff"),
        (date(2024, 2, 29), Base("date"), 'date "2024-02-29"'),
        (Decimal("1.50"), Base("decimal", False, 3, 2), 'decimal "1.50"'),
        (Decimal("1.50"), Base("decimal", False, 5, 2), 'decimal(5,2) "1.50"'),
    ],
)  # fmt: skip
def test_constants(value: object, base: Base, text: str) -> None:
    assert literal(value, base) == text


def where(cond: Elem, body: Expr, var: str = "_") -> For:
    return For(var, Pred(cond), body)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (For("x", R, where(call("or", X, A), where(A, Sng(X)))), "for x in R where x or x.a where x.a union sng(x)"),
        (For("x", R, where(A, where(A, Sng(X), "_1"), "_20")), "for x in R where₂₀ x.a where₁ x.a union sng(x)"),
        (Let("R", S, Plus(R, LetVar("R"))), "let R := S in (@R ⊎ R)"),
        (where(A, Sng(X)), "where x.a union sng(x)"),
        (For("x", For("y", R, S), Sng(X)), "for x in (for y in R union S) union sng(x)"),
        (For("x", R, Plus(S, R)), "for x in R union (S ⊎ R)"),
        (Plus(For("x", R, S), R), "(for x in R union S ⊎ R)"),
        (Plus(Plus(R, S), R), "(R ⊎ S ⊎ R)"),
        (Plus(R, Plus(S, R)), "(R ⊎ (S ⊎ R))"),
        (Neg(Product(R, S)), "⊖((R × S))"),
        (SngBag("v.f", Empty(ROW)), "sng[v.f](∅[⟨a: long, m.b: string?⟩])"),
    ],
)
def test_terms(term: Expr, text: str) -> None:
    assert show(term) == text


def test_parameters_get_short_names_of_their_own() -> None:
    label = Var("l")
    first, second = OutL(label, SITE, "m.a"), OutL(label, SITE, "a")
    condition = call("and", call("eq", A, first), call("eq", Proj(Var("a1"), "a"), second))
    d = DictLit(SITE, "l", For("x", R, For("a1", S, where(condition, Sng(X)))))
    body = "for x in R union for a1 in S where x.a = a and a1.a = a2 union sng(x)"
    assert show_dict(d) == f"[(ι[v.f]; a, a2) ↦ {body}]"
    assert show_dict(evolve(d, var="k")).startswith("[k@(ι[v.f]; a, a2) ↦ ")
    assert open_definition(d)[0] == ("a", "a2")


def test_a_variable_called_like_the_label_has_no_short_names() -> None:
    label = Var("l")
    d = DictLit(SITE, "l", For("l", Sng(label), Sng(OutL(label, SITE, "m.a"))))
    assert show_dict(d) == "[(ι[v.f]; a, a1) ↦ for l in sng(l) union sng(l⟨m.a⟩)]"


def test_types_show_hostile_names_escaped() -> None:
    t = Record((("a\x1b", Bag(LONG, True)), ("l", Label((SITE,), True))))
    assert show_type(t) == "⟨`a\\u001b`: Bag(long)?, l: 𝕃{v.f}?⟩"


@given(st.text(), st.text())
def test_different_names_have_different_text_and_all_of_it_prints(a: str, b: str) -> None:
    for shown in (path, part):
        assert shown(a).isprintable()
        assert (shown(a) == shown(b)) == (a == b)


def test_a_sum_of_thousands_of_terms_can_be_shown() -> None:
    total: Expr = R
    for _ in range(5000):
        total = Plus(total, S)
    assert show(total).count("⊎") == 5000


def test_a_parameter_names_its_site_where_the_type_of_the_label_does_not() -> None:
    """Both sites have a parameter a; only one has m.a."""
    other = Site("w", (("a", LONG),))
    labels = Rel("L", Label((SITE, other)))
    for read, text in ((OutL(X, other, "a"), "x⟨w: a⟩"), (OutL(X, SITE, "m.a"), "x⟨m.a⟩")):
        assert show(For("x", labels, Sng(read))) == f"for x in L union sng({text})"


# ---------------------------------------------------------------- several lines


def squeezed(text: str) -> str:
    """Without blanks and without the brackets that lines make superfluous."""
    return text.replace(" ", "").replace("(", "").replace(")", "")


@law(examples=100)
def test_lines_say_what_one_line_says(c: Choices) -> None:
    case, width = random_case(c), c.pick([20, 45, 70, 100, 10_000])
    lines = layout(case.query, width)
    assert squeezed("".join(lines)) == squeezed(show(case.query))
    assert all(line == line.rstrip() and line for line in lines)
    if len(show(case.query)) <= width:
        assert lines == [show(case.query)]


def test_a_chain_is_broken_as_the_paper_breaks_it() -> None:
    long = call("or", call("eq", A, Proj(Var("y"), "a")), call("eq", Proj(X, "m.b"), Proj(Var("y"), "m.b")))
    body = Sng(Tuple((("a", A), ("b", Proj(Var("y"), "m.b")))))
    term = For("x", R, where(call("gt", A, Lit(0, LONG)), For("y", S, where(long, where(A, body)))))
    assert layout(Plus(term, Neg(R)), 44) == [
        "  for x in R where x.a > 0",
        "  union for y in S",
        "    where x.a = y.a or x⟨m.b⟩ = y⟨m.b⟩",
        "    where x.a",
        "  union sng(⟨a: x.a, b: y⟨m.b⟩⟩)",
        "⊎ ⊖(R)",
    ]


def test_mixed_connectives_keep_their_brackets_when_broken() -> None:
    either = call("or", call("or", A, X), A)
    assert layout_elem(call("and", call("and", either, X), either), 12) == [
        "(x.a",
        " or x",
        " or x.a)",
        "and x",
        "and (x.a",
        "     or x",
        "     or x.a)",
    ]
