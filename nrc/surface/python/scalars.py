"""Scalar Python to calls of the table of scalar functions: operators, comparisons, methods, casts, literals.

Types and promotions are ``coerce``'s. What is decided here: an ``int`` literal is a long, or an int beside an int;
``None`` takes the type of its neighbour; ``+`` of strings is concat; a chain ``a < b < c`` is a conjunction;
``x in (a, b)`` is ``x == a or x == b``, so NULL when x is, and ``not in`` is its negation.
"""

import ast
import datetime
import decimal
import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TypeGuard

from ripplenest.nrc.errors import TypeMismatch, Unsupported, WrongValue
from ripplenest.nrc.functions.scalars import coerce, one_type
from ripplenest.nrc.surface.python import advice, decimals, hints
from ripplenest.nrc.surface.python.functions import greatest
from ripplenest.nrc.surface.readings import (
    FALSE,
    BagTerm,
    Element,
    Known,
    Reading,
    Static,
    Untyped,
    as_bag,
    as_there,
    describe,
    is_bag,
    is_row,
    made_of,
    merge,
    null_whole,
    project,
    untyped,
)
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import BOOL, DOUBLE, INT, LONG, STRING, Base, Record, is_flat, nullable
from ripplenest.nrc.values import in_range, literal_type, to_value

CONSTANTS = (bool, int, float, str, bytes, datetime.date, decimal.Decimal, type(None))
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Mod: "mod",
    ast.FloorDiv: "quotient",
}
METHODS = {"upper": ("upper", 0), "lower": ("lower", 0), "startswith": ("starts_with", 1), "endswith": ("ends_with", 1)}
DATE_PARTS = ("year", "month", "day")
PARTS = {"date": DATE_PARTS, "timestamp": (*DATE_PARTS, "hour", "minute", "second")}
FUNCTIONS: tuple[tuple[Callable[..., object], str], ...] = (
    (abs, "abs"), (int, "to_long"), (math.trunc, "to_long"), (float, "to_double"), (str, "to_string"), (len, "length"),
    (round, "round"), (math.floor, "floor"), (math.ceil, "ceil"), (datetime.date.fromisoformat, "to_date"),
)  # fmt: skip
WHOLE = ("round", "floor", "ceil")  # which are ints in Python

WRITTEN = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
    "div": "/", "mod": "%", "quotient": "//", "neg": "-", "contains": "in", "if": "a if c else b",
    **{op: f.__name__ for f, op in FUNCTIONS if f is not math.trunc},
}  # fmt: skip


def literal(value: object) -> Element | Untyped:
    """A constant of a base type. Raises Unsupported for other objects, TypeMismatch beyond a type's range."""
    if value is None:
        return Untyped("None")
    base = LONG if isinstance(value, int) and not isinstance(value, bool) else literal_type(value)
    if base is None or not isinstance(value, CONSTANTS):
        possible = ["bool, int, float, str, bytes, date, datetime and Decimal of at most 38 digits"]
        raise Unsupported("not a constant of a base type", got=describe(Static(value)), possible=possible)
    return literal_of(value, base)


def literal_of(value: object, base: Base) -> Element:
    """A constant of a type. Raises TypeMismatch for one that is not of it."""
    try:
        return Element(Lit(to_value(value, base, ""), base), base)
    except WrongValue as error:
        raise TypeMismatch(error.what, wanted=base, got=f"a constant {type(value).__name__}") from error


def null(base: Base) -> Element:
    """NULL of the type of a neighbour."""
    type_ = nullable(base)
    assert isinstance(type_, Base)
    return Element(Lit(None, type_), type_)


def apply(op: str, args: Sequence[Reading], written: str | None = None) -> Element:
    """op(args) with implicit promotions; errors call it as it was ``written``, in Python unless given. Raises
    TypeMismatch when an argument is no base value or does not fit."""
    elements = _settled(args)
    bases = [_base(e) for e in elements]
    with advice.advising(advice.of_scalar(op, bases)):
        elem, base = coerce(op, [(e.elem, b) for e, b in zip(elements, bases, strict=True)], written or WRITTEN.get(op))
    return Element(elem, base, merge(elements))


def alike(args: Sequence[Reading]) -> list[Element]:
    """Constants as they are beside each other, and beside what is none: decimals have the same digits then."""
    elements = _settled(args)
    found = one_type([(e.elem, _base(e)) for e in elements], BOOL)
    return [Element(elem, base, e.binds) for (elem, base), e in zip(found, elements, strict=True)]


