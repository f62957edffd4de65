"""What the compiler asks of a query before it makes a program of it."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.choices import Choices
from support.correlated import correlated_query
from support.laws import law
from support.queries import random_query
from support.schemas import random_schema

import ripplenest as rn
from ripplenest.delta.compile import Options, compile_view
from ripplenest.delta.program import MapKind
from ripplenest.delta.rules import derived
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.rewriting.normal import normal
from ripplenest.nrc.surface.text import Environment, parse_expr
from ripplenest.nrc.syntax import Call, Expr, For, IsSite, Plus, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, Bag, Record
from ripplenest.plan.lower import lower

ROW = Record((("a", LONG), ("os", Bag(LONG))))
R = Rel("R", ROW)


def others(site: str, fn: str) -> Expr:
    """sng_ι(for y in R where y.a fn x.a union sng(y.a))"""
    a, b = Proj(Var("y"), "a"), Proj(Var("x"), "a")
    return SngBag(site, For("y", R, For("_", Pred(Call(fn, (a, b))), Sng(a))))


@pytest.mark.parametrize(("first", "second"), [("ι", "ι"), ("ι", "R.os"), ("R", "ι")])
def test_sites_are_apart(first: str, second: str) -> None:
    """Two definitions under one name would be taken for one, which is a wrong answer; so would a stored part."""
    head = Sng(Tuple((("b", Var("b")), ("c", Var("c")))))
    body = For("x", R, For("b", others(first, "eq"), For("c", others(second, "ne"), head)))
    with pytest.raises(QueryError, match="a name of its own"):
        compile_view(Query("v", body, (("R", ROW),)))


def test_a_first_row_of_many_columns_is_one_factor() -> None:
    """Each of its values is asked for by itself, of one row."""
    names = [f"c{i}" for i in range(40)]
    wide = Record((("id", LONG), ("zone", LONG), *((name, LONG) for name in names)))
    of = "1, q in (for y in R where y.zone = x.zone union sng(y)) order q.id desc"
    first = "for {0} in fold[{0}](x in (for q in top[t{0}]({1}) union sng(q.{0})) of v: max(x)) union"
    shown = ", ".join(f"{name}: {name}.v" for name in names)
    text = f"for x in R union {' '.join(first.format(name, of) for name in names)} sng(⟨id: x.id, {shown}⟩)"
    body = parse_expr(text, Environment({"R": wide}))
    program = compile_view(Query("v", body, (("R", wide),))).program
    assert [len(m.products[0].generators) for m in program.maps if m.kind is MapKind.FLAT] == [2]
    assert len(program.statements) < 10


def test_each_definition_is_made_a_sum_of_products_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum can have thousands of products, so that making it again costs as much as all that is asked of it."""
    asked: list[Expr] = []
    count = lambda e, free=None: asked.append(e) or normal(e, free)  # noqa: E731
    for module in ("shred.sites", "delta.compile"):
        monkeypatch.setattr(f"ripplenest.{module}.normal", count)
    head = Sng(Tuple((("b", Var("b")), ("c", Var("c")))))
    body = For("x", R, For("b", others("ι", "eq"), For("c", others("κ", "ne"), head)))
    compile_view(Query("v", body, (("R", ROW),)), Options("none"))
    assert len(asked) == len(set(asked)) == 1 + 2


ROWS = {"E": 1_000_000, "F": 1_000_000, "G": 9}


