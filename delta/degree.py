"""The degree of a term: how many deltas it takes until nothing of the database is left (nrc-ivm, section 4.1 and 5.2).

Law (theorem 2): ``deg(δ(h)) = deg(h) - 1`` for every h that depends on what changes, so that δ^deg(h)(h) is
input-independent and the tower h, δ(h), δ²(h), … ends. ``delta`` checks it on each derivation. ∅ is read with lemma 1:
it has no degree at all (−∞), so that ``∅ × R``, which δ(p × R) holds, is ∅ and not a term of degree 1.

Degrees are checked. ``deg(δ(h)) = deg(h) − 1`` (theorem 2) is checked on every derivation (``delta/degree.py``). ∅
has no degree at all there, which is lemma 1: a term that the paper drops must not count.
"""

from collections.abc import Mapping
from math import inf
from typing import assert_never

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.syntax import (
    Apply,
    At,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    Flatten,
    For,
    Group,
    Let,
    LetVar,
    Neg,
    Plus,
    Pred,
    Product,
    Rel,
    Sng,
    SngBag,
    Top,
    Weigh,
)

NOTHING = -inf  # the degree of ∅
Phi = Mapping[str, float]


def deg(e: Expr, parts: frozenset[str], phi: Phi | None = None) -> int:
    """deg_φ(e) with respect to the stored ``parts`` that may change; φ has the degrees of free let-variables.

    0 for what does not depend on them (and for ∅). Raises QueryError on ``sng_ι(e)`` with an e that does: only shredded
    terms have a degree.
    """
    return _natural(_deg(e, parts, phi or {}))


def deg_dict(d: DictExpr, parts: frozenset[str], phi: Phi | None = None) -> int:
    """The degree of what a dictionary holds for a label."""
    return _natural(_deg_dict(d, parts, phi or {}))


def _natural(degree: float) -> int:
    return int(max(degree, 0))


def _deg(e: Expr, parts: frozenset[str], phi: Phi) -> float:
    def again(c: Expr) -> float:
        return _deg(c, parts, phi)

    match e:
        case Rel(name, _, at):                      # deg(R) = 1             deg(ΔR) = deg(S) = 0
            return _stored(name, at, parts)
        case LetVar(name):                          # deg(X) = φ(X)
            return phi.get(name, 0)
        case Let(name, bound, body):                # deg(let X := e₁ in e₂) = deg_{φ[X := deg(e₁)]}(e₂)
            return _deg(body, parts, {**phi, name: again(bound)})
        case For(_, source, body):                  # deg(for x in e₁ union e₂) = deg(e₁) + deg(e₂)
            return again(source) + again(body)
        case Pred() | Weigh() | Sng():              # deg(p) = deg(w) = deg(sng(x)) = deg(inL_ι) = 0
            return 0
        case SngBag(site, body):                    # deg(sng*(e)) = 0, e input-independent
            if again(body) > 0:
                raise QueryError(f"only shredded terms have a degree, and the inner bag {site} depends on the database")
            return 0
        case Flatten(of) | Neg(of):                 # deg(flatten(e)) = deg(⊖e) = deg(e)
            return again(of)
        case Product(left, right):                  # deg(e₁ × e₂) = deg(e₁) + deg(e₂)
            return again(left) + again(right)
        case Plus(left, right):                     # deg(e₁ ⊎ e₂) = max(deg(e₁), deg(e₂))
            return max(again(left), again(right))
        case Group(site, _, of) | Top(site, _, of):  # deg(γ(e)) = deg(τ(e)) = 0, e input-independent
            if again(of) > 0:
                raise QueryError(f"only terms that are cut have a degree, and the group {site} depends on the database")
            return 0
        case Empty():                               # δ(∅) = ∅, of every order
            return NOTHING
        case Apply(dictionary, _):                  # deg(d(l)) = deg(d)
            return _deg_dict(dictionary, parts, phi)
        case _:
            assert_never(e)


def _deg_dict(d: DictExpr, parts: frozenset[str], phi: Phi) -> float:
    match d:
        case DictRel(name, _, at):                  # deg(R^Γ) = 1           deg(ΔR^Γ) = 0
            return _stored(name, at, parts)
        case DictLit(_, _, body):                   # deg([l ↦ e]) = deg(e)
            return _deg(body, parts, phi)
        case DictPlus(left, right) | DictUnion(left, right):  # deg(d₁ ∪ d₂) = max(deg(d₁), deg(d₂))
            return max(_deg_dict(left, parts, phi), _deg_dict(right, parts, phi))
        case DictEmpty():
            return NOTHING
        case _:
            assert_never(d)


def _stored(name: str, at: At, parts: frozenset[str]) -> int:
    return int(name in parts and at is not At.DELTA)
