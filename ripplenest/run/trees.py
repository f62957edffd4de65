"""Which tree builds a map: that whose last join has the fewest rows, counted where both sides are known.

All maps of a tree are built in any case, so the best choice for a map does not depend on those for others
(``delta/groups/trees.py``). Rows of a sum map are heavier than those that they are made of: their weights say how many
rows the product itself would join, and it is joined where the others spare little of that.
"""

from collections.abc import Callable, Sequence
from math import prod

import pyarrow.compute as pc
from attrs import evolve, frozen

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import PlannedMap, Target
from ripplenest.plan.product import Product
from ripplenest.run.inputs import Run
from ripplenest.vector import join
from ripplenest.vector.binding import Binding

HEAVIER = 2  # as many rows of relations are joined in the time of one of sums
LOOKED_INTO = 1 << 24  # pairs that are joined to look into a map as it is defined, some seconds
LEAST = 1.2  # rows that one of sums is made of; where it is fewer, on average, nobody counts
Products = tuple[Product, ...]  # that one comprehension is


@frozen
class Way:
    """How a map is built: what makes its rows, and how these are folded."""

    target: Target
    products: Sequence[Product]
    folding: Folding | None


def way(m: PlannedMap, products: Products | None = None) -> Way:
    """Of ``products`` that make what statements make, or as it is defined."""
    if products is None:
        return Way(evolve(m.whole, fold=m.folding), m.build, m.folding)
    return Way(evolve(m.whole, types=m.made, fold=m.adding), products, m.adding)


def chosen(run: Run, m: PlannedMap, pairs: float = 0) -> Products | None:
    """The products that build ``m`` of other maps; None where it is built as it is defined, as it is where that joins
    no more than so many ``pairs``."""
    return _unless_plain(m, [_best(run, splits, pairs) for splits in m.trees])


def smaller(m: PlannedMap, size: Callable[[str], int], pairs: float = 0) -> Products | None:
    """The same by the sizes of tables alone: of pairs that nobody counts, as many meet on average as there are rows."""
    return _unless_plain(m, [_smallest(splits, size, pairs) for splits in m.trees])


def _unless_plain(m: PlannedMap, found: Sequence[Products]) -> Products | None:
    if all(best is splits[0] for best, splits in zip(found, m.trees, strict=True)):
        return None
    return tuple(p for best in found for p in best)


def _smallest(splits: Sequence[Products], size: Callable[[str], int], pairs: float) -> Products:
    plain, *others = splits
    made_of, best = _pairs(plain, size), min(others, key=lambda own: _pairs(own, size), default=plain)
    return best if made_of > pairs and _pairs(best, size) * HEAVIER < made_of else plain


def _pairs(split: Products, size: Callable[[str], int]) -> int:
    return sum(prod(size(s.table) for s in p.sources) for p in split)


def _best(run: Run, splits: Sequence[Products], pairs: float) -> Products:
    """The first one, or another that joins much fewer rows."""
    plain, *others = splits
    some = [own for own in others if all(_each(run, p) >= LEAST for p in own)]
    counted = [(rows, own) for own in some if (rows := _rows(run, own)) is not None]
    if not counted:
        return plain
    (joined, made_of), best = min(counted, key=lambda c: c[0])
    return best if made_of > pairs and joined * HEAVIER < made_of else plain


def _each(run: Run, p: Product) -> float:
    """How many rows of relations a pair of rows is made of, on average."""
    return prod(_made_of(run.plan.shown.get(s.table), run.stored(s.table)) for s in p.sources)


def _made_of(m: PlannedMap | None, stored: Rows) -> float:
    if m is None or m.folding is None or m.kind.passes_on or stored.is_empty:
        return 1.0
    return float(pc.sum(stored.arrow().column(m.folding.keys)).as_py()) / len(stored)


def _rows(run: Run, split: Products) -> tuple[float, float] | None:
    """How many rows two tables have together, before conditions that are no keys, and how many these are made of. None
    where a key has no value for some row."""
    try:
        each = [_joined(run, p) for p in split]
    except EvaluationError:
        return None
    return sum(n for n, _ in each), sum(n for _, n in each)


def _joined(run: Run, p: Product) -> tuple[float, float]:
    first, second = p.steps
    rows = [*run.scan(p)]
    binding = Binding.of(first.source, run.indexed(rows[first.source]))
    other = run.indexed(rows[second.source])
    return join.many(binding, second, other), join.weight(binding, second, other)
