"""Methods of dates and timestamps, in terms of the scalars that there are: ``.weekday()``, ``.strftime("%Y-%m")``,
``.replace(day=1)``. Timestamps are read in UTC."""

import ast
import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.surface.python import elapsed, hints, spans
from ripplenest.nrc.surface.python.scalars import apply, literal, settle, strings
from ripplenest.nrc.surface.readings import Element, Reading, describe
from ripplenest.nrc.syntax import Call, Lit
from ripplenest.nrc.types import INT, Base

MONDAY = datetime.date.min  # the first day that there is
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
FORMAT = re.compile("%Y-%m-%d|%Y-%m|%m-%d|%.?|[^%]+", re.DOTALL)
PLACES = {"%Y-%m-%d": (1, 10), "%Y-%m": (1, 7), "%m-%d": (6, 5), "%Y": (1, 4), "%m": (6, 2), "%d": (9, 2)}
"""Where each stands in yyyy-MM-dd: from which letter on, and how many."""
TIMES = {"%H": "hour", "%M": "minute", "%S": "second"}
WIDTHS = {"year": (4, "%Y"), "month": (2, "%m"), "day": (2, "%d"), **{part: (2, d) for d, part in TIMES.items()}}
"""How many digits a part has in a text, and what writes them."""
DIGITS = re.compile("0[2-9]d?")
RANGES = {"year": (1, 9999), "month": (1, 12), "day": (1, 31)}
STARTS = {  # of what a timestamp is the start where these are 0
    ("microsecond",): spans.SECOND,
    ("microsecond", "second"): spans.SECOND * 60,
    ("microsecond", "minute", "second"): spans.SECOND * 3600,
    ("hour", "microsecond", "minute", "second"): spans.DAY,
}
HOUR = "`x.replace(minute=0, second=0, microsecond=0)`, the start of the hour, and so of a day, a minute and a second"
DIRECTIVES = "`x.strftime('%Y-%m')`, of %Y, %m, %d, %H, %M, %S and %%"
OF_DAY = "`x.date().replace(day=1)`, a date, and compared with it `x.date()`"
PARTS = (
    "`x.replace(day=1)`, of constants for year, month and day; "
    "`(x.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)`, the first day of the next month"
)

T = TypeVar("T", int, str)
Method = Callable[[Element, Sequence[Reading], Mapping[str, Reading]], Element]


def method_of(x: Element, name: str) -> Method | None:
    """The method of this name of a date or a timestamp, if there is one."""
    kind = x.type.kind if isinstance(x.type, Base) else ""
    return _OF.get((kind, name)) or (_OF_BOTH.get(name) if kind in ("date", "timestamp") else None)


def formatted(node: ast.FormattedValue, of: Reading) -> str:
    """What there is in place of a format in an f-string, ``{x.day:%Y-%m}``."""
    kind = of.type.kind if isinstance(of, Element) and isinstance(of.type, Base) else ""
    match node.format_spec:
        case ast.JoinedStr([ast.Constant(str() as text)]) if kind in ("date", "timestamp"):
            return f"`{ast.unparse(node.value)}.strftime({text!r})`"
        case ast.JoinedStr([ast.Constant(str() as text)]) if kind in ("int", "long") and DIGITS.fullmatch(text):
            return _padded(node.value, of, int(text.rstrip("d")))
        case _ if kind in ("decimal", "double"):
            return "the number as a field of its own, made text by who reads it"
        case _:
            return "`{x}` of a string, `{str(x)}` of a number"


def _padded(node: ast.expr, of: Reading, n: int) -> str:
    """What writes n digits, with zeros before the others: of a part of a date what writes the part."""
    match node, of:
        case ast.Attribute(x, part), Element(Call(fn)) if part == fn and n == WIDTHS.get(part, (0, ""))[0]:
            return f"`{{{ast.unparse(x)}.strftime({WIDTHS[part][1]!r})}}`"
        case _:
            last = f"('{'0' * (n - 1)}' + str({ast.unparse(node)}))[-{n}:]"
            return f"`{{{last}}}`, of numbers from 0 to {10**n - 1}; of a date `{{x.strftime('%Y-%m')}}`"


def _weekday(x: Element) -> Element:
    """From Monday, which is 0: how many days after a Monday that is not after it, modulo 7."""
    return apply("mod", [apply("days_between", [x, literal(MONDAY)]), literal(7)])


def _isoweekday(x: Element) -> Element:
    return apply("add", [_weekday(x), literal(1)])


