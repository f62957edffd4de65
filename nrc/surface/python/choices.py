"""What decides, and what is one of several values: ``if xs``, ``a if c else b``, ``rn.coalesce(a, b)``, ``xs or []``,
``min(a, b)``."""

import ast
from collections.abc import Sequence
from itertools import chain

from ripplenest.nrc.surface import lazily
from ripplenest.nrc.surface.aggregates import nothing
from ripplenest.nrc.surface.python import advice, aggregates, best, scalars, truths
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import (
    Element,
    Reading,
    Static,
    Untyped,
    alike,
    as_bag,
    as_element,
    as_optional,
    as_there,
    choose_bag,
    choose_element,
    is_bag,
    is_row,
    null_whole,
    plus,
)
from ripplenest.nrc.types import Record, may_be_null, optional


def baglike(reading: Reading) -> bool:
    """Whether ``reading`` is a bag, or ``[]``, which becomes one."""
    return is_bag(reading) or reading == Untyped("[]")


def truth(test: ast.expr, scope: Scope) -> Element:
    """What decides whether there is a row, or which of two values it is: a condition, what Python takes for true, or
    whether a bag has a row. Of ``and`` and ``or`` each part is one; where a value is wanted, see ``joined``. Parts of
    ``and`` are asked one after the other (``readings.guard``)."""
    match test:
        case ast.BoolOp(ast.Or(), [_, ast.List([])]):
            pass  # a bag
        case ast.BoolOp(op, values):
            found = truths.decided(op, (truth(value, s) for value, s in scope.in_turn(values)))
            asked = lazily.either(found, scope.session.names) if isinstance(op, ast.Or) else found
            return truths.or_false(op, values, truths.logic(op, asked))
    reading = scope.read(test)
    with scope.located(test):
        return aggregates.exists(as_bag(reading), scope) if is_bag(reading) else truths.truth(reading)


def kept(test: ast.expr, scope: Scope) -> Element:
    """What keeps a row. Behind it all parts of ``and`` are true, so names that these assign are known there."""
    match test:
        case ast.BoolOp(ast.And() as op, values):
            return truths.logic(op, truths.decided(op, (kept(value, scope) for value in values)))
        case _:
            return truth(test, scope)


def joined(op: ast.boolop, values: Sequence[ast.expr], scope: Scope) -> Reading:
    """``x or y``, ``x and y`` where a value is wanted: of conditions a condition, and of other values, as Python has
    it, the one that decides or else the last."""
    first = best.settled(scope.read(values[0]), scope)
    if is_row(first) and len(values) == 1:
        return first
    is_or = isinstance(op, ast.Or)
    with scope.located(values[0]):
        cond = truths.truth(first, *(truths.or_else(first, values[1:]) if is_or else truths.AND_THEN))
    if not is_row(first) and truths.is_condition(first):
        return truths.or_false(op, values, _conditions(op, cond, values, scope))
    if len(values) == 1:
        return first
    if (is_so := truths.known(cond)) is not None:
        return first if is_so is is_or else joined(op, values[1:], scope)
    other = joined(op, values[1:], scope.perhaps())
    if is_or:
        return _or_else(_where_there(first, other), cond, other, scope)
    hint = f"`bool({ast.unparse(values[0])}) and ...`, a condition; or a value of the type of the last one"
    with advice.advising(hint):
        return conditional(cond, other, Untyped("None") if is_row(first) else first, scope)  # a record is false as None


def _or_else(first: Reading, cond: Element, other: Reading, scope: Scope) -> Reading:
    """first or other, which is NULL only where ``other`` is."""
    if not (_may_be_null(first) and isinstance(other, Element | Static)):
        return conditional(cond, first, other, scope)
    if truths.is_nothing(other):
        return scalars.apply("coalesce", [first, other])
    _, other = lazily.sides(cond, first, other, scope.session.names)
    return scalars.apply("coalesce", [scalars.choose(cond, first, Untyped("None")), other])


def _conditions(op: ast.boolop, first: Element, values: Sequence[ast.expr], scope: Scope) -> Element:
    join = lazily.either if isinstance(op, ast.Or) else lazily.both
    rest = scope.perhaps()
    found = truths.decided(op, chain([first], (_condition(op, values, n, rest) for n in range(1, len(values)))))
    return truths.logic(op, join(found, scope.session.names))


def _condition(op: ast.boolop, values: Sequence[ast.expr], n: int, scope: Scope) -> Element:
    """A part of ``and`` or ``or`` beside a condition where a value is wanted: Python's is one of both."""
    reading = scope.read(values[n])
    with scope.located(values[n]):
        return truths.condition(reading, *(truths.instead(values[:n], values[n]) if isinstance(op, ast.And) else ()))


