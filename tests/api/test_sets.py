"""``difference`` and ``intersect``: EXCEPT ALL and INTERSECT ALL of whole rows, kept fresh at every depth.

Oracles: counts of rows for all of it, the functions themselves on plain rows, and DuckDB where rows are flat.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.choices import Choices
from support.laws import law
from support.programs import Running, planned
from support.schemas import Schema
from support.sizes import many
from support.strategies import case_of
from support.updates import Batch

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import QueryError, TypeMismatch, Unsupported, WrongValue
from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import Bag as BagType
from ripplenest.nrc.values import NAN, from_value, to_value

COUNTS: Counter[str] = Counter()
NaN = float("nan")


@rn.record
class Pair:
    a: int | None
    b: float | None


@rn.record
class Held:
    k: int
    xs: Bag[Pair]
    ys: Bag[Pair] | None


@rn.record
class Place:
    k: int


@rn.record
class At:
    k: int
    x: str | None


@rn.view
def less(A: Bag[Pair], B: Bag[Pair]):
    return rn.difference(A, B)


@rn.view
def common(A: Bag[Pair], B: Bag[Pair]):
    return rn.intersect(A, B)


@rn.view
def of_bags(H: Bag[Held]):
    """Of the bags that a row holds, one of which may be NULL; and of what is left with a third."""
    return [
        {
            "k": h.k,
            "less": rn.difference(h.xs, h.ys),
            "common": rn.intersect(h.ys, h.xs),
            "left": len(rn.difference(rn.difference(h.xs, h.ys), [x for x in h.xs if x.a == 1])),
        }
        for h in H
    ]


@rn.view
def joined(P: Bag[Place], A: Bag[At], B: Bag[At]):
    """Of bags that are joined to the row around them."""
    return [
        {
            "k": p.k,
            "less": rn.difference([a.x for a in A if a.k == p.k], [b.x for b in B if b.k == p.k]),
            "common": [{"x": x} for x in rn.intersect([a.x for a in A if a.k == p.k], [b.x for b in B if b.k >= p.k])],
        }
        for p in P
    ]


@rn.view
def among(H: Bag[Held], A: Bag[Pair]):
    """Of a bag that a row holds with one that has nothing to do with the row."""
    return [{"k": h.k, "less": rn.difference(h.xs, A), "common": rn.intersect(h.xs, A)} for h in H]


# ---------------------------------------------------------------- what both mean

Combine = Callable[[int, int], int]
TAKEN: dict[str, Combine] = {"less": lambda n, m: max(n - m, 0), "common": min}


def combined(word: str, a: BagValue, b: BagValue) -> BagValue:
    """Row by row, what is left of two multiplicities."""
    f = TAKEN[word]
    return BagValue.weighted((row, f(n, b.counts.get(row, 0))) for row, n in a)


def chosen(bag: BagValue, keep: Callable[[Any], bool], field: str) -> BagValue:
    """The rows of which a field is to be kept."""
    return BagValue.weighted((row, n) for row, n in bag if keep(field_of(row, field)))


def only(bag: BagValue, field: str) -> BagValue:
    return BagValue.weighted((field_of(row, field), n) for row, n in bag)


def of_held(h: Value) -> Value:
    k, xs, ys = (field_of(h, name) for name in ("k", "xs", "ys"))
    assert isinstance(xs, BagValue)
    ys = ys if isinstance(ys, BagValue) else BagValue()
    lost = combined("less", combined("less", xs, ys), chosen(xs, lambda a: a == 1, "a"))
    left = sum(n for _, n in lost)
    return ("k", k), ("less", combined("less", xs, ys)), ("common", combined("common", ys, xs)), ("left", left)


def of_place(p: Value, rows: BagValue, others: BagValue) -> Value:
    k: Any = field_of(p, "k")
    a, b = (only(chosen(bag, lambda found: found == k, "k"), "x") for bag in (rows, others))
    both = combined("common", a, only(chosen(others, lambda found: found >= k, "k"), "x"))
    common = BagValue.weighted(((("x", x),), n) for x, n in both)
    return ("k", k), ("less", combined("less", a, b)), ("common", common)


def of_holder(h: Value, rows: BagValue) -> Value:
    k, xs = (field_of(h, name) for name in ("k", "xs"))
    assert isinstance(xs, BagValue)
    return ("k", k), ("less", combined("less", xs, rows)), ("common", combined("common", xs, rows))


WANTED: dict[rn.View, Callable[[dict[str, BagValue]], BagValue]] = {
    less: lambda db: combined("less", db["A"], db["B"]),
    common: lambda db: combined("common", db["A"], db["B"]),
    of_bags: lambda db: BagValue.weighted((of_held(h), n) for h, n in db["H"]),
    among: lambda db: BagValue.weighted((of_holder(h, db["A"]), n) for h, n in db["H"]),
    joined: lambda db: BagValue.weighted((of_place(p, db["A"], db["B"]), n) for p, n in db["P"]),
}
VIEWS = {v.name: v for v in WANTED}
FLAT = (less, common)
CROWD = 8  # rows of a flat bag of which two have some in common: a row is one of 24


@pytest.mark.parametrize("name", VIEWS)
@law(examples=many(6, 300))
def test_after_every_batch_it_is_what_the_counts_say(name: str, c: Choices) -> None:
    """Incremental = what two multiplicities give, row by row, whatever comes and goes."""
    view = VIEWS[name]
    schema = Schema(view.query.relations)
    case = case_of(c, schema, view.query.body, 4, CROWD if view in FLAT else 4)
    _, program = planned(view.query)
    running = Running.start(program, case.parts)
    assert running.nested() == WANTED[view](case.db)
    for parts, batch in case.steps():
        running = running.apply(batch.delta)
        wanted = WANTED[view](batch.nested_after(schema, parts))
        assert running.nested() == wanted
        seen(name, batch, wanted)


def seen(name: str, batch: Batch, wanted: BagValue) -> None:
    COUNTS[f"{name}: batches"] += 1
    COUNTS[f"{name}: rows"] += bool(wanted)
    COUNTS[f"{name}: deletes"] += any(k.startswith(("delete", "deep delete", "deep empty")) for k in batch.kinds)


def test_coverage() -> None:
    for name in {key.partition(":")[0] for key in COUNTS}:
        batches = COUNTS[f"{name}: batches"]
        assert COUNTS[f"{name}: rows"] > batches / 5 and COUNTS[f"{name}: deletes"] > batches / 4, COUNTS


# ---------------------------------------------------------------- on plain rows, and in DuckDB


def some_rows(c: Choices) -> list[dict[str, Any]]:
    values: tuple[Any, ...] = (0.0, 1.5, NAN, None)
    return [{"a": c.pick((1, 2, None)), "b": c.pick(values)} for _ in range(c.number(12))]


def as_text(rows: list[Any]) -> list[str]:
    """Tells rows apart also where NaN is in them."""
    return sorted(repr(tuple(row.values()) if isinstance(row, dict) else tuple(row)) for row in rows)


@law(examples=many(20, 400))
def test_it_is_except_all_and_intersect_all(c: Choices) -> None:
    """The views on plain rows, the functions on them, and DuckDB: NULL is NULL, NaN is NaN, copies count."""
    a, b = some_rows(c), some_rows(c)
    with duckdb.connect() as db:
        for name, rows in (("A", a), ("B", b)):
            db.execute(f"create table {name} (a bigint, b double)")
            if rows:
                db.executemany(f"insert into {name} values (?, ?)", [list(row.values()) for row in rows])
        for view, function, words in ((less, rn.difference, "except all"), (common, rn.intersect, "intersect all")):
            wanted = as_text(db.execute(f"select * from A {words} select * from B").fetchall())
            assert as_text(view(a, b)) == wanted
            assert as_text(function(a, b)) == wanted
            COUNTS["wanted"] += bool(wanted)


def test_functions_take_rows_of_any_kind() -> None:
    """Records, dicts, tuples and values; a NaN is another one; NULL is no rows."""
    assert len(rn.difference([Pair(1, NaN), Pair(1, NaN), Pair(None, 0.0)], [Pair(1, float("nan"))])) == 2
    assert rn.intersect([(1, "a"), (1, "a"), (2, "b")], [(1, "a"), (1, "a"), (1, "a")]) == [(1, "a"), (1, "a")]
    assert rn.intersect([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]) == [{"a": 1, "b": 2}]
    assert rn.difference([3, 1, 3, None], [3]) == [1, 3, None] and rn.difference([1], None) == [1]
    assert rn.intersect(None, [1]) == []
    assert rn.difference([{"a": 1, "b": None}], [{"a": 1.0, "b": None}]) == []  # as columns of one type have them


@pytest.mark.parametrize("function", [rn.difference, rn.intersect])
def test_functions_refuse_what_is_no_bag(function: Any) -> None:
    with pytest.raises(WrongValue, match=rf"{function.__name__}: not a bag\n +wanted +two lists\n +got +5"):
        function([1], 5)
    with pytest.raises(WrongValue, match="tells rows apart by all that they hold, and here is a bag"):
        function([{"xs": [1]}], [])


# ---------------------------------------------------------------- what is refused


def reading(function: Callable[..., object]) -> str:
    with pytest.raises(QueryError) as error:
        _ = rn.view(function).query
    assert isinstance(error.value, Unsupported | TypeMismatch)
    return str(error.value)


def test_rows_that_hold_bags_are_refused_with_the_field() -> None:
    def nested(H: Bag[Held]):
        return rn.difference([{"k": h.k, "in": {"xs": h.xs}} for h in H], [])

    text = reading(nested)
    assert "difference tells rows apart by all that they hold, and the field in.xs is a bag" in text
    assert "wanted   rows without bags" in text and "possible" in text

    def bags(H: Bag[Held]):
        return rn.intersect([h.xs for h in H], [])

    assert "and each row is a bag" in reading(bags)


def test_other_arguments_are_refused() -> None:
    def one(A: Bag[Pair]):
        return rn.difference(A)

    assert "difference with 1 arguments" in reading(one) and "difference(xs, ys)`, of two bags" in reading(one)

    def number(A: Bag[Pair]):
        return rn.intersect(A, 1)

    assert "this must be a bag" in reading(number)

    def others(A: Bag[Pair], P: Bag[Place]):
        return rn.intersect(A, P)

    assert "the two bags of intersect must have the same rows" in reading(others)

    def keyword(A: Bag[Pair]):
        return rn.difference(A, others=A)

    assert "difference with the keyword others" in reading(keyword)

    def untyped(A: Bag[Pair]):
        return [{"a": x.a, "none": rn.difference([], [])} for x in A]

    assert "[] has no type here" in reading(untyped)


TEXT = """
record Pair = ⟨a: long?, b: double?⟩
relation A: Bag(Pair)
relation B: Bag(Pair)
view V = {}
"""


def answer(view: Any, *bags: list[dict[str, Any]]) -> Any:
    """The rows of a view that is text, by the interpreter."""
    given = zip(view.query.relations, bags, strict=True)
    found = evaluate(view.query.body, {name: to_value(rows, BagType(row), name) for (name, row), rows in given})
    return from_value(found, BagType(check(view.query.body).row))


def parsed(tmp_path: Path, term: str) -> Any:
    (tmp_path / "v.nrc").write_text(TEXT.replace("{}", term), encoding="utf-8")
    (view,) = rn.read(tmp_path / "v.nrc").views
    return view


@pytest.mark.parametrize(("term", "view"), [("difference(A, B)", less), ("intersect(A, B)", common)])
def test_the_text_says_the_same(term: str, view: rn.View, tmp_path: Path) -> None:
    rows = [{"a": 1, "b": 0.5}, {"a": 1, "b": 0.5}, {"a": None, "b": None}]
    found = parsed(tmp_path, term)
    assert check(found.query.body).row == view.row
    assert answer(found, rows, rows[1:]) == view(rows, rows[1:])


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("difference(A)", "difference takes two bags"),
        ("difference([], [])", "[] has no type here"),
        ("for x in A union intersect(A, x.a)", "this must be a bag"),
        ("for x in A union weigh(x.b)", "a weight must be an integer"),
        ("for x in A union weigh(x.a, 1)", "weigh takes one argument"),
        ("group[g](x in (for y in A union weigh(y.a)) by one: 1)", "no ⊖ below it, and no weight that can be negative"),
    ],
)
def test_errors_of_the_text(term: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError) as error:
        rn.explain(parsed(tmp_path, term))
    assert said in str(error.value)


def test_weights_as_text(tmp_path: Path) -> None:
    """A row as often as a column says; what is above 1 of it; and below a group, where it cannot be negative."""
    rows = [{"a": 3, "b": 1.0}, {"a": None, "b": 2.0}, {"a": 1, "b": 3.0}]
    weighed = parsed(tmp_path, "for x in A union for _ in weigh(x.a) union sng(x.b)")
    assert sorted(answer(weighed, rows)) == [1.0, 1.0, 1.0, 3.0]
    above = "(for y in A union for _ in weigh(monus(y.a, 1)) union sng(y))"
    counted = parsed(tmp_path, f"group[g](x in {above} by b: x.b of n: count())")
    assert answer(counted, rows) == [{"b": 1.0, "n": 2}]


# ---------------------------------------------------------------- in a database


def test_kept_fresh_in_a_database(tmp_path: Path) -> None:
    """Loads, batches, deletions, and what ``verify`` and a rollback find."""
    a, b = [Pair(1, 0.5)] * 3 + [Pair(None, NaN)] * 2, [Pair(1, 0.5), Pair(None, float("nan"))]
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("A", Pair)
        db.relation("B", Pair)
        db.load("A", a)
        db.load("B", b)
        for view in (less, common):
            db.create(view)
        first = db.version

        def found(view: rn.View) -> list[str]:
            return as_text(db.view(view.name).rows())

        def check(rows: list[Pair], others: list[Pair]) -> None:
            plain = [[{"a": p.a, "b": p.b} for p in bag] for bag in (rows, others)]
            assert found(less) == as_text(less(*plain)) and found(common) == as_text(common(*plain))
            assert db.verify(deep=True).ok

        check(a, b)
        with db.batch() as batch:
            batch.insert("B", [Pair(1, 0.5)] * 4)
            batch.delete("A", [Pair(None, NaN)])
        check(a[:4], [*b, *[Pair(1, 0.5)] * 4])
        with db.batch() as batch:
            batch.delete("B", [Pair(1, 0.5)] * 5)
            batch.insert("A", [Pair(None, NaN)])
        check(a, b[1:])
        db.rollback(first)
        check(a, b)


def test_a_bag_has_no_copy_of_what_it_is_compared_with(tmp_path: Path) -> None:
    """Each of 40 bags had all 200 rows in a group of its own, of which two could be in an answer."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("H", Held, key="k")
        db.relation("A", Pair)
        db.load("H", [Held(k, [Pair(k, 0.5), Pair(-k, 0.5)], None) for k in range(40)])
        db.load("A", [Pair(n, 0.5) for n in range(200)])
        before = db.usage.bytes
        db.create(among)
        assert db.usage.bytes < 6 * before
        with db.batch() as b:
            b.insert("A", [Pair(3, 0.5), Pair(-3, 0.5), Pair(1_000, 0.5)])
        assert b.report.rows_read < 20
        (found,) = (row for row in db.view("among").rows() if row["k"] == 3)
        assert found["less"] == [] and len(found["common"]) == 2 and db.verify(deep=True).ok


