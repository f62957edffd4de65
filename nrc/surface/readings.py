"""What Python expressions are read as, and the few ways in which these become terms.

An *element* may need inner bags: ``{"n": x, "bs": [...]}`` is ⟨n: x, bs: b⟩ under ``for b in sng_ι(e) union``. Its
``binds`` are such prefixes: each is a ``for`` over exactly one row, or a ``let``, so writing one around a bag never
changes a multiplicity, and one that is not used may be left out.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, EnumType
from typing import Literal, Self, TypeGuard

from attrs import evolve, frozen

from ripplenest.nrc.errors import TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.surface.conversions import conversion
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Let,
    LetVar,
    Lit,
    Plus,
    Pred,
    Proj,
    Sng,
    SngBag,
    Sorting,
    Term,
    Tuple,
    Var,
)
from ripplenest.nrc.types import BOOL, EXISTS, Bag, Base, Label, Record, Type, join, optional
from ripplenest.nrc.walk import Names, nodes


@frozen
class Bind:
    """``for name in expr union …`` with exactly one row, or ``let name := expr in …``."""

    kind: Literal["for", "let"]
    name: str
    expr: Expr

    def around(self, body: Expr) -> Expr:
        if self.kind == "let":
            return Let(self.name, self.expr, body)
        if body == Sng(Var(self.name)):  # for b in e union sng(b) = e
            return self.expr
        if isinstance(self.expr, SngBag) and body == Flatten(Sng(Var(self.name))):  # flatten(sng(e)) = e
            return self.expr.body
        return For(self.name, self.expr, body)


@frozen
class Element:
    """One value: an element with its type, under the prefixes it needs."""

    elem: Elem
    type: Type
    binds: tuple[Bind, ...] = ()


FALSE = Element(Lit(False, BOOL), BOOL)


@frozen
class BagTerm:
    """A bag with its type, and how its rows are sorted where it is shown. A set is what has each row once because the
    program says so."""

    expr: Expr
    type: Bag
    sorted: tuple[Sorting, ...] = ()
    is_set: bool = False


@frozen
class Untyped:
    """``None`` or ``[]``: takes the type of a neighbour."""

    text: Literal["None", "[]"]


@frozen
class Static:
    """A Python object that is known while reading: a constant, function, module or class."""

    value: object


Reading = Element | BagTerm | Untyped | Static


def tuple_of(fields: Mapping[str, Element]) -> Element:
    """⟨f: t, …⟩ under the prefixes of all fields."""
    row = Record(tuple((n, e.type) for n, e in fields.items()))
    return Element(Tuple(tuple((n, e.elem) for n, e in fields.items())), row, merge(fields.values()))


def merge(elements: Iterable[Element]) -> tuple[Bind, ...]:
    """The prefixes of several elements, each once."""
    return _once(b for e in elements for b in e.binds)


def _once(binds: Iterable[Bind]) -> tuple[Bind, ...]:
    """By name: hashing a term would unfold what it shares."""
    return tuple({b.name: b for b in binds}.values())


def wrap(binds: Sequence[Bind], body: Expr) -> Expr:
    """``body`` under those of ``binds`` that it needs. All binders are named apart, so names alone decide."""
    used = _mentions(body) if binds else set()
    for bind in reversed(binds):
        if bind.name in used:
            body = bind.around(body)
            used |= _mentions(bind.expr)
    return body


def _mentions(term: Term) -> set[str]:
    return {n.name for n in nodes(term) if isinstance(n, Var | LetVar)}


def enclose(binds: tuple[Bind, ...], result: Reading) -> Reading:
    """``result`` in the scope of ``binds``."""
    match result:
        case BagTerm(expr):
            return evolve(result, expr=wrap(binds, expr))
        case Element():
            return under(binds, result)
        case Static(Known() as known):
            return Static(known.enclosed(binds))
        case Untyped() | Static():
            return result


def under(binds: tuple[Bind, ...], value: Element) -> Element:
    """``value`` in the scope of ``binds``."""
    return evolve(value, binds=_once((*binds, *value.binds)))


def project(of: Element, name: str) -> Element:
    """of.name. Raises UnknownName with the fields there are."""
    if not isinstance(of.type, Record):
        raise TypeMismatch(f"only records have fields, and this is none: .{name}", wanted="a record", got=of.type)
    found = of.type.get(name)
    if found is None:
        raise UnknownName(f"there is no field {name!r}", got=name, possible=of.type.there.names)
    inside = of.elem.get(name) if isinstance(of.elem, Tuple) else None
    return Element(inside or Proj(of.elem, name), found, of.binds)


class Known(ABC):
    """What a ``Static`` holds that is no value itself: what it is called, and what is made of it."""

    @property
    @abstractmethod
    def called(self) -> str: ...

    @property
    @abstractmethod
    def makes(self) -> tuple[str, ...]: ...

    @abstractmethod
    def enclosed(self, binds: tuple[Bind, ...]) -> Self:
        """The same in the scope of ``binds``."""


def describe(reading: Reading) -> str:
    """What a message calls a reading."""
    match reading:
        case Static(Known() as known):
            return known.called
        case Element(_, type_) | BagTerm(_, type_):
            return str(type_)
        case Untyped(text):
            return text
        case Static(value):
            name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
            return f"the {type(value).__name__} {name}".strip()


def made_of(reading: Reading) -> tuple[str, ...] | None:
    """What can be written of what is no value itself; None of all else."""
    match reading:
        case Static(Known() as value):
            return value.makes
        case Static(Enum() as value):
            return (f"its value, `{type(value).__name__}.{value.name}.value`",)
        case Static(EnumType() as value):
            return (f"`VALUES = [x.value for x in {value.__name__}]` outside of the view",)
        case _:
            return None


def untyped(reading: Untyped) -> Unsupported:
    """The error for a ``None`` or ``[]`` without a neighbour to take a type from."""
    if reading.text == "None":
        hint = "a value beside it that has a type, as in `m.gen if m.year > 2000 else None`"
        possible = [hint, "a variable with a type, as in `none: str | None = None`"]
    else:
        possible = [ "a variable with a type, as in `none: Bag[str] = []`, or a bag beside it, joined with +"]
    return Unsupported(f"{reading.text} has no type here", got=reading.text, possible=possible)


def is_row(reading: Reading) -> TypeGuard[Element]:
    """Whether ``reading`` is a record."""
    return isinstance(reading, Element) and isinstance(reading.type, Record)


def is_bag(reading: Reading) -> bool:
    return isinstance(reading, BagTerm) or (isinstance(reading, Element) and isinstance(reading.type, Bag))


def null_whole(reading: Reading) -> Element | None:
    """Whether an inner bag, the label of one, or a record is NULL, which one that is not declared so never is; None for
    base values, and for bags that a view makes."""
    if not isinstance(reading, Element):
        return None
    match reading.type:
        case Bag() | Label():
            return Element(Call("is_null", (reading.elem,)), BOOL, reading.binds)
        case Record() as t if t.is_optional:
            return Element(Call("not", (project(reading, EXISTS).elem,)), BOOL, reading.binds)
        case Record():
            return FALSE
        case _:
            return None


def as_optional(row: Element) -> Element:
    """A record as one that may be NULL."""
    assert isinstance(row.type, Record)
    if row.type.is_optional:
        return row
    fields = ((name, project(row, name).elem) for name in row.type.names)
    return Element(Tuple(((EXISTS, Lit(True, BOOL)), *fields)), optional(row.type), row.binds)


def as_there(row: Element) -> Element:
    """A record that may be NULL as one of its fields, which are NULL where it is."""
    assert isinstance(row.type, Record)
    if not row.type.is_optional:
        return row
    fields = tuple((name, project(row, name)) for name in row.type.there.names)
    kept = Record(tuple((name, e.type) for name, e in fields))
    return Element(Tuple(tuple((name, e.elem) for name, e in fields)), kept, row.binds)


def as_bag(reading: Reading) -> BagTerm:
    """A bag, or an element that is an inner bag as flatten(sng(x)). Raises TypeMismatch."""
    match reading:
        case BagTerm():
            return reading
        case Element(elem, Bag(row), binds):
            return BagTerm(wrap(binds, Flatten(Sng(elem))), Bag(row))
        case Untyped():
            raise untyped(reading)
        case Element() | Static():
            is_object = isinstance(reading, Static) and not isinstance(reading.value, str | bytes | int | float)
            hint = "what the view takes, as in `def view(movies: Bag[Movie])`" if is_object else "[x], a bag of one row"
            wanted, possible = "a relation, an inner bag or [...]", made_of(reading) or [hint]
            raise TypeMismatch("this must be a bag", wanted=wanted, got=describe(reading), possible=possible)


def singleton(reading: Element | BagTerm, site: str) -> BagTerm:
    """sng(t), or sng_ι(e) for a bag."""
    match reading:
        case Element(elem, type_, binds):
            return BagTerm(wrap(binds, Sng(elem)), Bag(type_))
        case BagTerm(expr, type_, order):
            return BagTerm(SngBag(site, expr, order), Bag(type_))


def as_element(reading: Element | BagTerm, site: str, names: Names) -> Element:
    """An element; a bag becomes the variable of a ``for`` over sng_ι of it."""
    match reading:
        case Element():
            return reading
        case BagTerm(expr, type_, order):
            name = names.fresh("b")
            return Element(Var(name), type_, (Bind("for", name, SngBag(site, expr, order)),))


def guard(cond: Element, body: Expr, names: Names, var: str = "") -> Expr:
    """for _ in p(cond) union body, for a boolean ``cond``; ``var`` is what ``body`` calls its truth.

    What ``and`` puts behind a condition that is not true is not worked out: for _ in p(c) union for s in φ union …
    """
    conditions = [*conjuncts(cond.elem)] if cond.binds else [cond.elem]
    return _guarded(conditions, cond.binds, body, names, var)


def _guarded(conditions: Sequence[Elem], binds: Sequence[Bind], body: Expr, names: Names, var: str) -> Expr:
    if not conditions:
        return wrap(binds, body)
    first, *others = conditions
    needed = _needed(binds, _mentions(first))
    later = [b for b in binds if b not in needed]
    rest = _guarded(others, later, body, names, var)
    return wrap(needed, For(names.fresh("_") if others or not var else var, Pred(first), rest))


def _needed(binds: Sequence[Bind], names: set[str]) -> list[Bind]:
    """Those of ``binds`` that these ``names`` are of, and that they need themselves."""
    found: list[Bind] = []
    for bind in reversed(binds):
        if bind.name in names:
            found.append(bind)
            names |= _mentions(bind.expr)
    return found[::-1]


def not_true(cond: Element) -> Element:
    """True where ``cond`` is false or NULL: what ``else`` means."""
    test: Elem = Call("is_true", (cond.elem,)) if isinstance(cond.type, Base) and cond.type.nullable else cond.elem
    return Element(Call("not", (test,)), Base("bool"), cond.binds)


def plus(parts: Sequence[BagTerm], what: str) -> BagTerm:
    """The ⊎ of one bag or more, as a balanced tree. Raises TypeMismatch when their rows differ."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    left, right = plus(parts[:half], what), plus(parts[half:], what)
    both = join(left.type, right.type)
    if not isinstance(both, Bag):
        where = difference(left.type.row, right.type.row)
        what = f"{what} must have the same rows{where[0]}"
        possible = None if (hint := conversion(where[1:])) is None else [hint]
        raise TypeMismatch(what, wanted=left.type, got=right.type, possible=possible)
    return BagTerm(Plus(left.expr, right.expr), both)


