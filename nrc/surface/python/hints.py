"""What a view cannot contain, and the nearest form that it can: tables from Python to a hint."""

import ast
import builtins
import datetime
import sys
import sysconfig
from difflib import get_close_matches
from types import ModuleType
from zoneinfo import ZoneInfo

from ripplenest.nrc.errors import UnknownName, Unsupported
from ripplenest.nrc.surface.python import decimals
from ripplenest.nrc.surface.python.advice import DAYS
from ripplenest.nrc.types import Base, Record, Type

STANDARD = sysconfig.get_path("stdlib")
CONDITIONAL = "a conditional expression, `a if c else b`; between bags, `[...] if c else []`"

NODES: dict[type[ast.AST], tuple[str, str]] = {
    ast.GeneratorExp: ("a generator expression here", "a list comprehension, `[... for x in xs]`"),
    ast.DictComp: (
        "a dict comprehension over rows", "a bag of records, `[{'key': ..., 'value': ...} for x in xs]`; of constants "
        "`{k: ... for k in KINDS}`, a field for each"
    ),
    ast.Lambda: ("a lambda here", "a function written with def, outside of the view"),
    ast.Slice: ("a slice of a bag, which has no order", "`sorted(xs, key=...)[:3]`"),
    ast.Subscript: (
        "a subscript",
        "a field, `x.name`; `for x in xs` for the rows of a bag; for constants by key `RATES.get(x.key, 0)`",
    ),
    ast.Starred: ("a starred expression", "`+` between bags"),
    ast.Await: ("await", "a plain expression"),
    ast.Yield: ("yield", "`return [... for x in xs]`"),
    ast.YieldFrom: ("yield from", "`return [... for x in xs]`"),
    ast.For: ("a for statement", "a comprehension, `[... for x in xs]`"),
    ast.AsyncFor: ("an async for statement", "a comprehension, `[... for x in xs]`"),
    ast.While: ("a while statement", "a comprehension, `[... for x in xs]`; views have no loops"),
    ast.Match: ("a match statement", f"if statements, or {CONDITIONAL}"),
    ast.AugAssign: ("an augmented assignment", "`x = x + ...`"),
    ast.FunctionDef: ("a function inside of the function", "a function written with def, outside of the view"),
    ast.ClassDef: ("a class", "`@rn.record` above the class; a dict, `{'name': ...}`"),
    ast.Try: ("a try statement", "a condition that keeps the failing rows out"),
    ast.With: ("a with statement", "assignments and one return"),
    ast.Raise: ("a raise statement", "a condition that keeps the rows out"),
    ast.Assert: ("an assert statement", "a condition, `if ...`, in the comprehension"),
    ast.Import: ("an import", "the import at the top of the module"),
    ast.ImportFrom: ("an import", "the import at the top of the module"),
    ast.Delete: ("a del statement", "assignments and one return"),
    ast.Global: ("a global statement", "a constant, read by its name"),
    ast.Nonlocal: ("a nonlocal statement", "a constant, read by its name"),
    ast.Pass: ("a pass statement", "`return [...]`"),
    ast.Return: ("a return of nothing", "`return [... for x in xs]`"),
}

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Pow: ("**", "`x * x`"),
    ast.MatMult: ("@", "`[... for a in A for b in B if ...]`"),
    ast.LShift: ("<<", "`x * 2`, for each place"),
    ast.RShift: (">>", "`x // 2`, for each place"),
    ast.BitOr: ("|", "`or` between conditions, `+` between bags"),
    ast.BitAnd: ("&", "`and` between conditions"),
    ast.BitXor: ("^", "`!=` between conditions"),
    ast.Invert: ("~", "`not` before a condition"),
}
OF_BAGS: dict[type[ast.AST], str] = {
    ast.BitAnd: "`rn.intersect(xs, ys)`, or `set(xs) & set(ys)`",
    ast.BitOr: "`xs + ys`, or `set(xs + ys)`, which has each row once",
    ast.BitXor: "`set(xs) ^ set(ys)`",
}

ARITHMETIC: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip

PLACE = (
    "`len([y for y in ys if y.n < x.n])`, how many come before x: its place from 0 on;"
    " `1 + len([y for y in ys if y.n > x.n])`, its place from the greatest, which is 1"
)
NEXT = "`min((y for y in ys if y.at > x.at), key=lambda y: y.at).n`, of the next row"
CALLS: dict[object, str] = {
    reversed: "`sorted(xs, key=..., reverse=True)`, how it is shown; bags have no order",
    enumerate: f"{PLACE}; bags have no order",
    list: "`[]`, or a bag",
    tuple: "the bag itself, or `[x for x in xs]`",
    dict: "`{'name': ...}`",
    bool: "`bool(xs)`, of a bag or a condition",
    range: "a relation that holds the numbers",
    zip: f"`A * B`, or two `for`s with a condition; {NEXT}; bags have no order",
    map: "`[f(x) for x in xs]`",
    filter: "`[x for x in xs if ...]`",
    isinstance: "`x is None`; the types of all fields are known",
    datetime.timezone: "a constant outside of the view, `ZONE = datetime.timezone(...)`",
    ZoneInfo: 'a constant outside of the view, `ZONE = zoneinfo.ZoneInfo("...")`',
    print: "nothing; views have no side effects",
    pow: "`x * x`",
    next: "`min(xs, key=...).n`, a value of the first row, or `rn.top(1, xs, key=...)`",
    iter: "the bag itself; bags have no order",
    divmod: "`a // b` and `a % b`, which has the sign of a; `a - a // b * b` has that of b",
    getattr: "`x.name`",
}

LIBRARIES: dict[str, str] = {
    "collections.Counter": "`rn.group_by(xs, lambda x: x.key)`, and `len(rows)` of each",
    "collections.defaultdict": "`rn.group_by(xs, lambda x: x.key)`",
    "itertools.groupby": "`rn.group_by(xs, lambda x: x.key)`",
    "itertools.chain": "`xs + ys`, or `rn.flatten(xs)`",
    "itertools.accumulate": "`sum(y.n for y in ys if y.at <= x.at)`, the running total of each row",
    "itertools.pairwise": NEXT,
    "itertools": "two `for`s with a condition",
    "functools.partial": "a function written with def, `def f(x): return g(1, x)`",
    "functools.reduce": "`sum(...)`, or `rn.fold(R, ...)` over a ring of your own",
    "operator": "a lambda, `lambda x: x.name`",
    "statistics": "`rn.avg(x.n for x in xs)`, or what `rn.fold(rn.moments(\"x\"), ...)` sums up",
    "re": "`s in t`, `.startswith(s)`, `.endswith(s)`",
    "json": "fields of records, as `rn.json(...)` loads them",
    "decimal.Decimal": "decimal.Decimal(\"1.19\"), of Python's own module",
    "ripplenest.nrc.surface.markers.Decimal": "decimal.Decimal(\"1.19\"), of Python's own module",
    "math.fabs": "`abs(x)`",
    "math.pow": "`x * x`",
    "math.prod": "`rn.fold(R, ...)` over a ring of your own",
    "math.fsum": "`sum(x.n for x in xs)`, which is exact",
    "math": "+ - * /, abs, round, math.floor; for what they cannot say a field of the row, computed by who writes it",
}

OURS = {  # what SQL and Spark call it: rn.…
    "distinct": "`set(xs)`",
    "unique": "`set(xs)`",
    "count_distinct": "`len(set(xs))`",
    "union": "`xs + ys`",
    "union_all": "`xs + ys`",
    "minus": "`rn.difference(xs, ys)`",
    "join": "`[... for x in xs for y in ys if x.key == y.key]`",
    "inner_join": "`[... for x in xs for y in ys if x.key == y.key]`",
    "outer_join": "`rn.full_join(xs, ys, lambda x, y: ...)`",
    "not_exists": "`not rn.exists(...)`",
    "where": "`[x for x in xs if ...]`",
    "filter": "`[x for x in xs if ...]`",
    "select": "`[{'name': x.name} for x in xs]`",
    "map": "`[f(x) for x in xs]`",
    "len": "`len(xs)`",
    "sum": "`sum(x.n for x in xs)`",
    "min": "`min(x.n for x in xs)`",
    "max": "`max(x.n for x in xs)`",
    "any": "`any(... for x in xs)`",
    "all": "`all(... for x in xs)`",
    "mean": "`rn.avg(x.n for x in xs)`",
    "groupby": "`rn.group_by(xs, lambda x: x.key)`",
    "order_by": "`sorted(xs, key=...)`",
    "sort": "`sorted(xs, key=...)`",
    "limit": "`rn.top(n, xs, key=...)`",
    "explode": "`for x in xs`, or `rn.flatten(xs)`",
    "unnest": "`for x in xs`, or `rn.flatten(xs)`",
    "collect_list": "the bag itself, as of `for key, rows in rn.group_by(...)`",
    **dict.fromkeys(("date_trunc", "date_bin", "time_bucket", "window"), "`rn.tumble(x, datetime.timedelta(hours=1))`"),
    "if_null": "`rn.coalesce(a, b)`",
    "nvl": "`rn.coalesce(a, b)`",
}