def fold(op: str, args: Sequence[Reading]) -> Element:
    """An associative op over one argument or more, as a balanced tree."""
    half = len(args) // 2
    return apply(op, [fold(op, args[:half]), fold(op, args[half:])]) if half else _settled(args)[0]


def settle(reading: Reading) -> Reading:
    """A constant as an element; everything else as it is."""
    if isinstance(reading, Static) and isinstance(reading.value, CONSTANTS):
        return literal(reading.value)
    return reading


def _settled(args: Sequence[Reading]) -> list[Element]:
    """Elements only: constants become literals, and take the type of their neighbours."""
    readings = [settle(a) for a in args]
    typed = [r for r in readings if isinstance(r, Element)]
    return [_adapted(r, typed) for r in readings]


def _adapted(reading: Reading, neighbours: Sequence[Element]) -> Element:
    match reading:
        case Element(Lit(int() as n, Base("long")), _, binds) if _beside_int(neighbours) and in_range(n, "int"):
            return Element(Lit(n, INT), INT, binds)
        case Element():
            return reading
        case Untyped("None"):
            base = next((e.type for e in neighbours if isinstance(e.type, Base) and e.type.kind != "bool"), None)
            base = base or next((e.type for e in neighbours if isinstance(e.type, Base)), None)
            if base is None:
                raise untyped(reading)
            return null(base)
        case _ if is_bag(reading) or isinstance(reading, Untyped):
            raise _no_base(describe(reading))
        case _:
            what = "a base value is needed here"
            raise TypeMismatch(what, wanted="a base value", got=describe(reading), possible=made_of(reading))


def _beside_int(neighbours: Sequence[Element]) -> bool:
    """True when all numbers that are not literals are 32 bits wide, and there is one."""
    kinds = {e.type.kind for e in neighbours if isinstance(e.type, Base) and not isinstance(e.elem, Lit)}
    return "int" in kinds and not kinds & {"long", "double", "decimal"}


def base_of(reading: Reading) -> tuple[Element, str]:
    """A base value and its kind. Raises TypeMismatch for others."""
    (found,) = _settled([reading])
    return found, _base(found).kind


def _base(e: Element) -> Base:
    if isinstance(e.type, Base):
        return e.type
    if isinstance(e.type, Record):
        hint = "its fields, as in " + ", ".join(f"`.{n}`" for n in e.type.there.names[:3])
        raise TypeMismatch("predicates and functions look at base values only", got=e.type, possible=[hint])
    raise _no_base(describe(e))


ROW_BY_ROW = "one row per element, `[... for x in xs if ...]`"


def _no_base(got: str, hint: str = ROW_BY_ROW) -> TypeMismatch:
    what = "predicates and functions look at base values only, and this is a bag"
    return TypeMismatch(what, wanted="a base value", got=got, possible=[hint])


def is_string(reading: Reading) -> TypeGuard[Element]:
    return isinstance(reading, Element) and isinstance(reading.type, Base) and reading.type.kind == "string"


Beside = Callable[[Reading, ast.cmpop, Reading], tuple[Reading, Reading]]
Among = Callable[[Reading, BagTerm], Element]
OfSets = Callable[[Reading, ast.cmpop, Reading], Element | None]
"""Whether a value is one of the rows of a bag."""


def compare(
    left: Reading,
    ops: Sequence[ast.cmpop],
    rights: Sequence[Reading | Sequence[Reading]],
    among: Among,
    of_sets: OfSets,
    beside: Beside,
) -> Element:
    """A chain of comparisons. A right side after ``in`` may be a sequence of its members. ``beside``: how two values
    are best compared."""
    results: list[Reading] = []
    before: Reading | Sequence[Reading] = left
    for op, right in zip(ops, rights, strict=True):
        if not isinstance(before, Reading):
            raise hints.unsupported("a comparison after `in (...)`", "two comparisons, joined by `and`")
        one, other = beside(before, op, right) if isinstance(right, Reading) else (before, right)
        found = of_sets(one, op, other) if isinstance(other, Reading) else None
        results.append(found or _comparison(one, op, other, among))
        before = right
    first = results[0]
    assert isinstance(first, Element)
    return first if len(results) == 1 else fold("and", results)


