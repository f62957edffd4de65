"""Folds of rows of relations that are the same for several of the rows around them: those of their group, of all.

They move by themselves, as a clock does, and what is compared with them becomes another where it lies between the old
value and the new one. What a row has of its own, by its key or in its inner bags, changes with it.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.keyed import Around
from ripplenest.nrc.rewriting.normal import conjuncts, where
from ripplenest.nrc.syntax import Call, Elem, Expr, Flatten, For, Group, Plus, Pred, Rel, Sng
from ripplenest.nrc.types import Bag
from ripplenest.nrc.walk import free_vars, nodes


def shared(around: Around) -> dict[str, frozenset[Elem]]:
    """The totals around a place that several rows there share, each with what these have to agree in."""
    found = {x: _agreed(g, around) for x, g in around.totals.items()}
    return {x: equal for x, equal in found.items() if equal is not None}


def looked_up(around: Around) -> AbstractSet[str]:
    """The rows around a place that others there tell, each for several of them: the one that holds them, and the one
    that is looked up by their values, as a limit by what it is for."""
    known = {x: around.reached(x) for x in around.rows}
    return {x for x in known for y in known if x in known[y] and y not in known[x]}


def _agreed(g: Group, around: Around) -> frozenset[Elem] | None:
    inner, conditions, head = rows_of(g.of, around, frozenset())
    own = own_rows(inner, around)
    read = [t for t in (head, *(a for f in g.folds for a in f.args)) if t is not None]
    if head is None or not own or any(free_vars(t) - own - {g.var} for t in read):
        return None
    equal = [equated(c, own) for c in conditions if free_vars(c) - own]
    return None if are_one(equal, around.rows.keys(), around) else frozenset(t for t in equal if t is not None)


def are_one(equal: Sequence[Elem | None], rows: AbstractSet[str], around: Around) -> bool:
    """Whether what is ``equal`` tells ``rows`` around a place, so that no two have it, or what is, is not known. A bag
    tells the row that holds it."""
    known = {t for t in equal if t is not None}
    holders = {root(t) for t in known if isinstance(around.type_of(t), Bag)}
    return None in equal or rows <= around.told(known).keys() | holders | around.moving


def rows_of(
    e: Expr, around: Around, own: AbstractSet[str], totals: bool = False
) -> tuple[Around, Sequence[Elem], Elem | None]:
    """What is around the rows of ``e``, below rows ``own``, their conditions, and what they are; None where they are of
    more than relations and their inner bags, and perhaps of ``totals`` of these rows alone, and inner bags around."""
    match e:
        case For(var, Pred(cond), body) if var not in free_vars(body):
            inner, conditions, head = rows_of(body, around, own, totals)
            return inner, [*conjuncts(cond), *conditions], head
        case For(var, Rel() | Flatten(Sng()) as source, body) if free_vars(source) <= own:
            return rows_of(body, around.below(var, source), own | {var}, totals)
        case For(var, Flatten(Sng(path)) as source, body) if totals and root(path) in around.rows:
            return rows_of(body, around.below(var, source), own | {var}, totals)
        case For(var, Plus() as source, body) if var in (below := around.below(var, source)).rows:
            if totals or free_vars(source) <= own:
                return rows_of(body, below, own | {var}, totals)
        case For(var, Group(keys=None) as source, body) if totals and free_vars(source) and free_vars(source) <= own:
            return rows_of(body, around.below(var, source), own | {var}, totals)
        case Sng(head):
            return around, [], head
    return around, [], None


def own_rows(inner: Around, around: Around) -> AbstractSet[str]:
    """What is around a place ``inner`` of ``around``, and not there: rows, and totals of them."""
    return inner.types.keys() - around.types.keys()


def bags_of(own: AbstractSet[str], inner: Around) -> list[Elem]:
    """The inner bags that these rows are of, held by others."""
    sources = (n for x in own if x in inner.rows for n in nodes(inner.rows[x].source))
    paths = (n.of.elem for n in sources if isinstance(n, Flatten) and isinstance(n.of, Sng))
    return [path for path in paths if root(path) in inner.rows.keys() - own]


def equated(c: Elem, own: AbstractSet[str]) -> Elem | None:
    """What a value of ``own`` rows is equated with."""
    match c:
        case Call("eq" | "same", (a, b)):
            for value, other in ((a, b), (b, a)):
                if free_vars(value) <= own and not free_vars(other) & own:
                    return other
    return None


def compared_with(c: Call, own: AbstractSet[str]) -> tuple[str, Elem, Elem] | None:
    """How a comparison compares a value of ``own`` rows, which one, and with what of the rows around them."""
    a, b = c.args
    for fn, value, other in ((c.fn, a, b), (SWAPPED[c.fn], b, a)):
        if free_vars(value) <= own and not free_vars(other) & own:
            return fn, value, other
    return None


def is_shared(equal: Sequence[Elem | None], other: Elem, around: Around) -> bool:
    """Whether rows that have ``other`` values have what is ``equal``; what a clock is compared with stays with it."""
    free = around.rows_of(free_vars(other))
    is_still = free <= around.rows.keys() and not free & around.moving
    return is_still and other not in equal and not are_one(equal, free, around)


def without(e: Expr, dropped: Sequence[Elem], more: Sequence[Elem], value: Elem) -> Expr:
    """The ``value`` of the rows of ``e`` without conditions that are ``dropped``, and with ``more``."""
    match e:
        case For(var, Pred(cond), body):
            kept = [c for c in conjuncts(cond) if c not in dropped]
            return where(kept, without(body, dropped, more, value))
        case For(var, source, body):
            return For(var, source, without(body, dropped, more, value))
        case _:
            return where(more, Sng(value))
