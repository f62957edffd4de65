"""Spans of time: ``datetime.timedelta`` of constants or of whole numbers, by which dates and timestamps move."""

import datetime
from collections.abc import Mapping, Sequence

from attrs import frozen

from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.surface.python.scalars import apply, fold, literal, settle
from ripplenest.nrc.surface.readings import Bind, Element, Known, Reading, Static, describe, under
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Base

MICRO, SECOND, DAY = (datetime.timedelta(**{unit: 1}) for unit in ("microseconds", "seconds", "days"))
UNITS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")  # as timedelta takes them

ADDED = "`x + datetime.timedelta(days=1)`, of a date or a timestamp"
SECONDS = "`(a - b).total_seconds()`, a number"
DAYS = "`(a - b).days` of dates"


@frozen
class Span(Known):
    """So many microseconds, and days where it is whole ones; both are longs."""

    called = "a span of time"
    makes = (ADDED, SECONDS)

    micros: Element
    days: Element | None

    def enclosed(self, binds: tuple[Bind, ...]) -> "Span":
        days = None if self.days is None else under(binds, self.days)
        return Span(under(binds, self.micros), days)


def of(reading: Reading) -> Span | None:
    """The span that ``reading`` is, if it is one."""
    match reading:
        case Static(Span() as span):
            return span
        case Static(datetime.timedelta() as known):
            return Span(_long(known // MICRO), None if known % DAY else _long(known // DAY))
    return None


def read(args: Sequence[Reading], kwargs: Mapping[str, Reading]) -> Static:
    """datetime.timedelta(…). Raises Unsupported for what it does not take, TypeMismatch for no whole number."""
    given = {**dict(zip(UNITS, args, strict=False)), **kwargs}
    if len(args) > len(UNITS) or not given.keys() <= set(UNITS):
        possible = [f"`datetime.timedelta({unit}=1)`" for unit in UNITS]
        raise Unsupported("not a span of time", got=", ".join(given), possible=possible)
    values = {unit: settle(value) for unit, value in given.items()}
    constants = {unit: v.elem.value for unit, v in values.items() if isinstance(v, Element) and isinstance(v.elem, Lit)}
    known = _known(constants)
    parts = {unit: whole(value, unit) for unit, value in values.items() if unit not in constants}
    if not parts:
        return Static(known)
    days = _sum(known, parts, DAY) if parts.keys() <= {"days", "weeks"} and not known % DAY else None
    return Static(Span(_sum(known, parts, MICRO), days))


def moved(x: Reading, span: Span, back: bool) -> Element:
    """x ± span: ``days_after`` of a date, ``micros_after`` of a timestamp."""
    kind = x.type.kind if isinstance(x, Element) and isinstance(x.type, Base) else None
    if kind == "timestamp":
        return apply("micros_after", [x, _signed(span.micros, back)], "-" if back else "+")
    if kind != "date":
        raise TypeMismatch("only dates and timestamps move by a span of time", got=describe(x), possible=[ADDED])
    if span.days is None:
        possible = ["`datetime.timedelta(days=1)`, `datetime.timedelta(weeks=1)`"]
        raise TypeMismatch("a date moves by whole days", got="a span with a part of a day", possible=possible)
    return apply("days_after", [x, _signed(span.days, back)], "-" if back else "+")


def _sum(known: datetime.timedelta, parts: Mapping[str, Element], unit: datetime.timedelta) -> Element:
    """How many of ``unit`` it is: what is ``known``, and each of ``parts``."""
    found = [apply("mul", [n, _long(datetime.timedelta(**{u: 1}) // unit)]) for u, n in parts.items()]
    return fold("add", [*found, _long(known // unit)] if known else found)


def whole(value: Reading, unit: str) -> Element:
    """A long, which the product with a unit fits in."""
    if isinstance(value, Element) and isinstance(value.type, Base) and value.type.kind in ("int", "long"):
        return value if value.type.kind == "long" else apply("to_long", [value])
    possible = [f"`datetime.timedelta({unit}=x.n)`, of an int", f"`datetime.timedelta({unit}=1.5)`, a constant"]
    raise TypeMismatch("a span of time is of whole numbers", got=describe(value), possible=possible)


def _known(constants: Mapping[str, object]) -> datetime.timedelta:
    try:
        return datetime.timedelta(**constants)  # type: ignore[arg-type]  # which it says itself
    except (TypeError, OverflowError) as error:
        raise Unsupported("not a span of time", got=str(error), possible=["datetime.timedelta(days=1)"]) from error


def _signed(n: Element, back: bool) -> Element:
    match n.elem:
        case Lit(int() as known):
            return _long(-known if back else known)
        case _:
            return apply("neg", [n]) if back else n


def _long(n: int) -> Element:
    found = literal(n)
    assert isinstance(found, Element)
    return found