def _comparison(left: Reading, op: ast.cmpop, right: Reading | Sequence[Reading], among: Among) -> Element:
    match op:
        case ast.In():
            return _member(left, right, among)
        case ast.NotIn():
            return apply("not", [_member(left, right, among, negated=True)])
    assert isinstance(right, Reading)
    is_null = settle(right) == Untyped("None")
    match op:
        case ast.Is() | ast.IsNot() if is_null and isinstance(left, BagTerm):
            raise _no_base(describe(left), "`x.xs is None` of a field; a bag that a view makes is never NULL")
        case ast.Is() | ast.IsNot() if is_null and settle(left) == Untyped("None"):  # a constant, or a parameter
            return literal_of(isinstance(op, ast.Is), BOOL)
        case ast.Is() | ast.IsNot() if is_null:
            test = null_whole(left) or apply("is_null", [left])
            return test if isinstance(op, ast.Is) else apply("not", [test])
        case ast.Is() | ast.IsNot():
            raise hints.unsupported("`is` between values", "`==`, or `is None`")
        case _ if is_null or settle(left) == Untyped("None"):
            hint = "`is not None`" if isinstance(op, ast.NotEq) else "`is None`"
            raise Unsupported("comparing with None gives NULL, which is never true", possible=[hint])
        case ast.Eq() | ast.NotEq() if any(is_bag(r) or r == Untyped("[]") for r in (left, right)):
            raise _no_base(describe(left if is_bag(left) else right), _of_bags(op, left, right))
        case ast.Eq() | ast.NotEq() if is_row(left) and is_row(right):
            return _of_fields(op, left, right, among)
        case _ if is_bag(left) and is_bag(right) and type(op) in advice.OF_SETS:
            raise _no_base(describe(left), advice.OF_SETS[type(op)])
        case _:
            return apply(COMPARISONS[type(op)], [left, right])


def _of_fields(op: ast.cmpop, left: Element, right: Element, among: Among) -> Element:
    """Records are equal where all of their fields are; one that is NULL is as if these were. Raises TypeMismatch for
    records of other fields."""
    rows = [as_there(row) for row in (left, right)]
    names, others = (row.type.names for row in rows if isinstance(row.type, Record))
    if {*names} != {*others}:
        got = f"{describe(left)} and {describe(right)}"
        possible = [f"some of their fields, as in `x.{n} == y.{n}`" for n in names if n in others][:1]
        what = "records of different fields are compared"
        raise TypeMismatch(what, wanted="the same fields", got=got, possible=possible)
    found = [_comparison(project(rows[0], name), op, project(rows[1], name), among) for name in names]
    return fold("and" if isinstance(op, ast.Eq) else "or", found) if found else literal_of(isinstance(op, ast.Eq), BOOL)


def _of_bags(op: ast.cmpop, left: Reading, right: Reading) -> str:
    """What says whether bags are equal, or one has no rows."""
    is_equal = isinstance(op, ast.Eq)
    if Untyped("[]") in (left, right):
        return advice.NO_ROWS if is_equal else advice.EXISTS
    if not (is_bag(left) and is_bag(right)) or not all(is_flat(as_bag(r).type.row) for r in (left, right)):
        return ROW_BY_ROW
    return advice.SAME_ROWS if is_equal else advice.OTHER_ROWS


def _member(left: Reading, right: Reading | Sequence[Reading], among: Among, negated: bool = False) -> Element:
    """x in (a, b); x in ys for bags; s in t for strings. ``negated``: it is asked whether it is none."""
    if isinstance(right, Static) and isinstance(right.value, range):
        return _within(left, right.value)
    if isinstance(right, Static) and isinstance(right.value, tuple | list | set | frozenset | Mapping):
        right = [Static(v) for v in ordered(right.value)]
    if isinstance(right, Reading):
        if is_bag(right):
            bag = as_bag(right)
            if settle(left) == Untyped("None"):
                hint = f"`{'not ' * negated}rn.exists(y for y in ys if y is None)`"
                raise Unsupported("a value is never equal to NULL", possible=[hint])
            if isinstance(bag.type.row, Record) and bag.type.row.there.names:
                names = bag.type.row.there.names
                if is_row(left) and isinstance(left.type, Record) and {*left.type.there.names} == {*names}:
                    one = f"`{'not ' * negated}any(y == x for y in ys)`, as records are compared"
                    raise _no_base(describe(right), one)
                first = names[0]
                of_values = f"`x {'not ' * negated}in [y.{first} for y in ys]`"
                of_several = f"`{'not ' * negated}any(y.{first} == a and ... for y in ys)`"
                raise _no_base(describe(right), f"{of_values}, or for several values {of_several}")
            return among(left, bag)
        return apply("contains", [right, left])
    if any(settle(r) == Untyped("None") for r in right):
        hint = "`x is not None and x not in (...)`" if negated else "`x is None or x in (...)`"
        raise Unsupported("a value is never equal to NULL", possible=[hint])
    tests = [apply("eq", [left, r]) for r in right]
    return fold("or", tests) if tests else FALSE


