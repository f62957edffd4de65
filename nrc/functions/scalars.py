"""The scalar functions: one table with the type rule and the reference meaning of each (``SCALARS``).

``ripplenest/spark/scalars.py`` has the same keys, and a test runs every entry on both sides. Meanings need no types:
where a meaning depends on the type (overflow), the type is in the name (``add_int``, ``add_long``). ``coerce`` turns
the generic spelling (``add``) with typed arguments into such a name and writes every implicit promotion as a cast.

What is the same on both sides, and where the obvious definition would not have been:

- Arguments and results are canonical (``nrc/values.py``): one NaN, no -0.0. NaN equals NaN and is above every number.
- Unless an entry says otherwise, NULL in any argument gives NULL.
- Errors are not values. Where an argument is NULL and another one fails, or a conjunct before it is false, Spark may
  skip or reorder what fails; a term that must not be evaluated is guarded with ``if``, never with ``and``.
- Strings are compared by code point. ``length`` and ``substring`` count code points. ``trim`` takes off U+0020 only.
- ``upper`` and ``lower`` map the letters below U+0530 (Latin, Greek, Cyrillic) that have a one-letter counterpart
  there, by one table for both sides; ß and all else stay. Java and Python disagree elsewhere, and releases move it.
- ``to_long`` of 2^63 fails: Spark's own cast of a double gives 2^63 - 1. ``to_int`` of a decimal truncates exactly:
  Spark's own cast goes through a double when there are more than 18 digits.
- ``to_date`` takes yyyy-MM-dd, years 0001 to 9999, and nothing else: Spark's cast also takes 2024, 2024-1 and blanks.
- ``days_between`` counts the days from its second date to its first: below 0 where that one is earlier.
- ``days_after`` and ``micros_after`` fail outside the years 1 to 9999; ``micros_between`` is below 0 where its first
  timestamp is the earlier one.
- ``tumble`` counts windows from their origin upwards and downwards: the start is at most the value, also before it.
- ``date_of``, ``hour``, ``minute`` and ``second`` of a timestamp are those in UTC, as Spark's are in a session of UTC.
- Integer overflow, division by zero and failing casts raise, as in Spark's ANSI mode. NULL / 0 is NULL.
- ``floor``, ``ceil`` and ``round``, to the even one where two are as near, have doubles of doubles: of NaN, too.
- Decimals are exact. A result type above 38 digits, where Spark would round, is refused. Spark's own minus and abs
  round to 34 digits: there both are 0 - x, and of 38 digits, of which that is one too many, texts without their sign.
- ``rounded`` has the scale of its second argument, away from 0 where two are as near, and fails beyond it.
- ``at_most`` is the greatest integer up to a decimal, and the last date or timestamp up to so many days or microseconds
  after one; ``at_least`` is the least from there on, and the first. NULL where there is none of the type.
- ``monus`` is exact and never below 0; it overflows as ``sub`` does. ``least`` of NULL and a number is NULL.
- The minimum of an integer type modulo -1 is 0; ``mod`` has the sign of its first argument. ``quotient`` is cut off
  toward -∞, as in Python, exactly.
- Nothing here depends on time, place or chance.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil, floor
from operator import add, mul, neg, sub
from typing import Any

from attrs import frozen

from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.functions import failures, meanings, signatures
from ripplenest.nrc.functions.meanings import NEAREST
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.types import BOOL, DOUBLE, INT, LONG, STRING, Base
from ripplenest.nrc.values import MAX_DIGITS, canonical, canonical_float, literal_type


@frozen
class Scalar:
    """One function. ``rule`` gives the result type, or None when the arguments do not fit ``takes``.

    ``strict``: NULL in any argument gives NULL, and ``meaning`` and ``rule`` need not think of it.
    ``lazy``: ``meaning`` gets unevaluated arguments, and evaluates from left to right what it needs.
    ``fails``: whether some values of such arguments, each of which has a value, have no result. Law: where it says no,
    ``meaning`` never raises; where it says yes of types alone, it raises for some values of these types.
    """

    name: str
    takes: tuple[str, ...]
    rule: signatures.Rule
    meaning: Callable[..., object]
    strict: bool = True
    lazy: bool = False
    fails: failures.Fails = failures.never


def result_type(fn: str, args: Sequence[Base]) -> Base:
    """The type of ``fn`` of arguments of exactly these types; nothing is promoted.

    Raises UnknownName for a function that does not exist, TypeMismatch when it does not take these types.
    """
    scalar = _look_up(fn)
    result = scalar.rule(args)
    if result is None:
        got = f"({', '.join(map(str, args))})"
        raise TypeMismatch(f"{fn} does not take these types", got=got, possible=[f"({t})" for t in scalar.takes])
    return signatures.maybe_null(result, result.nullable or any(t.nullable for t in args)) if scalar.strict else result


def evaluate(fn: str, args: Sequence[meanings.Thunk]) -> object:
    """The value of ``fn`` of the arguments, each given as a function without parameters.

    Only ``and``, ``or``, ``if`` and ``coalesce`` leave arguments unevaluated. Raises EvaluationError on overflow,
    division by zero and failing casts.
    """
    scalar = _look_up(fn)
    if scalar.lazy:
        return scalar.meaning(*args)
    values = [arg() for arg in args]
    if scalar.strict and any(v is None for v in values):
        return None
    return scalar.meaning(*values)


def can_fail(fn: str, args: Callable[[], Sequence[failures.Argument]]) -> bool:
    """Whether ``fn`` can raise EvaluationError for such arguments, which are asked for only when it depends on them."""
    fails = _look_up(fn).fails
    return fails is not failures.never and fails(args())


def never_fails(fn: str) -> bool:
    """Whether ``fn`` has a value for all arguments that have one."""
    return _look_up(fn).fails is failures.never


def has_gaps(fn: str) -> bool:
    """Whether ``fn`` has no value for some arguments, not because that would be too large a number or too late a time.
    """
    overflows = fn.rpartition("_")[0] in ("add", "sub", "mul", "neg", "abs") or fn in ("days_after", "micros_after")
    return not (never_fails(fn) or overflows)


def is_strict(fn: str) -> bool:
    """Whether ``fn`` is NULL where any argument is."""
    return _look_up(fn).strict


def apply(fn: str, *values: object) -> object:
    """``evaluate`` of arguments that are values."""
    return evaluate(fn, [_constant(v) for v in values])


def _constant(value: object) -> meanings.Thunk:
    return lambda: value


def _look_up(fn: str) -> Scalar:
    if fn not in SCALARS:
        raise UnknownName("there is no such function", got=ascii(fn), possible=SCALARS)
    return SCALARS[fn]


# ---------------------------------------------------------------- the table

_COMPARABLE = ("two of one kind; decimals within 38 digits together",)
_BASE = ("bool", "int", "long", "double", "decimal", "string", "date", "timestamp", "binary")
_NUMBERS = ("int", "long", "double", "decimal")
_PRINTABLE = ("bool", "int", "long", "date", "string")
_ARITHMETIC: dict[str, Callable[..., Any]] = {"add": add, "sub": sub, "mul": mul}
# Python's own operators on decimals, also - and abs, round to 28 digits.
_EXACTLY = {"add": meanings.EXACT.add, "sub": meanings.EXACT.subtract, "mul": meanings.EXACT.multiply}
_DECIMAL_RULES = {"add": signatures.decimal_sum, "sub": signatures.decimal_sum, "mul": signatures.decimal_product}


_WHOLE: dict[str, Callable[[float], int]] = {"floor": floor, "ceil": ceil, "round": round}


def _unary(name: str, kind: str, meaning: Callable[..., object], fails: failures.Fails) -> Scalar:
    return Scalar(f"{name}_{kind}", (kind,), signatures.itself(kind), meaning, fails=fails)


def _binary(name: str, t: Base, meaning: Callable[..., object], fails: failures.Fails) -> Scalar:
    rule = signatures.fixed(t, t.kind, t.kind)
    return Scalar(f"{name}_{t.kind}", (f"{t.kind}, {t.kind}",), rule, meaning, fails=fails)


def _to_integer(t: Base, fails: failures.Fails) -> Scalar:
    return Scalar(f"to_{t.kind}", _NUMBERS, signatures.any_of(t, *_NUMBERS), meanings.to_integer(t.kind), fails=fails)


def _arithmetic() -> list[Scalar]:
    """Integers overflow. Doubles become infinite, and the result type of decimals has the digits for every result."""
    table: list[Scalar] = []
    for name, f in _ARITHMETIC.items():
        table += [_binary(name, t, meanings.integer(t.kind, f), failures.always) for t in (INT, LONG)]
        table.append(_binary(name, DOUBLE, meanings.double(f), failures.never))
        takes = (f"two decimals whose {name} has at most {MAX_DIGITS} digits",)
        rule = signatures.decimals(_DECIMAL_RULES[name])
        table.append(Scalar(f"{name}_decimal", takes, rule, meanings.exact(_EXACTLY[name])))
    for name, g, exactly in (("neg", neg, meanings.EXACT.minus), ("abs", abs, meanings.EXACT.abs)):
        table += [_unary(name, kind, meanings.integer(kind, g), failures.always) for kind in ("int", "long")]
        table.append(_unary(name, "double", meanings.double(g), failures.never))
        table.append(_unary(name, "decimal", meanings.exact(exactly), failures.never))
    table += [_binary("mod", t, meanings.mod, failures.by_zero) for t in (INT, LONG)]
    table += [
        _binary("quotient", t, meanings.integer(t.kind, meanings.quotient), failures.by_zero_or_minus_one)
        for t in (INT, LONG)
    ]
    table += [_binary("monus", t, meanings.integer(t.kind, meanings.monus), failures.by_negative) for t in (INT, LONG)]
    table += [_binary("least", t, min, failures.never) for t in (INT, LONG)]
    table.append(_binary("div", DOUBLE, meanings.double(meanings.div), failures.by_zero))
    return table


def _windows() -> list[Scalar]:
    """The start of the window in which a value lies, by the length of all windows and where one of them begins."""
    passed_and_back: tuple[tuple[Base, Callable[..., int], Callable[..., object]], ...] = (
        (LONG, sub, meanings.integer("long", sub)),
        (Base("date"), lambda a, b: (a - b).days, lambda x, n: meanings.days_after(x, -n)),
        (Base("timestamp"), meanings.micros_between, lambda x, n: meanings.micros_after(x, -n)),
    )
    table = []
    for t, passed, back in passed_and_back:
        kinds, meaning = (t.kind, "long", t.kind), meanings.tumble(passed, back)
        rule = signatures.fixed(t, *kinds)
        table.append(Scalar(f"tumble_{t.kind}", (", ".join(kinds),), rule, meaning, fails=failures.in_windows))
    return table


def _nearest() -> list[Scalar]:
    """The last value of a type up to something that may be beyond all of them, and the first one from there on."""
    table = []
    for name, is_last in NEAREST.items():
        for t in (INT, LONG):
            rule = signatures.any_of(signatures.maybe_null(t, True), "decimal")
            table.append(Scalar(f"{name}_{t.kind}", ("decimal",), rule, meanings.nearest(t.kind, is_last)))
        for t in (Base("date"), Base("timestamp")):
            rule = signatures.fixed(signatures.maybe_null(t, True), t.kind, "long")
            meaning = meanings.nearest_after(t.kind, is_last)
            table.append(Scalar(f"{name}_{t.kind}", (f"{t.kind}, long",), rule, meaning))
    return table


_ENTRIES = (
    Scalar("eq", _COMPARABLE, signatures.comparable, meanings.equal),
    Scalar("ne", _COMPARABLE, signatures.comparable, lambda a, b: not meanings.equal(a, b)),
    Scalar("lt", _COMPARABLE, signatures.comparable, meanings.less),
    Scalar("le", _COMPARABLE, signatures.comparable, lambda a, b: not meanings.less(b, a)),
    Scalar("gt", _COMPARABLE, signatures.comparable, lambda a, b: meanings.less(b, a)),
    Scalar("ge", _COMPARABLE, signatures.comparable, lambda a, b: not meanings.less(a, b)),
    Scalar("same", _COMPARABLE, signatures.comparable, meanings.same, strict=False),
    Scalar("and", ("bool, bool",), signatures.logic, meanings.and_, strict=False, lazy=True),
    Scalar("or", ("bool, bool",), signatures.logic, meanings.or_, strict=False, lazy=True),
    Scalar("not", ("bool",), signatures.fixed(BOOL, "bool"), lambda a: not a),
    Scalar("is_null", ("anything",), signatures.any_of(BOOL, *_BASE), lambda a: a is None, strict=False),
    Scalar("is_true", ("bool",), signatures.fixed(BOOL, "bool"), lambda a: a is True, strict=False),
    Scalar("if", ("bool, t, t",), signatures.if_, meanings.if_, strict=False, lazy=True),
    Scalar("coalesce", ("t, t, ...",), signatures.coalesce, meanings.coalesce, strict=False, lazy=True),
    *_arithmetic(),
    _to_integer(INT, failures.beyond(9, "int")),
    _to_integer(LONG, failures.beyond(18, "int", "long")),
    *(Scalar(name, ("double",), signatures.fixed(DOUBLE, "double"), meanings.whole(f)) for name, f in _WHOLE.items()),
    Scalar("to_double", _NUMBERS, signatures.any_of(DOUBLE, *_NUMBERS), meanings.double(float)),
    Scalar("to_decimal", ("int", "long", "decimal"), signatures.to_decimal, Decimal),
    Scalar("rounded", ("int, long or decimal, and the greatest decimal that it may be",), signatures.rounded,
           meanings.rounded, fails=failures.beyond_greatest),
    Scalar("to_string", _PRINTABLE, signatures.any_of(STRING, *_PRINTABLE), meanings.to_string),
    Scalar("to_date", ("string",), signatures.fixed(Base("date"), "string"), meanings.to_date,
           fails=failures.unless_date),
    Scalar("concat", ("string, ...",), signatures.variadic(STRING, "string"), lambda *args: "".join(args)),
    Scalar("upper", ("string",), signatures.fixed(STRING, "string"), lambda a: a.translate(meanings.UPPER_TABLE)),
    Scalar("lower", ("string",), signatures.fixed(STRING, "string"), lambda a: a.translate(meanings.LOWER_TABLE)),
    Scalar("length", ("string",), signatures.fixed(INT, "string"), len),
    Scalar("trim", ("string",), signatures.fixed(STRING, "string"), lambda a: a.strip(" ")),
    Scalar("substring", ("string, int, int",), signatures.fixed(STRING, "string", "int", "int"), meanings.substring),
    Scalar("replace", ("string, string, string",), signatures.fixed(STRING, *["string"] * 3), meanings.replace),
    Scalar("starts_with", ("string, string",), signatures.fixed(BOOL, "string", "string"), str.startswith),
    Scalar("ends_with", ("string, string",), signatures.fixed(BOOL, "string", "string"), str.endswith),
    Scalar("contains", ("string, string",), signatures.fixed(BOOL, "string", "string"), lambda a, b: b in a),
    Scalar("year", ("date",), signatures.fixed(INT, "date"), lambda a: a.year),
    Scalar("month", ("date",), signatures.fixed(INT, "date"), lambda a: a.month),
    Scalar("day", ("date",), signatures.fixed(INT, "date"), lambda a: a.day),
    Scalar("days_between", ("date, date",), signatures.fixed(INT, "date", "date"), lambda a, b: (a - b).days),
    Scalar("days_after", ("date, long",), signatures.fixed(Base("date"), "date", "long"), meanings.days_after,
           fails=failures.always),
    Scalar("micros_after", ("timestamp, long",), signatures.fixed(Base("timestamp"), "timestamp", "long"),
           meanings.micros_after, fails=failures.always),
    Scalar("micros_between", ("timestamp, timestamp",), signatures.fixed(LONG, "timestamp", "timestamp"),
           meanings.micros_between),
    *_windows(),
    *_nearest(),
    Scalar("date_of", ("timestamp",), signatures.fixed(Base("date"), "timestamp"), lambda a: a.date()),
    Scalar("hour", ("timestamp",), signatures.fixed(INT, "timestamp"), lambda a: a.hour),
    Scalar("minute", ("timestamp",), signatures.fixed(INT, "timestamp"), lambda a: a.minute),
    Scalar("second", ("timestamp",), signatures.fixed(INT, "timestamp"), lambda a: a.second),
)

SCALARS: dict[str, Scalar] = {entry.name: entry for entry in _ENTRIES}

# ---------------------------------------------------------------- generic spellings

Typed = tuple[Elem, Base]
Spelling = Callable[[Sequence[Typed]], tuple[str, Sequence[Typed]]]  # the entry meant, and its promoted arguments

_RANK = ("int", "long", "decimal", "double")


def coerce(op: str, args: Sequence[Typed], written: str | None = None) -> Typed:
    """The generic operator ``op`` on typed elements as a Call of the table, with the promotions written as casts.

    int → long → decimal → double where kinds differ (an int is a decimal(10,0), a long a decimal(20,0)). Constants are
    rewritten instead of cast, and the constant NULL takes the type of its neighbours. Raises UnknownName, TypeMismatch,
    which calls the operator as it was ``written``.
    """
    if op not in OPERATORS:
        raise UnknownName("there is no such operator", got=ascii(op), possible=OPERATORS)
    fn, promoted = OPERATORS[op](args)
    types = [t for _, t in promoted]
    if fn in SCALARS and SCALARS[fn].rule(types) is not None:
        return Call(fn, tuple(e for e, _ in promoted)), result_type(fn, types)
    names = [name for name in SCALARS if name == op or name.rpartition("_")[0] == op]
    got = f"({', '.join(str(t) for _, t in args)})"
    possible = [f"({t})" for name in names for t in SCALARS[name].takes]
    raise TypeMismatch(f"{written or op} does not take these types", got=got, possible=possible)


def _promote(arg: Typed, target: Base) -> Typed:
    """``arg`` as a value of target's kind; decimals keep their own precision; what has no promotion stays."""
    elem, t = arg
    match elem:
        case Lit(None, _):
            null = signatures.maybe_null(target, True)
            return Lit(None, null), null
        case _ if t.kind == target.kind or t.kind not in _RANK or target.kind not in _RANK:
            return arg
        case Lit(value, _):
            return _constant_as(value, target)
        case _:
            fn = f"to_{target.kind}"
            return Call(fn, (elem,)), result_type(fn, [t])