def truth_value(test: ast.expr, scope: Scope) -> Element:
    """bool(x): never NULL."""
    return truths.never_null(truth(test, scope))


def extreme(name: str, values: Sequence[Reading]) -> Element:
    """``min`` or ``max`` of several values, the first of equal ones; NULL where one of them is. They are of one type,
    as those of coalesce are, which is asked of all of them at once."""
    _ = scalars.apply("coalesce", values, name)
    return _extreme(name, values)


def _extreme(name: str, values: Sequence[Reading]) -> Element:
    """As a balanced tree: each value is written once more at each of its levels."""
    half = len(values) // 2
    if not half:
        return scalars.fold(name, values)
    a, b = _extreme(name, values[:half]), _extreme(name, values[half:])
    found = scalars.choose(scalars.apply("lt" if name == "min" else "gt", [b, a], name), b, a)
    return scalars.choose(scalars.apply("is_null", [b]), b, found) if may_be_null(b.type) else found


def conditional(cond: Element, yes: Reading, no: Reading, scope: Scope) -> Reading:
    """a if c else b: a scalar; between bags ⊎ of both sides under their conditions, where neither can be NULL."""
    names = scope.session.names
    yes, no = lazily.sides(cond, best.settled(yes, scope), best.settled(no, scope), names)
    if baglike(yes) or baglike(no):
        if isinstance(yes, Element) and isinstance(no, Element):
            return choose_element(cond, yes, no, names)
        a, b = alike([yes, no])
        if not (_may_be_null(yes) or _may_be_null(no)):
            return choose_bag(cond, a, b, names)
        one, other = (r if isinstance(r, Element) else as_element(x, scope.site, names) for r, x in ((yes, a), (no, b)))
        return choose_element(cond, one, other, names)
    if rows := _alike(yes, no, scope):
        return choose_element(cond, *rows, names)
    return scalars.choose(cond, yes, no)


def _alike(yes: Reading, no: Reading, scope: Scope) -> tuple[Element, Element] | None:
    """Two records of one type, one of them None or not; None for other values."""
    rows = [r for r in (yes, no) if is_row(r)]
    known = [r.type for r in rows if isinstance(r.type, Record)]
    if not known or not all(is_row(r) or r == Untyped("None") for r in (yes, no)):
        return None
    if len(rows) > 1 and not any(t.is_optional for t in known):
        return rows[0], rows[1]
    none = nothing(optional(known[0]), scope.site, scope.session.names)
    one, other = (as_optional(r) if is_row(r) else none for r in (yes, no))
    return one, other


def coalesce(values: Sequence[Reading], scope: Scope) -> Reading:
    """The first of ``values`` that is not NULL. Bags that a view makes never are."""
    values = [best.settled(v, scope) for v in values]
    if any(map(is_row, values)):
        *others, found = values
        for value in reversed(others):
            found = _unless_absent(value, found, scope)
        return found
    if not any(map(baglike, values)):
        return scalars.apply("coalesce", values)
    *others, found = [v for v in values if v != Untyped("None")]
    for value in reversed(others):
        found = _unless_null(value, found, scope)
    return found


def _unless_absent(value: Reading, other: Reading, scope: Scope) -> Reading:
    """A record, or ``other`` where it is NULL: none that may be NULL where ``other`` may not."""
    absent = null_whole(value)
    if absent is None:
        return other if value == Untyped("None") else scalars.apply("coalesce", [value, other])
    if truths.known(absent) is False:
        return value
    return conditional(absent, other, _where_there(value, other), scope)


def _where_there(value: Reading, other: Reading) -> Reading:
    """A record that is asked for where it is there, beside ``other``, which is taken elsewhere."""
    is_sure = is_row(other) and isinstance(other.type, Record) and not other.type.is_optional
    return as_there(value) if is_row(value) and is_sure else value


def _unless_null(value: Reading, other: Reading, scope: Scope) -> Reading:
    """A bag, or ``other`` where it is NULL. As a bag, NULL has no rows."""
    a, b = alike([value, other])
    plus([a, b], "the bags of coalesce")  # whose rows are of one type
    test = null_whole(value)
    if test is None or not _may_be_null(value):
        return value
    if other == Untyped("[]"):
        return a
    if _may_be_null(other):
        return conditional(test, other, value, scope)
    return choose_bag(test, b, a, scope.session.names)


def _may_be_null(reading: Reading) -> bool:
    return isinstance(reading, Element) and may_be_null(reading.type)
