"""What ``explain`` says: whole texts for four views (``tests/golden``), and that nothing in it can mislead."""

import json
from io import StringIO
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from rich.console import Console
from support.strategies import Case, cases

from ripplenest.explain import Explanation, explain
from ripplenest.nrc.dsl import Bag, View, record, view
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.syntax import Call, Expr, For, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, STRING, Record, nullable

GOLDEN = Path(__file__).parent.parent / "golden"


@record
class Movie:
    name: str
    gen: str | None
    dir: str | None


@view
def related(M: Bag[Movie]):
    return [
        {
            "name": m.name,
            "related": [m2.name for m2 in M if m2.name != m.name and (m2.gen == m.gen or m2.dir == m.dir)],
        }
        for m in M
    ]


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
    qty: int


@record
class Part:
    partkey: int
    p_name: str


@view
def customers(C: Bag[Customer], O: Bag[Order], L: Bag[Line], P: Bag[Part]):  # noqa: E741
    return [
        {
            "name": c.name,
            "orders": [
                {
                    "date": o.date,
                    "items": [
                        {"p_name": p.p_name, "qty": l.qty}
                        for l in L  # noqa: E741
                        if l.orderkey == o.orderkey
                        for p in P
                        if p.partkey == l.partkey
                    ],
                }
                for o in O
                if o.custkey == c.custkey
            ],
        }
        for c in C
    ]


@record
class Film:
    title: str
    year: int | None


@record
class Distributor:
    name: str
    films: Bag[Film]


@view
def recent(D: Bag[Distributor]):
    return [
        {"distributor": d.name, "recent": [f.title for f in d.films if f.year >= 2000], "films": d.films} for d in D
    ]


@view
def older(D: Bag[Distributor]):
    return [{"title": f.title, "older": [g.title for g in d.films if g.year < f.year]} for d in D for f in d.films]


@pytest.mark.parametrize("explained", [related, customers, recent, older], ids=lambda v: v.name)
def test_the_whole_text(explained: View) -> None:
    golden = GOLDEN / f"explain_{explained.name}.txt"
    assert explain(explained).text == golden.read_text(encoding="utf-8")


def test_related_has_the_queries_and_deltas_of_the_paper() -> None:
    """nrc-ivm, section 2.2: related^F, related^Γ and their deltas, with isRelated and the label written out."""
    facts = explain(related).json()
    label = "⟨ι[related.related], m.name, m.gen, m.dir⟩"
    is_related = "m2.name ≠ name and (m2.gen = gen or m2.dir = dir)"
    assert facts["shredded"]["flat"] == f"for m in M union sng(⟨name: m.name, related: {label}⟩)"
    assert [d["definition"] for d in facts["shredded"]["dictionaries"]] == [
        f"[(ι[related.related]; name, gen, dir) ↦ for m2 in M where {is_related} union sng(m2.name)]"
    ]
    assert facts["deltas"] == [
        {"part": "M", "of": "δ(related^F)", "term": f"for m in ΔM union sng(⟨name: m.name, related: {label}⟩)"},
        {
            "part": "M",
            "of": "δ(related^Γ)(⟨ι[related.related], name, gen, dir⟩)",
            "term": f"for m2 in ΔM where {is_related} union sng(m2.name)",
        },
    ]


def test_customers_need_no_domain_and_items_are_lines_joined_with_parts() -> None:
    """The worked example: a change of an item is one probe of P, of a part one probe of L."""
    facts = explain(customers).json()
    assert [d["kept"] for d in facts["shredded"]["dictionaries"]] == ["key-bound", "key-bound"]
    assert [m["kind"] for m in facts["maps"]] == ["flat", "dictionary", "dictionary"]
    read = {(s["map"], s["part"]): [[(a["how"], a["source"], a["columns"]) for a in j] for j in s["joins"]]
            for s in facts["statements"]}  # fmt: skip
    assert read == {
        ("customers", "C"): [[("change", "ΔC", [])]],
        ("customers/D[customers.orders]", "O"): [[("change", "ΔO", [])]],
        ("customers/D[customers.orders.items]", "L"): [[("change", "ΔL", []), ("probe", "P", ["partkey"])]],
        ("customers/D[customers.orders.items]", "P"): [[("change", "ΔP", []), ("probe", "L⁺", ["partkey"])]],
    }
    assert facts["warnings"] == []


def query_of(body: Expr, relation: Rel) -> Query:
    return Query("v", body, ((relation.name, relation.row),))


def pairs(relation: Rel, fn: str, column: str) -> Expr:
    """for x in R, y in R where x.column fn y.column union sng(⟨x, y⟩)"""
    condition = Pred(Call(fn, (Proj(Var("x"), column), Proj(Var("y"), column))))
    both = Sng(Tuple((("x", Proj(Var("x"), column)), ("y", Proj(Var("y"), column)))))
    return For("x", relation, For("y", relation, For("_", condition, both)))