def _constant_as(value: Any, target: Base) -> Typed:
    """A number written as a constant of a wider kind; as a decimal it has the fewest digits."""
    match target.kind:
        case "double":
            return Lit(canonical_float(float(value)), DOUBLE), DOUBLE
        case "decimal":
            tight = literal_type(Decimal(value))
            assert tight is not None  # 64 bits are 19 digits
            return Lit(Decimal(value), tight), tight
        case _:
            sure = signatures.maybe_null(target, False)
            return Lit(value, sure), sure


def _unify(args: Sequence[Typed], default: Base) -> Sequence[Typed]:
    """All arguments of the widest kind among them; ``default`` types the NULLs that have no neighbour."""
    known = [t for e, t in args if not _is_null(e)]
    kinds = {t.kind for t in known}
    if len(kinds) > 1 and not kinds <= set(_RANK):
        return args
    widest = max(kinds, key=_RANK.index) if len(kinds) > 1 else None
    target = next((t for t in known if widest in (None, t.kind)), default)
    return [_promote(arg, target) for arg in args]


def one_type(args: Sequence[Typed], default: Base) -> Sequence[Typed]:
    """``args`` as they are promoted to one kind; decimal constants take the digits of the others."""
    unified = _unify(args, default)
    if not unified or any(t.kind != "decimal" for _, t in unified):
        return unified
    wide = signatures.wider_decimal([t for _, t in unified])
    return unified if wide is None else [_with_scale(e, t, wide) for e, t in unified]


