"""What is computed of stored rows, and equals the update by way of others, is compared with the update itself.

    for s in ΔT for k in G for x in R where t(x) <=> k.key and s.key = k.key …
        ⟶  for s in ΔT for k in G for x in R where t(x) <=> s.key and s.key = k.key …

So the rows of a group by what is computed of them are found by their own key when something told of it changes: with
the columns of the update fixed, x and k are components of their own (``delta/factor.py``), and no map need hold all
rows with their group. Columns are left as they are, since equalities of columns are followed where rows are looked up
(``nrc/rewriting/equated.py``).

Law (anchored): ⟦anchored c⟧ = ⟦c⟧, for a = b or a <=> b says that any comparison with a says the same of b. What can
fail equates nothing unless all rows have it anyway: a combination of rows fails if what can fail does, and all else is
true.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from ripplenest.delta.factor import Computed
from ripplenest.nrc.functions.signatures import are_alike
from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.equations import EQUALITIES, equations
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Call, Elem, IsSite, OutL
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import free_vars

Equal = tuple[Elem, Elem]


def anchored(c: Comprehension, known: Computed) -> Comprehension:
    """A product of a delta whose computed values are compared with its updates, where others equate them; not of
    different types, as some decimals cannot be compared."""
    updates = frozenset(var for var, rel in c.generators if rel.at is At.DELTA)
    conditions, types = list(c.conditions), c.variables()
    for i, condition in enumerate(conditions):
        others = tuple(t for t in conditions[:i] + conditions[i + 1 :] if _is_safe(t, c, known))
        equal = [*equations(evolve(c, conditions=others), EQUALITIES)]
        found = (t for t in _anchored(condition, updates, equal) if are_alike(*_types(t, types)))
        conditions[i] = next(found, condition)
    return evolve(c, conditions=tuple(conditions))


def _types(t: Call, types: Mapping[str, Type]) -> tuple[Type, Type]:
    """The types of what ``t`` compares."""
    one, other = t.args
    return elem_type(one, types), elem_type(other, types)


def _anchored(condition: Elem, updates: frozenset[str], equal: Sequence[Equal]) -> Iterator[Call]:
    match condition:
        case Call("eq" | "same", (OutL() | IsSite(), OutL() | IsSite())):
            return  # so labels are told to be equal, and with them places
        case Call("eq" | "same" as fn, (a, b)) if not free_vars(condition) & updates:
            for own, other in ((a, b), (b, a)):
                told = _told(other, updates, equal)
                if free_vars(own) and told is not None and not (column_of(own) and column_of(told)):
                    yield Call(fn, (own, told))


def _told(t: Elem, updates: frozenset[str], equal: Sequence[Equal]) -> Elem | None:
    """What of the updates ``t`` is equal to, by way of others, the nearest first."""
    todo = [t]
    for known in todo:
        for other in (b for a, b in equal if a == known and b not in todo):
            if free_vars(other) and free_vars(other) <= updates:
                return other
            todo.append(other)
    return None


def _is_safe(t: Elem, c: Comprehension, known: Computed) -> bool:
    """Whether all rows have what ``t`` compares: that two have no value fails where a comparison with a third has."""
    return isinstance(t, Call) and all(known.has(side, c, free_vars(side)) for side in t.args)