def difference(a: Type, b: Type, path: str = "") -> tuple[str, Type, Type]:
    """Where two types that do not join differ, in words, and the two types there."""
    match a, b:
        case Record(fs), Record(gs) if a.names == b.names:
            name, f, g = next((n, f, g) for (n, f), (_, g) in zip(fs, gs, strict=True) if join(f, g) is None)
            return difference(f, g, f"{path}.{name}" if path else name)
        case Bag(r), Bag(s):
            return difference(r, s, path)
        case Record(), Record() if set(a.names) == set(b.names):
            return f"; the fields{f' of {path}' if path else ''} are in another order", a, b
        case _:
            return f"; {path} is {a} and {b}" if path else "", a, b


def alike(readings: Sequence[Reading]) -> list[BagTerm]:
    """All as bags; ``[]`` becomes the ∅ of the first that has a type."""
    typed = [as_bag(r) for r in readings if not isinstance(r, Untyped)]
    if not typed:
        raise untyped(Untyped("[]"))
    if any(r == Untyped("None") for r in readings):
        raise TypeMismatch("a bag cannot be joined with None", possible=["[]"])
    empty = BagTerm(Empty(typed[0].type.row), Bag(typed[0].type.row))
    return [empty if isinstance(r, Untyped) else as_bag(r) for r in readings]


