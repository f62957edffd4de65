"""Changes that go up an elimination tree: a statement reads what its part changes in a sum map.

    δ_R(A ⋈ R ⋈ C) = A ⋈ δ_R(R ⋈ C)

A product of a statement joins its change with every other generator, before anything is added up. Where the change and
some of the others are what a kept sum map is made of, the statement of that map has joined them already, and by key its
change may be much less: a row of the middle one of three matrices makes n² products with the last of them, and changes
one row of that. So the change goes up the tree, added up at each node, as in the view trees of F-IVM (Nikolic, Olteanu,
SIGMOD 2018). Which way a batch takes depends on how much less it is (``run/upward.py``). A way that joins as many
tables as the product does saves nothing, nor does one of two sides of which one is found by unique columns: what the
change makes there is as many rows as it has itself.

Law (upward): each way has the rows of its product, by what the map's folds come to. Where several generators read the
part, what it changes in the map is not one of the products, and there is no other way.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations

from attrs import evolve

from ripplenest.cost.estimate import Keys, several
from ripplenest.delta.factor import factor_of, substituted
from ripplenest.delta.groups.trees import MOST, Tables, tables_of
from ripplenest.delta.program import Map, Statement, Ways
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Total

LEAST = 2  # tables that a way joins: a change, and what meets it
Rewritten = Callable[[Comprehension], Comprehension]


def with_ways(
    s: Statement, m: Map, products: Sequence[Comprehension], sums: Collection[Map], keys: Keys, rewritten: Rewritten
) -> Statement:
    """``s`` of ``m``, which knows in which other ways its ``products`` can be made, as they are before they read any
    map: of what the part changes in ``sums``. What is left of them is ``rewritten`` as those of the statement are.
    ``keys`` are unique columns, by part."""
    if not m.is_folded or s.each or len(s.products) != len(products):
        return s
    known = {name: tables_of(own.products[0]) for own in sums if (name := own.name) != m.name}

    def others(plain: Comprehension, c: Comprehension) -> Iterator[Comprehension]:
        most = len(plain.generators)
        made = map(rewritten, _ways(c, s.part, m, known, keys)) if most > LEAST else ()
        return (way for way in made if len(way.generators) < most)

    ways: Ways = tuple((plain, *others(plain, c)) for plain, c in zip(s.products, products, strict=True))
    return evolve(s, ways=ways) if any(len(own) > 1 for own in ways) else s


def _ways(c: Comprehension, part: str, m: Map, known: Mapping[str, Tables], keys: Keys) -> Iterator[Comprehension]:
    reading = [var for var, rel in c.generators if rel.name == part]
    some_total = any(isinstance(rel, Total) for _, rel in c.generators)
    if len(reading) != 1 or len(c.generators) > MOST or some_total:
        return
    before = evolve(c, generators=tuple((var, evolve(rel, at=At.OLD)) for var, rel in c.generators))
    others, fanning = [var for var, _ in c.generators if var != reading[0]], several(c, keys)
    for size in range(1, len(others)):
        for more in combinations(others, size):
            side = frozenset((reading[0], *more))
            fans_out = fanning & side and fanning - side
            if fans_out and tables_of(before, side) in known.values():
                found = factor_of(before, side, At.DELTA, m)
                if found is not None and found.map.name in known:
                    yield substituted(before, found, m)
