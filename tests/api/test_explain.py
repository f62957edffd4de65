"""What ``explain`` says: whole texts for four views (``tests/golden``), and that nothing in it can mislead."""

import json
import re
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import evolve
from rich.console import Console
from support.examples import QUERIES, nf2, three_way
from support.laws import law
from support.strategies import Case, cases

import ripplenest as rn
from ripplenest.api.sparks import Sparks
from ripplenest.explanation import Explanation, explain
from ripplenest.nrc import limits
from ripplenest.nrc.errors import QueryError, TooBig, UnknownName
from ripplenest.nrc.surface.python import Bag, View, record, view
from ripplenest.nrc.syntax import Call, Expr, For, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, STRING, Record, nullable
from ripplenest.run import engines
from ripplenest.run.joiner import PythonJoiner

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
def test_the_whole_text(explained: View, golden_update: bool) -> None:
    golden = GOLDEN / f"explain_{explained.name}.txt"
    if golden_update:
        golden.write_text(explain(explained).text, encoding="utf-8")
    assert explain(explained).text == golden.read_text(encoding="utf-8")


def test_related_is_as_the_paper_analyses_it() -> None:
    """Theorem 2: degree 1 for the flat part and its dictionary, 0 for their deltas, which do not read M; example 6."""
    facts = explain(related).json()
    assert [(d["before"], d["after"], d["reads"]) for d in facts["deltas"]] == [(1, 0, []), (1, 0, [])]
    assert [facts["shredded"]["degree"], *(d["degree"] for d in facts["shredded"]["dictionaries"])] == [1, 1]
    assert facts["cost"] == "|M|{⟨1, |M|{1}⟩}"
    assert facts["steps"] == "|M|·(1 + |M|)"
    text = explain(related).text
    assert [part for part in (facts["cost"], facts["steps"]) if part not in text] == []
    assert text.count("degree 1 → 0: reads only the change") == 2


def test_what_it_comes_to_is_what_is_shown_first() -> None:
    found = rn.explain(related, sizes={"M": 1_000})
    assert found.text.startswith(f"{found.summary}\n1. ") and "  stored rows: M 1,000\n" in found.summary
    assert repr(found).startswith(found.summary) and len(repr(found)) < 1_000


def test_sizes_take_the_place_of_symbols() -> None:
    facts = explain(related, sizes={"M": 1_000_000}, delta={"M": 100}).json()
    assert facts["cost"] == "1000000{⟨1, 1000000{1}⟩}"
    assert facts["steps"] == str(1_000_000 * 1_000_001)
    (flat,) = (s["verdict"] for s in facts["statements"] if s["map"] == "related")
    assert (flat["after"], flat["before"]) == ("100{⟨1, 1⟩}", "1000000{⟨1, 1⟩}")
    assert facts["incremental"]


def test_a_change_as_large_as_the_table_is_not_incremental() -> None:
    explanation = explain(related, sizes={"M": 10}, delta={"M": 10})
    assert not explanation.json()["incremental"]
    assert "not incremental: ΔM: the update is not incremental" in explanation.text
    assert "to mend it: change M in smaller batches" in explanation.text


@rn.record
class Sale:
    id: int
    sku: int
    day: date
    qty: int


@rn.record
class Clock:
    id: int
    today: date


@rn.view
def of_late(S: Bag[Sale], K: Bag[Clock]):
    late = [s for s in S for k in K if k.id == 1 and s.day > k.today - timedelta(days=30)]
    return [{"sku": sku, "n": sum(s.qty for s in of)} for sku, of in rn.group_by(late, lambda s: s.sku)]


def test_of_maps_no_batch_says_how_much_changes(tmp_path) -> None:
    """The estimate of a clock is that all moves: no reason to call a view not incremental that "strict" keeps."""
    with rn.open(tmp_path / "state", engine="local", policy="strict") as db:
        for name, record in (("S", Sale), ("K", Clock)):
            db.relation(name, record, key="id")
        db.load("S", [{"id": i, "sku": i % 9, "day": date(2024, 1, 1 + i % 30), "qty": 1} for i in range(60)])
        db.load("K", [{"id": 1, "today": date(2024, 2, 1)}])
        found = db.create(of_late).explain()
    assert found.json()["incremental"]
    assert "incremental: every trigger takes fewer steps than computing its map unless as much changes" in found.summary
    (note,) = {str(f) for s in found.json()["statements"] for f in s["verdict"]["findings"] if "as there is" in str(f)}
    assert "ΔG/" in note and "as much of it changes as there is, by the estimate" in note


def test_sizes_say_which_maps_pay() -> None:
    small = dict.fromkeys(("N", "N.orders", "N.orders.parts", "P"), 10)
    kinds = [[m["kind"] for m in explain(nf2, sizes).json()["maps"]] for sizes in (None, small)]
    assert kinds == [["auxiliary", "flat"], ["flat"]]


