"""Where in an order the rows are of which a condition is true: those from some value on, or those before they come to
one.

Rows are in the order of a value k, descending or not. A condition that compares k with something else is true of what
comes first in the order, and then of nothing more (k ≥ v of rows in descending order), or of nothing at first, and then
of all that comes (k < v). So is one that compares a number of a wider type, or what lies between k and something else:

    k < v - n  ⟺  k ≤ at_most(v - n - 1)          k > v + n  ⟺  k ≥ at_least(v + n + 1)

of rows in descending, and in ascending order, whether v - n is within the type of k or not.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal

from attrs import frozen

from ripplenest.nrc.rewriting.bands import BETWEEN, SWAPPED, compared
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import LONG, Base, Type, may_be_null
from ripplenest.nrc.values import in_range
from ripplenest.nrc.walk import free_vars, rebuild_elem

ONE = Base("decimal", False, 1, 0)
BEHIND = {True: ("lt", "le"), False: ("gt", "ge")}


def reaches(c: Elem, by: Elem, descending: bool, own: AbstractSet[str]) -> bool:
    """Whether ``c``, if it has a value, is true of the rows before one, and of no others. The rows are ``own``, ordered
    ``by`` something."""
    ends = (free_vars(other) for k, other, upper, _ in compared([c]) if k == by and upper is not descending)
    return any(free and not free & own for free in ends)


def begins(c: Elem, by: Elem, descending: bool, own: AbstractSet[str], types: Mapping[str, Type]) -> bool:
    """Whether it is true from one row on: of those behind a value of something else."""
    value, _ = edge(c, by, descending, types)
    return value is not None and not free_vars(value) & own


def edge(c: Elem, by: Elem, descending: bool, types: Mapping[str, Type]) -> tuple[Elem | None, bool]:
    """The value that ``by`` is behind if ``c`` is true, and whether it is another one; None if it says no such thing.
    """
    match c:
        case Call(fn, (a, b)) if fn in SWAPPED:
            for own, other, says in ((a, b, fn), (b, a, SWAPPED[fn])):
                if own == by and says in BEHIND[descending]:
                    return _as_wide(other, elem_type(by, types), types), says == BEHIND[descending][0]
            last = _Last(elem_type(by, types), fn in ("lt", "gt"), descending, types)
            found = (last.up_to(d) for own, d, upper, _ in compared([c]) if own == by and upper is descending)
            return next((value for value in found if value is not None), None), False
    return None, False


def _as_wide(value: Elem, t: Type, types: Mapping[str, Type]) -> Elem | None:
    """A decimal of fewer digits as one of the type ``t`` of other decimals, by a sum with 0; else as it is. None where
    nobody knows how many it has, of what reads other rows than these."""
    if not free_vars(value) <= types.keys():
        return None if isinstance(t, Base) and t.kind == "decimal" else value
    own = elem_type(value, types)
    match own, t:
        case Base("decimal", _, p, s), Base("decimal", _, most, scale) if p - s < most - scale and s <= scale:
            return Call("add_decimal", (value, Lit(Decimal(0).scaleb(-scale), Base("decimal", False, most - 1, scale))))
    return value


@frozen
class _Last:
    """The last value of ``type`` in an order that is behind others, or is that if it is not ``open``."""

    type: Type
    open: bool
    descending: bool
    types: Mapping[str, Type]

    def up_to(self, d: Elem) -> Elem | None:
        """NULL if all values lie before ``d``, which may be beyond the type: a number, and what lies after a date or a
        moment. None of other values."""
        match self.type, d:
            case Base("int" | "long"), _ if (number := self._exact(d)) is not None:
                by = Lit(Decimal(self._step), ONE)
                return self._call(Call("sub_decimal", (number, by)) if self.open else number)
            case Base("date" | "timestamp"), Call(fn, (x, Lit(int() as n))) if fn in BETWEEN:
                return self._call(x, Lit(n - self._step, LONG)) if in_range(n - self._step, LONG.kind) else None
        return None

    @property
    def _step(self) -> int:
        return self.open * (1 if self.descending else -1)

    def _call(self, *args: Elem) -> Elem:
        assert isinstance(self.type, Base)
        return Call(f"{'at_most' if self.descending else 'at_least'}_{self.type.kind}", args)

    def _exact(self, d: Elem) -> Elem | None:
        """A decimal without digits behind the point."""
        t = elem_type(d, self.types)
        match t:
            case Base("int" | "long"):
                return Call("to_decimal", (d,))
            case Base("decimal", _, _, 0):
                return d
        return None


def has_value(by: Elem, types: Mapping[str, Type]) -> tuple[Elem, ...]:
    """NULL is behind nothing, and nothing comes as far as NULL, wherever it stands in the order."""
    return (Call("not", (Call("is_null", (by,)),)),) if may_be_null(elem_type(by, types)) else ()


def put(t: Elem, of: Elem, other: Elem) -> Elem:
    """``t`` with the ``other`` in the place of each ``of``."""
    return other if t == of else rebuild_elem(t, lambda inner: put(inner, of, other))
