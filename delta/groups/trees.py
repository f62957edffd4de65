"""Elimination trees: a map that is folded is built of two tables that are there anyway, and not of all that it joins.

InsideOut (incremental-faq, section 6) eliminates variables one after the other, each by a join that is summed at once.
A sum map is what is left of a part of a join when its own variables are summed, so the kept maps are the nodes of such
trees. Where the generators of a product fall into two sides, each of which is one generator or a kept map, the product
is ⟨side⟩ ⋈ ⟨side⟩; there may be several such *splits*, as many as the product of a chain of matrices has last
multiplications. All maps are kept whatever is chosen, so the best tree has the best split at each node: that which
joins the fewest rows, which are counted where these are known (``run/trees.py``).

Law (tree_or_none): every split has the rows of the product, by what the map's folds come to.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

from attrs import evolve

from ripplenest.delta.factor import Factor, components, factor_of, substituted
from ripplenest.delta.groups.apart import made_apart
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Total
from ripplenest.nrc.walk import free_vars

MOST = 8  # generators of which all sides are looked at
Tables = tuple[str, ...]  # what is read, sorted


def with_trees(maps: Collection[Map]) -> tuple[Map, ...]:
    """``maps``, of which each that is folded knows how it is built of others."""
    known = {m.name: tables_of(m.products[0]) for m in maps if m.kind is MapKind.AUXILIARY}
    return tuple(evolve(m, trees=_trees(m, known)) if m.is_folded else m for m in maps)


def _trees(m: Map, known: Mapping[str, Tables]) -> tuple[tuple[Comprehension, ...], ...]:
    """Each product of ``m``, and behind it its splits; nothing where none has a split."""
    others = {name: tables for name, tables in known.items() if name != m.name}
    each = [(c, tuple(_splits(c, m, others))) for c in (made_apart(m, c) for c in m.products)]
    return tuple((c, *found) for c, found in each) if any(found for _, found in each) else ()


def _splits(c: Comprehension, m: Map, known: Mapping[str, Tables]) -> Iterator[Comprehension]:
    variables = [var for var, rel in c.generators if not isinstance(rel, Total)]
    if not 2 <= len(variables) == len(c.generators) <= MOST:
        return
    first, *others = variables
    for size in range(len(others)):
        for more in combinations(others, size):
            one = frozenset((first, *more))
            sides = [_side(c, m, side, known) for side in (one, frozenset(variables) - one)]
            if all(possible for possible, _ in sides) and any(found for _, found in sides):
                yield _joined(c, m, [found for _, found in sides if found is not None])


def _side(c: Comprehension, m: Map, side: frozenset[str], known: Mapping[str, Tables]) -> tuple[bool, Factor | None]:
    """Whether a side is one table, and the map that it is, if it is one."""
    inner = tuple(t for t in c.conditions if free_vars(t) <= side)
    own = evolve(c, generators=tuple((var, rel) for var, rel in c.generators if var in side), conditions=inner)
    found = None
    if tables_of(own) in known.values() and len(components(own)) == 1:
        found = factor_of(c, side, At.OLD, m)
    kept = found if found is not None and found.map.name in known else None
    return len(side) == 1 or kept is not None, kept


def _joined(c: Comprehension, m: Map, sides: list[Factor]) -> Comprehension:
    for side in sides:
        c = substituted(c, side, m)
    return c


def tables_of(c: Comprehension, side: frozenset[str] | None = None) -> Tables:
    """What all generators read, or those of a ``side``."""
    return tuple(sorted(rel.name for var, rel in c.generators if side is None or var in side))