def _within(x: Reading, span: range) -> Element:
    """x in range(a, b): a ≤ x and x < b, of a whole number. Raises TypeMismatch for others."""
    found = _settled([x])[0]
    if _base(found).kind not in ("int", "long"):
        possible = [f"`{span.start} <= x < {span.stop}`"]
        raise TypeMismatch("a range has whole numbers", wanted="int or long", got=found.type, possible=possible)
    return fold("and", [apply("ge", [found, literal(span.start)]), apply("lt", [found, literal(span.stop)])])


def ordered(values: Iterable[object]) -> list[object]:
    """In an order that does not depend on hashing."""
    return sorted(values, key=repr) if isinstance(values, set | frozenset) else list(values)


def binary(op: ast.operator, left: Reading, right: Reading) -> Element:
    """Arithmetic, or concat for strings. Raises Unsupported for operators without a counterpart."""
    if type(op) not in ARITHMETIC:
        if isinstance(op, ast.BitOr) and (is_row(left) or is_row(right)):
            raise hints.unsupported("the operator | between records", "`{**x, 'name': ...}`")
        raise hints.of_operator(op)
    text = [is_string(settle(left)), is_string(settle(right))]
    if not any(text):
        return apply(ARITHMETIC[type(op)], [left, right])
    if isinstance(op, ast.Mod):
        raise hints.unsupported("`%` after a string", "an f-string, `f'{a} {b}'`")
    if isinstance(op, ast.Add) and all(text):
        return apply("concat", [left, right])
    got = f"{describe(settle(left))} and {describe(settle(right))}"
    if not isinstance(op, ast.Add):
        what = f"`{hints.symbol(op)}` is not between strings"
        raise TypeMismatch(what, wanted="numbers", got=got, possible=["`+` between strings"])
    possible = ["`a + str(b)`, or an f-string"]
    raise TypeMismatch("a string beside something else", wanted="strings", got=got, possible=possible)


def unary(op: ast.unaryop, operand: Reading) -> Element:
    """``-`` of numbers. A negative literal stays a literal."""
    settled = settle(operand)
    match op, settled:
        case ast.USub(), Element(Lit(bool()), _, _):
            pass
        case ast.USub(), Element(Lit(int() | float() as n, base), _, _):
            return literal_of(-n, base)
        case ast.UAdd(), _:
            raise hints.unsupported("unary +", "the number itself")
        case ast.Invert(), _:
            raise hints.of_operator(op)
    return apply("neg", [settled])


IN_TEXT = {"bool": "`{str(x)}`", "timestamp": "`{x.strftime('%Y-%m-%d %H:%M:%S')}`"}
AS_WRITTEN = ("int", "long", "date")  # of what Python writes the same text


def part(reading: Reading) -> Reading:
    """A part of an f-string: a string, or what has one text. Raises TypeMismatch for others."""
    if is_string(reading):
        return reading
    found = settle(reading)
    kind = found.type.kind if isinstance(found, Element) and isinstance(found.type, Base) else None
    if kind in AS_WRITTEN:
        return apply("to_string", [found])
    hint = IN_TEXT.get(kind or "", "`{int(x)}`, or a field of its own, made text by who reads it")
    what = "the parts of an f-string must have one text"
    raise TypeMismatch(what, wanted="a string, a whole number or a date", got=describe(reading), possible=[hint])


def strings(parts: Sequence[Reading]) -> Element:
    """The parts of an f-string, joined."""
    return fold("concat", parts) if parts else Element(Lit("", STRING), STRING)


def _is_sequence(reading: Reading) -> bool:
    return isinstance(reading.value, tuple | list) if isinstance(reading, Static) else is_row(reading)


