"""What lies between two dates or timestamps is a span of time, as ``datetime.timedelta`` is: spans are added,
multiplied and compared.

    a - b ≤ span: ``micros_between(a, b)`` is at most so many microseconds; of dates ``days_between``, so many days
"""

import ast
import datetime
from collections.abc import Callable, Sequence

from attrs import evolve

from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.rewriting.bands import BETWEEN
from ripplenest.nrc.surface.python import hints
from ripplenest.nrc.surface.python.scalars import apply, literal, settle
from ripplenest.nrc.surface.python.spans import ADDED, DAY, MICRO, Span, moved, of, whole
from ripplenest.nrc.surface.readings import Element, Reading, Static, Untyped, describe
from ripplenest.nrc.syntax import Call, Lit
from ripplenest.nrc.types import Base

WANTED = [ADDED, "`datetime.timedelta(days=x.n)`, so many days", "`2 * span`", "`a - b`, of two dates or timestamps"]
Right = Reading | Sequence[Reading]
COMPARED = ["`a - b < datetime.timedelta(hours=1)`", "`(a - b).total_seconds() < 3600`"]


def combined(op: ast.operator, left: Reading, right: Reading) -> Reading | None:
    """What ``op`` makes of spans of time and what moves by them, or of two moments; None of others."""
    match op, of(left), of(right):
        case ast.Sub(), None, None:
            return _between(left, right)
        case _, None, None:
            return None
        case ((ast.Add() | ast.Sub()), Span(), Span()):
            return _sum(op, left, right)
        case ((ast.Add() | ast.Sub()), None, Span() as span):
            return moved(settle(left), span, isinstance(op, ast.Sub))
        case ast.Add(), Span() as span, None:
            return moved(settle(right), span, back=False)
        case ((ast.Mult() | ast.Div()), Span(), None):
            found = _times(left, right, isinstance(op, ast.Div))
        case ast.Mult(), None, Span():
            found = _times(right, left, False)
        case _:
            found = None
    if found is None and isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) and of(left) and of(right):
        raise hints.unsupported(f"`{hints.symbol(op)}` between spans of time", _divided(op, right))
    if found is None:
        got = f"{describe(left)} and {describe(right)}"
        raise TypeMismatch("a span of time is added to what moves, or taken from it", got=got, possible=WANTED)
    return found


def _divided(op: ast.operator, by: Reading) -> str:
    """What there is in place of a / b, a // b and a % b of spans: their seconds, which are doubles."""
    known = _constant(by)
    a, b = "a.total_seconds()", "b.total_seconds()" if known is None else f"{known.total_seconds():.15g}"
    match op:
        case ast.Div():
            return f"`{a} / {b}`"
        case ast.FloorDiv():
            return f"`math.floor({a} / {b})`"
        case _:
            return f"`{a} - {b} * math.floor({a} / {b})`, so many seconds"


def seconds(span: Span) -> Element:
    """span.total_seconds(): its microseconds as a double, divided by a million."""
    return apply("div", [span.micros, literal(1e6)])


def attribute(span: Span, name: str) -> Element:
    """span.days, where these are whole ones. Raises Unsupported for others."""
    if name != "days" or span.days is None:
        raise hints.unsupported(
            f".{name} of a span of time", "`span.total_seconds()`; `.days` of what lies between dates"
        )
    return span.days


def method(span: Span, name: str) -> Element:
    """span.total_seconds(). Raises Unsupported for others."""
    if name != "total_seconds":
        raise hints.unsupported(f"the method .{name} of a span of time", "`span.total_seconds()`")
    return seconds(span)


def negated(operand: Reading) -> Reading | None:
    """-span; None of what is none."""
    return _alone(operand, "neg", lambda known: -known)


def absolute(operand: Reading) -> Reading | None:
    """abs(span); None of what is none."""
    return _alone(operand, "abs", abs)


def _alone(operand: Reading, fn: str, of_known: Callable[[datetime.timedelta], datetime.timedelta]) -> Reading | None:
    """What ``fn`` makes of a span; ``of_known`` of one that is a constant."""
    span, known = of(operand), _constant(operand)
    if span is None or known is not None:
        return None if known is None else Static(of_known(known))
    return Static(Span(apply(fn, [span.micros]), span.days and apply(fn, [span.days])))