def _timestamp(x: Element) -> Element:
    """Seconds since 1970 in UTC, as a double."""
    return elapsed.seconds(spans.Span(apply("micros_between", [x, literal(EPOCH)]), None))


def _strftime(x: Element, args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Element:
    """A text that is put together of parts, each with all of its digits: of a date, too, which has midnight."""
    if kwargs or len(args) != 1:
        raise hints.unsupported(f".strftime with {len(args) + len(kwargs)} arguments", DIRECTIVES)
    return strings([_written(x, piece) for piece in FORMAT.findall(_constant(args[0], str, DIRECTIVES))])


def _written(x: Element, piece: str) -> Element:
    if piece in PLACES:
        return apply("substring", [_iso(x), *map(_int, PLACES[piece])])
    if piece in TIMES:
        return _two_digits(apply(TIMES[piece], [x])) if _is_timestamp(x) else _text("00")
    if piece.startswith("%") and piece != "%%":
        raise hints.unsupported(f"{piece} in the format of a date", DIRECTIVES)
    return _text("%" if piece == "%%" else piece)


def _two_digits(n: Element) -> Element:
    return apply("substring", [apply("concat", [_text("0"), apply("to_string", [n])]), _int(-2), _int(2)])


def _iso(x: Element) -> Element:
    """yyyy-MM-dd"""
    return apply("to_string", [apply("date_of", [x]) if _is_timestamp(x) else x])


def _of_date(x: Element, args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Element:
    """x.replace(year=…, month=…, day=…): the date that has these parts; where there is none, evaluation fails."""
    given = {**dict(zip(RANGES, args, strict=False)), **kwargs}
    if not given or len(args) > len(RANGES) or not given.keys() <= RANGES.keys():
        raise hints.unsupported(f".replace of {', '.join(given) or 'nothing'} of a date", PARTS)
    iso, found = _iso(x), list[Element]()
    for part, (first, last) in RANGES.items():
        if part not in given:
            found.append(apply("substring", [iso, *map(_int, PLACES[f"%{'Y' if part == 'year' else part[0]}"])]))
            continue
        n = _constant(given[part], int, PARTS)
        if not first <= n <= last:
            raise Unsupported(f"no {part} of a date", wanted=f"{first} to {last}", got=n, possible=[PARTS])
        found.append(_text(str(n).zfill(len(str(last)))))
    year, month, day = found
    return apply("to_date", [strings([year, _text("-"), month, _text("-"), day])])


def _of_timestamp(x: Element, args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Element:
    """x.replace(minute=0, second=0, microsecond=0): the start of the window of one unit in which x lies."""
    size = STARTS.get(tuple(sorted(kwargs)))
    if not args and kwargs and kwargs.keys() <= RANGES.keys():
        raise hints.unsupported(f".replace of {', '.join(kwargs)} of a timestamp", f"{OF_DAY}; {HOUR}")
    if args or size is None or any(_constant(n, int, HOUR) for n in kwargs.values()):
        raise hints.unsupported(".replace of these parts of a timestamp", HOUR)
    return apply("tumble", [x, literal(size // spans.MICRO)])


def _constant(reading: Reading, kind: type[T], hint: str) -> T:
    found = settle(reading)
    if isinstance(found, Element) and isinstance(found.elem, Lit) and type(found.elem.value) is kind:
        return found.elem.value
    raise hints.unsupported(f"{describe(reading)} where a constant is wanted", hint)


def _alone(name: str, f: Callable[[Element], Element]) -> Method:
    def called(x: Element, args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Element:
        if args or kwargs:
            raise hints.unsupported(f".{name} with arguments", f"`x.{name}()`")
        return f(x)

    return called


def _is_timestamp(x: Element) -> bool:
    return isinstance(x.type, Base) and x.type.kind == "timestamp"


def _int(n: int) -> Element:
    return Element(Lit(n, INT), INT)


def _text(text: str) -> Element:
    found = literal(text)
    assert isinstance(found, Element)
    return found


_OF_BOTH: dict[str, Method] = {
    "weekday": _alone("weekday", _weekday),
    "isoweekday": _alone("isoweekday", _isoweekday),
    "strftime": _strftime,
}
_OF: dict[tuple[str, str], Method] = {
    ("date", "isoformat"): _alone("isoformat", _iso),
    ("date", "replace"): _of_date,
    ("timestamp", "replace"): _of_timestamp,
    ("timestamp", "timestamp"): _alone("timestamp", _timestamp),
}
