"""The first rows of a bag as both surfaces make them.

τ orders rows without bags by what is worked out for each of them alone. A row that is ordered by what its inner bags
come to is ordered beside it, and of rows with inner bags those are first whose base values are: rows that differ only
inside their bags share one place, all in or all out.
"""

from collections.abc import Callable, Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.rewriting.equations import same_values
from ripplenest.nrc.surface.aggregates import grouped
from ripplenest.nrc.surface.readings import BagTerm, Element, guard, wrap
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Let, Order, Proj, Sng, Sorting, Top, Tuple, Var
from ripplenest.nrc.types import BOOL, Bag, Base, Label, Record, Type, is_plain
from ripplenest.nrc.walk import Names

ROW = "row"


@frozen
class Ranked:
    """What rows are ordered by, and how."""

    by: Element
    descending: bool = False
    nulls_first: bool = False


Rank = Callable[[Element], Sequence[Ranked]]


def top_of(site: str, var: str, bag: BagTerm, rank: Rank, limit: int, names: Names) -> BagTerm:
    """The first ``limit`` rows of ``bag`` in the order ``rank``. Raises TypeMismatch for what has no order."""
    if limit < 1:
        raise TypeMismatch("how many rows are wanted is above 0", wanted="1 or more", got=limit)
    orders = _by_values(_turned(rank(Element(Var(var), bag.type.row))))
    shown = _sortings(orders, var)
    if is_plain(bag.type.row) and not any(o.by.binds for o in orders):
        order = tuple(Order(o.by.elem, o.descending, o.nulls_first) for o in orders)
        return BagTerm(Top(site, var, bag.expr, order, limit), bag.type, shown or ())
    return evolve(_beside(site, var, bag, orders, limit, names), sorted=shown or ())


def sorted_by(var: str, bag: BagTerm, rank: Rank) -> BagTerm:
    """``bag``, whose rows are shown in the order ``rank``. Raises TypeMismatch for one that they do not show."""
    orders = _by_values(_turned(rank(Element(Var(var), bag.type.row))))
    shown = _sortings(orders, var)
    if shown is None:
        what, possible = "rows are sorted by what they show", ["a field that has it, and the field as the key"]
        raise TypeMismatch(what, wanted="fields of the rows", possible=possible)
    return evolve(bag, sorted=shown)


def _turned(orders: Sequence[Ranked]) -> list[Ranked]:
    """By -x is by x, from the last one on, which rows can show: of numbers that are exact. Of doubles NaN is the last
    either way, where descending ones begin with it."""
    return [_as_descending(o) for o in orders]


def _by_values(orders: list[Ranked]) -> list[Ranked]:
    for o in orders:
        if not isinstance(o.by.type, Base):
            possible = ["a value of each row, `lambda x: x.price`, or what its bag comes to, `lambda x: len(x.ys)`"]
            what = "rows are ordered by base values"
            raise TypeMismatch(what, wanted="a base value", got=o.by.type, possible=possible)
    return orders


def _as_descending(o: Ranked) -> Ranked:
    match o.by.elem:
        case Call("neg_int" | "neg_long" | "neg_decimal", (x,)):
            return _as_descending(evolve(o, by=evolve(o.by, elem=x), descending=not o.descending))
        case _:
            return o


def carried(order: Sequence[Sorting], var: str, body: Expr) -> tuple[Sorting, ...] | None:
    """How the rows that ``body`` makes of sorted rows ``var`` are sorted; None where they do not hold all of it."""
    while isinstance(body, For | Let):
        body = body.body
    if not isinstance(body, Sng):
        return None
    row: Elem = Var(var)
    found = [(_held(body.elem, reduce(Proj, o.path, row)), o) for o in order]
    held = tuple(evolve(o, path=path) for path, o in found if path is not None)
    return held if len(held) == len(order) else None


def _held(t: Elem, wanted: Elem) -> tuple[str, ...] | None:
    """The path of ``wanted`` in the row ``t``."""
    if t == wanted:
        return ()
    if isinstance(t, Tuple):
        inside = ((name, _held(inner, wanted)) for name, inner in t.fields)
        return next(((name, *path) for name, path in inside if path is not None), None)
    outer = _held(t, wanted.of) if isinstance(wanted, Proj) else None
    return None if outer is None or not isinstance(wanted, Proj) else (*outer, wanted.field)


def _sortings(orders: Sequence[Ranked], var: str) -> tuple[Sorting, ...] | None:
    """The same as what is shown sorted; None where some of it is no field of the rows."""
    found = [(_path(o.by.elem, var), o) for o in orders]
    shown = tuple(Sorting(path, o.descending, o.nulls_first) for path, o in found if path is not None)
    return shown if len(shown) == len(found) else None


def _path(t: Elem, var: str) -> tuple[str, ...] | None:
    if isinstance(t, Proj):
        outer = _path(t.of, var)
        return None if outer is None else (*outer, t.field)
    return () if t == Var(var) else None


def _beside(site: str, var: str, bag: BagTerm, orders: Sequence[Ranked], limit: int, names: Names) -> BagTerm:
    """for t in τ(n; y ∈ (for x in e union sng⟨row: x, o: o(x)⟩); y.o) union sng(t.row), where rows are plain; else
    for k in γ(t ∈ τ(…); t.row) union for x in e where x ~ k.row union sng(x), equal in what is no bag."""
    row = bag.type.row
    own = _plain(Var(var), row)
    columns = [(f"o{i}", o.by) for i, o in enumerate(orders)]
    head: Elem = Tuple(((ROW, own.elem), *((name, by.elem) for name, by in columns)))
    rows = wrap([b for _, by in columns for b in by.binds], Sng(head))
    y, t = names.fresh("y"), names.fresh("t")
    by = tuple(Order(Proj(Var(y), f"o{i}"), o.descending, o.nulls_first) for i, o in enumerate(orders))
    typed = Record(((ROW, own.type), *((name, by.type) for name, by in columns)))
    found = BagTerm(Top(site, y, For(var, bag.expr, rows), by, limit), Bag(typed))
    if is_plain(row):
        return BagTerm(For(t, found.expr, Sng(Proj(Var(t), ROW))), bag.type)
    return _with_bags(bag, found, own.type, site, names)


def _with_bags(bag: BagTerm, found: BagTerm, plain: Type, site: str, names: Names) -> BagTerm:
    t, k, x = (names.fresh(name) for name in ("t", "k", "x"))
    places = grouped(site, t, found, [(ROW, Element(Proj(Var(t), ROW), plain))], ())
    rows = BagTerm(Sng(Var(x)), bag.type).expr
    for equal in same_values(_plain(Var(x), bag.type.row).elem, Proj(Var(k), ROW), plain):
        rows = guard(Element(equal, BOOL), rows, names)
    return BagTerm(For(k, places.expr, For(x, bag.expr, rows)), bag.type)


def _plain(t: Elem, row: Type) -> Element:
    """What of a row is no bag."""
    if not isinstance(row, Record) or is_plain(row):
        if isinstance(row, Bag | Label):
            raise TypeMismatch("rows that are bags have no order", wanted="rows with base values", got=row)
        return Element(t, row)
    kept = [(name, _plain(Proj(t, name), inner)) for name, inner in row.fields if not isinstance(inner, Bag)]
    typed = Record(tuple((name, e.type) for name, e in kept))
    return Element(Tuple(tuple((name, e.elem) for name, e in kept)), typed)
