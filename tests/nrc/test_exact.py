"""How far integers lie apart is compared as Python compares it."""

import operator
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from itertools import product

import pytest
from attrs import evolve
from support.choices import Choices
from support.laws import law

from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.rewriting.bands import SWAPPED, compared
from ripplenest.nrc.rewriting.exact import exact_again, exact_elem
from ripplenest.nrc.rewriting.gaps import gap
from ripplenest.nrc.rewriting.integers import as_integers
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.rewriting.sums import solved
from ripplenest.nrc.syntax import Call, Elem, Lit, Pred, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, DOUBLE, INT, LONG, Base, Record, Type, nullable
from ripplenest.nrc.walk import nodes, replace_part

OPS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
PYTHON = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
COUNTS: Counter[str] = Counter()


def term(c: Choices, kind: str, columns: list[Elem], least: int = 1, choices: int = 0) -> Elem:
    """Sums, differences and products of columns and constants, of ``least`` values at least, and one in so many of two.
    """
    if choices and c.one_in(choices):
        args = (term(c, kind, columns), term(c, kind, columns, 2, 4 * choices))
        which = Call("is_null", (c.pick(columns),))
        return c.pick((Call("coalesce", args), Call("if", (which, *args[:: c.pick((1, -1))]))))
    if least < 2 and not c.one_in(3):
        return c.pick(columns) if c.number(4) else Lit(c.number(5) - 2, INT if kind == "int" else LONG)
    if c.one_in(8):
        return Call(f"neg_{kind}", (term(c, kind, columns, choices=4 * choices),))
    sides = (term(c, kind, columns, choices=4 * choices) for _ in range(2))
    return Call(f"{c.pick(('add', 'sub', 'add', 'sub', 'mul'))}_{kind}", tuple(sides))


def columns_of(c: Choices) -> tuple[Base, list[Elem], list[int | None]]:
    """A type, columns of it, and values that they have: the least and the greatest, NULL and some between."""
    t, bits = c.pick(((INT, 31), (LONG, 63)))
    values = [c.pick((-(2**bits), 2**bits - 1, None, -1, 0, 1, 2, 3)) for _ in "abc"]
    return t, [Proj(Var("x"), name) for name in "abc"], values


def types_of(t: Base) -> dict[str, Type]:
    return {"x": Record(tuple((name, nullable(t)) for name in "abc"))}


def meant(t: Elem, env: dict[Elem, int | None]) -> int | None:
    match t:
        case Call("coalesce", (a, b)):
            return meant(b, env) if (found := meant(a, env)) is None else found
        case Call("if", (Call("is_null", (x,)), a, b)):
            return meant(a if env[x] is None else b, env)
        case Call(fn, (a, b)):
            p, q = meant(a, env), meant(b, env)
            return None if p is None or q is None else PYTHON[fn.partition("_")[0]](p, q)
        case Call(_, (a,)):
            return None if (p := meant(a, env)) is None else -p
        case Lit(int() as value):
            return value
    return env[t]


def is_true(t: Elem, env: dict[Elem, int | None]) -> bool | None:
    """What a comparison means."""
    assert isinstance(t, Call)
    p, q = (meant(s, env) for s in t.args)
    return None if p is None or q is None else OPS[t.fn](p, q)


@law(examples=1500)
def test_it_is_true_of_the_same(c: Choices) -> None:
    """And where a sum is beyond its type it has a value all the same."""
    t, columns, values = columns_of(c)
    types = types_of(t)
    op, sides = c.pick([*OPS]), (term(c, t.kind, columns, 2), term(c, t.kind, columns))
    asked = Call(op, sides[:: c.pick((1, -1))])
    found = exact_elem(asked)
    if found == asked:
        COUNTS["too many"] += 1
        return
    COUNTS["products"] += any(isinstance(n, Call) and n.fn == "mul_decimal" for n in nodes(found))
    assert exact_elem(Call("and", (asked, Call("not", (asked,))))) == Call("and", (found, Call("not", (found,))))
    assert is_total(found, types)
    assert elem_type(found, types) == elem_type(asked, types)
    assert t == INT or as_integers(found) == asked
    assert t == INT or gap(found) == gap(asked)
    COUNTS["gaps"] += gap(asked) is not None
    look_at(asked, found, values)


def look_at(asked: Elem, found: Elem, values: list[int | None]) -> None:
    env = {"x": tuple(zip("abc", values, strict=True))}
    assert elem(found, env) == is_true(asked, {Proj(Var("x"), name): v for name, v in env["x"]})
    try:
        assert elem(found, env) == elem(asked, env)
        COUNTS["told"] += 1
    except EvaluationError:
        COUNTS["beyond"] += 1