DICT = "`RATES.get(x.key, 0)` and `x.key in RATES`, of a dict `RATES = {...}` outside of the view"
METHODS = {
    "strip": "`.strip(' ')`; without an argument Python strips all kinds of white space, the calculus spaces only",
    "lstrip": "`.strip(' ')`, of the spaces on both sides; or a field that has it",
    "rstrip": "`.strip(' ')`, of the spaces on both sides; or a field that has it",
    "find": "`s in t`",
    "index": "`s in t`",
    "count": "of a bag `len([x for x in xs if x == y])`; of a string a field that has it",
    "intersection": "`rn.intersect(xs, ys)`",
    "union": "`set(xs + ys)`",
    "difference": "`rn.difference(xs, ys)`",
    "issubset": "`set(xs) <= set(ys)`",
    "issuperset": "`set(xs) >= set(ys)`",
    "format": "an f-string, `f'{a} {b}'`",
    "join": "`a + b` or an f-string, of fields; of a bag the bag itself, joined by who reads it, as it has no order",
    "replace": "`.replace(a, b)`, of all",
    "contains": "`s in t`",
    "isdigit": "a field that says so",
    "isalpha": "a field that says so",
    "zfill": "a field that has it",
    "split": "a field that holds the parts as a bag",
    "append": "`xs + [x]`",
    "extend": "`xs + ys`",
    "items": "`for x in xs`",
    "get": f"`x.name`; of constants {DICT}",
    "casefold": "`.lower()`",
    "title": "`.upper()` or `.lower()`",
    "capitalize": "`.upper()` or `.lower()`",
}

SIZE = "`len(xs)`"
LENGTH = "`len(s)`"
SIZES = ("length", "len", "size")
METHODS_OF_BAGS = METHODS | {
    **dict.fromkeys(SIZES, SIZE),
    "count": "`len(xs)`, or `len([x for x in xs if x == y])`",
    "sort": "`sorted(xs, key=...)`",
    "reverse": "`sorted(xs, key=..., reverse=True)`",
    "index": PLACE,
}

METHODS_OF_DATES = {
    "isocalendar": "`rn.tumble(x, datetime.timedelta(days=7), origin=...)`, where the week begins; `x.isoweekday()`",
    "toordinal": "`(x - datetime.date(1970, 1, 1)).days`",
    "ctime": "`x.strftime('%Y-%m-%d')`",
    "date": "the date itself",
    **{part: f"`x.{part}`, without a call" for part in ("year", "month", "day")},
}
METHODS_OF_TIMES = {
    **METHODS_OF_DATES,
    "isoformat": "`x.strftime('%Y-%m-%dT%H:%M:%S')`, without what is below a second",
    "time": "its parts, .hour, .minute and .second",
    **{part: f"`x.{part}`, without a call" for part in ("hour", "minute", "second")},
}
OF_STRINGS = ".upper() .lower() .strip(' ') .startswith(s) .endswith(s) .replace(a, b)"
OF_DATES = f".year, .month and .day, .weekday(), .strftime('%Y-%m'), .replace(day=1); {DAYS}"
OF_TIMES = ".date(), .strftime('%H:%M'), and its parts, .year, .month, .day, .hour, .minute and .second"

PARTS = "`x.s[1:]`, of strings; `sorted(xs, key=...)[:3]`, the first rows of bags"
RELATION_BY_KEY = "a relation that holds them, `[r.n for r in Rates if r.key == x.key]`"
CONSTANTS_BY_KEY = f"`RATES.get(x.key, 0)`, or {RELATION_BY_KEY}"

NOT_DETERMINISTIC = "a field or a constant; a view gives the same rows for the same input, whenever it runs"
_CHANCE = ("random", "secrets", "uuid", "time", "numpy.random")


def unsupported(what: str, hint: str) -> Unsupported:
    """The error for Python that a view cannot contain, with the nearest supported form."""
    return Unsupported(f"a view cannot contain {what}", possible=[hint])


def of_node(node: ast.AST) -> Unsupported:
    what, hint = NODES.get(type(node), (type(node).__name__, "comprehensions, dicts, tuples, fields and operators"))
    return unsupported(what, hint)


def no_name(owner: ModuleType | type, name: str) -> UnknownName:
    """The error for a ``name`` that a module or class does not hold, with what it may have been meant for."""
    ours = owner.__name__ == __name__.partition(".")[0]
    possible = [OURS[name]] if ours and name in OURS else get_close_matches(name, dir(owner))
    return UnknownName(f"{owner.__name__} has no {name!r}", got=name, possible=possible or None)


