"""Rows that are compared by what is computed of them, in no order of a column that they have: ``2 * b.n > 2 * a.n``."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.bands import SWAPPED, compared
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.syntax import Call, Elem
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import free_vars, nodes


def by_computed(conditions: Iterable[Elem], own: AbstractSet[str]) -> Iterator[tuple[Elem, Elem]]:
    """What is computed of rows ``own`` and compared, and with what of others, where no column of theirs says it."""
    for t in (n for c in conditions for n in nodes(c) if isinstance(n, Call) and n.fn in SWAPPED):
        if not any(column_of(x) is not None and _is_apart(x, y, own) for x, y, *_ in compared([t])):
            yield from ((x, y) for x, y in (t.args, t.args[::-1]) if _is_apart(x, y, own))


def of_places(conditions: Iterable[Elem], own: AbstractSet[str], around: Mapping[str, Type]) -> tuple[Elem, ...]:
    """What is computed of what is ``around``, always has a value, and is compared so with rows ``own``: it is a
    parameter of their place, so that places are in its order."""
    asked = dict.fromkeys(t for _, t in by_computed(conditions, own) if isinstance(t, Call))
    return tuple(t for t in asked if free_vars(t) <= around.keys() and is_total(t, around))


def _is_apart(x: Elem, y: Elem, own: AbstractSet[str]) -> bool:
    return bool(free_vars(x)) and free_vars(x) <= own and not free_vars(y) & own