def test_sizes_of_inner_bags_are_given_by_part() -> None:
    facts = explain(recent, sizes={"D": 10, "D.films": 50}).json()
    assert facts["cost"] == "10{⟨1, 5{1}, 5{⟨1, 1⟩}⟩}"


@pytest.mark.parametrize(
    ("sizes", "delta", "error", "message"),
    [
        ({"N": 1}, None, UnknownName, "possible D, D.films"),
        ({"D": 1}, {"D.films": 1}, UnknownName, "no such part has its size given"),
        ({"D": 0}, None, QueryError, "sizes[D]"),
        ({"D": 1}, {"D": -1}, QueryError, "delta[D]"),
        ({"D": 1.5}, None, QueryError, "got      1.5"),
        ({"D": True}, None, QueryError, "an integer above 0"),
    ],
)
def test_wrong_sizes(sizes: Any, delta: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as found:
        explain(recent, sizes, delta)
    assert message in str(found.value)


def test_higher_orders_are_counted_and_their_terms_are_in_the_data() -> None:
    """δ³ of a join of three reads changes only, and no part of the database."""
    explanation = explain(three_way)
    assert "three_way^F: degrees 3 → 2 → 1 → 0" in explanation.text
    (orders,) = explanation.json()["orders"]
    assert (orders["degree"], len(orders["terms"]), orders["complete"]) == (3, 4, True)
    assert re.findall(r"\bin [RST]\b", orders["terms"][2]) != []
    assert re.findall(r"\bin [RST]\b", orders["terms"][3]) == []


def test_orders_beyond_the_limits_are_left_out() -> None:
    """A join of seven has 7! orders of changes; what is small enough is told, and that there is more."""
    r = Rel("R", Record((("a", LONG),)))
    body: Expr = Sng(Proj(Var("x0"), "a"))
    for i in range(7):
        body = For(f"x{i}", r, body)
    (orders,) = explain(query_of(body, r)).json()["orders"]
    assert not orders["complete"]
    assert 1 < len(orders["terms"]) < 8


def test_orders_of_definitions() -> None:
    (_, orders, items) = explain(customers).json()["orders"]
    assert [len(orders["terms"]), len(items["terms"])] == [2, 3]
    assert {"ΔL", "ΔʹL", "ΔP", "ΔʹP"} == set(re.findall(r"\bin (Δ\w+)", items["terms"][2]))
    assert re.findall(r"\bin [LP]\b", items["terms"][2]) == []


def test_auxiliary_maps_say_why_they_are_kept_and_who_reads_them() -> None:
    full = explain(nf2, materialize="full").json()
    kept = [m for m in full["maps"] if m["kind"] == "auxiliary"]
    assert kept
    for m in kept:
        assert m["why"] and m["read_by"] and m["access_keys"]
    assert full["left_out"] == []
    none = explain(nf2, materialize="none").json()
    assert [m["kind"] for m in none["maps"]] == ["flat"]
    assert none["left_out"] == []
    left_out = explain(nf2).json()["left_out"]
    assert left_out and all(c["parts"] and "rows" in c["why"] for c in left_out)


@record
class Sold:
    id: int
    part: int
    year: int


@record
class Made:
    part: int
    year: int
    n: int


@view
def part_by_part(S: Bag[Sold], M: Bag[Made]):
    """What is sold of a part beside what is made of it is joined where the sums are."""
    return [{"part": p, "n": sum(m.n * s.year for s in S for m in M if m.part == p and s.part == p)} for p in (1, 2)]


def test_maps_are_chosen_for_what_tables_may_grow_to(tmp_path: Path) -> None:
    """A view of a few rows stays when there are many: it has the maps that one of nothing has."""
    programs = []
    for few in ([], [1, 2, 3]):
        with rn.open(tmp_path / f"{len(few)}", engine="local") as db:
            db.relation("S", Sold, key="id")
            db.relation("M", Made)
            for name, row in (("S", {"part": 1, "year": 1}), ("M", {"year": 1, "n": 1})):
                db.load(name, [{**row, "id" if name == "S" else "part": i} for i in few])
            db.create(part_by_part)
            programs.append({m.name for m in db._declared.plan().maps})
            left_out = str(db.view("part_by_part").explain())
            assert ("M 1,000,000, S 1,000,000" in left_out) == (bool(few) and "  not kept" in left_out)
    assert programs[0] == programs[1]


@record
class Aged:
    id: int
    a: int
    b: int
    c: int
    d: int
    sold: Bag[Sold]


@view
def many_ages(A: Bag[Aged], S: Bag[Sold]):
    """More values than cases are made of."""
    return [
        {"a": x.a < s.year, "b": x.b < s.year, "c": x.c < s.year, "d": x.d < s.year}
        for s in S if s.id == 1
        for x in A if any(y.part == 1 for y in x.sold)
    ]  # fmt: skip


def test_no_constant_makes_a_key_of_what_is_worked_out(tmp_path: Path) -> None:
    """A stored truth can be looked up by ``= true``, and the answer of any() not."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("A", Aged, key="id", keys={"sold": "id"})
        db.relation("S", Sold, key="id")
        with pytest.warns(UserWarning, match="not in the size of the change"):
            db.create(many_ages)
        said = db.view("many_ages").explain().summary
        assert "is a condition of its own" in said and "= true" not in said


def test_access_keys_are_columns_of_the_tables() -> None:
    """Those of stored dictionaries, too, whose rows stand under labels."""
    facts = explain(nf2, materialize="none").json()
    assert {p["name"]: p["access_keys"] for p in facts["parts"]} == {
        "N": [["orders.id"]],
        "N.orders": [["label.id"], ["row.parts.id"]],
        "N.orders.parts": [["label.id"], ["row.partkey"]],
        "P": [["partkey"]],
    }
    for table in (*facts["parts"], *facts["maps"]):
        names = {c["name"] for c in table["columns"]}
        assert all(names.issuperset(key) for key in table["access_keys"])


def test_a_kept_view_is_explained_with_the_sizes_of_its_state(tmp_path: Path) -> None:
    films = [{"title": str(i), "year": 2000} for i in range(3)]
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("D", Distributor, key="name")
        db.load("D", [{"name": "A", "films": films}, {"name": "B", "films": films[:1]}])
        db.create(recent)
        facts = db.view("recent").explain(delta={"D": 2}).json()
    assert (facts["rows"], facts["changes"]) == ({"D": 2, "D.films": 4}, {"D": 2, "D.films": 1})
    assert facts["cost"] == "2{⟨1, 3{1}, 3{⟨1, 1⟩}⟩}"
    keyed = evolve(recent.query, keys=(("D", ("name",)),))
    assert facts["fingerprint"] == explain(keyed).json()["fingerprint"] != explain(recent).json()["fingerprint"]


def test_a_kept_view_is_explained_with_the_engines_of_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of a batch, a build and a load is what is done then, and asking starts nothing."""
    monkeypatch.setattr(engines, "MOST", 12)
    monkeypatch.setattr(Sparks, "joiner", lambda _: PythonJoiner())  # stands for Spark
    rows = [{"name": name, "films": [{"title": "t", "year": 2000}]} for name in "ABCD"]
    with rn.open(tmp_path / "state", engine="auto") as db:
        db.relation("D", Distributor, key="name")
        db.create(recent)
        db.load("D", rows)
        few, many = (db.view("recent").explain(delta={"D": n}) for n in (2, 40))
        (batch, build, load) = few.json()["work"]
        assert [p["work"] for p in (batch, build, load)] == ["a batch", "a build", "a load of D"]
        loaded = db.history()[0]
        assert (loaded.note["engine"], loaded.note["engine_why"]) == (load["engine"], load["why"])
        assert (build["engine"], build["how"]) == ("local", "recomputed")
        assert many.json()["work"][0]["engine"] == "spark" != batch["engine"]
        text = " ".join(few.text.split())
        assert "9. Engines: where the work is done, and why there A batch changes" in text
        assert f"a batch, by triggers: in this process: {batch['why']}" in text
        assert "a batch, by triggers: on Spark: about" in " ".join(many.text.split())
        assert "9. Engines" in few._repr_html_()
        db.drop("recent")
        db.create(recent)
        assert db.history()[0].note["engine_why"] == build["why"]
        with db.batch() as b:
            b.insert("D", [{"name": "E", "films": []}])
        batch, *_ = db.view("recent").explain(delta={"D": 1, "D.films": 1}).json()["work"]
        assert b.report.engine == batch["engine"]
    with rn.open(tmp_path / "state", engine="local", policy="full") as db:
        work = db.view("recent").explain().json()["work"]
        assert {(p["how"], p["engine"], p["why"]) for p in work} == {("recomputed", "local", "engine local")}
    assert explain(recent, sizes={"D": 10}).json()["work"] == [] and "Engines" not in explain(recent).text


def test_related_has_the_queries_and_deltas_of_the_paper() -> None:
    """nrc-ivm, section 2.2: related^F, related^Γ and their deltas, with isRelated and the label written out."""
    facts = explain(related).json()
    label = "⟨ι[related.related], m.name, m.gen, m.dir⟩"
    is_related = "m2.name ≠ name and (m2.gen = gen or m2.dir = dir)"
    assert facts["shredded"]["flat"] == f"for m in M union sng(⟨name: m.name, related: {label}⟩)"
    assert [d["definition"] for d in facts["shredded"]["dictionaries"]] == [
        f"[(ι[related.related]; name, gen, dir) ↦ for m2 in M where {is_related} union sng(m2.name)]"
    ]
    assert [{key: d[key] for key in ("part", "of", "term")} for d in facts["deltas"]] == [
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
    """It names the expression, why, and what would mend it, once; the statement says which join it is."""
    r = Rel("R", Record((("a", LONG),)))
    explanation = explain(query_of(pairs(r, "ne", "a"), r))
    facts = explanation.json()
    assert not facts["incremental"]
    assert [w["node"] for w in facts["warnings"]] == ["for y in R", "for x in R"]
    for warning in facts["warnings"]:
        assert "`x.a ≠ y.a` is no equality" in warning["reason"]
        assert "equate a column of R" in warning["advice"]
        assert explanation.text.count(warning["node"] + ": when") == 1
    assert "reads ΔR, then SCAN R (no equality)" in explanation.text
    assert "\x1b[1;31m  not incremental: for y in R: when R changes" in printed(explanation, 100)
    assert "\x1b[1;31m      reads ΔR, then SCAN R (no equality)" in printed(explanation, 100)
    less = explain(query_of(pairs(r, "lt", "a"), r))
    assert "`x.a < y.a` says where one end is, and all beyond it is read" in less.json()["warnings"][0]["reason"]
    assert "reads ΔR, then probe R by the range of a" in less.text and "looked up by the range of a" in less.text
    good = explain(query_of(pairs(r, "eq", "a"), r))
    assert good.json()["warnings"] == []
    assert "incremental: every trigger takes fewer steps" in good.text


def test_a_cross_product_reads_a_table_whole_but_wastes_nothing() -> None:
    """A note at the statement and no warning: every row that is read is part of the result."""
    explanation = explain(QUERIES["flatten(R) × flatten(R) (example 4)"])
    assert explanation.json()["incremental"]
    assert "each of its rows is part of the result" in " ".join(explanation.text.split())
    assert "\x1b[1;31m" not in printed(explanation, 100)


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
    for explained in (related, customers, recent, older, nf2):
        facts = explain(explained, materialize="full").json()
        assert json.loads(json.dumps(facts)) == facts


def still(facts: dict[str, Any]) -> set[str]:
    """The maps whose rows are always there."""
    return {m["name"] for m in facts["maps"]} - {s["map"] for s in facts["statements"]}


@record
class Film:
    year: int


@rn.view
def raised(M: Bag[Film]):
    """A total that can fail, of all rows: the one place that rows ask for is always there."""
    return [{"year": f.year, "sum": sum(m.year + 1 for m in M)} for f in M]


def test_what_never_changes_has_no_statement() -> None:
    explained = explain(raised)
    facts = explained.json()
    assert still(facts) and not {s["part"] for s in facts["statements"]} & still(facts)
    assert str(explained) and explained.mermaid() and explained.graphviz() and explained._repr_html_()


@law(cases(), examples=30)
def test_every_query_can_be_explained(case: Case) -> None:
    """And each part that a map's definition reads and that changes has a statement, in the order in which maps can run.
    """
    facts = explain(Query("v", case.query, tuple(case.schema.relations))).json()
    known = {s for d in facts["dependencies"] for s in d["reads"]} - {d["map"] for d in facts["dependencies"]}
    for d in facts["dependencies"]:
        assert known.issuperset(d["reads"])
        known.add(d["map"])
        assert {s["part"] for s in facts["statements"] if s["map"] == d["map"]} == set(d["reads"]) - still(facts)


def printed(explanation: Explanation, width: int, colour: bool = True) -> str:
    out = StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    explanation.print(Console(file=out, width=width, force_terminal=colour, color_system=system))
    return out.getvalue()


@record
class Dim:
    id: int
    name: str


@view
def star(F: Bag[Dim], A: Bag[Dim], B: Bag[Dim]):
    both = rn.left_join(rn.left_join(F, A, lambda f, a: f.id == a.id), B, lambda x, b: x[0].id == b.id)
    return [{"id": f.id, "a": a.name, "b": b.name} for (f, a), b in both]


def test_a_view_that_can_be_kept_can_be_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deltas that read R⁺ are smaller than those that do not. One that cannot be kept is named, with ways round."""
    monkeypatch.setattr(limits, "MAX_NODES", 1000)
    assert "δ(star^F)" in str(explain(star.query))
    monkeypatch.setattr(limits, "MAX_NODES", 500)
    with pytest.raises(TooBig, match=r"view star, delta: the term is too big\n.*\n  possible two views") as e:
        explain(star.query)
    assert "min((d for d in D if d.id == f.k), key=lambda d: d.id).name" in str(e.value)
