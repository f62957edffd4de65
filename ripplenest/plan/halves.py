"""Products whose rows are windows of joins: of each place, some of the rows that several sources make together.

    for l in L union for c in C union for o in O where o.k = c.k where c.r = l.r where at(o) ≤ at(l) union sng(⟨l, v⟩)
        =  for l in L union for y in (for c in C union for o in O where o.k = c.k union sng(⟨c.r, at(o), v⟩))
           where y.r = l.r where y.at ≤ at(l) union sng(⟨l, y.v⟩)

So is the rank of customers by what their orders come to. Joined from the places on, these are all pairs of a region,
however few rows it has; the inner join has as many rows as it has, and what is left is a window of two sources, of
which no pairs are made (``plan/windows.py``).

Law: both make the same rows.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from attrs import evolve, frozen

from ripplenest.nrc.syntax import At
from ripplenest.plan.product import Col, Op, Product, Scalar, Source, Step, cols, sources_of
from ripplenest.plan.windows import window


@frozen(eq=False)
class Halves:
    """The source of ``places``; the product that makes ``rows`` of all other sources, with the columns that are read of
    them; and what is left of ``both``, of the sources 0 and 1."""

    places: int
    rows: Product
    both: Product


@lru_cache(maxsize=1 << 14)
def halves(p: Product, keyed: int) -> Halves | None:
    """What ``p`` is made of, whose ``keyed`` first columns are of places; None of what is no such window."""
    of = {i for s in p.head[:keyed] for i in sources_of(s)}
    if len(p.sources) < 3 or len(of) != 1 or p.constant or p.partial:
        return None
    (places,) = of
    steps = [*_steps(p, places)]
    if len(steps) < len(p.sources) - 1:
        return None
    across = [c for c in p.conditions if places in sources_of(c)]
    read = dict.fromkeys(c for s in (*p.head[keyed:], *p.times, *across) for c in cols(s) if c.source != places)
    both = _both(p, places, across, [*read])
    return None if window(both, keyed) is None else Halves(places, _rows(p, places, steps, [*read]), both)


def _steps(p: Product, places: int) -> Iterator[Step]:
    """Those of the other sources, as long as each but the first has keys of those before it."""
    others = (s for s in p.steps if s.source != places)
    for n, step in enumerate(others):
        keys = tuple(k for k in step.keys if places not in sources_of(k.scalar))
        if (n and not keys) or (step.place and keys != step.keys):
            return
        ready, guarded = (_without(some, places) for some in (step.ready, step.guarded))
        via = tuple(i for i in step.via if i != places)
        yield evolve(step, keys=keys, via=via, ready=ready, guarded=guarded, band=None, is_ranged=False)


def _without(conditions: Sequence[Scalar], places: int) -> tuple[Scalar, ...]:
    return tuple(c for c in conditions if places not in sources_of(c))


def _rows(p: Product, places: int, steps: Sequence[Step], columns: Sequence[Col]) -> Product:
    """What the other sources make; their numbers are what they were, and the places are not read."""
    conditions = _without(p.conditions, places)
    every = (*steps[:-1], evolve(steps[-1], ready=conditions))  # some were asked as keys of places
    return Product(p.sources, conditions, tuple(columns), 1, every, every, ())


def _both(p: Product, places: int, across: Sequence[Scalar], columns: Sequence[Col]) -> Product:
    """What is made of places and of rows of these ``columns``."""
    numbers = {c: Col(1, i, c.type) for i, c in enumerate(columns)}

    def moved(s: Scalar) -> Scalar:
        match s:
            case Col():
                return numbers.get(s, Col(0, s.column, s.type))
            case Op(fn, args, t):
                return Op(fn, tuple(map(moved, args)), t)
        return s

    sources = (p.sources[places], Source("", At.NEW, tuple(c.type for c in columns)))
    conditions, head, times = (tuple(map(moved, some)) for some in (across, p.head, p.times))
    return Product(sources, conditions, head, p.weight, (), (), (), times)
