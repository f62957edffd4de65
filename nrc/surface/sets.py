"""Bags compared row by row, as both surfaces make them: EXCEPT ALL and INTERSECT ALL.

A row that a has n times and b m times is there max(n - m, 0) times in their difference, and min(n, m) times in what
they have in common. Neither is linear, so a group counts both: γ over a and b, each tagged, by the whole row; its row
is there as often as the function of the two counts says.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from ripplenest.nrc import folds
from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.readings import BagTerm, Element, plus, wrap
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Proj, Sng, Tuple, Var, Weigh
from ripplenest.nrc.types import INT, LONG, UNIT, Bag, Base, Record, Type, nullable
from ripplenest.nrc.values import INT_BITS
from ripplenest.nrc.walk import Names

Side = Literal["left", "right"]
ROW = "row"


def weighed(count: Element) -> BagTerm:
    """w(t). Raises TypeMismatch for a t that is no integer."""
    if not (isinstance(count.type, Base) and count.type.kind in INT_BITS):
        raise TypeMismatch("a weight must be an integer", wanted=" or ".join(INT_BITS), got=count.type)
    return BagTerm(wrap(count.binds, Weigh(count.elem)), Bag(UNIT))


def combined(word: str, left: BagTerm, right: BagTerm, site: str, names: Names) -> BagTerm:
    """for g in γ(x ∈ left ⊎ right; row; counts) union for _ in w(counted) union sng(g.row)

    Law: for each row, ``_COUNTED[word]`` of its two multiplicities. Raises TypeMismatch for bags of different rows, and
    for rows that hold a bag.
    """
    both = plus([left, right], f"the two bags of {word}").type
    for field in _bags(both.row, ""):
        what = f"{word} tells rows apart by all that they hold, and {field} is a bag"
        raise TypeMismatch(what, wanted="rows without bags", got=both.row, possible=["[... for x in xs] without it"])
    x, g = names.fresh("x"), names.fresh("g")
    tagged = plus([_tagged(left, "left", names), _tagged(right, "right", names)], word)
    counts = tuple(Fold(side, "count", (Proj(Var(x), side),), folds.result_type("count", [INT])) for side in _SIDES)
    group = Group(site, x, tagged.expr, ((ROW, Proj(Var(x), ROW)),), counts)
    often = _COUNTED[word](*(Proj(Var(g), side) for side in _SIDES))
    body: Expr = For(names.fresh("_"), Weigh(often), Sng(Proj(Var(g), ROW)))
    return BagTerm(For(g, group, body), both)


_SIDES: tuple[Side, Side] = ("left", "right")


def _above(n: Elem, m: Elem) -> Elem:
    """max(n - m, 0). A count is a number like others to what reads it, and taking away one that could be negative can
    fail; one that says that it is not negative cannot."""
    return Call("monus_long", (n, Call("monus_long", (m, Lit(0, LONG)))))


def _least(n: Elem, m: Elem) -> Elem:
    return Call("least_long", (n, m))


_COUNTED: dict[str, Callable[[Elem, Elem], Elem]] = {"difference": _above, "intersect": _least}


def _tagged(bag: BagTerm, side: Side, names: Names) -> BagTerm:
    """Rows ⟨row, left, right⟩ that are counted on one side: the other is NULL."""
    var, absent = names.fresh("x"), nullable(INT)
    assert isinstance(absent, Base)
    tags = tuple((s, Lit(1, INT) if s == side else Lit(None, absent)) for s in _SIDES)
    row = Record(((ROW, bag.type.row), *((s, t.type) for s, t in tags)))
    return BagTerm(For(var, bag.expr, Sng(Tuple(((ROW, Var(var)), *tags)))), Bag(row))


def _bags(t: Type, path: str) -> Iterator[str]:
    """What of a row is a bag, in words."""
    match t:
        case Bag():
            yield f"the field {path}" if path else "each row"
        case Record(fields):
            for name, inner in fields:
                yield from _bags(inner, f"{path}.{name}" if path else name)
        case _:
            return
