"""The scalar table by itself: type rules, precise NULLs, laziness, and generic spellings. Values on both sides are
compared in ``tests/spark/test_scalars.py``; here are only the meanings that somebody would define otherwise.
"""

import hashlib
from contextlib import suppress
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from support.edges import EDGES, signatures

from ripplenest.nrc.bags import Value
from ripplenest.nrc.errors import EvaluationError, QueryError, TypeMismatch, UnknownName
from ripplenest.nrc.functions.failures import Argument
from ripplenest.nrc.functions.meanings import LOWER, UPPER
from ripplenest.nrc.functions.scalars import OPERATORS, SCALARS, Typed, apply, can_fail, coerce, evaluate, result_type
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.normal import failing, is_total
from ripplenest.nrc.syntax import Call, Elem, InL, Lit, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, DOUBLE, INT, LONG, STRING, Base, nullable
from ripplenest.nrc.values import NAN, literal_type, to_value

DATE, DEC, FINE = Base("date"), Base("decimal", False, 12, 2), Base("decimal", False, 38, 20)
TYPES = (BOOL, INT, LONG, DOUBLE, DEC, FINE, STRING, DATE, Base("timestamp"), Base("binary"))
SAMPLE: dict[str, object] = {
    **{"bool": True, "int": 2, "long": 3, "double": 0.5, "string": "2024-02-29", "date": date(2024, 2, 29)},
    **{"decimal": Decimal("9.25"), "timestamp": None, "binary": b"a"},
}


def typed(value: object) -> Typed:
    t = literal_type(value)
    assert t is not None
    return Lit(value, t), t


def var(t: Base) -> Typed:
    return Var(f"x_{t.kind}"), t


def maybe(t: Base) -> Base:
    result = nullable(t)
    assert isinstance(result, Base)
    return result


@pytest.mark.parametrize("fn", SCALARS)
def test_a_result_is_null_only_where_its_type_says_so(fn: str) -> None:
    """v : T for the result v of arguments of their types, with NULL wherever it is allowed."""
    seen = 0
    for types in (types for n in (1, 2, 3) for types in product([*TYPES, *map(maybe, TYPES)], repeat=n)):
        try:
            result = result_type(fn, types)
        except TypeMismatch as error:
            assert error.possible
            continue
        options = [[None, SAMPLE[t.kind]] if t.nullable else [SAMPLE[t.kind]] for t in types]
        for values in product(*options):
            if all(v is not None or t.nullable for v, t in zip(values, types, strict=True)):
                to_value(apply(fn, *values), result, fn)
                seen += 1
    assert seen


@pytest.mark.parametrize(
    ("fn", "args", "result"),
    [
        ("add_decimal", (DEC, FINE), None),
        ("add_decimal", (DEC, DEC), "decimal(13,2)"),
        ("mul_decimal", (DEC, maybe(DEC)), "decimal(25,4)?"),
        ("sub_decimal", (Base("decimal", False, 5, 4), DEC), "decimal(15,4)"),
        ("neg_decimal", (maybe(FINE),), "decimal(38,20)?"),
        ("abs_decimal", (FINE,), "decimal(38,20)"),
        ("lt", (FINE, Base("decimal", False, 19, 0)), None),
        ("lt", (FINE, Base("decimal", False, 18, 0)), "bool"),
        ("to_decimal", (LONG,), "decimal(20,0)"),
        ("if", (maybe(BOOL), INT, INT), "int"),
        ("if", (BOOL, INT, maybe(INT)), "int?"),
        ("if", (BOOL, DEC, FINE), None),
        ("coalesce", (maybe(INT), INT, maybe(INT)), "int"),
        ("coalesce", (maybe(INT), maybe(INT)), "int?"),
        ("coalesce", (), None),
        ("concat", (), None),
        ("and", (BOOL, maybe(BOOL)), "bool?"),
        ("same", (maybe(INT), maybe(INT)), "bool"),
        ("is_true", (maybe(BOOL),), "bool"),
        ("eq", (INT, LONG), None),
        ("mod_int", (INT, INT, INT), None),
    ],
)
def test_result_types(fn: str, args: tuple[Base, ...], result: str | None) -> None:
    if result is None:
        with pytest.raises(TypeMismatch, match="possible"):
            result_type(fn, args)
    else:
        assert str(result_type(fn, args)) == result


@pytest.mark.parametrize("use", [lambda: result_type("ad\nd", []), lambda: apply("ad\nd"), lambda: coerce("ad\nd", [])])
def test_unknown_functions(use: Any) -> None:
    with pytest.raises(UnknownName, match=r"ad\\nd'\n  possible .*coalesce"):
        use()


