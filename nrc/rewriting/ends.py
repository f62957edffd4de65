"""Where in an order the rows are of which a condition is true: those from some value on, or those before they come to
one.

Rows are in the order of a value k, descending or not. A condition that compares k with something else is true of what
comes first in the order, and then of nothing more (k ≥ v of rows in descending order), or of nothing at first, and then
of all that comes (k < v). So is one that compares a number of a wider type, or what lies between k and something else.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ripplenest.nrc.rewriting.bands import SWAPPED, compared
from ripplenest.nrc.syntax import Call, Elem
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Type, may_be_null
from ripplenest.nrc.walk import free_vars, rebuild_elem

BEHIND = {True: ("lt", "le"), False: ("gt", "ge")}


def reaches(c: Elem, by: Elem, descending: bool, own: AbstractSet[str]) -> bool:
    """Whether ``c``, if it has a value, is true of the rows before one, and of no others. The rows are ``own``, ordered
    ``by`` something."""
    ends = (free_vars(other) for k, other, upper, _ in compared([c]) if k == by and upper is not descending)
    return any(free and not free & own for free in ends)


def begins(c: Elem, by: Elem, descending: bool, own: AbstractSet[str]) -> bool:
    """Whether it is true from one row on: of those behind a value of something else."""
    value, _ = edge(c, by, descending)
    return value is not None and not free_vars(value) & own


def edge(c: Elem, by: Elem, descending: bool) -> tuple[Elem | None, bool]:
    """The value that ``by`` is behind if ``c`` is true, and whether it is another one; None if it says no such thing.
    """
    match c:
        case Call(fn, (a, b)) if fn in SWAPPED:
            for own, other, says in ((a, b, fn), (b, a, SWAPPED[fn])):
                if own == by and says in BEHIND[descending]:
                    return other, says == BEHIND[descending][0]
    return None, False


def has_value(by: Elem, types: Mapping[str, Type]) -> tuple[Elem, ...]:
    """NULL is behind nothing, and nothing comes as far as NULL, wherever it stands in the order."""
    return (Call("not", (Call("is_null", (by,)),)),) if may_be_null(elem_type(by, types)) else ()


def put(t: Elem, of: Elem, other: Elem) -> Elem:
    """``t`` with the ``other`` in the place of each ``of``."""
    return other if t == of else rebuild_elem(t, lambda inner: put(inner, of, other))