def in_numbers(left: Reading, rights: Sequence[Right]) -> tuple[Reading, list[Right]]:
    """What is compared with each other: of spans the days, if all are of whole ones, or their microseconds. Raises
    TypeMismatch for a span beside something else."""
    compared: list[Right] = [left, *rights]
    spans = [of(r) if isinstance(r, Reading) else None for r in compared]
    if not any(spans):
        return left, [*rights]
    if any(span is None and r != Untyped("None") for r, span in zip(compared, spans, strict=True)):
        got = " and ".join(describe(r) if isinstance(r, Reading) else "several values" for r in compared)
        raise TypeMismatch("a span of time is compared with spans", got=got, possible=COMPARED)
    in_days = all(span is None or span.days is not None for span in spans)
    first, *others = (r if s is None else _number(s, in_days) for r, s in zip(compared, spans, strict=True))
    assert isinstance(first, Reading)
    return first, others


def unmoved(left: Reading, op: ast.cmpop, right: Reading) -> tuple[Reading, Reading]:
    """x + span < y as span < y - x: x + span may lie beyond the years that there are, so that no order of x would find
    who fulfils it: a deadline, ``x.opened + TERM < k.now``. It is the same wherever x + span has a value."""
    own, other = (right, left) if isinstance(op, ast.Gt | ast.GtE) else (left, right)
    match op, own:
        case (
            ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(),
            Element(Call("days_after" | "micros_after" as fn, (x, Lit(int() as n)))),
        ) if n > 0 and _kind(own) == _kind(other):
            apart = apply(BETWEEN[fn], [other, evolve(own, elem=x)])
            both = literal(n), apply("to_long", [apart]) if fn == "days_after" else apart
            return both if own is left else both[::-1]
    return left, right


def _number(span: Span, in_days: bool) -> Element:
    return span.days if in_days and span.days is not None else span.micros


def _between(later: Reading, earlier: Reading) -> Static | None:
    """a - b of two timestamps, or of two dates, whose days are whole."""
    match _kind(later), _kind(earlier):
        case "timestamp", "timestamp":
            return Static(Span(apply("micros_between", [later, earlier], "-"), None))
        case "date", "date":
            days = apply("to_long", [apply("days_between", [later, earlier], "-")])
            return Static(Span(apply("mul", [days, literal(DAY // MICRO)]), days))
    return None


def _kind(reading: Reading) -> str | None:
    found = settle(reading)
    return found.type.kind if isinstance(found, Element) and isinstance(found.type, Base) else None


def _sum(op: ast.operator, left: Reading, right: Reading) -> Static:
    a, b, sign = _constant(left), _constant(right), 1 if isinstance(op, ast.Add) else -1
    if a is not None and b is not None:
        return _known(lambda: a + sign * b)
    one, other, name = of(left), of(right), "add" if sign > 0 else "sub"
    assert one is not None
    assert other is not None
    days = None if one.days is None or other.days is None else apply(name, [one.days, other.days])
    return Static(Span(apply(name, [one.micros, other.micros]), days))


def _times(reading: Reading, by: Reading, is_divided: bool) -> Static | None:
    """span · n, of whole numbers, or of constants, as span / n is; None of others."""
    span, known, n = of(reading), _constant(reading), settle(by)
    assert span is not None
    if known is not None and isinstance(n, Element) and isinstance(n.elem, Lit):
        factor = n.elem.value
        if isinstance(factor, int | float) and not isinstance(factor, bool):
            return _known(lambda: known / factor if is_divided else known * factor)
    if is_divided or _kind(n) not in ("int", "long"):
        return None
    times = whole(n, "days")
    return Static(Span(apply("mul", [span.micros, times]), span.days and apply("mul", [span.days, times])))


def _constant(reading: Reading) -> datetime.timedelta | None:
    match reading:
        case Static(datetime.timedelta() as known):
            return known
    return None


def _known(make: Callable[[], datetime.timedelta]) -> Static:
    try:
        return Static(make())
    except (OverflowError, ZeroDivisionError, ValueError) as error:
        raise Unsupported("not a span of time", got=str(error), possible=["datetime.timedelta(days=1)"]) from error