@pytest.mark.parametrize(
    ("fn", "args", "value"),
    [
        ("eq", (NAN, NAN), True),
        ("lt", (float("inf"), NAN), True),
        ("gt", (NAN, NAN), False),
        ("lt", ("\uffff", "😀"), True),
        ("same", (None, None), True),
        ("same", (None, 1), False),
        ("and", (None, False), False),
        ("or", (None, True), True),
        ("if", (None, 1, 2), 2),
        ("mod_int", (-7, 3), -1),
        ("mod_long", (-(2**63), -1), 0),
        ("quotient_long", (-(2**63), 2**63 - 1), -2),
        ("quotient_long", (2**63 - 1, -2), -(2**62)),
        ("quotient_int", (-7, 7), -1),
        ("quotient_int", (None, 0), None),
        ("monus_long", (7, 2), 5),
        ("monus_long", (2, 7), 0),
        ("monus_long", (-7, -2), 0),
        ("monus_long", (2**63 - 1, 0), 2**63 - 1),
        ("monus_int", (-(2**31), 2**31 - 1), 0),
        ("monus_long", (None, 2), None),
        ("least_long", (7, -2), -2),
        ("least_int", (1, None), None),
        ("div_double", (None, 0.0), None),
        ("to_int", (-1.9,), -1),
        ("to_int", (2.0**31 - 0.1,), 2**31 - 1),
        ("to_string", (True,), "true"),
        ("upper", ("aß😀ſμé",), "Aß😀SΜÉ"),
        ("lower", ("ΑΣ İ",), "ας İ".replace("ς", "σ")),
        ("length", ("e\u0301😀",), 3),
        ("trim", (" \tx\u00a0 ",), "\tx\u00a0"),
        ("substring", ("hello", 2, 3), "ell"),
        ("substring", ("hello", -3, 2), "ll"),
        ("substring", ("hello", 0, 2), "he"),
        ("substring", ("hello", -7, 3), "h"),
        ("substring", ("hello", 2, -1), ""),
        ("neg_decimal", (Decimal("-" + "123456789" * 4),), Decimal("123456789" * 4)),
        ("mul_decimal", (Decimal("0.0"), Decimal("-1.0")), Decimal("0.00")),
        ("mul_double", (0.0, -1.0), 0.0),
        ("sub_double", (float("inf"), float("inf")), NAN),
    ],
)
def test_meanings(fn: str, args: tuple[object, ...], value: object) -> None:
    assert repr(apply(fn, *args)) == repr(value)


def test_failures_name_no_values() -> None:
    with pytest.raises(EvaluationError, match="a cast that fails") as error:
        apply("to_date", "secret")
    assert "secret" not in str(error.value)


def fail() -> object:
    raise EvaluationError("evaluated")


def test_laziness() -> None:
    """What decides comes first; the strict functions evaluate everything."""
    true, false, null = (lambda: True), (lambda: False), (lambda: None)
    assert evaluate("and", [false, fail]) is False
    assert evaluate("or", [true, fail]) is True
    assert evaluate("if", [true, null, fail]) is None
    assert evaluate("if", [null, fail, true]) is True
    assert evaluate("coalesce", [null, true, fail]) is True
    for fn in ("and", "or", "same"):
        with pytest.raises(EvaluationError, match="evaluated"):
            evaluate(fn, [null, fail])


def test_case_mappings_never_change() -> None:
    """Stored rows hold their results, so that an upgrade of Python must not move them."""
    text = repr([sorted(UPPER.items()), sorted(LOWER.items())])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "3404332a9f76fb77"


def show(e: Elem) -> str:
    match e:
        case Call(fn, args):
            return f"{fn}({', '.join(map(show, args))})"
        case Lit(value, t):
            return f"{value}:{t}"
        case Var(name):
            return name
        case _:
            return repr(e)


NULL = typed(None)


