"""The tower of higher-order deltas: h, δ(h), δ²(h), …, until nothing of the database is left (nrc-ivm, section 4.1).

``δᵏ(h)[R, ΔR, ΔʹR, …]`` says how ``δᵏ⁻¹(h)`` changes when R does: h itself is refreshed by δ(h), a materialised δ(h) by
δ²(h), and so on. The tower has deg(h) + 1 floors (theorem 2). Each order has updates of its own, which later orders
leave alone.
"""

from attrs import evolve

from ripplenest.delta.degree import deg
from ripplenest.delta.rules import Changed, delta
from ripplenest.nrc.syntax import At, DictExpr, DictRel, Expr, Rel
from ripplenest.nrc.walk import rebuild, rebuild_dict


def tower(h: Expr, parts: Changed) -> tuple[Expr, ...]:
    """h, δ(h), …, δ^deg(h)(h) with respect to ``parts``; the last one reads updates only.

    Law: ``δᵏ(h)[R ⊎ U] = δᵏ(h)[R] ⊎ δᵏ⁺¹(h)[R, U]``, U being the updates of order k + 1 (``Rel.order``).
    Raises QueryError as ``delta`` does.
    """
    floors = [h]
    for _ in range(deg(h, parts)):
        floors.append(delta(older(floors[-1]), parts))
    return tuple(floors)


def older(e: Expr) -> Expr:
    """``e`` with each update one order up, ΔR ⟶ ΔʹR, so that ΔR is free for the next delta."""

    def dictionary(d: DictExpr) -> DictExpr:
        if isinstance(d, DictRel) and d.at is At.DELTA:
            return evolve(d, order=d.order + 1)
        return rebuild_dict(d, older, dictionary)

    if isinstance(e, Rel) and e.at is At.DELTA:
        return evolve(e, order=e.order + 1)
    return rebuild(e, older, lambda t: t, dictionary)