def test_what_is_left_stands_below_folds() -> None:
    """A difference has no row less than 0 times, so it is counted, and taken away from again."""

    @rn.view
    def few(A: Bag[Pair], B: Bag[Pair]):
        left = rn.difference(rn.difference(A, B), rn.intersect(A, B))
        return [{"n": len(rn.difference(A, B)), "sum": sum(x.a for x in left)}]

    assert few([Pair(1, 0.5)] * 5, [Pair(1, 0.5)] * 2) == [{"n": 3, "sum": 1}]
    assert few([], []) == [{"n": 0, "sum": None}]


@rn.record
class Tagged:
    k: int
    vals: list[int]
    tags: list[int | None]
    pairs: Bag[Pair]


def beside_null(X: Bag[Tagged]) -> Any:
    """Values that are never NULL beside some that may be."""
    return [
        {
            "k": x.k,
            "less": rn.difference(x.vals, x.tags),
            "common": rn.intersect(x.vals, x.tags),
            "records": rn.difference([{"a": v} for v in x.vals], [{"a": p.a} for p in x.pairs]),
        }
        for x in X
    ]


def test_null_is_none_of_values_that_are_never_null(tmp_path: Path) -> None:
    """And nothing is stored of it where a type says that it is not there."""
    rows = [
        {"k": 1, "vals": [1, 2, 2], "tags": [None, 1, None], "pairs": [{"a": None, "b": None}, {"a": 2, "b": 0.5}]},
        {"k": 2, "vals": [], "tags": [None], "pairs": [{"a": None, "b": 1.5}]},
    ]
    wanted = [
        {"k": 1, "less": [2, 2], "common": [1], "records": [{"a": 1}, {"a": 2}]},
        {"k": 2, "less": [], "common": [], "records": []},
    ]
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("X", Tagged, key="k")
        view = db.create(rn.view(beside_null))
        for change in ([rows[0]], [rows[1], {**rows[0], "tags": [2]}], rows):
            with db.batch(policy="incremental") as b:
                b.upsert("X", change)
            assert db.verify(deep=True).ok
        assert view.rows() == wanted