def _with_scale(elem: Elem, t: Base, wide: Base) -> Typed:
    if not isinstance(elem, Lit):
        return elem, t
    retyped = signatures.maybe_null(wide, t.nullable)
    return Lit(canonical(elem.value, retyped), retyped), retyped


def _alike(fn: str) -> Spelling:
    return lambda args: (fn, _unify(args, BOOL))


def _by_kind(op: str) -> Spelling:
    """The entry named after the common kind of the arguments."""

    def spell(args: Sequence[Typed]) -> tuple[str, Sequence[Typed]]:
        unified = _unify(args, INT)
        return f"{op}_{unified[0][1].kind if unified else ''}", unified

    return spell


def _given(fn: str, *types: Base) -> Spelling:
    """Arguments as they are; types are for the constants NULL, the last of them for all that follow."""
    return lambda args: (fn, [_null_as(arg, types[min(i, len(types) - 1)]) for i, arg in enumerate(args)])


def _of_day(fn: str) -> Spelling:
    """A part of a date, or of that of a timestamp."""

    def spelled(args: Sequence[Typed]) -> tuple[str, Sequence[Typed]]:
        return fn, [_day_of(_null_as(arg, Base("date"))) for arg in args]

    return spelled


def _moved(fn: str, t: Base) -> Spelling:
    """A date or a timestamp, and by how much: a long."""
    return lambda args: (fn, [*(_null_as(arg, t) for arg in args[:1]), *map(_as_long, args[1:])])


