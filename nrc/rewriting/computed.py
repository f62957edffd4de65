"""Rows that are compared by what is computed of them, in no order of a column that they have: ``2 * b.n > 2 * a.n``; or
that are in the order of a column only among those that agree in what is computed: ``b.day.year == a.day.year``."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.bands import SWAPPED, compared
from ripplenest.nrc.rewriting.equations import EQUALITIES
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.syntax import Call, Elem
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import free_vars, nodes


def by_computed(conditions: Iterable[Elem], own: AbstractSet[str]) -> Iterator[tuple[Elem, Elem]]:
    """What is computed of rows ``own`` and compared, and with what of others, where no column of theirs says it."""
    for t in (n for c in conditions for n in nodes(c) if isinstance(n, Call) and n.fn in SWAPPED):
        if not any(column_of(x) is not None and _is_apart(x, y, own) for x, y, *_ in compared([t])):
            yield from ((x, y) for x, y in (t.args, t.args[::-1]) if _is_apart(x, y, own))


def within_computed(conditions: Iterable[Elem], own: AbstractSet[str]) -> Iterator[tuple[Elem, Elem]]:
    """What rows ``own`` and others agree in, of windows of rows that agree in nothing that is stored of both."""
    asked = [*conditions]
    calls = (n for c in asked for n in nodes(c) if isinstance(n, Call) and n.fn in SWAPPED)
    compared = any(_is_apart(x, y, own) for n in calls for x, y in (n.args, n.args[::-1]))
    equal = (t for t in asked if isinstance(t, Call) and t.fn in EQUALITIES)
    equated = [(x, y) for t in equal for x, y in (t.args, t.args[::-1]) if _is_apart(x, y, own) and free_vars(y)]
    if compared and not any(column_of(x) is not None and column_of(y) is not None for x, y in equated):
        yield from equated


def of_places(conditions: Iterable[Elem], own: AbstractSet[str], around: Mapping[str, Type]) -> tuple[Elem, ...]:
    """What is computed of what is ``around``, always has a value, and is compared so with rows ``own``: it is a
    parameter of their place, so that places are in its order, or of those that agree in it."""
    every = tuple(conditions)
    pairs = (*by_computed(every, own), *within_computed(every, own))
    asked = dict.fromkeys(t for _, t in pairs if isinstance(t, Call))
    return tuple(t for t in asked if free_vars(t) <= around.keys() and is_total(t, around))


def _is_apart(x: Elem, y: Elem, own: AbstractSet[str]) -> bool:
    return bool(free_vars(x)) and free_vars(x) <= own and not free_vars(y) & own
