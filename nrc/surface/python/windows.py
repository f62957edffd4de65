"""Windows of one length, in which a value lies: ``rn.tumble`` says where the one begins of windows that follow each
other, ``rn.hop`` where those begin that overlap. They also run on plain Python values.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from attrs import frozen

from ripplenest.nrc.errors import TypeMismatch, Unsupported, WrongValue
from ripplenest.nrc.functions.scalars import zero_of
from ripplenest.nrc.surface.python import hints, spans
from ripplenest.nrc.surface.python.scalars import apply, literal, settle
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, describe, guard, plus, singleton
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Base, may_be_null

T = TypeVar("T")
MOST = 64  # windows in which one value lies
LENGTH = {"long": "60", "date": "datetime.timedelta(days=7)", "timestamp": "datetime.timedelta(minutes=5)"}


def tumble(x: T, size: int | timedelta, origin: T | None = None) -> T:
    """Where the window begins in which ``x`` lies, a number, a date or a timestamp: windows of ``size`` follow each
    other from ``origin`` on, and before it; 0 or 1970-01-01 unless it is given. NULL of NULL. Raises WrongValue for a
    size that is no length of such windows, or not above 0."""
    return x if x is None else _start(x, size, origin)


def hop(x: T, size: int | timedelta, every: int | timedelta, origin: T | None = None) -> list[T]:
    """Where the windows begin in which ``x`` lies, of windows of ``size`` of which one begins ``every`` so often, the
    last one first. None of NULL. Raises WrongValue as ``tumble`` does."""
    return [] if x is None else _starts(x, size, every, origin)


def _starts(x: Any, size: Any, every: Any, origin: Any) -> list[Any]:
    found, start = [], _start(x, every, origin)
    while x - start < size:
        found.append(start)
        start -= every
    return found


def _start(x: Any, size: Any, origin: Any) -> Any:
    moment, day = isinstance(x, datetime), isinstance(x, date)
    known = isinstance(size, timedelta) if day else isinstance(size, int)
    if not known or size <= type(size)(0) or (day and not moment and size % spans.DAY):
        raise WrongValue("no length of windows", where="tumble", wanted="a length above 0", got=size)
    zero: Any = origin if origin is not None else zero_of("timestamp" if moment else "date" if day else "long")
    if moment and (zero.tzinfo is None or x.tzinfo is None):
        zero = zero.replace(tzinfo=x.tzinfo)
    return x - (x - zero) % size


# ---------------------------------------------------------------- in a view


@frozen
class Window:
    """What a call says, of which ``size`` and ``every`` are in the units of ``x``: microseconds, days or one."""

    x: Element
    kind: str
    size: Element
    every: Element
    origin: Reading

    @property
    def start(self) -> Element:
        """Where the last window begins in which ``x`` lies."""
        return apply("tumble", [self.x, self.every, self.origin])


def reads(function: object) -> bool:
    """Whether a call of it makes windows."""
    return function is tumble or function is hop


def read(function: object, args: Sequence[Reading], kwargs: Mapping[str, Reading], scope: Scope) -> Reading:
    """rn.tumble(…) or rn.hop(…)."""
    names = ("x", "size", "origin") if function is tumble else ("x", "size", "every", "origin")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    needed = [n for n in names if n != "origin"]
    if len(args) > len(names) or not given.keys() <= set(names) or not given.keys() >= set(needed):
        name = "tumble" if function is tumble else "hop"
        raise hints.unsupported(f"{name} of {', '.join(given)}", f"rn.{name}({', '.join(needed)}, origin=...)")
    window = _window(given)
    return window.start if function is tumble else _hop(window, scope)


def _window(given: Mapping[str, Reading]) -> Window:
    x = settle(given["x"])
    kind = x.type.kind if isinstance(x, Element) and isinstance(x.type, Base) else ""
    kind = "long" if kind == "int" else kind
    if not isinstance(x, Element) or kind not in LENGTH:
        raise TypeMismatch("windows are of whole numbers, dates and timestamps", got=describe(x), possible=["x.at"])
    size = _length(given["size"], kind)
    every = _length(given["every"], kind) if "every" in given else size
    return Window(x, kind, size, every, given.get("origin", literal(zero_of(kind))))


def _length(reading: Reading, kind: str) -> Element:
    span = spans.of(reading)
    found = settle(reading) if span is None else span.micros if kind == "timestamp" else span.days
    known = isinstance(found, Element) and isinstance(found.type, Base) and found.type.kind in ("int", "long")
    if not isinstance(found, Element) or not known or (span is None) != (kind == "long"):
        raise TypeMismatch(f"no length of windows of a {kind}", got=describe(reading), possible=[f"`{LENGTH[kind]}`"])
    if isinstance(found.elem, Lit) and not (isinstance(found.elem.value, int) and found.elem.value > 0):
        raise Unsupported("a window without length", got=found.elem.value, possible=[f"`{LENGTH[kind]}`"])
    return found


def _hop(w: Window, scope: Scope) -> BagTerm:
    """The starts as a bag of so many rows, of which the last is there if its window reaches ``x``."""
    size, every = (n.elem.value if isinstance(n.elem, Lit) else None for n in (w.size, w.every))
    if not isinstance(size, int) or not isinstance(every, int) or size > MOST * every:
        what, wanted = "windows that are not known", f"constants, so that a value is in at most {MOST} windows"
        raise Unsupported(what, wanted=wanted, got=(size, every), possible=[f"`{LENGTH[w.kind]}`"])
    many, names = -(-size // every), scope.session.names
    starts = [MOVED[w.kind](w.start, -i * every) for i in range(many)]
    rows = [singleton(start, "") for start in starts]
    if size % every:
        reaches = apply("lt", [BETWEEN[w.kind](w.x, starts[-1]), literal(size)])
        rows[-1] = BagTerm(guard(reaches, rows[-1].expr, names), rows[-1].type)
    bag = plus(rows, "windows")
    if not may_be_null(w.x.type):
        return bag
    is_there = apply("not", [apply("is_null", [w.x])])
    return BagTerm(guard(is_there, bag.expr, names), bag.type)


MOVED: dict[str, Callable[[Element, int], Element]] = {
    "long": lambda start, n: apply("add", [start, literal(n)]),
    "date": lambda start, n: apply("days_after", [start, literal(n)]),
    "timestamp": lambda start, n: apply("micros_after", [start, literal(n)]),
}
BETWEEN: dict[str, Callable[[Element, Element], Element]] = {
    "long": lambda x, start: apply("sub", [x, start]),
    "date": lambda x, start: apply("days_between", [x, start]),
    "timestamp": lambda x, start: apply("micros_between", [x, start]),
}
