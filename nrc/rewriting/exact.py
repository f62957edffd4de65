"""Sums, differences and products of integers are compared as they are in mathematics, where none is too great, and so
are days and moments to which something is added.

    p - q < n      ⟶  to_decimal(p) - to_decimal(q) < to_decimal(n)      so with +, · and -p, and with ≤, > and ≥
    p + span ≤ q   ⟶  micros_between(p, q) ≤ -span                       of constant spans
    |p - q| < n    ⟶  p - q < n ∧ q - p < n               (``absolute.py``)
    coalesce(a, p - q) < n  ⟶  coalesce(a < n, p - q < n)                so with if, and inside of sums

A difference of integers can be beyond their type, as max - (-1) is, and a day before the first one is none. What can
fail is asked last: no order could be kept of clicks that came half an hour after the one before, because one may be
among them that has no such difference. Compared with something it need not fail at all: Python compares integers so,
decimals have digits enough, though not for products of two longs, and what lies between two moments always has a value.
Of what is one of several values, as the greatest of some rows or else what comes before it, each is compared: there is
no decimal that is any of them.

Law: where ⟦e⟧ has a value, ⟦exact e⟧ = ⟦e⟧; and it has one where nothing in e fails but such sums.
"""

from collections.abc import Iterator
from decimal import Decimal
from math import prod

from ripplenest.nrc.rewriting.absolute import both
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.ends import put
from ripplenest.nrc.rewriting.gaps import as_difference
from ripplenest.nrc.rewriting.integers import of_integers
from ripplenest.nrc.rewriting.normal import is_sure
from ripplenest.nrc.rewriting.solved import of_moments, of_sums
from ripplenest.nrc.syntax import Call, Elem, Expr, Lit
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import MAX_DIGITS
from ripplenest.nrc.walk import nodes, rebuild, rebuild_elem

OPS = ("add", "sub", "mul", "neg")
DECIMAL = {f"{op}_{kind}": f"{op}_decimal" for op in OPS for kind in ("int", "long")}
DIGITS = {"int": 10, "long": 20}  # of a decimal that holds one
WAYS = 8  # comparisons of one that is of several values


def exact(e: Expr) -> Expr:
    """``e``, a nested term."""
    return rebuild(e, exact, exact_elem, lambda d: d)


def exact_again(e: Expr) -> Expr:
    """``e``, which was made exact before values of rows came to stand where they are read.

    Law: ⟦exact_again exact e⟧ = ⟦exact e⟧, and the two are the same where no integer of a sum has become one.
    """
    return rebuild(e, exact_again, _again, lambda d: d)


def exact_elem(t: Elem) -> Elem:
    """An element ``t``, and all that is in it."""
    t = rebuild_elem(t, exact_elem)
    if (ways := both(t)) is not None:
        return exact_elem(ways)
    match t:
        case Call(op, (a, b)) if of_integers(t) is not None:  # decimals of the view
            return Call(op, (_marked(a), _marked(b)))
        case Call("or"):
            return _tied(t)
        case Call("eq", (a, b)):
            return _solved(a, b) or t
    return _made(t)


def _solved(a: Elem, b: Elem) -> Elem | None:
    """Solved for columns, if it equates what is added."""
    kinds = [n.fn.rpartition("_")[2] for n in (a, b) if isinstance(n, Call) and n.fn in DECIMAL]
    if kinds and _room(a, b) > 0:
        return of_sums(_decimal(a), _decimal(b), kinds[0])
    return of_moments(a, b)


def _again(t: Elem) -> Elem:
    t = rebuild_elem(t, _again)
    match t:
        case Call("or"):
            return _tied(t)
        case Call("eq", (a, b)) if of_integers(t) is None and (found := _solved(a, b)) is not None:
            return found
    if not _adds(t) or (asked := of_integers(t)) is None:
        return _made(t)
    return t if _adds(found := _made(asked)) else found


def _tied(t: Call) -> Elem:
    """p < q or p = q and …, as tuples are compared: what is equated there is what is compared."""
    pairs = {n.args for n in nodes(t) if isinstance(n, Call) and n.fn in SWAPPED}

    def put(t: Elem) -> Elem:
        match t:
            case Call("eq", (p, q)) if _is_made(p, q) and _room(p, q) > 0:
                sides = _decimal(p), _decimal(q)
                return Call("eq", sides) if {sides, sides[::-1]} & pairs else t
        return rebuild_elem(t, put)

    return put(t)