def _as_long(arg: Typed) -> Typed:
    return _promote(arg, LONG) if arg[1].kind == "int" else _null_as(arg, LONG)


def zero_of(kind: str) -> object:
    """Where windows of values of ``kind`` begin unless it is said: 0, or with 1970."""
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    return {"date": moment.date(), "timestamp": moment}.get(kind, 0)


def _spell_tumble(args: Sequence[Typed]) -> tuple[str, Sequence[Typed]]:
    """The value, the length, and the origin, which may be left out."""
    known = [t for e, t in (*args[:1], *args[2:]) if t.kind in ("date", "timestamp") and not _is_null(e)]
    t = Base(known[0].kind) if known else LONG
    given = args if len(args) != 2 else (*args, (Lit(zero_of(t.kind), t), t))
    promoted = [_as_long(a) if t == LONG or i == 1 else _null_as(a, t) for i, a in enumerate(given)]
    return f"tumble_{t.kind}", promoted


def _day_of(arg: Typed) -> Typed:
    elem, t = arg
    if t.kind != "timestamp":
        return arg
    return Call("date_of", (elem,)), signatures.maybe_null(Base("date"), t.nullable)


def _null_as(arg: Typed, t: Base) -> Typed:
    return _promote(arg, t) if _is_null(arg[0]) else arg