def method(of: Element, name: str, args: Sequence[Reading]) -> Element:
    """A method of a string, or ``.date()``. Raises Unsupported for those without an exact counterpart."""
    if isinstance(of.type, Base) and of.type.kind == "timestamp" and name == "date" and not args:
        return apply("date_of", [of])
    if is_string(of):
        if name in ("startswith", "endswith") and len(args) == 1 and _is_sequence(args[0]):
            raise hints.unsupported(f".{name} of several strings", f"`s.{name}(a) or s.{name}(b)`")
        if name == "replace" and len(args) == 2:
            return apply("replace", [of, _replaced(args[0]), args[1]])
        if name in METHODS and METHODS[name][1] == len(args):
            return apply(METHODS[name][0], [of, *args])
        if name == "strip" and len(args) == 1 and settle(args[0]) == literal(" "):
            return apply("trim", [of])
    raise hints.of_method(name, of.type)


def _replaced(part: Reading) -> Element:
    """What is replaced: of an empty text Python has one between all letters, and Spark none."""
    match settle(part):
        case Element(Lit(str() as text)) as found if text:
            return found
    raise hints.unsupported(".replace of a text that may be empty", "`s.replace('-', x)`, of a constant that is not")


def has_method(of: Element, name: str) -> bool:
    """Whether there is such a method, of some arguments."""
    return name in (METHODS | {"strip": 1, "replace": 2}) if is_string(of) else name == "date"


def attribute(of: Reading, name: str) -> Reading:
    """x.name: a field, a part of a date, or what a module or class holds under the name."""
    match of:
        case Element(_, Record()):
            return project(of, name)
        case Element(_, Base()):
            return _date_part(of, name)
        case Element() | BagTerm():
            hint = hints.of_part(name, as_bag(of).type.row)
            raise TypeMismatch(f"a bag has no fields, its rows have: .{name}", got=describe(of), possible=[hint])
        case Static(ModuleType() | type() as owner):
            if not hasattr(owner, name):
                raise hints.no_name(owner, name)
            return settle(Static(getattr(owner, name)))
        case Static(value) if not isinstance(value, Known) and name in (held := _held(value)):
            return settle(Static(held[name]))
        case Untyped():
            raise untyped(of)
        case Static(Mapping()):
            raise Unsupported(f"a view cannot look into {describe(of)}", possible=[hints.CONSTANTS_BY_KEY])
        case _:
            possible = made_of(of) or ["fields of rows, and names in modules, classes and objects that hold constants"]
            raise Unsupported(f"a view cannot look into {describe(of)}", possible=possible)


def _held(value: object) -> Mapping[str, object]:
    """What a constant holds under names: a member of an Enum, an object, a named tuple. No code of its class runs."""
    if isinstance(value, enum.Enum):
        return {"value": value._value_, "name": value._name_}
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", ()), value, strict=False))
    of_attrs, of_dataclass = (getattr(type(value), name, {}) for name in ("__attrs_attrs__", "__dataclass_fields__"))
    if fields := [*of_attrs, *of_dataclass.values()]:  # perhaps with slots
        return {f.name: getattr(value, f.name) for f in fields}
    return {} if isinstance(value, FunctionType) else getattr(value, "__dict__", {})


def days_between(later: Reading, earlier: Reading) -> Element:
    """(a - b).days of two dates. Of timestamps Python's are whole days, whatever the date."""
    dates = [".date()" if _is_timestamp(of) else "" for of in (later, earlier)]
    if any(dates):
        midnights = "`(a{} - b{}).days`, of dates: how many midnights lie between".format(*dates)
        hint = f"{advice.WHOLE_DAYS}; {midnights}" if all(dates) else midnights
        raise hints.unsupported("the days between timestamps", hint)
    return apply("days_between", [later, earlier], "-")


def _is_timestamp(of: Reading) -> bool:
    found = settle(of)
    return isinstance(found, Element) and isinstance(found.type, Base) and found.type.kind == "timestamp"


def _date_part(of: Element, name: str) -> Element:
    """A part of a date or a timestamp."""
    parts = PARTS.get(of.type.kind, ()) if isinstance(of.type, Base) else ()
    if name in parts:
        return apply(name, [of])
    is_method = is_string(of) and name in (*METHODS, "replace", "strip")
    is_size = is_string(of) and name in hints.SIZES
    known = f".{name}(...), which is called" if is_method else hints.LENGTH if is_size else None
    possible = [f".{p}" for p in parts] if known is None else [known]
    what = f"only records have fields, and this is none: .{name}"
    raise TypeMismatch(what, wanted="a record", got=of.type, possible=possible or None)


