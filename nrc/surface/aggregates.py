"""Groups as both surfaces make them. An aggregate in a head or a condition is one value: it is bound by a ``for`` over
the one row of φ, as an inner bag is by one over sng_ι."""

from collections.abc import Callable, Collection, Sequence
from typing import assert_never

from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.functions import folds
from ripplenest.nrc.functions.signatures import maybe_null
from ripplenest.nrc.rewriting.equations import same_values
from ripplenest.nrc.surface.readings import (
    FALSE,
    BagTerm,
    Bind,
    Element,
    as_element,
    as_optional,
    guard,
    merge,
    not_true,
    plus,
    wrap,
)
from ripplenest.nrc.syntax import Elem, Empty, Expr, Fold, For, Group, Lit, Proj, Sng, SngBag, Top, Tuple, Var
from ripplenest.nrc.types import BOOL, EXISTS, Bag, Base, Dict, Label, Record, Type, is_flat, optional
from ripplenest.nrc.walk import Names, nodes

VALUE = "value"  # what the one fold of such a row is called


def fold(name: str, fn: str, args: Sequence[Element]) -> Fold:
    """fn(t₁, …) as the column ``name``. Raises UnknownName, and TypeMismatch for what ``fn`` does not take."""
    types = []
    for a in args:
        if not isinstance(a.type, Base):
            raise TypeMismatch(f"{fn} takes base values", wanted="a base value", got=a.type)
        types.append(a.type)
    return Fold(name, fn, tuple(_plain(a).elem for a in args), folds.result_type(fn, types))


def grouped(
    site: str, var: str, bag: BagTerm, keys: Sequence[tuple[str, Element]] | None, made: Sequence[Fold]
) -> BagTerm:
    """γ or, without ``keys``, φ over the rows ``var`` of ``bag``."""
    own = None if keys is None else tuple((name, _plain(e).elem) for name, e in keys)
    row = Record((*((name, e.type) for name, e in keys or ()), *((f.name, f.type) for f in made)))
    return BagTerm(Group(site, var, bag.expr, own, tuple(made)), Bag(row))


def folded(fn: str, bag: BagTerm, of_values: bool, site: str, names: Names) -> Element:
    """What ``fn`` makes of the rows of ``bag``: ``of_values`` that are base values, or of rows of any kind."""
    var, name = names.fresh("x"), names.fresh("s")
    args = [Element(Var(var), bag.type.row)] if of_values else []
    made = fold(VALUE, fn, args)
    one = grouped(site, var, bag, None, [made])
    return Element(Proj(Var(name), VALUE), made.type, (Bind("for", name, one.expr),))


def distinct(bag: BagTerm, site: str, names: Names) -> BagTerm:
    """for k in γ_α(x ∈ e; row: x) union sng(k.row): each row once."""
    var, k = names.fresh("x"), names.fresh("k")
    rows = grouped(site, var, bag, [("row", _flat(Element(Var(var), bag.type.row), "rows to be told apart"))], ())
    return BagTerm(For(k, rows.expr, Sng(Proj(Var(k), "row"))), bag.type, is_set=True)


def group_by(bag: BagTerm, key: Callable[[Element], Element], site: str, names: Names) -> BagTerm:
    """for k in γ_α(x ∈ e; key: k(x)) union for b in sng_ι(for x in e where k(x) ~ k.key union sng(x)) union
    sng(⟨_1: k.key, _2: b⟩): only which keys there are is not linear."""
    x, inner, k, b = (names.fresh(name) for name in ("x", "x", "k", "b"))
    row = bag.type.row
    keyed, own = (_chosen(key(Element(Var(var), row))) for var in (x, inner))
    keys = _keyed(site, x, bag, _flat(keyed, "keys"), names)
    members: Expr = Sng(Var(inner))
    for equal in same_values(own.elem, Proj(Var(k), "key"), keyed.type):
        members = guard(Element(equal, BOOL), members, names)
    head = Sng(Tuple((("_1", Proj(Var(k), "key")), ("_2", Var(b)))))
    inside = SngBag(site, For(inner, bag.expr, wrap(own.binds, members)))
    return BagTerm(For(k, keys.expr, For(b, inside, head)), Bag(Record((("_1", keyed.type), ("_2", bag.type)))))


def _keyed(site: str, x: str, bag: BagTerm, key: Element, names: Names) -> BagTerm:
    """γ by the ``key`` of rows ``x``; one that is chosen among several records is made of each row before."""
    if not key.binds:
        return grouped(site, x, bag, [("key", key)], ())
    made = BagTerm(For(x, bag.expr, wrap(key.binds, Sng(key.elem))), Bag(key.type))
    r = names.fresh("x")
    return grouped(site, r, made, [("key", Element(Var(r), key.type))], ())


def _chosen(e: Element) -> Element:
    """A key, which may be one of several records, and is made of no bag that is told by its site."""
    sited = any(isinstance(n, SngBag | Group | Top) for bind in e.binds for n in nodes(bind.expr))
    return _plain(e) if sited else e


On = Callable[[Element, Element], Element]