def _is_null(elem: Elem) -> bool:
    return isinstance(elem, Lit) and elem.value is None


def _spell_div(args: Sequence[Typed]) -> tuple[str, Sequence[Typed]]:
    return "div_double", [_promote(arg, DOUBLE) for arg in args]


def _spell_if(args: Sequence[Typed]) -> tuple[str, Sequence[Typed]]:
    return "if", [*(_null_as(arg, BOOL) for arg in args[:1]), *one_type(args[1:], BOOL)]


OPERATORS: dict[str, Spelling] = {
    **{op: _alike(op) for op in ("eq", "ne", "lt", "le", "gt", "ge", "same")},
    **{op: _by_kind(op) for op in ("add", "sub", "mul", "mod", "quotient", "neg", "abs", "monus", "least")},
    "div": _spell_div,
    "rounded": lambda args: ("rounded", args),
    "if": _spell_if,
    "coalesce": lambda args: ("coalesce", one_type(args, BOOL)),
    **{op: _given(op, BOOL) for op in ("and", "or", "not", "is_true", "is_null")},
    **{op: _given(op, DOUBLE) for op in _WHOLE},
    **{op: _given(op, INT) for op in ("to_int", "to_long", "to_double", "to_decimal")},
    **{op: _given(op, STRING) for op in ("to_string", "to_date", "concat", "upper", "lower", "length", "trim")},
    **{op: _given(op, STRING) for op in ("starts_with", "ends_with", "contains", "replace")},
    "substring": _given("substring", STRING, INT),
    **{op: _of_day(op) for op in ("year", "month", "day", "days_between")},
    **{op: _given(op, Base("timestamp")) for op in ("date_of", "hour", "minute", "second", "micros_between")},
    "tumble": _spell_tumble,
    "days_after": _moved("days_after", Base("date")),
    "micros_after": _moved("micros_after", Base("timestamp")),
    **{f"{op}_{kind}": _given(f"{op}_{kind}", Base("decimal", False, 1)) for op in NEAREST for kind in ("int", "long")},
    **{f"{op}_{kind}": _moved(f"{op}_{kind}", Base(kind)) for op in NEAREST for kind in ("date", "timestamp")},
}
