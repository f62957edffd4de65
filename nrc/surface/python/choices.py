"""What decides, and what is one of several values: ``if xs``, ``a if c else b``, ``rn.coalesce(a, b)``, ``xs or []``,
``min(a, b)``."""

import ast
from collections.abc import Sequence

from ripplenest.nrc.surface import lazily
from ripplenest.nrc.surface.python import aggregates, scalars
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import (
    Element,
    Reading,
    Untyped,
    alike,
    as_bag,
    as_element,
    choose_bag,
    choose_element,
    is_bag,
    null_bag,
    plus,
)
from ripplenest.nrc.types import Record, may_be_null


def baglike(reading: Reading) -> bool:
    """Whether ``reading`` is a bag, or ``[]``, which becomes one."""
    return is_bag(reading) or reading == Untyped("[]")


def truth(test: ast.expr, scope: Scope) -> Element:
    """What decides whether there is a row, or which of two values it is: a condition, or whether a bag has a row. Of
    ``and`` and ``or`` each part is one; where a value is wanted, they join conditions only. Parts of ``and`` are asked
    one after the other (``readings.guard``)."""
    match test:
        case ast.BoolOp(ast.Or(), [_, ast.List([])]):
            pass  # a bag
        case ast.BoolOp(op, values):
            found = scalars.decided(op, (truth(value, s) for value, s in scope.in_turn(values)))
            return scalars.logic(op, lazily.either(found, scope.session.names) if isinstance(op, ast.Or) else found)
    reading = scope.read(test)
    with scope.located(test):
        return aggregates.exists(as_bag(reading), scope) if is_bag(reading) else scalars.condition(reading)


def kept(test: ast.expr, scope: Scope) -> Element:
    """What keeps a row. Behind it all parts of ``and`` are true, so names that these assign are known there."""
    match test:
        case ast.BoolOp(ast.And() as op, values):
            return scalars.logic(op, scalars.decided(op, (kept(value, scope) for value in values)))
        case _:
            return truth(test, scope)


def truth_value(test: ast.expr, scope: Scope) -> Element:
    """bool(x): never NULL."""
    found = truth(test, scope)
    return scalars.apply("is_true", [found]) if may_be_null(found.type) else found


def extreme(name: str, values: Sequence[Reading]) -> Element:
    """``min`` or ``max`` of several values, the first of equal ones; NULL where one of them is. As a balanced tree:
    each value is written once more at each of its levels."""
    half = len(values) // 2
    if not half:
        return scalars.fold(name, values)
    a, b = extreme(name, values[:half]), extreme(name, values[half:])
    found = scalars.choose(scalars.apply("lt" if name == "min" else "gt", [b, a], name), b, a)
    return scalars.choose(scalars.apply("is_null", [b]), b, found) if may_be_null(b.type) else found


def conditional(cond: Element, yes: Reading, no: Reading, scope: Scope) -> Reading:
    """a if c else b: a scalar; between bags ⊎ of both sides under their conditions, where neither can be NULL."""
    names = scope.session.names
    yes, no = lazily.sides(cond, yes, no, names)
    if baglike(yes) or baglike(no):
        if isinstance(yes, Element) and isinstance(no, Element):
            return choose_element(cond, yes, no, names)
        a, b = alike([yes, no])
        if not (_may_be_null(yes) or _may_be_null(no)):
            return choose_bag(cond, a, b, names)
        one, other = (r if isinstance(r, Element) else as_element(x, scope.site, names) for r, x in ((yes, a), (no, b)))
        return choose_element(cond, one, other, names)
    if isinstance(yes, Element) and isinstance(no, Element) and isinstance(yes.type, Record):
        return choose_element(cond, yes, no, names)
    return scalars.choose(cond, yes, no)


def coalesce(values: Sequence[Reading], scope: Scope) -> Reading:
    """The first of ``values`` that is not NULL. Bags that a view makes never are."""
    if not any(map(baglike, values)):
        return scalars.apply("coalesce", values)
    *others, found = [v for v in values if v != Untyped("None")]
    for value in reversed(others):
        found = _unless_null(value, found, scope)
    return found


def _unless_null(value: Reading, other: Reading, scope: Scope) -> Reading:
    """A bag, or ``other`` where it is NULL. As a bag, NULL has no rows."""
    a, b = alike([value, other])
    plus([a, b], "the bags of coalesce")  # whose rows are of one type
    test = null_bag(value)
    if test is None or not _may_be_null(value):
        return value
    if other == Untyped("[]"):
        return a
    if _may_be_null(other):
        return conditional(test, other, value, scope)
    return choose_bag(test, b, a, scope.session.names)


def _may_be_null(reading: Reading) -> bool:
    return isinstance(reading, Element) and may_be_null(reading.type)