@law(examples=1500)
def test_one_of_several_sums_is_compared_exactly(c: Choices) -> None:
    """Each of them is, also where there are several such choices, in sums and in each other."""
    t, columns, values = columns_of(c)
    types = types_of(t)
    sides = (term(c, t.kind, columns, 2, 2), term(c, t.kind, columns))
    asked = Call(c.pick([*OPS]), sides[:: c.pick((1, -1))])
    found = exact_elem(asked)
    assert elem_type(found, types) == elem_type(asked, types)
    if not is_total(found, types):
        products = [n.fn for n in nodes(asked) if isinstance(n, Call) and n.fn.startswith("mul")]
        assert "mul_long" in products or len(products) > 1 or len([*nodes(asked)]) > 17, show_elem(asked)
        COUNTS["too many ways"] += 1
        return
    look_at(asked, found, values)
    COUNTS["of several"] += isinstance(found, Call) and found.fn in ("coalesce", "if")


@law(examples=300)
def test_what_is_left_out_does_not_fulfil_it(c: Choices) -> None:
    """Where a column lies, by what is left of the comparison."""
    columns: list[Elem] = [Var("x"), Var("y")]
    apart = Call("sub_long", (Var("x"), Var("y")))
    moved = Call(c.pick(("add_long", "sub_long")), (Var("x"), Lit(c.number(5) - 2, LONG)))
    sides = (apart, Lit(c.number(5) - 2, LONG)) if c.one_in(2) else (moved, Var("y"))
    asked = exact_elem(Call(c.pick([*OPS]), sides[:: c.pick((1, -1))]))
    env: dict[str, object] = {x: c.pick((-(2**63), 2**63 - 1, 2**63 - 2, *range(-3, 4))) for x in "xy"}
    found = [(own, edge, upper) for own, edge, upper, _ in compared([asked]) if own in columns]
    assert {own for own, *_ in found} == {*columns}
    for own, edge, upper in found:
        is_beyond = elem(Call("gt" if upper else "lt", (Call("to_decimal", (own,)), edge)), env)
        assert not (is_beyond and elem(asked, env))
        COUNTS["left out"] += bool(is_beyond)
        COUNTS["looked at"] += not is_beyond and not elem(asked, env)


@law(examples=300)
def test_it_says_the_same_of_each_term(c: Choices) -> None:
    """Solved for one integer of a sum, it is true of the same."""
    columns: list[Elem] = [Var("x"), Var("y"), Var("z")]
    asked = exact_elem(Call("lt", (term(c, "long", columns, 2), term(c, "long", columns))))
    env: dict[str, object] = {x: c.pick((-(2**63), 2**63 - 1, *range(-3, 4))) for x in "xyz"}
    assert isinstance(asked, Call)
    for own, other, op in ((*asked.args, "lt"), (*asked.args[::-1], "gt")):
        for x, y, turned in solved(own, other, lambda fn, a, b: Call(fn, (a, b))):
            says = SWAPPED[op] if turned else op
            assert elem(Call(says, (Call("to_decimal", (x,)), y)), env) == elem(asked, env)
            COUNTS["turned" if turned else "solved"] += 1


@law(examples=600)
def test_again_it_is_the_same(c: Choices) -> None:
    """Where a column has become a sum, of integers or as a decimal beside others, that is compared exactly, too."""
    t, columns, values = columns_of(c)
    asked = Call(c.pick([*OPS]), (term(c, t.kind, columns, 2), term(c, t.kind, columns)))
    found = exact_elem(asked)
    assert exact_again(Pred(found)) == Pred(found)
    put = term(c, t.kind, columns, 2)
    whole, again = (replace_part(own, columns[0], put) for own in (asked, found))
    twice = exact_again(Pred(again))
    assert isinstance(twice, Pred)
    if not is_total(twice.cond, types_of(t)):
        COUNTS["too many again"] += 1
        return
    env = {"x": tuple(zip("abc", values, strict=True))}
    assert elem(twice.cond, env) == is_true(whole, {Proj(Var("x"), name): v for name, v in env["x"]})
    COUNTS["again"] += again != twice.cond


@pytest.mark.parametrize("op", [*OPS, "eq"])
def test_decimals_of_a_view_are_no_integers(op: str) -> None:
    """x - y < 3 is not x - y ≤ 2 of numbers that have digits behind the point, however they are written."""
    t = Base("decimal", False, 6, 1)
    x, y, n = (Call("to_decimal", (Proj(Var("x"), name),)) for name in "abc")
    three = Lit(Decimal(3), Base("decimal", False, 1, 0))
    sums = Call("sub_decimal", (x, y)), Call("add_decimal", (x, three)), Call("sub_decimal", (y, n))
    for sides in ((sums[0], three), (sums[1], y), (x, sums[2])):
        asked = Call(op, sides)
        found = exact_elem(asked)
        assert as_integers(found) == found and elem_type(found, {"x": Record(tuple((c, t) for c in "abc"))}) == BOOL
        for values in product((Decimal("0.5"), Decimal(1), Decimal("3.5"), Decimal(4)), repeat=3):
            env = {"x": tuple(zip("abc", values, strict=True))}
            assert elem(found, env) == elem(asked, env)


def test_a_choice_is_left_where_something_else_can_fail() -> None:
    """Nobody asks what comes second where there is a first, also beside NULL."""
    a, b, c = (Proj(Var("x"), name) for name in "abc")
    asked = Call("lt", (Call("coalesce", (a, Call("sub_long", (Call("mul_long", (b, b)), Lit(1, LONG))))), c))
    found = exact_elem(asked)
    assert elem(found, {"x": (("a", 1), ("b", 2**62), ("c", None))}) is None
    assert elem(found, {"x": (("a", None), ("b", 2), ("c", 4))}) is True


