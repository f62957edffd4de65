"""Estimates of products: the order of reading is the plans', joins by key are exact, and the laws of the numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from attrs import evolve
from support.choices import Choices
from support.correlated import correlated_query
from support.laws import law
from support.queries import random_query
from support.related import path
from support.schemas import random_schema

from ripplenest.cost.estimate import MOST, NOTHING, Estimate, different, estimate, estimate_all
from ripplenest.delta.rules import delta
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.normal import Comprehension, normal, term
from ripplenest.nrc.syntax import (
    UNIT_ELEM,
    At,
    Call,
    DictLit,
    Elem,
    Expr,
    Lit,
    OutL,
    Proj,
    Rel,
    Tuple,
    Var,
    dict_row,
)
from ripplenest.nrc.types import INT, LONG, NUMBERED, STRING, UNIT, Label, Record, Site, Type
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Product
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.sites import defined, keep
from ripplenest.shred.terms import shred

# ---------------------------------------------------------------- the order of reading


def test_what_is_implied_tells_rows() -> None:
    """A row that is looked up by what several conditions imply is the only one if that is its key."""
    row = Record((("a", LONG), ("b", LONG)))
    a, b = ({x: Proj(Var(x), name) for x in "xyz"} for name in "ab")
    pairs = (a["y"], a["x"]), (a["z"], a["y"]), (b["z"], b["x"])
    generators = ("x", Rel("X", row, At.DELTA)), ("y", Rel("Y", row)), ("z", Rel("Z", row))
    c = Comprehension(generators, tuple(Call("eq", pair) for pair in pairs), UNIT_ELEM)
    (_, first, _) = next(joins(c)).reads()
    assert first.var == "z" and {e.column for e in first.equated} == {"a", "b"}
    rows = {"ΔX": 1.0, "X": 10.0, "Y": 10_000.0, "Z": 10_000.0}
    assert estimate(c, rows, {"Z": [frozenset("ab")]}).out == estimate(c, {**rows, "Z": 1.0}).out == 100


READS: Counter[str] = Counter()
Order = list[tuple[int, str, int]]


def planned(p: Product) -> Order:
    """(source, how, number of columns) of each step of a plan."""
    return [(s.source, p.how(s), len(s.keys)) for s in p.steps]


def told(c: Comprehension) -> list[Order]:
    place = {var: i for i, (var, _) in enumerate(c.generators)}
    return [[(place[r.var], r.how, len(r.keys)) for r in j.reads()] for j in joins(c)]


def stored_terms(c: Choices) -> Iterator[tuple[Expr, str]]:
    """The flat part of a random view and its dictionaries as they are kept, each with a part of the input."""
    schema = random_schema(c)
    parts = [part for name, row in schema.relations for part in stored_parts(name, row)]
    s = shred(correlated_query(c, schema) if c.number(3) else random_query(c, schema))
    for part in parts:
        yield s.flat, part
        for d in dictionaries(s.context):
            if isinstance(d, DictLit):
                yield term(keep(defined(d), "Dom").products, UNIT), part


@law(examples=60)
def test_the_order_is_that_of_the_plans(c: Choices) -> None:
    """For every product of a delta: the same joins, generators in the same order, read in the same way."""
    for h, part in stored_terms(c):
        for p in normal(delta(h, frozenset((part,)), telescoped=True)):
            orders = [planned(q) for q in lower(evolve(p, head=UNIT_ELEM), UNIT)]
            READS.update(how for order in orders for _, how, _ in order)
            assert told(p) == orders


# ---------------------------------------------------------------- the numbers

PART = Record((("partkey", LONG), ("kind", STRING), ("size", INT)))
LINE = Record((("partkey", LONG), ("orderkey", LONG), ("qty", LONG)))
ORDER = Record((("orderkey", LONG), ("custkey", LONG)))
KEYS = {"P": (frozenset(("partkey",)),), "O": (frozenset(("orderkey", "custkey")), frozenset(("orderkey",)))}
PARTS, LINES, ORDERS = Rel("P", PART), Rel("L", LINE), Rel("O", ORDER)
CHANGE = Rel("L", LINE, At.DELTA)


def eq(a: Elem, b: Elem) -> Elem:
    return Call("eq", (a, b))


def product(*parts: "Rel | Elem") -> Comprehension:
    """Generators l, p, o, … by the name of their table, and conditions."""
    rels = [x for x in parts if isinstance(x, Rel)]
    return Comprehension(
        tuple((r.name.lower()[-1], r) for r in rels), tuple(x for x in parts if not isinstance(x, Rel)), UNIT_ELEM
    )


BY_PART = eq(path("l", "partkey"), path("p", "partkey"))
BY_ORDER = eq(path("o", "orderkey"), path("l", "orderkey"))
BY_SIZE = eq(path("p", "size"), Lit(3, INT))
MORE = Call("lt", (path("p", "partkey"), path("l", "qty")))
LEAST = Call("ge", (path("p", "partkey"), path("l", "orderkey")))
THAT = eq(path("p", "partkey"), Lit(3, LONG))
FROM = Call("ge", (path("l", "qty"), path("p", "partkey")))
BY_SIZES = eq(Call("to_long", (path("p", "size"),)), path("l", "qty"))


@pytest.mark.parametrize(
    ("c", "read", "out"),
    [
        (product(CHANGE), 0, 16),
        (product(CHANGE, PARTS), 10_000, 160_000),
        (product(CHANGE, PARTS, MORE), 10_000, 160_000),
        (product(CHANGE, PARTS, MORE, LEAST), 16 * 100, 16 * 100),  # as many as have a value of a column
        (product(CHANGE, PARTS, BY_PART), 16, 16),
        (product(CHANGE, PARTS, BY_PART, BY_SIZE), 16, 16),
        (product(CHANGE, PARTS, BY_SIZE), 100, 1600),
        (product(CHANGE, PARTS, BY_SIZES), 10_000, 1600),  # an int column is not looked up by a long
        (product(CHANGE, PARTS, ORDERS, BY_PART, BY_ORDER), 32, 16),
        (product(PARTS, LINES, BY_PART), 1_010_000, 1_000_000),  # from scratch
        (product(LINES, PARTS, BY_PART), 1_010_000, 1_000_000),
        (product(CHANGE, PARTS, Call("or", (BY_PART, eq(path("l", "qty"), path("p", "partkey"))))), 32, 32),
        (product(Rel("P", PART, At.DELTA), LINES, BY_PART), 500, 500),  # 100 lines a part
        (product(Rel("P", PART, At.DELTA), LINES, BY_SIZES), 5_000, 5_000),
        (product(Rel("P", PART, At.DELTA), LINES, THAT, FROM), 5_000, 1_000),  # what lies between two values of a row
        (product(Rel("P", PART, At.DELTA), LINES, FROM), 1_000_000, 5_000_000),  # of any rows
        (product(Rel("O", ORDER, At.DELTA), PARTS, LINES, THAT, FROM), 1_000_001, 2_000_000),  # it does not move
        (product(Rel("P", PART, At.NEW), LINES), 1_010_005, 10_005_000_000),
        (product(Rel("O", ORDER, At.DELTA), LINES, PARTS, BY_ORDER, BY_PART), 4_000 + 4_000, 4_000),
    ],
)
def test_estimates(c: Comprehension, read: float, out: float) -> None:
    """10,000 parts, 5 of which change; a million lines of which 16 change; 500 orders of which 2 change."""
    rows = {"P": 10_000, "ΔP": 5, "L": 1_000_000, "ΔL": 16, "O": 500, "ΔO": 2}
    found = estimate(c, rows, KEYS)
    assert (round(found.read), round(found.out)) == (read, out)


def test_a_dictionary_is_looked_up_by_bags() -> None:
    """By its label, |dictionary| / |parent| rows; its parent by its label, 1; both without any key declared."""
    site = Site("C.orders", NUMBERED)
    c = Rel("C", Record((("custkey", LONG), ("orders", Label((site,))))))
    d = Rel("C.orders", dict_row(ORDER, "C.orders"))
    same = eq(OutL(path("d", "label"), site, "id"), OutL(path("c", "orders"), site, "id"))
    rows = {"C": 1000, "C.orders": 7000, "ΔC": 3, "ΔC.orders": 5}

    def found(a: Rel, b: Rel, *more: Elem, without: str = "") -> tuple[float, float]:
        known = {key: n for key, n in rows.items() if key != without}
        e = estimate(Comprehension((("c", a), ("d", b)), (same, *more), UNIT_ELEM), known)
        return round(e.read), round(e.out)

    assert found(evolve(c, at=At.DELTA), d) == (21, 21)
    assert found(c, evolve(d, at=At.DELTA)) == (5, 5)
    assert found(evolve(c, at=At.DELTA), d, eq(Proj(path("d", "row"), "orderkey"), path("c", "custkey"))) == (8, 8)
    assert found(evolve(c, at=At.DELTA), d, without="C") == (251, 251)  # 3 · √7000


def test_values_of_columns() -> None:
    """Unique ones differ in each row, the others have |T|^½ values, and a label one for each bag; no product has more
    values than rows."""
    rows = {"P": 10_000, "L": 1_000_000, "C": 1000, "C.orders": 7000}
    c = product(PARTS, LINES, BY_PART)
    assert different(c, [], rows, KEYS) == 1
    assert different(c, [path("p", "partkey")], rows, KEYS) == 10_000
    assert different(c, [path("p", "size"), path("l", "qty")], rows, KEYS) == 100 * 1000
    assert different(c, [path("p", "partkey"), path("l", "partkey"), path("l", "qty")], rows, KEYS) == 1_000_000
    own = Comprehension((("d", Rel("C.orders", dict_row(ORDER, "C.orders"))),), (), UNIT_ELEM)
    row = Proj(path("d", "row"), "custkey")
    assert different(own, [path("d", "label")], rows) == 1000
    assert round(different(own, [row], rows)) == 84
    assert different(own, [path("d", "label"), row], rows) == 7000


def test_unknown_cardinalities() -> None:
    with pytest.raises(UnknownName, match="'P'") as caught:
        estimate(product(CHANGE, PARTS), {"ΔL": 1})
    assert caught.value.possible == ("ΔL",)
    assert estimate(product(Rel("P", PART, At.NEW)), {"P": 4}).read == 4
    assert estimate(product(Rel("P", PART, At.DELTA, 2)), {"ΔP": 4}) == Estimate(0, 4)


def test_estimates_do_not_overflow() -> None:
    """Sums and products end at MOST."""
    huge = product(*[Rel(f"{i}{name}", PART) for i, name in enumerate("PLOABCDE")])
    found = estimate_all([huge, huge], {r.name: 1e299 for _, r in huge.generators})
    assert found == Estimate(MOST, MOST)
    assert estimate_all([], {}) == NOTHING


# ---------------------------------------------------------------- laws


@law()
def test_the_order_of_random_joins(c: Choices) -> None:
    """As above, with constants, self joins and several equations between two tables."""
    p, _ = random_join(c)
    assert told(p) == [planned(q) for q in lower(p, UNIT)]


@law()
def test_estimates_are_monotone(c: Choices) -> None:
    """rows ≤ rows' ⟹ estimate(c, rows) ≤ estimate(c, rows'), where no table groups another; and it is no more than
    where changes are skewed."""
    p, rows = random_join(c)
    more = {key: n * (1 + c.number(4)) + c.number(2) for key, n in rows.items()}
    for keys in (None, KEYS):
        grown = {key: rows[key] if keys and key in KEYS else n for key, n in more.items()}
        few, many = estimate(p, rows, keys), estimate(p, grown, keys)
        assert few.read <= many.read * SLACK
        assert few.out <= many.out * SLACK
        skewed = estimate(p, rows, keys, skewed=True)
        assert few.read <= skewed.read * SLACK and few.out <= skewed.out * SLACK
        READS["skewed"] += skewed.out > few.out * SLACK


@pytest.mark.parametrize(("parts", "found"), [(10, 100_000), (10_000, 1_000)])
def test_skewed_changes_find_no_fewer_rows(parts: int, found: float) -> None:
    """A row of ten groups a tenth of the lines, and one of many the square root of them instead of a hundred."""
    p = product(Rel("P", PART, At.DELTA), LINES, BY_PART)
    assert estimate(p, {"P": parts, "ΔP": 1, "L": 1_000_000}, KEYS, skewed=True) == Estimate(found, found)


SLACK = 1 + 1e-9  # floats


def random_join(c: Choices) -> tuple[Comprehension, dict[str, float]]:
    """A product of two to four of the tables, one of which may change, with some conditions."""
    tables = [c.pick((PARTS, LINES, ORDERS)) for _ in range(2 + c.number(3))]
    rels = [evolve(r, at=c.pick((At.OLD, At.DELTA, At.NEW))) for r in tables]
    generators = tuple((f"x{i}", r) for i, r in enumerate(rels))
    long = [path(var, name) for var, r in generators for name, t in fields(r) if t == LONG]
    sides = [(c.pick(long), c.pick([*long, Lit(1, LONG)])) for _ in range(c.number(5))]
    conditions = tuple(Call(c.pick(("eq", "eq", "eq", "lt")), both) for both in sides)
    rows = {at.show(name): float(c.number(40)) for name in "PLO" for at in (At.OLD, At.DELTA)}
    return Comprehension(generators, conditions, UNIT_ELEM), rows


def fields(r: Rel) -> tuple[tuple[str, Type], ...]:
    assert isinstance(r.row, Record)
    return r.row.fields


@law()
def test_what_a_change_reads_does_not_depend_on_keyed_tables(c: Choices) -> None:
    """ΔL ⋈ P ⋈ O by their keys costs the same with tables of the size of the change and with a million times more."""
    p = product(*c.pick(((CHANGE, PARTS, ORDERS), (ORDERS, CHANGE, PARTS), (PARTS, ORDERS, CHANGE))), BY_PART, BY_ORDER)
    d = 1 + c.number(50)
    small = {"ΔL": d, "P": d, "O": d}
    assert estimate(p, small, KEYS) == estimate(p, {**small, "P": d * 10**6, "O": d + c.number(10**6)}, KEYS)
    assert estimate(p, small, KEYS) == Estimate(2 * d, d)


@law(examples=60)
def test_joins_by_key_are_exact(c: Choices) -> None:
    """out = |L ⋈ P ⋈ O| when every line has its part and its order, from scratch and for a change of lines."""
    parts, orders = 1 + c.number(5), 1 + c.number(4)
    db = {
        "P": bag(PART, [(i, "a", 1) for i in range(parts)]),
        "O": bag(ORDER, [(i, c.number(3)) for i in range(orders)]),
        "L": bag(LINE, {(c.number(parts), c.number(orders), i): None for i in range(max(parts, orders) + c.number(9))}),
        "ΔL": bag(LINE, [(c.number(parts), c.number(orders), 9 + i) for i in range(1 + c.number(3))]),
    }
    rows = {key: sum(n for _, n in b) for key, b in db.items()}
    orders_of_reading = (
        (LINES, PARTS, ORDERS),
        (PARTS, LINES, ORDERS),
        (ORDERS, PARTS, LINES),
        (PARTS, CHANGE, ORDERS),
        (CHANGE, PARTS),
    )
    for tables in orders_of_reading:
        joined = [cond for cond, other in ((BY_PART, PARTS), (BY_ORDER, ORDERS)) if other in tables]
        p = product(*tables, *joined)
        made = evaluate(term((evolve(p, head=every(p)),), UNIT), db)
        assert round(estimate(p, rows, KEYS).out, 6) == sum(n for _, n in made)


def every(p: Comprehension) -> Elem:
    return Tuple(tuple((var, Var(var)) for var, _ in p.generators))


def bag(row: Record, rows: Iterable[tuple[object, ...]]) -> BagValue:
    return BagValue.of(tuple(zip(row.names, values, strict=True)) for values in rows)


def test_coverage() -> None:
    if READS:
        assert min(READS[how] for how in ("change", "probe", "scan", "skewed")) > 20