def test_a_join_without_equality_is_a_warning_that_stands_out() -> None:
    r = Rel("R", Record((("a", LONG),)))
    explanation = explain(query_of(pairs(r, "lt", "a"), r))
    assert explanation.json()["warnings"] == [
        "v, when R changes, reads all of R: no equality leads there",
        "v, when R changes, reads all of R⁺: no equality leads there",
    ]
    assert "reads ΔR, then SCAN R (no equality)" in explanation.text
    assert "\x1b[1;31m  warning: v, when R changes" in printed(explanation, 100)
    assert "\x1b[1;31m      reads ΔR, then SCAN R (no equality)" in printed(explanation, 100)
    assert explain(query_of(pairs(r, "eq", "a"), r)).json()["warnings"] == []


def test_hostile_names_are_escaped_and_not_markup() -> None:
    name = "R[red]\x1b[2J\u202e`⟩"
    r = Rel(name, Record((("a\nb", nullable(STRING)),)))
    inner = SngBag("s\x07", For("y", r, Sng(Proj(Var("y"), "a\nb"))))
    body = For("x", r, For("b", inner, Sng(Tuple((("t\x00", Var("b")), ("u", Proj(Var("x"), "a\nb")))))))
    explanation = explain(query_of(body, r))
    assert all(line.isprintable() for line in explanation.text.splitlines())
    assert "`R[red]\\u001b[2J\\u202e\\u0060⟩`" in explanation.text
    assert "R[red]" in printed(explanation, 200)


@pytest.mark.parametrize("width", [40, 60, 100, 300])
def test_a_terminal_of_any_width_gets_lines_that_fit(width: int) -> None:
    plain = printed(explain(customers), width, colour=False)
    assert max(map(len, plain.splitlines())) <= width
    squeezed = plain.replace("\n", "").replace(" ", "")
    assert "δ(customers^Γ)(⟨ι[customers.orders.items],orderkey⟩)=" in squeezed


def test_terms_are_laid_out_for_the_terminal_instead_of_wrapped() -> None:
    """What a terminal wraps goes on in its first column, where only the titles begin."""
    lines = printed(explain(customers), 70, colour=False).splitlines()
    assert len([line for line in lines if line and not line.startswith(" ")]) == 1 + 8
    assert printed(explain(customers), 300, colour=False) == explain(customers).text


def test_a_self_join_has_the_terms_of_the_paper_as_delta_and_the_telescoped_ones_as_statements() -> None:
    """δ(e₁ × e₂) = δ(e₁) × e₂ ⊎ (e₁ ⊎ δ(e₁)) × δ(e₂); a statement reads e₁⁺ for the second."""
    r = Rel("R", Record((("a", LONG),)))
    facts = explain(query_of(pairs(r, "eq", "a"), r)).json()
    tail = "where x{0}.a = y{1}.a union sng(⟨x: x{0}.a, y: y{1}.a⟩)"
    assert [d["term"] for d in facts["deltas"]] == [
        f"(for x in ΔR union for y in R {tail.format('', '')}"
        f" ⊎ for x1 in (R ⊎ ΔR) union for y1 in ΔR {tail.format(1, 1)})"
    ]
    assert [[a["source"] for a in join] for s in facts["statements"] for join in s["joins"]] == [
        ["ΔR", "R"],
        ["ΔR", "R⁺"],
    ]


def test_deltas_of_definitions_read_no_state_after_the_batch() -> None:
    r = Rel("R", Record((("a", LONG),)))
    nested = For("b", SngBag("s", pairs(r, "eq", "a")), Sng(Tuple((("bag", Var("b")),))))
    facts = explain(query_of(nested, r)).json()
    assert [d["of"] for d in facts["deltas"]] == ["δ(v^Γ)(⟨ι[s]⟩)"]
    assert "(R ⊎ ΔR)" in facts["deltas"][0]["term"]
    assert "⁺" not in facts["deltas"][0]["term"]


def test_explaining_a_query_and_its_view_is_the_same() -> None:
    assert str(explain(related.query)) == explain(related).text


def test_an_ill_typed_query_is_an_error_of_ours() -> None:
    r = Rel("R", Record((("a", LONG),)))
    with pytest.raises(QueryError):
        explain(query_of(For("x", r, Sng(Proj(Var("x"), "b"))), r))


def test_the_data_is_plain() -> None:
    for explained in (related, customers, recent, older):
        facts = explain(explained).json()
        assert json.loads(json.dumps(facts)) == facts


@settings(max_examples=60)
@given(cases())
def test_every_query_can_be_explained(case: Case) -> None:
    """And each part that a map's definition reads has a statement, in the order in which maps can run."""
    facts = explain(Query("v", case.query, tuple(case.schema.relations))).json()
    known = {s for d in facts["dependencies"] for s in d["reads"]} - {d["map"] for d in facts["dependencies"]}
    for d in facts["dependencies"]:
        assert known.issuperset(d["reads"])
        known.add(d["map"])
        assert {s["part"] for s in facts["statements"] if s["map"] == d["map"]} == set(d["reads"])


def printed(explanation: Explanation, width: int, colour: bool = True) -> str:
    out = StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    explanation.print(Console(file=out, width=width, force_terminal=colour, color_system=system))
    return out.getvalue()