def symbol(op: ast.operator | ast.unaryop) -> str:
    """An operator as it is written."""
    return ARITHMETIC[type(op)] if type(op) in ARITHMETIC else OPERATORS[type(op)][0]


def of_operator(op: ast.AST) -> Unsupported:
    what, hint = OPERATORS[type(op)]
    return unsupported(f"the operator {what}", hint)


def of_method(name: str, of: Type) -> Unsupported:
    """For a method that values of type ``of`` have not in a view."""
    match getattr(of, "kind", None):
        case "string":
            hint = LENGTH if name in SIZES else METHODS.get(name, OF_STRINGS)
        case "date":
            hint = METHODS_OF_DATES.get(name, OF_DATES)
        case "timestamp":
            hint = METHODS_OF_TIMES.get(name, OF_TIMES)
        case "decimal" if name == "quantize" and isinstance(of, Base):
            hint = decimals.rounded(of)
        case _:
            hint = METHODS.get(name, "operators and functions; only strings, dates and timestamps have methods")
    return unsupported(f"the method .{name} of {of}", hint)


def of_bag_method(name: str, of: str) -> Unsupported:
    return unsupported(f"the method .{name} of {of}", METHODS_OF_BAGS.get(name, "`[... for x in xs]`"))


def of_part(name: str, row: Type) -> str:
    """For a part of a bag: how many rows it has, or what its rows have."""
    is_field = isinstance(row, Record) and row.get(name) is not None
    return METHODS_OF_BAGS[name] if name in (*SIZES, "count") and not is_field else f"`[x.{name} for x in xs]`"


def of_dict() -> Unsupported:
    return unsupported("a dict that is looked into, as one in a view is a row", DICT)


def of_place(n: int) -> Unsupported:
    """For a row of a bag by its place."""
    what, many = "a row of a bag by its place, as bags have no order", -n if n < 0 else n + 1
    which, way, fold = ("last", ", desc=True", "max") if n < 0 else ("first", "", "min")
    one = f"the row as a bag; `{fold}(xs, key=...).n`, a value of it"
    shown = one if many == 1 else f"a bag of the {which} {many} rows"
    return unsupported(what, f"`rn.top({many}, xs, key=...{way})`, {shown}")


def of_call(function: object) -> Unsupported:
    """For a call of something that is neither a view, nor a helper, nor known."""
    name = getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))
    for known, hint in CALLS.items():
        if known is function:
            return unsupported(f"{name}(...)", hint)
    if is_chance(function):
        return unsupported(f"{name}(...), which is non-deterministic", NOT_DETERMINISTIC)
    if (known := _of_library(function, name)) is not None:
        return unsupported(f"a call of {name}", known)
    if hasattr(function, "__wrapped__"):
        return of_decorated(name)
    if isinstance(function, type):
        return unsupported(f"a new {name}", "`@rn.record` above the class; a dict, `{'name': ...}`")
    return unsupported(f"a call of {name}", "operators, other views, and helper functions written with def")


def of_decorated(name: str) -> Unsupported:
    """For a function of which a decorator has made another: a view reads what is called, and not what is in it."""
    return unsupported(f"a call of {name}, which a decorator has changed", f"`def {name}(...)` without the decorator")


def is_of_library(function: object) -> bool:
    """True for what comes with Python, whose code no view follows; not for a module of a user's that is called so."""
    code = getattr(function, "__code__", None)
    own = code is not None and not code.co_filename.startswith(STANDARD)
    return not own and _module(function).partition(".")[0] in sys.stdlib_module_names


def _of_library(function: object, name: str) -> str | None:
    module = _module(function)
    for known in (f"{module}.{name}", module, module.partition(".")[0]):
        if known in LIBRARIES:
            return LIBRARIES[known]
    return None


def _module(function: object) -> str:
    module = getattr(function, "__module__", None)
    return (module if isinstance(module, str) else type(function).__module__).removeprefix("_")


def is_chance(function: object) -> bool:
    """True for functions of clocks and random generators."""
    owner = getattr(function, "__self__", None)
    if owner is datetime.date or owner is datetime.datetime:
        return getattr(function, "__name__", "") in ("now", "today", "utcnow")
    module = getattr(function, "__module__", None) or type(owner).__module__
    if module == builtins.__name__ or not isinstance(module, str):
        module = getattr(owner, "__name__", "")
    if owner is not None and type(owner).__module__ in _CHANCE:
        return True
    return module in _CHANCE
