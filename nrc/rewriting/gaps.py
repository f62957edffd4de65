"""What comparisons say of the same two values: how far one lies from the other, and which of several say less.

    a + m ≤ b + n,  micros_between(a, b) ≤ k,  …  ⟶  a - b ≤ n - m,  a - b ≤ k

Microseconds, days and longs are whole numbers, so < k is ≤ k - 1. Of others, to which nothing is added, a < b is
written a - b ≤ -1 as well: that says more than a ≤ b, and less than nothing else.
"""

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.rewriting.bands import BETWEEN, MOVES, SWAPPED, difference
from ripplenest.nrc.rewriting.integers import as_integers
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.types import LONG
from ripplenest.nrc.values import in_range

KINDS = {"timestamp": "micros_between", "date": "days_between"}


@frozen
class Gap:
    """``a`` - ``b`` is at most (``upper``), or at least, ``n``."""

    a: Elem
    b: Elem
    upper: bool
    n: int

    def implies(self, other: "Gap") -> bool:
        """Law: where it is true, so is ``other``."""
        is_same = (self.a, self.b, self.upper) == (other.a, other.b, other.upper)
        return is_same and (self.n <= other.n if self.upper else self.n >= other.n)

    def excludes(self, other: "Gap") -> bool:
        """Law: where it is true, ``other`` is not."""
        if (self.a, self.b) != (other.a, other.b) or self.upper == other.upper:
            return False
        return self.n < other.n if self.upper else self.n > other.n


def gap(cond: Elem) -> Gap | None:
    """What a comparison says of two values; None of other conditions."""
    match as_integers(cond):
        case Call(fn, (x, y)) if fn in SWAPPED:
            for side, known, op in ((x, y, fn), (y, x, SWAPPED[fn])):
                if isinstance(known, Lit) and isinstance(known.value, int) and (apart := _between(side)) is not None:
                    (a, m), (b, n) = (_moved(t) if apart.fn in KINDS.values() else (t, 0) for t in apart.args)
                    return _ordered(a, b, op, known.value + n - m)
            (a, m), (b, n) = _moved(x), _moved(y)
            return _ordered(a, b, fn, n - m)
    return None


def _ordered(a: Elem, b: Elem, op: str, n: int) -> Gap:
    """The same of either side."""
    if show_elem(a) > show_elem(b):
        a, b, op, n = b, a, SWAPPED[op], -n
    return Gap(a, b, op in ("lt", "le"), n - 1 if op == "lt" else n + 1 if op == "gt" else n)


def _between(t: Elem) -> Call | None:
    """What lies between two values, or two integers."""
    match t:
        case Call("sub_int" | "sub_long"):
            return t
    return difference(t)


def _moved(t: Elem) -> tuple[Elem, int]:
    match t:
        case Call(fn, (x, Lit(int() as n))) if fn in MOVES and not isinstance(n, bool):
            return x, n * MOVES[fn]
    return t, 0


def needed(conditions: Sequence[Elem], is_sure: Callable[[Elem], bool]) -> list[Elem] | None:
    """``conditions`` without those that others imply; None where two exclude each other. Only of comparisons of which
    it is sure that they have a value."""
    compared = dict.fromkeys(c for c in conditions if isinstance(c, Call) and c.fn in (*SWAPPED, "eq"))
    if len(compared) < 2 or not any(c.fn in SWAPPED for c in compared):
        return [*conditions]
    known = [(c, g) for c in compared if is_sure(c) for g in _gaps(c)]
    if any(a.excludes(b) for _, a in known for _, b in known):
        return None
    implied = set(_implied(known))
    return [c for c in conditions if c not in implied]


def _gaps(c: Call) -> list[Gap]:
    """What ``c`` says of two values; what is the same is neither less nor more."""
    said = [Call(fn, c.args) for fn in ("le", "ge")] if c.fn == "eq" else [c]
    return [g for t in said if (g := gap(t)) is not None]


def _implied(known: Sequence[tuple[Elem, Gap]]) -> Iterator[Elem]:
    for i, (c, g) in enumerate(known):
        others = ((j, other) for j, (_, other) in enumerate(known) if j != i and other.implies(g))
        if not _is_same(c) and any(j < i or not g.implies(other) for j, other in others):
            yield c


def _is_same(c: Elem) -> bool:
    """An equality finds rows; others beside it are left out."""
    return isinstance(c, Call) and c.fn == "eq"


def as_difference(cond: Elem) -> Elem:
    """A comparison of two moments or days as one of what lies between them, which always has a value."""
    found = gap(cond)
    moved = [t.fn for t in _sides(cond) if isinstance(t, Call) and t.fn in BETWEEN]
    if found is None or not moved or not in_range(found.n, LONG.kind):
        return cond
    return Call("le" if found.upper else "ge", (_apart(BETWEEN[moved[0]], found.a, found.b), Lit(found.n, LONG)))


def _sides(cond: Elem) -> list[Elem]:
    """What a comparison compares, and what that lies between."""
    args = cond.args if isinstance(cond, Call) else ()
    return [*args, *(t for a in args if (between := difference(a)) is not None for t in between.args)]


def at_most(kind: str, a: Elem, b: Elem, n: int) -> Elem | None:
    """a - b ≤ n, of values of a ``kind`` that has such differences; None of others."""
    return Call("le", (_apart(KINDS[kind], a, b), Lit(n, LONG))) if kind in KINDS else None


def _apart(fn: str, a: Elem, b: Elem) -> Elem:
    """What lies between two values, as a long."""
    found = Call(fn, (a, b))
    return Call("to_long", (found,)) if fn == "days_between" else found
