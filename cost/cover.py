"""Fractional edge covers: how many rows a join can have, whatever its tables hold (Atserias, Grohe and Marx, "Size
bounds and query plans for relational joins", FOCS 2008: the AGM bound).

A cover gives every edge S of a hypergraph a weight λ_S ≥ 0 such that those of the edges at each vertex come to 1 at
least. A join has at most Π |S|^λ_S rows, for every cover, and for the best one there are tables that have as many.
ρ*(U), the least sum of weights that covers U, is the exponent where all tables have as many rows.
"""

from collections.abc import Iterable, Sequence, Set
from fractions import Fraction
from math import exp, log, log2

from attrs import frozen

GRAIN = 2**20  # logarithms are taken as multiples of 1 / GRAIN, so that arithmetic is exact and numbers stay short
ZERO, ONE = Fraction(0), Fraction(1)


@frozen
class Cover:
    """``weights`` of edges, in their order, and what they cost in all: the least."""

    cost: Fraction
    weights: tuple[Fraction, ...]


def cover(vertices: Iterable[str], edges: Sequence[Set[str]], costs: Sequence[Fraction] | None = None) -> Cover:
    """The cover of ``vertices`` by ``edges`` of least Σ cost · weight, where each costs 1 or what ``costs`` say, 0 at
    least. Each vertex is in an edge.

    By the primal simplex on the dual, max Σ y_v with Σ_{v ∈ S} y_v ≤ cost_S: it begins at y = 0, Bland's rule ends it,
    and the reduced costs of its slacks are the weights.
    """
    names, own = sorted(vertices), [ONE] * len(edges) if costs is None else [*costs]
    n, m = len(names), len(edges)
    rows = [[Fraction(v in e) for v in names] + _unit(i, m) + [own[i]] for i, e in enumerate(edges)]
    last = [-ONE] * n + [ZERO] * (m + 1)
    basis = [n + i for i in range(m)]
    while (column := next((i for i, r in enumerate(last[:-1]) if r < 0), None)) is not None:
        limits = [(row[-1] / row[column], basis[i], i) for i, row in enumerate(rows) if row[column] > 0]
        _, _, place = min(limits)
        basis[place] = column
        pivot = rows[place] = [x / rows[place][column] for x in rows[place]]
        for i, row in enumerate(rows):
            if i != place and row[column]:
                rows[i] = _less(row, row[column], pivot)
        last = _less(last, last[column], pivot)
    return Cover(last[-1], tuple(last[n:-1]))


def _unit(i: int, n: int) -> list[Fraction]:
    return [Fraction(i == j) for j in range(n)]


def _less(row: Sequence[Fraction], factor: Fraction, pivot: Sequence[Fraction]) -> list[Fraction]:
    return [a - factor * b for a, b in zip(row, pivot, strict=True)]


def exponent(vertices: Iterable[str], edges: Sequence[Set[str]]) -> Fraction:
    """ρ*(vertices)."""
    return cover(vertices, edges).cost


def most_rows(vertices: Iterable[str], edges: Sequence[Set[str]], rows: Sequence[float]) -> float:
    """The AGM bound on how many values ``vertices`` have together, in the join of ``edges`` of so many ``rows``.

    Law: no join of such tables has more. It is Π |S|^λ_S for weights λ that are exact, whatever was rounded in finding
    them.
    """
    if any(n == 0 for n in rows):
        return 0.0
    costs = [Fraction(round(log2(max(n, 1)) * GRAIN), GRAIN) for n in rows]
    weights = cover(vertices, edges, costs).weights
    return exp(sum(float(w) * log(max(n, 1)) for w, n in zip(weights, rows, strict=True)))