def left_join(a: BagTerm, b: BagTerm, on: On, site: str, names: Names) -> BagTerm:
    """(for x in a, y in b where p union sng⟨x, y⟩) ⊎ (for x in a where no y in b has p union sng⟨x, NULL⟩)

    A record on the side that may have no row is one that may be NULL. It is told field by field in both parts, so that
    they stay alike when its relation gets another field or another name for one.
    """
    return plus([_matched(a, b, on, names, ("_2",)), _alone(a, b, on, site, names)], "the two sides of a join")


def right_join(a: BagTerm, b: BagTerm, on: On, site: str, names: Names) -> BagTerm:
    """The left join of b and a, with the rows of a first."""
    found = [_matched(a, b, on, names, ("_1",)), _swapped(_alone(b, a, _turned(on), site, names), names)]
    return plus(found, "the two sides of a join")


def full_join(a: BagTerm, b: BagTerm, on: On, site: str, names: Names) -> BagTerm:
    """The left join, and what of b has no row of a."""
    alone = [
        _alone(a, b, on, site, names, both=True),
        _swapped(_alone(b, a, _turned(on), site, names, both=True), names),
    ]
    return plus([_matched(a, b, on, names, ("_1", "_2")), *alone], "the two sides of a join")


def _matched(a: BagTerm, b: BagTerm, on: On, names: Names, optional: Collection[str]) -> BagTerm:
    x, y = Element(Var(names.fresh("x")), a.type.row), Element(Var(names.fresh("y")), b.type.row)
    first, second = (_side(row) if n in optional else row for n, row in (("_1", x), ("_2", y)))
    found = guard(on(x, y), Sng(Tuple((("_1", first.elem), ("_2", second.elem)))), names)
    pairs = For(_name(x), a.expr, For(_name(y), b.expr, found))
    return BagTerm(pairs, Bag(Record((("_1", first.type), ("_2", second.type)))))


def _alone(a: BagTerm, b: BagTerm, on: On, site: str, names: Names, both: bool = False) -> BagTerm:
    """The rows of a for which b has none, beside one that is not there: NULL for every base value, and no rows in its
    inner bags. ``both`` sides may have none."""
    x, y = names.fresh("x"), names.fresh("y")
    row = Element(Var(x), a.type.row)
    partners = For(y, b.expr, guard(on(row, Element(Var(y), b.type.row)), Sng(Var(y)), names))
    some = folded("any", BagTerm(partners, b.type), False, site, names)
    absent = nothing(optional(b.type.row), site, names)
    own = _side(row) if both else row
    pair = wrap(absent.binds, Sng(Tuple((("_1", own.elem), ("_2", absent.elem)))))
    found = For(x, a.expr, guard(not_true(some), pair, names))
    return BagTerm(found, Bag(Record((("_1", own.type), ("_2", absent.type)))))


def _name(row: Element) -> str:
    assert isinstance(row.elem, Var)
    return row.elem.name


def _side(row: Element) -> Element:
    """A row that is there, of a side that may have none; a record field by field."""
    return as_optional(Element(_told(row.elem, row.type), row.type)) if isinstance(row.type, Record) else row


def _told(e: Elem, t: Type) -> Elem:
    """``e``, field by field."""
    return Tuple(tuple((name, _told(Proj(e, name), own)) for name, own in t.fields)) if isinstance(t, Record) else e


def _turned(on: On) -> On:
    return lambda x, y: on(y, x)


def _swapped(pairs: BagTerm, names: Names) -> BagTerm:
    var = names.fresh("x")
    assert isinstance(pairs.type.row, Record)
    (_, first), (_, second) = pairs.type.row.fields
    head = Sng(Tuple((("_1", Proj(Var(var), "_2")), ("_2", Proj(Var(var), "_1")))))
    return BagTerm(For(var, pairs.expr, head), Bag(Record((("_1", second), ("_2", first)))))


def nothing(t: Type, site: str, names: Names) -> Element:
    """A row that is not there: NULL for each of its base values, and no rows in its inner bags."""
    match t:
        case Base():
            null = maybe_null(t, True)
            return Element(Lit(None, null), null)
        case Bag(row):
            return as_element(BagTerm(Empty(row), Bag(row)), site, names)
        case Record(fields):
            found = [(name, FALSE if name == EXISTS else nothing(own, site, names)) for name, own in fields]
            row = Record(tuple((name, e.type) for name, e in found))
            return Element(Tuple(tuple((name, e.elem) for name, e in found)), row, merge(e for _, e in found))
        case Label() | Dict():
            raise AssertionError(f"no surface has a value of type {t}")
        case _:
            assert_never(t)


def _flat(e: Element, what: str) -> Element:
    """Equality of inner bags is no predicate of the calculus. Raises TypeMismatch with the field that is one."""
    if not is_flat(e.type):
        fields = e.type.fields if isinstance(e.type, Record) else ()
        found = ", ".join(name for name, t in fields if not is_flat(t)) or "this one"
        possible = ["its fields without bags", "how many rows a bag has, or what they come to"]
        raise TypeMismatch(f"{what} hold no bags: {found} does", wanted="base values", got=e.type, possible=possible)
    return e


def _plain(e: Element) -> Element:
    """A key or an argument, which is worked out for each row by itself."""
    if e.binds:
        possible = ["a field of the rows, `[{..., 'n': len(x.ys)} for x in xs]`"]
        raise Unsupported("a key or an argument of a fold holds no bag", possible=possible)
    return e
