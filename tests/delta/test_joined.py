"""With maps of what is joined below windows, or without them, all else that is stored is the same."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.joined import NAMES, SCHEMA, joined_case
from support.laws import law
from support.programs import Running, planned, query_of
from support.sizes import many
from support.strategies import Case
from support.updates import shredded_database

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta import compile as compiling
from ripplenest.delta.compile import Stages
from ripplenest.delta.groups import joined
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Call, Total, Tuple
from ripplenest.plan.planned import Plan
from ripplenest.shred.values import Parts

COUNTS: Counter[str] = Counter()


@law(joined_case, examples=many(160, 3_000))
def test_with_or_without(case: Case) -> None:
    query = query_of(case.schema, case.query)
    stages, plan = planned(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "with_joins", lambda maps, _: maps)
        _, alone = planned(query)
    joins = stages.program.of_kind(MapKind.JOINED)
    count(joins, stages)
    found, others = states(plan, case), states(alone, case)
    assert len(found) == len(others)  # where one has no value, the other has none
    for parts, own, other in zip(databases(case), found, others, strict=False):
        common = own.maps().keys() & other.maps().keys()
        assert {name: own.maps()[name] for name in common} == {name: other.maps()[name] for name in common}
        try:
            assert own.nested() == evaluate(case.query, evolve(case, parts=parts).db)
        except EvaluationError:  # the reference asks in the order in which conditions are written
            COUNTS["no value as written"] += 1
        COUNTS["joined and something"] += any(own.maps()[m.name] for m in joins) and bool(own.nested())


ROWS = "for c in C union for o in O where o.c = c.id{} union sng(⟨g: c.g, a: o.n, b: c.w⟩)"
FOLD = "for r in fold[s](z in {} of v: count()) union sng(⟨id: c.id, v: r.v⟩)"
ASKED = "let X := {} in for c in C where c.w > 0 union " + FOLD
FAIL = {
    "what is compared": (ROWS.format(""), "(for y in X where y.g = c.g and 6 / y.a > c.w union sng(y))"),
    "what is a condition": (ROWS.format(" and 6 / o.n > 1"), "(for y in X where y.g = c.g and y.a > c.w union sng(y))"),
}


@pytest.mark.parametrize("rows", FAIL.values(), ids=FAIL)
@pytest.mark.parametrize("asking", [0, 1])
def test_what_nobody_asks_need_not_have_a_value(rows: tuple[str, str], asking: int) -> None:
    """Of rows of another group, or where there is nobody who asks."""
    c = BagValue.of([(("id", 1), ("g", 1), ("w", asking)), (("id", 2), ("g", 2), ("w", 0))])
    o = BagValue.of([(("c", i), ("at", 1), ("n", n), ("xs", BagValue())) for i, n in ((1, 2), (2, 0))])
    query = query_of(SCHEMA, parse_expr(ASKED.format(*rows), NAMES))
    stages, plan = planned(query)
    assert stages.program.of_kind(MapKind.JOINED)
    parts = shredded_database(SCHEMA, {"C": c, "O": o})
    assert sum(n for _, n in Running.start(plan, parts).nested()) == asking


def databases(case: Case) -> list[Parts]:
    steps = case.steps()
    return [*(parts for parts, _ in steps), steps[-1][1].after(steps[-1][0])]


def states(plan: Plan, case: Case) -> list[Running]:
    """All states, up to where one has no value."""
    found: list[Running] = []
    try:
        found.append(Running.start(plan, case.parts))
        for batch in case.batches:
            found.append(found[-1].apply(batch.delta))
    except EvaluationError:
        COUNTS["no value"] += 1
    return found


def count(joins: Sequence[Map], stages: Stages) -> None:
    COUNTS["joins"] += len(joins)
    COUNTS["several"] += len(joins) > 1
    program = stages.program
    windows = [m for m in program.maps if m.cut is not None and joined._is_window(m, program.maps)]
    COUNTS["without windows"] += bool(joins) and not windows
    for m in joins:
        (c,) = m.products
        assert isinstance(c.head, Tuple)
        COUNTS["with totals"] += any(isinstance(rel, Total) for _, rel in c.generators)
        COUNTS["of joins"] += any(rel.name.startswith("J/") for _, rel in c.generators)
        COUNTS["computed"] += any(isinstance(t, Call) for _, t in c.head.fields)
        COUNTS["can fail"] += not all(is_total(t, c.variables()) for _, t in c.head.fields)
        readers = {own.kind.value for own in stages.program.maps if m.name in own.reads}
        COUNTS.update(f"read by {kind}" for kind in readers)


def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    found = ("joins", "several", "joined and something", "with totals", "of joins", "computed", "can fail")
    read = ("flat", "group", "dictionary", "domain", "joined")
    often = (*found, "without windows", *(f"read by {kind}" for kind in read))
    assert all(COUNTS[what] > many(2, 50) for what in often), COUNTS


@rn.record
class Customer:
    id: int


@rn.record
class Order:
    id: int
    customer: int


@rn.record
class Return:
    id: int
    order: int
    amount: int | None


@rn.view
def earlier(C: Bag[Customer], P: Bag[Order], R: Bag[Return]) -> list[Any]:
    """A total of what two ends of a chain say."""
    return [
        {"id": r.id, "before": len([q for q in P if q.customer == c.id and q.id < r.order])}
        for c in C for o in P if o.customer == c.id for r in R if r.order == o.id
    ]  # fmt: skip


@rn.view
def running(C: Bag[Customer], P: Bag[Order], R: Bag[Return]) -> list[Any]:
    """The same of what is joined itself."""
    rows: list[Any] = [
        {"customer": c.id, "id": r.id, "amount": r.amount}
        for c in C for o in P if o.customer == c.id for r in R if r.order == o.id
    ]  # fmt: skip
    return [{"id": e.id, "sum": sum(x.amount for x in rows if x.customer == e.customer and x.id <= e.id)} for e in rows]


@rn.view
def by_pairs(C: Bag[Customer], P: Bag[Order], R: Bag[Return]) -> list[Any]:
    """Of a chain through what is distinct."""
    return [
        {"id": r.id, "before": len([q for q in P if q.customer == c.id and q.id < r.order])}
        for customer, order in {(o.customer, o.id) for o in P}
        for c in C if customer == c.id for r in R if r.order == order
    ]  # fmt: skip


@rn.view
def by_totals(C: Bag[Customer], P: Bag[Order], R: Bag[Return]) -> list[Any]:
    """Of a chain through an answer."""
    return [
        {"id": r.id, "before": sum(q.id for q in P if q.customer == c.id and q.id < r.order)}
        for c in C for r in R if r.order == max(o.id for o in P if o.customer == c.id)
    ]  # fmt: skip


@rn.view
def pairs(P: Bag[Order], R: Bag[Return]) -> list[Any]:
    """Rows that only who asks has to do with: of a customer, and of an order."""
    return [
        {
            "id": o.id,
            "both": [{"q": q.id, "r": r.id} for q in P if q.customer == o.customer for r in R if r.order == o.id],
            "sum": sum(q.id * r.id for q in P if q.customer == o.customer for r in R if r.order == o.id),
            "last": max(q.id - r.id for q in P if q.customer == o.customer for r in R if r.order == o.id),
            "few": rn.top(
                2, [q for q in P if q.customer == o.customer for r in R if r.order == o.id], key=lambda q: q.id
            ),
        }
        for o in P
    ]


@rn.view
def compared(P: Bag[Order]) -> list[Any]:
    """Rows that are compared with each other, and linked by who asks for both."""
    return [
        {
            "id": o.id,
            "n": len([
                a for a in P if a.customer == o.customer
                for b in P if b.customer == o.customer and o.id < b.id and b.id <= a.id
            ]),
            "near": sum(
                a.id - b.id for a in P if a.customer == o.customer
                for b in P if b.customer == o.customer and o.id < b.id and abs(a.id - b.id) < 100
            ),
        }
        for o in P
    ]  # fmt: skip


@pytest.mark.parametrize("view", [earlier, running, by_pairs, by_totals, pairs, compared])
def test_what_is_between_the_ends_of_a_chain_is_asked_for(view: rn.View, tmp_path: Path) -> None:
    """Places were pairs of each customer with each return, of which no order says that they belong together; and so
    were entries of dictionaries, which need no domain where their rows say the labels, but are joined by these alone.
    """
    found = [(read_and_kept(view, n, tmp_path / str(n))) for n in (30, 90)]
    (read, kept), (more_read, more_kept) = found
    assert more_read <= read <= 40 and more_kept <= 3 * kept


def read_and_kept(view: rn.View, n: int, path: Path) -> tuple[int, int]:
    """The rows that two small batches read, and all that are stored but in maps that pay for some sizes."""
    with rn.open(path, engine="local") as db:
        for name, row in (("C", Customer), ("P", Order), ("R", Return)):
            db.relation(name, row, key="id")
        db.load("C", [Customer(c) for c in range(n)])
        db.load("P", [Order(10 * c + k, c) for c in range(n) for k in range(3)])
        db.load("R", [Return(r, 10 * r, r) for r in range(n // 3)])
        db.create(view)
        reports = []
        for relation, row in (("C", Customer(-1)), ("R", Return(-1, 11, 5))):
            with db.batch() as b:
                b.insert(relation, [row])
            reports.append(b.report)
        assert db.verify(deep=n == 30).ok
        snapshot = db._store.snapshot()
        kept = [name for name in snapshot.tables if not name.startswith("M/")]
        return sum(r.rows_read for r in reports), sum(map(snapshot.size, kept))


@rn.view
def of_sums(C: Bag[Customer], P: Bag[Order], R: Bag[Return]) -> list[Any]:
    """The place is told by the sum, which the condition says is a number, and the column of places never NULL."""
    sums: list[Any] = [{"order": k, "s": sum(r.amount for r in rs)} for k, rs in rn.group_by(R, lambda r: r.order)]
    return [
        {"order": t.order, "n": len([p for p in P if p.customer == t.s and p.id < c.id])}
        for t in sums for c in C if c.id == t.s
    ]  # fmt: skip


def test_a_place_is_never_told_by_null(tmp_path: Path) -> None:
    with rn.open(tmp_path, engine="local") as db:
        for name, row in (("C", Customer), ("P", Order), ("R", Return)):
            db.relation(name, row, key="id")
        db.load("C", [Customer(3), Customer(5)])
        db.load("P", [Order(1, 5), Order(2, 5), Order(7, 5)])
        db.load("R", [Return(1, 1, None), Return(2, 2, 5)])
        db.create(of_sums)
        with db.batch() as b:
            b.insert("R", [Return(3, 3, None), Return(4, 2, None)])
        assert db.verify(deep=True).ok and db.view("of_sums").rows() == [{"order": 2, "n": 2}]


@rn.record
class Tagged:
    no: int
    tags: Bag[int]


@rn.record
class Part:
    no: int
    items: Bag[Tagged]


@rn.record
class Doc:
    id: int
    parts: Bag[Part]


@rn.view
def beside(D: Bag[Doc]) -> list[Any]:
    """Numbers of parts are those of each document, the same ones in all."""
    return [
        {"id": d.id, "parts": [
            {"no": p.no, "items": [
                {"no": i.no, "n": 1 + len(i.tags), "last": max(q.no for q in d.parts), "all": [q.no for q in d.parts]}
                for i in p.items]}
            for p in d.parts]}
        for d in D
    ]  # fmt: skip


def test_what_holds_a_bag_is_read_before_what_has_a_number_like_it(tmp_path: Path) -> None:
    """One item more read a place of each document, found by the number of the part that holds it."""
    read = []
    for n in (20, 60):
        with rn.open(tmp_path / str(n), engine="local") as db:
            db.relation("D", Doc, key="id", keys={"parts": "no", "parts.items": "no"})
            db.load("D", [Doc(k, [Part(p, [Tagged(0, [1])]) for p in range(2)]) for k in range(n)])
            db.create(beside)
            with db.batch(policy="strict") as b:
                b.at("D", id=5).parts.at(no=0).items.insert([Tagged(9, [])])
            read.append(b.report.rows_read)
            assert db.verify(deep=True).ok
    assert read[0] == read[1] <= 20


@rn.record
class Said:
    id: int
    kind: str
    user: str
    at: int


@rn.view
def of_a_kind(S: Bag[Said]):
    """What is equal to a constant says nothing of which rows agree."""
    return [{"id": s.id, "n": len([t for t in S if t.kind.lower() == "a" and t.at <= s.at])} for s in S]


@rn.view
def of_a_user(S: Bag[Said]):
    """A column that both have finds the rows that agree."""
    return [
        {"id": s.id, "n": len([t for t in S if t.user == s.user and t.kind.lower() == s.kind.lower() and t.at <= s.at])}
        for s in S
    ]


@rn.view
def of_alike(S: Bag[Said]):
    return [{"id": s.id, "n": len([t for t in S if t.user.lower() == s.user.lower() and t.at <= s.at])} for s in S]


def test_rows_that_agree_only_in_what_is_computed_are_in_its_order() -> None:
    """Where some column says it, or a constant is all that it equals, no map has all rows again."""
    for view, wanted in ((of_a_kind, 0), (of_a_user, 0), (of_alike, 1)):
        maps = compiling.compile_view(view.query, compiling.Options()).program.maps
        assert sum(m.kind is MapKind.JOINED for m in maps) == wanted, view.name
