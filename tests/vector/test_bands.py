"""Rows that are joined by comparisons, in the bands that these say: the same rows as each with each, and few more."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from support.choices import Choices
from support.combinations import rows_of
from support.edges import EDGES, L_MAX, L_MIN
from support.laws import law
from support.sizes import many as times

from ripplenest.data.columnar import consolidated
from ripplenest.data.hashing import hash_columns
from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions.scalars import SCALARS, result_type
from ripplenest.nrc.rewriting.bands import WIDER, Bound, band
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import TRUE, At, Call, Elem, Lit, Proj, Rel, Tuple, Var
from ripplenest.nrc.types import LONG, Base, Record
from ripplenest.plan.evaluate import evaluate
from ripplenest.plan.families import member
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Op, Product
from ripplenest.vector import bands, binding, join
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.column import Column, Failed
from ripplenest.vector.joins import joined

COUNTS: Counter[str] = Counter()
OPS = ("lt", "le", "gt", "ge")
KEY = Base("long", True)


BETWEEN = {"date": ("days_between", 1, 7), "timestamp": ("micros_between", 1, 3_600_000_000)}


def compared(c: Choices, t: Base, names: Sequence[str]) -> Elem:
    """A comparison of columns of two generators, of one with a sum, which can fail, or of what lies between them with a
    constant; in either direction."""
    own = c.number(len(names))
    a: Elem = Proj(Var(names[own]), c.pick("xyy"))
    b: Elem = Proj(Var(names[own - 1 - c.number(len(names) - 1)]), c.pick("xxy"))
    if t.kind in BETWEEN and c.one_in(2):
        fn, *spans = BETWEEN[t.kind]
        apart = Call(fn, (a, b))
        days = Call("to_long", (apart,)) if fn == "days_between" else apart
        a, b = days, Lit(c.pick((0, *spans, *(-n for n in spans))), LONG)
    if t in (KEY, LONG) and not c.one_in(3):
        other = Proj(Var(names[own]), "x") if c.one_in(8) else Lit(c.pick((1, 1, 0)), LONG)
        b = Call(c.pick(("add_long", "sub_long", "mod_long")), (b, other))
    return Call(c.pick(OPS), (a, b)[:: c.pick((1, -1))])


def either(c: Choices, names: Sequence[str]) -> Elem:
    """What compares columns of two generators in one of two ways, of which both may say the same of some."""
    own = c.number(len(names))
    other = own - 1 - c.number(len(names) - 1)
    a, b, p, q = (Proj(Var(names[n]), field) for n in (own, other) for field in "xy")
    COUNTS["either"] += 1
    first, second = Call(c.pick((*OPS, "eq")), (a, p)), Call(c.pick((*OPS, "eq")), (a, p)[:: c.pick((1, -1))])
    return Call("or", (first, Call("and", (second, Call(c.pick(OPS), (b, q))))))


def as_wider(c: Choices, narrow: Base, wide: Base, names: Sequence[str]) -> Elem:
    """A comparison of a column with one of a wider type of another generator."""
    own = c.number(len(names))
    a: Elem = Proj(Var(names[own]), "x")
    b = Proj(Var(names[own - 1 - c.number(len(names) - 1)]), "z")
    cast = a if narrow.kind == wide.kind else Call(f"to_{wide.kind}", (a,))
    return Call(c.pick(OPS), (cast, b)[:: c.pick((1, -1))])


def random_product(c: Choices, t: Base, wide: Base | None = None) -> Product:
    """Two or three generators with a key ``k`` and two columns of type ``t``: compared, some of the keys equated; and
    one of a ``wide`` type."""
    row = Record((("k", KEY), ("x", t), ("y", t), *([("z", wide)] if wide else [])))
    names = ["a", "b", "c"][: 2 + c.one_in(2)]
    states = [c.pick((At.DELTA, At.OLD)) for _ in names]
    conditions = [compared(c, t, names) for _ in range(1 + c.number(4))]
    if wide:
        conditions = [as_wider(c, t, wide, names) for _ in range(1 + c.number(2))] + conditions[:-1]
    if c.one_in(3):
        conditions[-1] = either(c, names)
    if c.one_in(2):
        conditions.append(Call(c.pick(("eq", "same")), (Proj(Var("a"), "k"), Proj(Var("b"), "k"))))
    generators = tuple((name, Rel(name, row, at)) for name, at in zip(names, states, strict=True))
    head = Tuple(tuple((f"{name}{field}", Proj(Var(name), field)) for name in names for field in "kx"))
    row_type = Record(tuple((name, dict(row.fields)[name[1]]) for name, _ in head.fields))
    return c.pick(lower(Comprehension(generators, tuple(conditions), head), row_type))


def random_rows(c: Choices, t: Base, wide: Base | None = None) -> Rows:
    values = [*EDGES[Base(t.kind, True, t.precision, t.scale)], *([None] if t.nullable else [])]
    few = [c.pick(values) for _ in range(4)] if c.one_in(2) else values
    few = [*few, L_MAX, L_MIN] if t in (KEY, LONG) else few  # which have no next one, or none before
    more = [EDGES[wide]] if wide else []
    made = [
        ((c.pick((1, 2, None)), c.pick(few), c.pick(few), *map(c.pick, more)), c.pick((1, 2, -1)))
        for _ in range(1 + c.number(8))
    ]
    return consolidated({"": Rows.of_pairs((KEY, t, t, *([wide] if wide else [])), made)})[""]


def always(patch: pytest.MonkeyPatch) -> None:
    """However few rows there are."""
    patch.setattr(join, "WORTH", 0)
    patch.setattr(join, "TIMES", 0)


@pytest.mark.parametrize("t", EDGES, ids=str)
@law(examples=times(40, 1500))
def test_in_bands_is_each_with_each(t: Base, c: Choices) -> None:
    """Law (Banded): the rows of the product, and where it has no value, none, for values of every type."""
    is_each_with_each(c, t)


@law(examples=times(250, 3000))
def test_edges_may_have_no_value(c: Choices) -> None:
    """The same of edges that can fail."""
    is_each_with_each(c, KEY)


@law(examples=times(250, 3000))
def test_columns_may_be_moved(c: Choices) -> None:
    """The same where no value is NULL, so that x + 1 > y is x > y - 1."""
    is_each_with_each(c, LONG)


@pytest.mark.parametrize("kind", BETWEEN)
@law(examples=times(60, 2000))
def test_what_lies_between_is_compared(kind: str, c: Choices) -> None:
    """The same of moments and days, also of those that nothing is before or behind, and of some that are NULL."""
    COUNTS["apart"] -= COUNTS["moved"]
    is_each_with_each(c, Base(kind, c.one_in(2)))
    COUNTS["apart"] += COUNTS["moved"]


def widens(a: Base, b: Base) -> bool:
    """Whether columns of type ``a`` are compared with values of the wider type ``b``."""
    own = a if a.kind == b.kind else result_type(f"to_{b.kind}", [a]) if (a.kind, b.kind) in WIDER else None
    return own is not None and a != b and (a.kind, b.kind) in WIDER and SCALARS["lt"].rule([own, b]) is not None


@law(examples=times(200, 6000))
def test_columns_are_compared_as_wider_numbers(c: Choices) -> None:
    narrow, wide = c.pick([(a, b) for a in EDGES for b in EDGES if widens(a, b)])
    is_each_with_each(c, narrow, wide)
    COUNTS[f"{narrow.kind} as {wide.kind}"] += 1


def is_each_with_each(c: Choices, t: Base, wide: Base | None = None) -> None:
    p = random_product(c, t, wide).cautious()
    inputs = [random_rows(c, t, wide) for _ in p.sources]
    try:
        expected = evaluate(p, [rows.counts() for rows in inputs])
    except EvaluationError:
        expected = None
    with pytest.MonkeyPatch.context() as patch:
        assert rows_of(p, inputs) == expected
        always(patch)
        assert rows_of(p, inputs) == expected
        if c.one_in(3):  # all keys share one hash
            patch.setattr(join, "hash_columns", lambda _, rows: np.zeros(rows, np.uint64))
            patch.setattr(bands, "hashes_of", lambda table, _: np.zeros(table.num_rows, np.uint64))
            patch.setattr(binding, "index_of", lambda t, _: (np.zeros(len(t), np.uint64), np.arange(len(t))))
            anew = [Rows(rows.types, table=rows.arrow(), summed=True) for rows in inputs]  # without their indexes
            assert rows_of(p, anew) == expected
    found = [s.band for s in p.steps if s.band is not None]
    COUNTS["rows"] += bool(expected)
    COUNTS["no value"] += expected is None
    COUNTS["between"] += any(None not in b.columns and b.columns[0] == b.columns[1] for b in found)
    COUNTS["intervals"] += any(None not in b.columns and b.columns[0] != b.columns[1] for b in found)
    COUNTS["upper"] += any(b.lower is None for b in found)
    COUNTS["lower"] += any(b.upper is None for b in found)
    sides = {side for q in p.conditions if isinstance(q, Op) for side in q.args}
    COUNTS["moved"] += any(e.scalar not in sides for b in found for e in b.edges)
    COUNTS["keys"] += any(s.keys and s.band for s in p.steps)


@law(examples=times(150, 2000))
def test_what_is_looked_at_is_what_fits(c: Choices) -> None:
    """Of numbers between two others, and of intervals of one length: exactly what fulfils ``≤``, and no NULL."""
    size, length = 1 + c.number(12), c.number(4)
    keyed = c.one_in(2)
    numbers = [c.pick((None, *range(12))) for _ in range(size)]
    keys = [c.number(2) if keyed else 0 for _ in range(size)]
    points = [(k, x, None) for k, x in zip(keys, numbers, strict=True)]
    intervals = [(k, x, None if x is None else x + length) for k, x in zip(keys, numbers, strict=True)]
    ends = [*range(14), None]
    asking = [(c.number(2) if keyed else 0, c.pick(ends), c.pick(ends)) for _ in range(1 + c.number(4))]
    kind = c.pick(("between", "interval", "upper", "lower"))
    low, high = Proj(Var("b"), "x"), Proj(Var("b"), "y" if kind == "interval" else "x")
    upwards, last, first = c.one_in(2), Proj(Var("a"), "y"), Proj(Var("a"), "x")
    below = Call("le", (low, last)) if upwards else Call("ge", (last, low))
    above = Call("ge", (high, first)) if upwards else Call("le", (first, high))
    conditions = {"upper": [below], "lower": [above]}.get(kind, [below, above])
    if keyed:
        conditions.append(Call("eq", (Proj(Var("a"), "k"), Proj(Var("b"), "k"))))
    row = Record((("k", LONG), ("x", KEY), ("y", KEY)))
    generators = (("a", Rel("a", row, At.DELTA)), ("b", Rel("b", row)))
    (p,) = lower(Comprehension(generators, tuple(conditions), Lit(1, LONG)), LONG)
    stored = intervals if kind == "interval" else points
    types = (LONG, KEY, KEY)
    a, b = (Input.of(Rows.of_counts(types, Counter(rows))) for rows in (asking, stored))
    with pytest.MonkeyPatch.context() as patch:
        always(patch)
        found = join.many(Binding.of(0, a), p.steps[1], b)
        weight = join.weight(Binding.of(0, a), p.steps[1], b)
    fits = evaluate(p, [Counter(asking), Counter(stored)])
    distinct = evaluate(p, [dict.fromkeys(asking, 1), dict.fromkeys(stored, 1)])
    assert (found, weight) == (sum(distinct.values()), sum(fits.values()))
    COUNTS[kind] += bool(found)


def test_who_has_no_edge_looks_at_all() -> None:
    """NULL lies in no band; what has no value may lie in any, whatever stands in its place."""
    rows = Rows.of_pairs((KEY,), [((i,), 1) for i in range(5)]).arrow()
    values, failed = pa.array([None, None, 2], pa.int64()), Failed(np.array([False, True, False]), "why")
    for by, wanted in (((0, None), [0, 5, 3]), ((None, 0), [0, 5, 3])):
        edges = tuple(None if column is None else Column(values, failed) for column in by)
        _, many = bands.Banded.of(rows, (), by).spans(hash_columns([], 3), edges)
        assert many.tolist() == wanted


def test_both_bounds_of_one_column_come_first() -> None:
    y, z, x = (Bound("b", column, frozenset("a"), column == "y", TRUE) for column in "yzx")
    below = evolve(x, upper=True)
    assert band([y, z, x, below]) == (below, x)
    assert band([y, z, x]) == (y, z) and band([z, x]) == (z,) and band([]) == ()


@pytest.mark.parametrize("upper", ["x", "k"])
def test_products_that_differ_in_an_edge(monkeypatch: pytest.MonkeyPatch, upper: str) -> None:
    """They are one join with the table of their constants, and each has its own band, of one column or of two."""
    always(monkeypatch)
    row = Record((("k", LONG), ("x", KEY)))
    generators = (("a", Rel("a", row, At.DELTA)), ("b", Rel("b", row)))
    a, b = (Proj(Var(name), "x") for name in "ab")
    later = [Call("add_long", (a, Lit(n, LONG))) for n in range(7)]
    edges = [(Call("lt", (later[n], b)), Call("le", (Proj(Var("b"), upper), later[n + 2]))) for n in range(4)]
    products = [p for e in edges for p in lower(Comprehension(generators, e, b), KEY)]
    rows = [Rows.of_pairs((LONG, KEY), [((i, i), 1) for i in range(12)])] * 2
    found: dict[int, dict[Row, int]] = {}
    for place, table in joined([(p, rows) for p in products], Room()):
        found[place] = Rows((KEY,), table=table).counts()
    assert found == {i: evaluate(p, [r.counts() for r in rows]) for i, p in enumerate(products)}
    assert len({member(p).family for p in products}) == 1


def test_enough_was_met() -> None:
    if COUNTS["rows"] < 50:
        pytest.skip("the tests of this module did not all run")
    wanted = ("between", "intervals", "upper", "lower", "keys", "interval", "moved", "apart", "either")
    assert all(COUNTS[what] > times(15, 300) for what in wanted) and COUNTS["no value"] > times(3, 100), COUNTS
    assert all(COUNTS[f"{a} as {b}"] > times(3, 100) for a, b in WIDER), COUNTS