def test_many_choices_are_left() -> None:
    a, b, c = (Proj(Var("x"), name) for name in "abc")
    choice = Call("coalesce", (a, Call("sub_long", (b, Lit(1, LONG)))))
    for n, ways in ((3, 8), (4, 1)):
        of = [replace_part(choice, Lit(1, LONG), Lit(i, LONG)) for i in range(n)]
        found = exact_elem(Call("lt", (reduce(lambda p, q: Call("add_long", (p, q)), of), c)))
        assert sum(isinstance(t, Call) and t.fn in SWAPPED for t in nodes(found)) == ways


def test_what_is_equated_is_left() -> None:
    """It is looked up as it is."""
    x, y = Proj(Var("x"), "a"), Proj(Var("x"), "b")
    equal = Call("eq", (Call("add_long", (x, Lit(5, LONG))), y))
    assert exact_elem(equal) == equal
    assert exact_elem(Call("lt", (x, y))) == Call("lt", (x, y))
    many = Call("lt", (reduce(lambda a, b: Call("add_long", (a, b)), [x] * 17), y))
    assert exact_elem(many) == many


def test_enough_was_met() -> None:
    if COUNTS:
        assert COUNTS["told"] > 300 and COUNTS["beyond"] > 100 and COUNTS["left out"] > 50, COUNTS
        assert COUNTS["solved"] > 100 and COUNTS["turned"] > 50, COUNTS
        assert COUNTS["products"] > 100 and COUNTS["again"] > 150, COUNTS
        assert COUNTS["of several"] > 200 and COUNTS["too many ways"] < COUNTS["of several"] / 2, COUNTS
        assert COUNTS["looked at"] < COUNTS["left out"] / 2, COUNTS


KNOWN: dict[str, tuple[object, ...]] = {
    "int": (-1, 0, 2, 2**31 - 1), "long": (-1, 0, 2, 72, 2**62), "decimal": (Decimal("0.00"), Decimal("2.00")),
    "double": (-1.0, 0.0, 2.0, float("nan")),
}  # fmt: skip
APART: dict[str, tuple[str, tuple[object, ...]]] = {
    "int": ("sub_int", (-(2**31), -1, 0, 1, 2, 2**31 - 1, None)),
    "long": ("sub_long", (-(2**63), -1, 0, 1, 2, 2**63 - 1, None)),
    "decimal": ("sub_decimal", (Decimal("-9.99"), Decimal("0.00"), Decimal("0.01"), Decimal("2.00"), None)),
    "date": ("days_between", (date.min, date(2024, 1, 1), date(2024, 1, 3), date.max, None)),
    "timestamp": ("micros_between", (datetime.min, datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 2), None)),
}


@law(examples=1500)
def test_how_far_two_values_lie_apart(c: Choices) -> None:
    """From both sides, of each kind, as a number of a wider type, and what is computed of it."""
    kind = c.pick([*APART])
    fn, values = APART[kind]
    t: Elem = Call(fn, (Proj(Var("x"), "a"), Proj(Var("x"), "b")))
    if kind in ("int", "date") and c.one_in(2):
        t = Call("to_long", (t,))
    if kind == "date" and isinstance(t, Call) and t.fn == "to_long" and c.one_in(2):
        t = Call("mul_long", (t, Lit(c.pick((-3, 24)), LONG)))
    elif kind == "timestamp" and c.one_in(2):
        t = Call("div_double", (Call("to_double", (t,)), Lit(1e6, DOUBLE)))
    own = Base(kind, True, 6, 2) if kind == "decimal" else Base(kind, True)
    types: dict[str, Type] = {"x": Record((("a", own), ("b", own)))}
    of = elem_type(t, types)
    assert isinstance(of, Base)
    t = Call(f"abs_{of.kind}", (t,))
    if of.kind == "int" and c.one_in(2):
        t, of = Call("to_long", (t,)), LONG
    known = Lit(c.pick(KNOWN[of.kind]), evolve(of, nullable=False))
    asked = Call(c.pick([*OPS]), (t, known)[:: c.pick((1, -1))])
    found = exact_elem(asked)
    assert isinstance(found, Call) and found.fn in ("and", "or") and elem_type(found, types) == elem_type(asked, types)
    assert not any(isinstance(n, Call) and n.fn.startswith("abs") for n in nodes(found))
    env = {"x": tuple((name, c.pick(values)) for name in "ab")}
    try:
        assert elem(found, env) == elem(asked, env)
        COUNTS[f"apart: {kind}, {found.fn}"] += elem(found, env) is not None
    except EvaluationError:
        assert kind in ("int", "long")


def test_enough_lay_apart() -> None:
    if COUNTS:
        assert all(COUNTS[f"apart: {kind}, {way}"] > 50 for kind in APART for way in ("and", "or")), COUNTS
