"""What to write in place of values that do not fit together: of the types that a scalar or a fold does not take."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.functions.signatures import to_decimal
from ripplenest.nrc.surface.conversions import DATE, NUMBERS, ONE_OR_NONE, conversion
from ripplenest.nrc.surface.python import decimals
from ripplenest.nrc.types import Base, Record, Type
from ripplenest.nrc.values import MAX_DIGITS

DAYS = "`(a - b).days` of dates; they are compared, and have .year, .month and .day"
WHOLE_DAYS = "`math.floor((a - b).total_seconds() / 86400)`, of 24 hours each"
SPANS = "`a < b + datetime.timedelta(minutes=5)`, or `(a - b).total_seconds()`"
DIGITS = (
    "fewer digits: a product has those of both and one, an int of 64 bits has 20 (rn.Int 10), a sum of rows ten more"
    " than each"
)
AS_TEXT = "`str(int(x))`, or a field of its own, made text by who reads it: engines write such numbers in several ways"
OF_DOUBLES = {"quotient": "`math.floor(a / b)`, of doubles", "mod": "`a - b * math.floor(a / b)`, of doubles"}
NO_ROWS = "`not rn.exists(xs)`"
SAME_ROWS = (
    "`not rn.exists(rn.difference(xs, ys)) and not rn.exists(rn.difference(ys, xs))`; `set(xs) == set(ys)`, whatever"
    " they have how often"
)
OTHER_ROWS = (
    "`rn.exists(rn.difference(xs, ys)) or rn.exists(rn.difference(ys, xs))`; `set(xs) != set(ys)`, whatever they have"
    " how often"
)
OF_SETS: dict[type[ast.cmpop], str] = {
    op: f"`set(xs) {symbol} set(ys)`"
    for op, symbol in ((ast.LtE, "<="), (ast.GtE, ">="), (ast.Lt, "<"), (ast.Gt, ">"))
}

COMPARED = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
COMPUTED = frozenset(("add", "sub", "mul", "div", "mod", "quotient", "neg", "to_long", "to_double", "abs"))
EXISTS = "`rn.exists(xs)`, whether there is a row"
OF_ROWS = {"any": EXISTS, "all": "`all(x.n > 0 for x in xs)`", "count": "`len(xs)`, how many rows there are"}


@contextmanager
def advising(hint: str | None) -> Iterator[None]:
    """A type that does not fit is refused with this advice, if there is one."""
    try:
        yield
    except TypeMismatch as error:
        if hint is not None:
            error.possible = (hint,)
        raise


def of_scalar(op: str, types: Sequence[Base]) -> str | None:
    """For arguments that ``op`` does not take."""
    kinds: set[str] = {t.kind for t in types}
    if op in COMPARED and (found := _compared(kinds)) is not None:
        return found
    if op == "if" and types[1:2] != types[2:3]:
        return _of_one_type("both sides", types[1:])
    if op == "coalesce":
        return _of_one_type("values", types)
    if op == "to_string" and kinds & {"double", "decimal"}:
        return AS_TEXT
    if op in ("quotient", "mod") and kinds & {"double", "decimal"} and kinds <= NUMBERS:
        return OF_DOUBLES[op] if "double" in kinds else decimals.divided(op, types)
    if op in ("round", "floor", "ceil") and kinds == {"decimal"}:
        return decimals.whole(op, types[0])
    if op in COMPUTED and "bool" in kinds:
        return ONE_OR_NONE
    if (op in COMPUTED or op in COMPARED) and "decimal" in kinds and kinds <= {"decimal", "int", "long"}:
        return _fewer(op, types)
    if op == "sub" and kinds == {"timestamp"}:
        return SPANS
    if op in COMPUTED and kinds & {"date", "timestamp"}:
        return DAYS
    return "a field that holds the number" if op in COMPUTED and "string" in kinds else None


def _fewer(op: str, types: Sequence[Base]) -> str:
    """Which side of an operator is to have how many digits, so that what it gives has at most 38."""
    digits = [known for t in types if (known := to_decimal([t])) is not None]
    if len(digits) == 2:
        i = int(digits[1].precision > digits[0].precision)
        most = min(18, MAX_DIGITS - 1 - (digits[1 - i].precision if op == "mul" else 0))
        if most > digits[i].scale:
            return f"`rn.decimal(x, {most}, {digits[i].scale})` of the {('left', 'right')[i]} side, {DIGITS}"
    return f"`rn.decimal(x, 18, 2)`, {DIGITS}"


def _of_one_type(what: str, types: Sequence[Base]) -> str:
    known, own = conversion(types), dict.fromkeys(str(t).rstrip("?") for t in types)
    return f"{what} of one type, which {' and '.join(own)} are not{'' if known is None else f': {known}'}"


def _compared(kinds: set[str]) -> str | None:
    if kinds == {"date", "string"}:
        return "`datetime.date(2024, 12, 31)`"
    if kinds == {"timestamp", "string"}:
        return "`datetime.datetime(2024, 12, 31, 18, 30)`"
    if kinds == {"date", "timestamp"}:
        return DATE
    if "bool" in kinds and kinds & NUMBERS:
        return "the condition itself, `x` or `not x`"
    return "a number, or `str(x)` of an int" if "string" in kinds and kinds & NUMBERS else None


def of_fold(name: str, row: Type) -> str | None:
    """For rows that the aggregate ``name`` does not take."""
    if isinstance(row, Base):
        return "`len([x for x in xs if ...])`, how many there are" if row.kind == "bool" else None
    if not isinstance(row, Record):
        return OF_ROWS.get(name)
    field = next((n for n, t in row.fields if isinstance(t, Base) and t.kind in NUMBERS), "n")
    own = "rn.avg" if name == "avg" else name
    if name in ("min", "max"):
        return f"`{own}(xs, key=lambda x: x.{field})`, the row that has it; `{own}(x.{field} for x in xs)`, the value"
    return OF_ROWS.get(name, f"`{own}(x.{field} for x in xs)`")
