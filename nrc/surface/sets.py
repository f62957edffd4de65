"""Bags compared row by row, as both surfaces make them: EXCEPT ALL and INTERSECT ALL.

A row that a has n times and b m times is there max(n - m, 0) times in their difference, and min(n, m) times in what
they have in common. Neither is linear, so a group counts both: γ over a and b, each tagged, by the whole row; its row
is there as often as the function of the two counts says.

Where a depends on what is around it, each place would have all rows of b in a group of its own, most of which are in no
a. There only rows of a are grouped, and those of b are counted for each: φ over the rows of b that are equal.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.functions import folds
from ripplenest.nrc.rewriting.equations import same_values
from ripplenest.nrc.surface.readings import BagTerm, Element, guard, plus, wrap
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Proj, Sng, Tuple, Var, Weigh
from ripplenest.nrc.types import BOOL, INT, LONG, UNIT, Bag, Base, Record, Type, nullable
from ripplenest.nrc.values import INT_BITS
from ripplenest.nrc.walk import Names, free_vars

Side = Literal["left", "right"]
ROW = "row"


def weighed(count: Element) -> BagTerm:
    """w(t). Raises TypeMismatch for a t that is no integer."""
    if not (isinstance(count.type, Base) and count.type.kind in INT_BITS):
        raise TypeMismatch("a weight must be an integer", wanted=" or ".join(INT_BITS), got=count.type)
    return BagTerm(wrap(count.binds, Weigh(count.elem)), Bag(UNIT))


def combined(word: str, left: BagTerm, right: BagTerm, site: str, names: Names) -> BagTerm:
    """for g in γ(x ∈ left ⊎ right; row; counts) union for _ in w(counted) union sng(g.row); where left is not closed
    for g in γ(x ∈ left; row; left) union for s in φ(y ∈ right where y <=> g.row; right) union …

    Law: for each row, ``_COUNTED[word]`` of its two multiplicities. Raises TypeMismatch for bags of different rows, and
    for rows that hold a bag.
    """
    both = plus([left, right], f"the two bags of {word}").type
    for field in _bags(both.row, ""):
        what = f"{word} tells rows apart by all that they hold, and {field} is a bag"
        raise TypeMismatch(what, wanted="rows without bags", got=both.row, possible=["[... for x in xs] without it"])
    if free_vars(left.expr):
        return BagTerm(_counted_for_each(word, left, right, site, names), left.type)
    x, g = names.fresh("x"), names.fresh("g")
    tagged = plus([_tagged(left, "left", names), _tagged(right, "right", names)], word)
    counts = tuple(_count(side, (Proj(Var(x), side),)) for side in _SIDES)
    group = Group(site, x, tagged.expr, ((ROW, Proj(Var(x), ROW)),), counts)
    return BagTerm(For(g, group, _times(word, g, g, names)), both)


def _counted_for_each(word: str, left: BagTerm, right: BagTerm, site: str, names: Names) -> Expr:
    x, y, g, s = (names.fresh(name) for name in ("x", "y", "g", "s"))
    equal: Expr = Sng(Var(y))
    for cond in same_values(Var(y), Proj(Var(g), ROW), left.type.row, of_b=True):
        equal = guard(Element(cond, BOOL), equal, names)
    group = Group(site, x, left.expr, ((ROW, Var(x)),), (_count("left", ()),))
    others = Group(f"{site}.{_SIDES[1]}", y, For(y, right.expr, equal), None, (_count("right", ()),))
    return For(g, group, For(s, others, _times(word, g, s, names)))


def _count(side: Side, args: tuple[Elem, ...]) -> Fold:
    return Fold(side, "count", args, folds.result_type("count", [INT] * len(args)))


def _times(word: str, left: str, right: str, names: Names) -> Expr:
    """The row of ``left`` as often as the counts of both say."""
    often = _COUNTED[word](Proj(Var(left), "left"), Proj(Var(right), "right"))
    return For(names.fresh("_"), Weigh(often), Sng(Proj(Var(left), ROW)))


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
