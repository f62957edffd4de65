"""Operators, comparisons and methods of sets in views are what they are in Python."""

from itertools import product
from typing import Any

import pytest
from support.written import functions, is_refused

from ripplenest.nrc.errors import RipplenestError, TypeMismatch, Unsupported

HEAD = """
import ripplenest as rn
from ripplenest import Bag

SOME, NONE, LIST, FROZEN, PAIR = {1, 2}, set(), [3, None], frozenset({2, None}), (1, 2)

@rn.record
class Item:
    n: int | None

@rn.record
class R:
    xs: Bag[Item]
    ys: Bag[int | None]
"""
OPERATORS = [
    "{x.n for x in m.xs} ^ set(m.ys)",
    "({x.n for x in m.xs} ^ set(m.ys)) - SOME",
    "SOME ^ ({x.n for x in m.xs} | FROZEN)",
    "{x.n for x in m.xs} & SOME | FROZEN",
    "frozenset(m.ys) - {1, None}",
    "set(m.ys) | set()",
    "set(m.ys).union(x.n for x in m.xs)",
    "set(m.ys).intersection([x.n for x in m.xs])",
    "{x.n for x in m.xs}.difference(m.ys)",
    "set(m.ys).symmetric_difference(LIST)",
    "{y for y in set(m.ys).union(SOME) if y and y not in {x.n for x in m.xs}}",
    "m.ys + LIST",
    "set(LIST) | set(m.ys)",
    "set(m.ys) - frozenset(PAIR)",
    "LIST + [x.n for x in m.xs]",
]
COMPARISONS = [
    *(f"{{x.n for x in m.xs}} {op} set(m.ys)" for op in ("==", "!=", "<=", "<", ">=", ">")),
    *(f"SOME {op} set(m.ys) | {{1}}" for op in ("==", "!=", "<=", "<", ">=", ">")),
    "set(PAIR) <= set(m.ys)",
    "set([]) != set(m.ys)",
    "set() == {x.n for x in m.xs}",
    "{x.n for x in m.xs} != NONE",
    "FROZEN <= {x.n for x in m.xs} <= set(m.ys)",
    "not set(m.ys) > {1} and {x.n for x in m.xs} >= FROZEN",
    "{x.n for x in m.xs}.issubset(m.ys)",
    "{x.n for x in m.xs}.issuperset(SOME)",
    "{x.n for x in m.xs}.isdisjoint(y for y in m.ys if y)",
    "SOME.isdisjoint({2}) or set(m.ys) ^ SOME == {x.n for x in m.xs}",
    "set(m.ys) == {y for n in M for y in n.ys if y in SOME}",
]
REFUSED: list[tuple[str, str, type[RipplenestError], str]] = [
    ("m.ys == m.ys", "m.ys == m.ys", TypeMismatch, "`set(xs) == set(ys)`"),
    ("m.ys <= SOME", "m.ys <= SOME", TypeMismatch, "`set(xs) <= set(ys)`"),
    ("set(m.ys) <= [1]", "set(m.ys) <= [1]", TypeMismatch, "`set(xs) <= set(ys)`"),
    ("set(m.ys) ^ m.ys", "set(m.ys) ^ m.ys", Unsupported, "`set(xs) ^ set(ys)`"),
    ("set(m.ys) <= {'a'}", "set(m.ys) <= {'a'}", TypeMismatch, "the two sets that are compared must"),
    ("set(m.xs) == {(1,)}", "set(m.xs) == {(1,)}", TypeMismatch, "the two sets that are compared must"),
    ("set(m.ys).union(m.ys, m.ys)", "set(m.ys).union(", Unsupported, "`set(xs + ys)`"),
    ("m.ys.isdisjoint(SOME)", "m.ys.isdisjoint(", Unsupported, "`[... for x in xs]`"),
]
VALUES = [[], [1], [2, 1, 2], [3, None], [None, 2]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module of a function for each expression."""
    every = (f"[({e},) for m in M]" for e in (*OPERATORS, *COMPARISONS, *(e for e, *_ in REFUSED)))
    return functions(tmp_path_factory.mktemp("sets") / "sets.py", HEAD, every)


@pytest.mark.parametrize("n", range(len(OPERATORS) + len(COMPARISONS)), ids=[*OPERATORS, *COMPARISONS])
def test_sets_are_what_they_are_in_python(made: Any, n: int) -> None:
    """For each pair of bags; and not the same for all of them."""
    function = getattr(made, f"f{n}")
    rows = [made.R([made.Item(x) for x in xs], ys) for xs, ys in product(VALUES, VALUES)]
    found, expected = made.rn.view(function)(rows), [{"_1": _rows(value)} for (value,) in function(rows)]
    assert sorted(map(repr, ({"_1": _rows(row["_1"])} for row in found))) == sorted(map(repr, expected))
    assert len({*map(repr, expected)}) > 1


def _rows(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, set | frozenset | list) else value


@pytest.mark.parametrize(("n", "place", "kind", "part"), [(n, *r[1:]) for n, r in enumerate(REFUSED)])
def test_and_bags_that_are_no_sets_are_not(
    made: Any, n: int, place: str, kind: type[RipplenestError], part: str
) -> None:
    is_refused(made, n + len(OPERATORS) + len(COMPARISONS), place, kind, part)
