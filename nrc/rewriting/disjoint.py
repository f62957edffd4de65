"""Disjunctions of equalities as disjoint equi-joins.

``[p ∧ (c₁ ∨ c₂)] = [p ∧ c₁] ⊎ [p ∧ c₂ ∧ (c₁ is not true)]``: a join on a disjunction is a nested loop over both
tables, each summand here is a hash join, and no row is counted twice.
"""

from collections.abc import Iterator, Mapping, Set

from attrs import evolve

from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.normal import Comprehension, conjuncts, is_total
from ripplenest.nrc.syntax import Call, Elem
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import free_vars


def disjoint(c: Comprehension, free: Mapping[str, Type] | None = None) -> Iterator[Comprehension]:
    """``c``, whose other variables are ``free``, with disjunctions of joins split; ``c`` itself when there are none."""
    names, types = c.variables().keys(), {**(free or {}), **c.variables()}
    for i, condition in enumerate(c.conditions):
        branches = tuple(disjuncts(condition))
        # A branch is asked only where none before it is true, but a key about all rows: it must not fail for any.
        safe = all(is_total(b, types) for b in branches[1:])
        if len(branches) > 1 and safe and all(any(is_join(t, names) for t in conjuncts(b)) for b in branches):
            for part in _split(c, i, branches):
                yield from disjoint(part, free)
            return
    yield c


def is_join(t: Elem, names: Set[str]) -> bool:
    """True for ``column = value`` between different generators ``names``."""
    match t:
        case Call("eq" | "same", (left, right)):
            a, b = free_vars(left) & names, free_vars(right) & names
            return bool(a and b) and not a & b and (column_of(left) is not None or column_of(right) is not None)
        case _:
            return False


def disjuncts(t: Elem) -> Iterator[Elem]:
    """c₁, …, cₙ of c₁ or … or cₙ."""
    match t:
        case Call("or", args):
            for a in args:
                yield from disjuncts(a)
        case _:
            yield t


def _split(c: Comprehension, at: int, branches: tuple[Elem, ...]) -> Iterator[Comprehension]:
    """Each branch in the place of the disjunction: what can fail is asked in the order of the product."""
    before, after = c.conditions[:at], c.conditions[at + 1 :]
    for n, branch in enumerate(branches):
        earlier = tuple(Call("not", (Call("is_true", (b,)),)) for b in branches[:n])
        yield evolve(c, conditions=(*before, *conjuncts(branch), *after, *earlier))
