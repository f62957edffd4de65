"""Changes that go up an elimination tree: a statement reads what its part changes in a sum map.

    δ_R(A ⋈ R ⋈ C) = A ⋈ δ_R(R ⋈ C)

A product of a statement joins its change with every other generator, before anything is added up. Where the change and
some of the others are what a kept sum map is made of, the statement of that map has joined them already, and by key its
change may be much less: a row of the middle one of three matrices makes n² products with the last of them, and changes
one row of that. So the change goes up the tree, added up at each node, as in the view trees of F-IVM (Nikolic, Olteanu:
Incremental View Maintenance with Triple Lock Factorization Benefits, section 4). Which way a batch takes depends on how
much less it is (``run/upward.py``). A way that joins as many tables as the product does saves nothing.

Law (upward): each way has the rows of its product, by what the map's folds come to. Where several generators read the
part, what it changes in the map is not one of the products, and there is no other way.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations

from attrs import evolve

from ripplenest.delta.factor import factor_of, substituted
from ripplenest.delta.program import Map, Statement, Ways
from ripplenest.delta.trees import MOST, tables_of
from ripplenest.nrc.normal import Comprehension
from ripplenest.nrc.syntax import At, Total

Rewritten = Callable[[Comprehension], Comprehension]


def with_ways(
    s: Statement, m: Map, products: Sequence[Comprehension], sums: Collection[Map], rewritten: Rewritten
) -> Statement:
    """``s`` of ``m``, which knows in which other ways its ``products`` can be made, as they are before they read any
    map: of what the part changes in ``sums``. What is left of them is ``rewritten`` as those of the statement are."""
    if not m.is_folded or s.each or len(s.products) != len(products):
        return s
    known = {name: tables_of(own.products[0]) for own in sums if (name := own.name) != m.name}
    each = [(plain, map(rewritten, _ways(c, s.part, m, known))) for plain, c in zip(s.products, products, strict=True)]
    ways: Ways = tuple((plain, *(c for c in found if _many(c) < _many(plain))) for plain, found in each)
    return evolve(s, ways=ways) if any(len(own) > 1 for own in ways) else s


def _many(c: Comprehension) -> int:
    return len(c.generators)


def _ways(c: Comprehension, part: str, m: Map, known: Mapping[str, tuple[str, ...]]) -> Iterator[Comprehension]:
    reading = [var for var, rel in c.generators if rel.name == part]
    some_total = any(isinstance(rel, Total) for _, rel in c.generators)
    if len(reading) != 1 or not 3 <= len(c.generators) <= MOST or some_total:
        return
    before = evolve(c, generators=tuple((var, evolve(rel, at=At.OLD)) for var, rel in c.generators))
    others = [var for var, _ in c.generators if var != reading[0]]
    for size in range(1, len(others)):
        for more in combinations(others, size):
            side = frozenset((reading[0], *more))
            if tables_of(before, side) in known.values():
                found = factor_of(before, side, At.DELTA, m)
                if found is not None and found.map.name in known:
                    yield substituted(before, found, m)