def test_each_map_is_derived_once_for_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a candidate would cost is what its statements are made of once it is kept."""
    asked: list[tuple[Expr, frozenset[str]]] = []
    count = lambda e, parts, telescoped: asked.append((e, parts)) or derived(e, parts, telescoped)  # noqa: E731
    monkeypatch.setattr("ripplenest.delta.materialize.derived", count)
    edges = [Rel(name, Record((("a", LONG), ("b", LONG)))) for name in ("E", "F", "G")]
    joined = [Pred(Call("eq", (Proj(Var(x), "b"), Proj(Var(y), "a")))) for x, y in (("x", "y"), ("y", "z"))]
    body: Expr = For("_", joined[0], For("_", joined[1], Sng(Proj(Var("z"), "b"))))
    for var, rel in zip("zyx", edges, strict=True):
        body = For(var, rel, body)
    stages = compile_view(
        Query("v", body, tuple((r.name, r.row) for r in edges)), Options(rows=ROWS, changes={"E": 100_000})
    )
    assert any(c.kept for c in stages.choices)
    assert len(asked) == len(set(asked))


PRODUCTS: Counter[str] = Counter()


@law(examples=150)
def test_no_product_is_empty_by_its_types(c: Choices) -> None:
    """Every product of every map and statement has a plan: one that can never have rows is in none of them, so that
    nobody pays for it, and no verdict speaks of it."""
    schema = random_schema(c)
    body = correlated_query(c, schema) if c.number(3) else random_query(c, schema)
    program = compile_view(Query("V", body, schema.relations), Options("none", force_domain=c.one_in(2))).program
    for m in program.maps:
        PRODUCTS["with several sites"] += any(isinstance(t, IsSite) for p in m.products for t in p.conditions)
        for p in (*m.products, *(p for s in program.statements_of(m.name) for p in s.products)):
            PRODUCTS["products"] += 1
            assert lower(p, m.row)


def test_a_stored_label_is_not_one_that_the_view_made() -> None:
    """R's own bags beside made ones: the domain of the made ones counts the second summand alone."""
    own = For("x", R, Sng(Tuple((("b", Proj(Var("x"), "os")),))))
    made = For("x", R, For("b", others("ι", "ne"), Sng(Tuple((("b", Var("b")),)))))
    program = compile_view(Query("v", Plus(own, made), (("R", ROW),))).program
    (domain,) = program.of_kind(MapKind.DOMAIN)
    assert len(domain.products) == 1


@rn.record
class Film:
    """A film with its cast."""

    title: str
    year: int | None
    cast: list[str]


@rn.view
def by_year(M: rn.Bag[Film]) -> list[Any]:
    return [{"year": y, "films": [{"title": m.title} for m in ms]} for y, ms in rn.group_by(M, lambda m: m.year)]


@rn.view
def best_by_year(M: rn.Bag[Film]) -> list[Any]:
    return [
        {"year": y, "best": rn.top(2, [{"title": m.title} for m in ms], key=lambda m: m["title"])}
        for y, ms in rn.group_by(M, lambda m: m.year)
    ]


@rn.view
def by_year_and_title(M: rn.Bag[Film]) -> list[Any]:
    return [
        {
            "year": y,
            "titles": [
                {"title": t, "count": len(same), "films": [{"cast": m.cast} for m in same]}
                for t, same in rn.group_by(ms, lambda m: m.title)
            ],
        }
        for y, ms in rn.group_by(M, lambda m: m.year)
    ]


@pytest.mark.parametrize("view", [by_year, best_by_year, by_year_and_title], ids=lambda v: v.name)
def test_rows_of_a_group_need_no_domain(view: rn.View) -> None:
    """The label of a group is the label of the place that it is made of: it is known where that one's parts are."""
    program = compile_view(view.query).program
    assert not program.of_kind(MapKind.DOMAIN)
    assert program.of_kind(MapKind.DICTIONARY)


def test_coverage() -> None:
    if PRODUCTS:
        assert PRODUCTS["products"] > 1000 and PRODUCTS["with several sites"] > 10, PRODUCTS


@rn.record
class Step:
    a: int
    b: int | None


def beside(E: rn.Bag[Step]):
    """A total beside an inner bag that needs a domain."""
    return [{"n": len([e for e in E if e.b == x.a]), "later": [e.a for e in E if e.a > x.a]} for x in E]


def beside_null(E: rn.Bag[Step]):
    """Of a place that may be NULL."""
    return [{"n": sum(e.a for e in E if e.b == x.b), "later": [e.a for e in E if e.a > x.a]} for x in E]


def beside_two(E: rn.Bag[Step]):
    """A total for what another one comes to."""
    return [
        {"n": len([e for e in E if e.b == m]), "later": [e.a for e in E if e.a > x.a]}
        for x in E
        if (m := rn.coalesce(max(e.a for e in E if e.b == x.a), 0)) or True
    ]


def kept(E: rn.Bag[Step]):
    """It says which rows there are."""
    return [{"later": [e.a for e in E if e.a > x.a]} for x in E if len([e for e in E if e.b == x.a]) > 1]


@pytest.mark.parametrize(("f", "reads"), [(beside, 1), (beside_null, 1), (beside_two, 1), (kept, 2)])
def test_labels_beside_a_total_do_not_change_with_it(f: Callable[..., Any], reads: int) -> None:
    domains = compile_view(rn.view(f).query).program.of_kind(MapKind.DOMAIN)
    ((c,),) = [m.products for m in domains if "later" in m.name]
    assert len(c.generators) == reads, c
