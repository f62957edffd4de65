"""One of several values: ``a if c else b``, ``rn.coalesce(a, b)``, ``xs or []``."""

from collections.abc import Sequence

from ripplenest.nrc.surface.python import scalars
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import (
    Element,
    Reading,
    Untyped,
    alike,
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


def conditional(cond: Element, yes: Reading, no: Reading, scope: Scope) -> Reading:
    """a if c else b: a scalar; between bags ⊎ of both sides under their conditions, where neither can be NULL."""
    names = scope.session.names
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