@pytest.mark.parametrize(
    ("op", "args", "text", "result"),
    [
        ("add", [var(INT), var(INT)], "add_int(x_int, x_int)", "int"),
        ("add", [var(INT), typed(2**40)], "add_long(to_long(x_int), 1099511627776:long)", "long"),
        ("eq", [var(LONG), typed(1)], "eq(x_long, 1:long)", "bool"),
        ("mul", [var(DEC), typed(2)], "mul_decimal(x_decimal, 2:decimal(1,0))", "decimal(14,2)"),
        ("mul", [var(DEC), var(INT)], "mul_decimal(x_decimal, to_decimal(x_int))", "decimal(23,2)"),
        ("lt", [var(DEC), var(maybe(DOUBLE))], "lt(to_double(x_decimal), x_double)", "bool?"),
        ("sub", [typed(Decimal("0.5")), var(DOUBLE)], "sub_double(0.5:double, x_double)", "double"),
        ("add", [NULL, var(LONG)], "add_long(None:long?, x_long)", "long?"),
        ("add", [NULL, NULL], "add_int(None:int?, None:int?)", "int?"),
        ("neg", [var(DOUBLE)], "neg_double(x_double)", "double"),
        ("div", [var(INT), typed(2)], "div_double(to_double(x_int), 2.0:double)", "double"),
        ("mod", [var(INT), var(LONG)], "mod_long(to_long(x_int), x_long)", "long"),
        ("monus", [var(INT), var(LONG)], "monus_long(to_long(x_int), x_long)", "long"),
        ("least", [var(maybe(INT)), var(INT)], "least_int(x_int, x_int)", "int?"),
        ("eq", [NULL, var(STRING)], "eq(None:string?, x_string)", "bool?"),
        ("same", [NULL, NULL], "same(None:bool?, None:bool?)", "bool"),
        ("if", [NULL, NULL, var(DATE)], "if(None:bool?, None:date?, x_date)", "date?"),
        ("if", [var(BOOL), var(INT), typed(1.5)], "if(x_bool, to_double(x_int), 1.5:double)", "double"),
        ("coalesce", [var(maybe(DEC)), typed(0)], "coalesce(x_decimal, 0.00:decimal(12,2))", "decimal(12,2)"),
        ("coalesce", [typed(Decimal("1.5")), var(DEC)], "coalesce(1.50:decimal(12,2), x_decimal)", "decimal(12,2)"),
        ("coalesce", [var(maybe(LONG)), typed(0)], "coalesce(x_long, 0:long)", "long"),
        ("substring", [var(STRING), NULL, typed(1)], "substring(x_string, None:int?, 1:int)", "string?"),
        ("concat", [var(STRING), NULL, var(STRING)], "concat(x_string, None:string?, x_string)", "string?"),
        ("is_null", [NULL], "is_null(None:bool?)", "bool"),
        ("to_string", [var(DATE)], "to_string(x_date)", "string"),
    ],
)
def test_coercions(op: str, args: list[Typed], text: str, result: str) -> None:
    e, t = coerce(op, args)
    assert (show(e), str(t)) == (text, result)


@pytest.mark.parametrize(
    ("op", "args", "possible"),
    [
        ("eq", [var(STRING), var(INT)], "two of one kind"),
        ("eq", [var(BOOL), typed(1)], "two of one kind"),
        ("add", [var(STRING), var(STRING)], r"\(int, int\), \(long, long\), \(double, double\)"),
        ("add", [var(FINE), var(INT)], "38 digits"),
        ("mod", [var(DOUBLE), var(INT)], r"\(int, int\), \(long, long\)$"),
        ("div", [var(STRING), var(DOUBLE)], r"\(double, double\)$"),
        ("if", [var(INT), var(INT), var(INT)], r"\(bool, t, t\)"),
        ("if", [var(BOOL), var(DEC), var(FINE)], r"\(bool, t, t\)"),
        ("coalesce", [var(DEC), typed(Decimal("0.001"))], r"\(t, t, ...\)"),
        ("substring", [var(STRING), var(LONG), var(INT)], r"\(string, int, int\)$"),
        ("neg", [], "int"),
    ],
)
def test_impossible_coercions(op: str, args: list[Typed], possible: str) -> None:
    with pytest.raises(TypeMismatch, match=f"^{op} does not take these types\n  got .*\n  possible .*{possible}"):
        coerce(op, args)


def test_coercions_keep_their_promise() -> None:
    """A spelling either has no type, or becomes a term of the very type it names, whose value is of that type."""
    env: dict[str, Value] = {f"x_{kind}": value for kind, value in SAMPLE.items()}
    context = {f"x_{t.kind}": maybe(t) for t in TYPES if t != FINE}
    choices = [*map(var, context.values()), *map(typed, (None, 2, 2**40, 0.5, Decimal("0.5"), "a", True))]
    kept = 0
    for op, args in ((op, args) for op in OPERATORS for n in range(4) for args in product(choices, repeat=n)):
        try:
            e, t = coerce(op, args)
        except QueryError:
            continue
        assert elem_type(e, context) == t
        kept += 1
        with suppress(EvaluationError):
            to_value(elem(e, env), t, op)
    assert kept > 1000


