"""Rows that are joined by what is computed of them: the same rows as each with each, and few more are looked at."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from support.choices import Choices
from support.combinations import combinations, rows_of
from support.edges import EDGES
from support.laws import law
from support.sizes import many

from ripplenest.data.columnar import consolidated
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Rel, Tuple, Var
from ripplenest.nrc.types import LONG, Base, Record
from ripplenest.plan.evaluate import evaluate
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Op, Product
from ripplenest.vector import computed, joins
from ripplenest.vector.joins import joined

COUNTS: Counter[str] = Counter()
KEY = Base("long", True)


def side(c: Choices, var: str, t: Base) -> Elem:
    """What is computed of one row, which may be NULL, or fail where numbers are added; or a column of it."""
    k, x, y = (Proj(Var(var), field) for field in "kxy")
    found: list[Elem] = [Call("coalesce", (x, y)), Call("if", (Call("is_true", (Call("eq", (k, ONE)),)), x, y)), x]
    found += [Call("neg_double", (x,))] if t.kind == "double" else []
    found += [Call("add_long", (x, y))] * 3 if t.kind == "long" else []
    return c.pick(found)


ONE = Lit(1, LONG)


def random_product(c: Choices, t: Base) -> Product:
    """Two or three generators, equated by what is computed of them, some by a column as well, or compared."""
    row = Record((("k", KEY), ("x", t), ("y", t)))
    names = ["a", "b", "c"][: 2 + c.one_in(2)]
    pairs = [*pairwise(names), *([(names[0], names[-1])] if c.one_in(3) else [])]
    conditions = [
        Call("lt" if c.one_in(6) else c.pick(("eq", "same")), (side(c, a, t), side(c, b, t))) for a, b in pairs
    ]
    if c.one_in(3):
        conditions.append(Call("eq", (Proj(Var("a"), "k"), Proj(Var("b"), "k"))))
    head = Tuple(tuple((f"{name}{field}", Proj(Var(name), field)) for name in names for field in "kx"))
    made = Record(tuple((name, dict(row.fields)[name[1]]) for name, _ in head.fields))
    return c.pick(lower(Comprehension(tuple((n, Rel(n, row)) for n in names), tuple(conditions), head), made))


def random_rows(c: Choices, t: Base) -> Rows:
    values = [*EDGES[t], None]
    few = [c.pick(values) for _ in range(3)] if c.one_in(2) else values
    made = [((c.pick((1, 2, None)), c.pick(few), c.pick(few)), c.pick((1, 2, -1))) for _ in range(1 + c.number(8))]
    return consolidated({"": Rows.of_pairs((KEY, t, t), made)})[""]


@pytest.mark.parametrize("t", EDGES, ids=str)
@law(examples=many(40, 1500))
def test_by_what_is_computed(t: Base, c: Choices) -> None:
    """Law (with_computed): the rows of the product, for values of every type, however few there are."""
    p = random_product(c, t).cautious()
    inputs = [random_rows(c, t) for _ in p.sources]
    try:
        expected = evaluate(p, [rows.counts() for rows in inputs])
    except EvaluationError:
        expected = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(computed, "WORTH", 0)
        patch.setattr(computed, "TIMES", 0)
        patch.setattr(joins, "with_computed", counted)
        assert rows_of(p, inputs) == expected
    COUNTS["rows"] += bool(expected)
    COUNTS["no value"] += expected is None


def counted(p: Product, binding: Any, step: Any, rows: Any) -> Any:
    found, own = computed.with_computed(p, binding, step, rows)
    more = [key for key in found.keys if key not in step.keys]
    COUNTS["computed"] += bool(more)
    COUNTS["beside a column"] += bool(more and step.keys)
    COUNTS["that can fail"] += any(isinstance(k.scalar, Op) and k.scalar.fn == "add_long" for k in more)
    COUNTS["where NULL is NULL"] += any(key.null_safe for key in more)
    return found, own


def test_coverage() -> None:
    if COUNTS:
        wanted = ("rows", "no value", "computed", "beside a column", "that can fail", "where NULL is NULL")
        assert min(COUNTS[what] for what in wanted) >= 10, COUNTS


@pytest.mark.parametrize("fn", ["quotient_long", "sub_long"])
def test_few_combinations_are_made(monkeypatch: pytest.MonkeyPatch, fn: str) -> None:
    """Of a thousand rows and a thousand others, and not a million; of what can fail, where it does not, too."""
    row = Record((("k", LONG),))
    half = [Call(fn, (Proj(Var(name), "k"), Lit(2, LONG))) for name in "ab"]
    head = Tuple((("a", Proj(Var("a"), "k")), ("b", Proj(Var("b"), "k"))))
    made = Record((("a", LONG), ("b", LONG)))
    (p,) = lower(Comprehension(tuple((n, Rel(n, row)) for n in "ab"), (Call("eq", tuple(half)),), head), made)
    inputs = [Rows.of_pairs((LONG,), [((i,), 1) for i in range(1_000)]) for _ in "ab"]
    asked = combinations(monkeypatch)
    rows = 2_000 if fn == "quotient_long" else 1_000
    assert sum(table.num_rows for _, table in joined([(p, inputs)], Room())) == max(asked) == rows