def _rounded(args: Sequence[Reading]) -> str:
    """How a number is rounded to some digits."""
    x, places, *_ = (*map(settle, args), None, None)
    known = places.elem.value if isinstance(places, Element) and isinstance(places.elem, Lit) else None
    of = x.type if isinstance(x, Element) and isinstance(x.type, Base) else DOUBLE
    return decimals.rounded(of, known)


def named(function: object) -> str | None:
    """The operator that a function of Python stands for. Methods of classes are made anew each time they are named."""
    is_built_in = isinstance(function, BuiltinFunctionType)
    return next((op for known, op in FUNCTIONS if function is known or (is_built_in and function == known)), None)


def call(function: object, op: str, args: Sequence[Reading]) -> Element:
    """abs, int, float, str, len of a string, round, floor and ceil: one argument. Raises Unsupported for others."""
    name = getattr(function, "__name__", op)
    if len(args) != 1:
        own = _rounded(args) if function is round else "one argument"
        raise hints.unsupported(f"{name} with {len(args)} arguments", own)
    if op not in WHOLE:
        return apply(op, args)
    (found,) = _settled(args)
    return found if _base(found).kind in ("int", "long") else apply("to_long", [apply(op, [found])])


def is_nan(args: Sequence[Reading]) -> Element:
    """math.isnan(x): NaN equals itself here, and NULL is not known to be."""
    if len(args) != 1:
        raise hints.unsupported(f"isnan with {len(args)} arguments", "`math.isnan(x)`")
    return apply("eq", [*args, literal(math.nan)], "math.isnan")


def decimal_of(args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Element:
    """rn.decimal(x, digits, scale), of constants."""
    given = {**dict(zip(("x", "digits", "scale"), args, strict=False)), **kwargs}
    if len(args) > 3 or not {"x", "digits"} <= given.keys() <= {"x", "digits", "scale"}:
        raise hints.unsupported(f"decimal of {', '.join(given)}", "`rn.decimal(x, 18, 2)`")
    digits, scale = (_plain(given[name]) if name in given else 0 for name in ("digits", "scale"))
    if type(digits) is not int or type(scale) is not int:
        raise hints.unsupported("digits that are no constants", "`rn.decimal(x, 18, 2)`")
    try:
        most = greatest(digits, scale)
    except WrongValue as error:
        raise Unsupported(error.what, wanted=error.wanted, got=error.got) from error
    return apply("rounded", [given["x"], literal_of(most, Base("decimal", False, digits, scale))], "rn.decimal")


CONSTRUCTORS: dict[Callable[..., object], tuple[str, ...]] = {
    datetime.date: (
        "constants, as in datetime.date(2020, 12, 31)",
        "of a date `x.replace(month=1, day=1)`, the first day of its year, `x.replace(day=1)` of its month",
    ),
    datetime.datetime: (
        "constants, as in datetime.datetime(2020, 12, 31, 18, 30)",
        "of a timestamp `x.replace(hour=0, minute=0, second=0, microsecond=0)`, the start of its day",
    ),
    decimal.Decimal: ('constants, as in decimal.Decimal("0.5")', "`rn.decimal(x, 18, 2)`, of an int or a decimal"),
}
"""What is made of constants alone, and what there is for other values."""


def construct(function: Callable[..., object], args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Reading:
    """date(...), datetime(...), Decimal(...) of constants, as a literal."""
    possible = CONSTRUCTORS[function]
    given = [_plain(arg, possible) for arg in args], {name: _plain(r, possible) for name, r in kwargs.items()}
    try:
        return literal(function(*given[0], **given[1]))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Unsupported("not a constant", got=str(error), possible=["datetime.date(2020, 12, 31)"]) from error


def _plain(reading: Reading, possible: Sequence[str] = ("`rn.decimal(x, 18, 2)`",)) -> object:
    match reading:
        case Element(Lit(value)) | Static(value):
            return value
        case _:
            raise Unsupported("a date or a Decimal is made of constants", got=describe(reading), possible=possible)


def choose(cond: Element, yes: Reading, no: Reading) -> Element:
    """A conditional expression between base values. Where the condition is NULL, it is ``no``."""
    return apply("if", [cond, *_settled([yes, no])])

