"""The reference meanings of the scalar functions: plain Python over canonical values (the table is
``nrc/functions/scalars.py``).

A meaning gets values that are not NULL, unless its entry says otherwise; the lazy ones get functions to call.
All failures are EvaluationErrors that name the types, not the values.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from math import ceil, floor
from typing import Any, TypeVar

from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.values import INT_BITS, MAX_DIGITS, NAN, canonical_float, in_range

Thunk = Callable[[], object]
D = TypeVar("D", date, datetime)
DAY = 86_400_000_000  # microseconds
WHOLE = 2.0**52  # from which on all doubles are whole numbers
NO_WINDOW = "a window without length"
BEYOND_TYPE = "a decimal beyond its type"
BEYOND = "a day outside the years 1 to 9999"
EXACT = Context(prec=2 * MAX_DIGITS + 2, rounding=ROUND_HALF_UP)


def equal(a: Any, b: Any) -> bool:
    return bool(a == b) or (a is NAN and b is NAN)


def less(a: Any, b: Any) -> bool:
    """NaN is above every other double."""
    return a is not NAN and (b is NAN or bool(a < b))


def same(a: object, b: object) -> bool:
    return (a is None and b is None) if a is None or b is None else equal(a, b)


def and_(a: Thunk, b: Thunk) -> object:
    left = a()
    if left is False:
        return False
    right = b()
    return False if right is False else None if left is None or right is None else True


def or_(a: Thunk, b: Thunk) -> object:
    left = a()
    if left is True:
        return True
    right = b()
    return True if right is True else None if left is None or right is None else False


def if_(condition: Thunk, a: Thunk, b: Thunk) -> object:
    return a() if condition() is True else b()


def coalesce(*args: Thunk) -> object:
    return next((value for value in (arg() for arg in args) if value is not None), None)


def _checked(n: int, kind: str) -> int:
    if in_range(n, kind):
        return n
    raise EvaluationError(f"{kind} overflow", wanted=f"an integer of {INT_BITS[kind]} bits")


def integer(kind: str, f: Callable[..., int]) -> Callable[..., object]:
    return lambda *args: _checked(f(*args), kind)


def double(f: Callable[..., float]) -> Callable[..., object]:
    return lambda *args: canonical_float(f(*args))


def whole(f: Callable[[float], int]) -> Callable[[float], float]:
    """``f`` as a double: itself of NaN, of the infinities and of what is so large that it is whole."""
    return lambda x: canonical_float(float(f(x)) if abs(x) < WHOLE else x)


def exact(f: Callable[..., Decimal]) -> Callable[..., object]:
    """Decimal arithmetic that never rounds; the context's plus turns -0 into 0."""
    return lambda *args: EXACT.plus(f(*args))


def rounded(x: int | Decimal, greatest: Decimal) -> Decimal:
    """``x`` with as many digits behind the point as ``greatest`` has, away from 0 where two are as near."""
    found = EXACT.plus(EXACT.quantize(Decimal(x).copy_abs(), greatest))
    if found > greatest:
        raise EvaluationError(BEYOND_TYPE, wanted=f"at most {greatest}")
    return EXACT.minus(found) if x < 0 else found


def mod(a: int, b: int) -> int:
    """The remainder with the sign of ``a``, as in Java."""
    if b == 0:
        raise EvaluationError("division by zero")
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def quotient(a: int, b: int) -> int:
    """⌊a / b⌋, as in Python."""
    if b == 0:
        raise EvaluationError("division by zero")
    return a // b


def monus(a: int, b: int) -> int:
    return max(a - b, 0)


def div(a: float, b: float) -> float:
    if b == 0:
        raise EvaluationError("division by zero")
    return a / b


def to_integer(kind: str) -> Callable[[Any], int]:
    def cast(x: Any) -> int:
        if isinstance(x, float) and not abs(x) < float("inf"):  # NaN and the infinities
            raise EvaluationError("a cast that fails", wanted=f"a number within {kind}")
        return _checked(int(x), kind)

    return cast


def to_string(x: object) -> str:
    return str(x).lower() if isinstance(x, bool) else str(x)


_ISO = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}")


def to_date(text: str) -> date:
    try:
        if _ISO.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise EvaluationError("a cast that fails", wanted="a date as yyyy-MM-dd")


def days_after(day: date, n: int) -> date:
    return _within_years(day, lambda: timedelta(days=n))


def micros_after(moment: datetime, n: int) -> datetime:
    return _within_years(moment, lambda: timedelta(microseconds=n))


def micros_between(later: datetime, earlier: datetime) -> int:
    return (later - earlier) // timedelta(microseconds=1)


def tumble(passed: Callable[[Any, Any], int], back: Callable[[Any, int], object]) -> Callable[..., object]:
    """The start of the window: what has ``passed`` since an origin, of which less than a ``size``, is gone ``back``."""

    def start(x: Any, size: int, origin: Any) -> object:
        if size <= 0:
            raise EvaluationError(NO_WINDOW, wanted="a length above 0")
        return back(x, passed(x, origin) % size)

    return start


def micros_of_day(moment: datetime) -> int:
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond


def _within_years(x: D, span: Callable[[], timedelta]) -> D:
    try:
        return x + span()
    except OverflowError:
        raise EvaluationError(BEYOND) from None


NEAREST = {"at_most": True, "at_least": False}
_FIRST = {"date": date(1970, 1, 1), "timestamp": datetime(1970, 1, 1, tzinfo=UTC)}
DAYS = ((date.min - _FIRST["date"]).days, (date.max - _FIRST["date"]).days)
ENDS = {
    **{kind: (-(1 << bits - 1), (1 << bits - 1) - 1) for kind, bits in INT_BITS.items()},
    "date": DAYS,
    "timestamp": (DAYS[0] * DAY, (DAYS[1] + 1) * DAY - 1),
}
"""The least and the greatest value of a type, as a number: of days, and of microseconds, since 1970."""


def nearest(kind: str, is_last: bool) -> Callable[[Decimal], int | None]:
    """The greatest integer up to a number, or the least from there on."""
    return lambda x: _within_ends(floor(x) if is_last else ceil(x), kind, is_last)


def nearest_after(kind: str, is_last: bool) -> Callable[[Any, int], object]:
    """The last day, or moment, up to so many days or microseconds after one, or the first from there on."""
    first, unit = _FIRST[kind], timedelta(days=1) if kind == "date" else timedelta(microseconds=1)

    def found(x: Any, n: int) -> object:
        at = _within_ends((x - first) // unit + n, kind, is_last)
        return None if at is None else first + at * unit

    return found


def _within_ends(n: int, kind: str, is_last: bool) -> int | None:
    least, most = ENDS[kind]
    if is_last:
        return None if n < least else min(n, most)
    return None if n > most else max(n, least)


def _cases(change: Callable[[str], str]) -> dict[str, str]:
    """The one-letter case mappings within the letters below U+0530, which Unicode promises never to change."""
    pairs = ((c, change(c)) for c in map(chr, range(0x530)))
    return {c: d for c, d in pairs if c != d and len(d) == 1 and ord(d) < 0x530}


UPPER, LOWER = _cases(str.upper), _cases(str.lower)
UPPER_TABLE, LOWER_TABLE = str.maketrans(UPPER), str.maketrans(LOWER)


def replace(text: str, old: str, new: str) -> str:
    """From left to right; there is nothing to replace of an empty text."""
    return text.replace(old, new) if old else text


def substring(text: str, start: int, length: int) -> str:
    """Positions count from 1, from the end when negative; 0 is 1. Places outside the text count, and hold nothing."""
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(first, 0) : max(first + length, 0)]