def _made(t: Elem) -> Elem:
    each = _each(t)
    return each if is_sure(each) else _one(t)


def _one(t: Elem) -> Elem:
    """A comparison that is of one value with another."""
    match t:
        case Call(op, (a, b)) if op in SWAPPED and _is_made(a, b) and _room(a, b) > 0:
            return Call(op, (_decimal(a), _decimal(b)))
        case Call(op) if op in SWAPPED:
            return as_difference(t)
    return t


def as_decimal(t: Elem) -> tuple[Elem, str] | None:
    """A sum or product of integers as a decimal, which always has a value, and the kind of the integers; None of what
    is none, or has no room."""
    match t:
        case Call(fn) if fn in DECIMAL and _room(t) > 0:
            return _decimal(t), fn.rpartition("_")[2]
    return None


def _adds(t: Elem) -> bool:
    """Whether integers are added or multiplied in it."""
    return any(isinstance(n, Call) and n.fn in DECIMAL for n in nodes(t))


def _each(t: Elem) -> Elem:
    """``t``, which compares each of the values that a sum can be where one of these is a sum itself."""
    compares = isinstance(t, Call) and t.fn in SWAPPED and prod(map(_values, t.args)) <= WAYS
    of = next(_choices(t), None) if compares else None
    match of:
        case Call("if", (q, *values)):
            return Call("if", (q, *(_each(put(t, of, v)) for v in values)))
        case Call("coalesce", values):
            return Call("coalesce", tuple(_each(put(t, of, v)) for v in values))
    return _one(t)


def _choices(t: Elem) -> Iterator[Call]:
    """Those that are compared, or of which sums are made that are, and may be sums themselves."""
    match t:
        case Call(fn, args) if fn in (*SWAPPED, *DECIMAL):
            for a in args:
                yield from _choices(a)
        case Call("if" | "coalesce") if _adds(t):
            yield t


def _values(t: Elem) -> int:
    """How many it can be."""
    match t:
        case Call("if", (_, *values)) | Call("coalesce", values):
            return sum(map(_values, values))
        case Call(fn, args) if fn in DECIMAL:
            return prod(map(_values, args))
    return 1


def _is_made(*sides: Elem) -> bool:
    return any(isinstance(t, Call) and t.fn in DECIMAL for t in sides)


def _room(*sides: Elem) -> int:
    """How many digits are left of those that a decimal has, whatever side the terms of sums are on."""
    is_long = any(isinstance(n, Call) and n.fn in DECIMAL and n.fn.endswith("long") for t in sides for n in nodes(t))
    terms = [digits for t in sides for digits in _digits(t, DIGITS["long" if is_long else "int"])]
    return MAX_DIGITS - max(terms) - len(terms)


def _digits(t: Elem, of_one: int) -> list[int]:
    """Those of what ``t`` is the sum of, or the difference."""
    match t:
        case Call("add_int" | "add_long" | "sub_int" | "sub_long", (p, q)):
            return [*_digits(p, of_one), *_digits(q, of_one)]
        case Call("mul_int" | "mul_long", args):
            return [sum(max(found) + len(found) for found in (_digits(a, of_one) for a in args))]
        case Call("neg_int" | "neg_long", (p,)):
            return [max(found := _digits(p, of_one)) + len(found) - 1]
        case Lit(int() as value):
            return [len(str(abs(value)))]
    return [of_one]


def _decimal(t: Elem) -> Elem:
    match t:
        case Call(fn, args) if fn in DECIMAL:
            return Call(DECIMAL[fn], tuple(map(_decimal, args)))
        case Lit(int() as value):
            return Lit(Decimal(value), Base("decimal", False, len(str(abs(value))), 0))
    return Call("to_decimal", (t,))


def _marked(t: Elem) -> Elem:
    """The same number, that is none of an integer."""
    match t:
        case Call("to_decimal"):
            return Call("to_decimal", (t,))
    return rebuild_elem(t, _marked)