def choose_bag(cond: Element, yes: BagTerm, no: BagTerm, names: Names) -> BagTerm:
    """yes if cond else no = for _ in p(c) union yes ⊎ for _ in p(c is not true) union no."""
    parts = [
        BagTerm(guard(cond, yes.expr, names), yes.type),
        BagTerm(guard(not_true(cond), no.expr, names), no.type),
    ]
    return plus(parts, "the two sides of a conditional expression")


def choose_element(cond: Element, yes: Element, no: Element, names: Names) -> Element:
    """Like ``choose_bag``, for records and inner bags that may be NULL: the one row of either side."""
    one = choose_bag(cond, singleton(yes, ""), singleton(no, ""), names)
    name = names.fresh("c")
    return Element(Var(name), one.type.row, (Bind("for", name, one.expr),))


def same_type(wanted: Type, got: Type) -> bool:
    """True when each value of ``got`` is one of ``wanted``."""
    return join(wanted, got) == wanted


def fit(reading: Reading, wanted: Type, what: str) -> Reading:
    """``reading``, checked against a declared type, from which ``[]`` and None take their own. Raises TypeMismatch."""
    match reading:
        case Untyped("[]") if isinstance(wanted, Bag):
            return BagTerm(Empty(wanted.row), Bag(wanted.row))
        case Untyped("None") if isinstance(wanted, Base) and wanted.nullable:
            return Element(Lit(None, wanted), wanted)
        case Untyped():
            raise untyped(reading)
        case Element(_, type_) | BagTerm(_, type_) if same_type(wanted, type_):
            return reading
        case Element() | BagTerm() | Static():
            raise TypeMismatch(f"{what} has another type", wanted=wanted, got=describe(reading))