def test_every_entry_has_a_spelling() -> None:
    assert {fn for fn in SCALARS if fn not in OPERATORS and fn.rpartition("_")[0] not in OPERATORS} == set()


# ---------------------------------------------------------------- what can fail


def edge_rows(types: tuple[Base, ...]) -> list[tuple[object, ...]]:
    """Edge values of these types, with NULL, in all combinations."""
    return list(product(*([None, *EDGES[t]] for t in types)))


def failed(fn: str, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    found = []
    for row in rows:
        try:
            apply(fn, *row)
        except EvaluationError:
            found.append(row)
    return found


@pytest.mark.parametrize("fn", SCALARS)
def test_what_is_said_to_fail_fails_and_nothing_else(fn: str) -> None:
    """``can_fail`` ⇔ the function has no value for some edge values of the types, in every signature; and where it says
    no of a constant, it has one for every value of the others."""
    for types in signatures(fn):
        rows = edge_rows(types)
        arguments = [Argument(t) for t in types]
        assert can_fail(fn, lambda a=arguments: a) == bool(failed(fn, rows)), (fn, types)
        for i, t in enumerate(types):
            for value in EDGES[t]:
                known = [*arguments[:i], Argument(t, value), *arguments[i + 1 :]]
                if not can_fail(fn, lambda a=known: a):
                    assert not failed(fn, [row for row in rows if row[i] is value]), (fn, types, i, value)


def test_constant_divisors() -> None:
    """x mod 2 and x / 2.0 have a value for every x; x mod 0 has none."""
    for fn, t, zero, two in (("mod_int", INT, 0, 2), ("mod_long", LONG, 0, 2), ("div_double", DOUBLE, 0.0, 2.0)):
        assert [can_fail(fn, lambda: [Argument(t), Argument(t, y)]) for y in (zero, two)] == [True, False]  # noqa: B023
        assert can_fail(fn, lambda: [Argument(t, two), Argument(t)])  # noqa: B023
    for fn, t in (("quotient_int", INT), ("quotient_long", LONG)):
        assert [y for y in (0, 2, -2, -1) if can_fail(fn, lambda: [Argument(t), Argument(t, y)])] == [0, -1]  # noqa: B023


def test_what_is_taken_away_decides_whether_monus_fails() -> None:
    """x ∸ n has a value for every x when n is not negative; n ∸ x has none for some x, as the n - x of a least x."""
    for fn, t in (("monus_int", INT), ("monus_long", LONG)):
        assert [can_fail(fn, lambda: [Argument(t), Argument(t, n)]) for n in (0, 2, -1)] == [False, False, True]  # noqa: B023
        assert can_fail(fn, lambda: [Argument(t, 0), Argument(t)])  # noqa: B023


@pytest.mark.parametrize(("fn", "digits"), [("to_int", 9), ("to_long", 18)])
def test_casts_of_decimals_fail_from_one_digit_on(fn: str, digits: int) -> None:
    """All numbers of 9 digits are ints, not all of 10; longs hold 18. What is behind the point is cut off."""
    for scale in (0, 3):
        for more in (0, 1):
            t = Base("decimal", False, digits + more + scale, scale)
            largest = Decimal(10 ** (digits + more) - 1)
            assert can_fail(fn, lambda: [Argument(t)]) == bool(more) == bool(failed(fn, [(largest,)]))  # noqa: B023


def test_terms_that_can_fail_are_found_at_every_depth() -> None:
    """``is_total`` of a term asks the table about every call in it, by the types of its arguments and by constants."""
    types = {"i": INT, "l": LONG, "d": DOUBLE}
    i, long, d = (Var(name) for name in types)
    for t, names in (
        (Call("to_long", (i,)), ()),
        (Call("to_int", (long,)), ("to_int",)),
        (Call("mod_long", (long, Lit(7, LONG))), ()),
        (Call("monus_long", (long, long)), ("monus_long",)),
        (Call("monus_long", (long, Call("monus_long", (long, Lit(0, LONG))))), ()),
        (Call("mod_long", (long, Call("to_long", (d,)))), ("mod_long", "to_long")),
        (Tuple((("a", Tuple((("b", Call("add_double", (d, d))),))), ("c", Call("neg_int", (i,))))), ("neg_int",)),
        (InL("ι", (("p", Call("coalesce", (Call("abs_long", (long,)), long))),)), ("abs_long",)),
    ):
        assert tuple(sorted(failing(t, types))) == names
        assert is_total(t, types) == (not names)
