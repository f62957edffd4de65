"""Disjunctions of equalities as disjoint equi-joins.

``[p ∧ (c₁ ∨ c₂)] = [p ∧ c₁] ⊎ [p ∧ c₂ ∧ (c₁ is not true)]``: a join on a disjunction is a nested loop over both
tables, each summand here is a hash join, and no row is counted twice.
"""

from attrs import evolve

from ripplenest.nrc.types import BOOL
from ripplenest.plan.product import Col, Op, Product, Scalar, is_total, sources_of


def disjoint(p: Product) -> tuple[Product, ...]:
    """``p`` as products whose disjunctions of joins are split; one product when there are none."""
    for i, condition in enumerate(p.conditions):
        branches = _disjuncts(condition)
        # A branch is asked only where none before it is true, but a key about all rows: it must not fail for any.
        safe = all(map(is_total, branches[1:]))
        if len(branches) > 1 and safe and all(any(is_join(c) for c in _conjuncts(b)) for b in branches):
            return tuple(q for part in _split(p, i, branches) for q in disjoint(part))
    return (p,)


def is_join(s: Scalar) -> bool:
    """True for ``column = scalar`` between two different sources."""
    if not (isinstance(s, Op) and s.fn in ("eq", "same")):
        return False
    left, right = s.args
    a, b = sources_of(left), sources_of(right)
    return bool(a and b) and not (a & b) and (isinstance(left, Col) or isinstance(right, Col))


def _split(p: Product, at: int, branches: tuple[Scalar, ...]) -> list[Product]:
    """Each branch in the place of the disjunction: what can fail is asked in the order of the product."""
    before, after, parts = p.conditions[:at], p.conditions[at + 1 :], []
    for n, branch in enumerate(branches):
        earlier = tuple(Op("not", (Op("is_true", (b,), BOOL),), BOOL) for b in branches[:n])
        parts.append(evolve(p, conditions=(*before, *_conjuncts(branch), *after, *earlier)))
    return parts


def _disjuncts(s: Scalar) -> tuple[Scalar, ...]:
    return _parts(s, "or")


def _conjuncts(s: Scalar) -> tuple[Scalar, ...]:
    return _parts(s, "and")


def _parts(s: Scalar, fn: str) -> tuple[Scalar, ...]:
    if isinstance(s, Op) and s.fn == fn:
        return tuple(part for a in s.args for part in _parts(a, fn))
    return (s,)
