"""Products whose rows are windows: of each place of one source, those rows of another that lie between two values.

    for l in L union for b in R where k(b) = k(l) where lo(l) ≤ at(b) where at(b) ≤ hi(l) union sng(⟨label(l), v(b)⟩)

Where rows lie on an edge, more of them may say which are behind it, ``at(b) < at(l) or at(b) = at(l) and n(b) ≤ n(l)``.
What is folded of them by place, as running totals and moving averages are, need not be joined: the rows of a key stand
in the order of ``at``, the rows of each place are next to each other there, and what a fold adds up is the difference
of two sums from the first row on (``vector/windows.py``).
"""

from collections.abc import Sequence
from functools import lru_cache

from attrs import frozen

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.plan.product import Col, Op, Product, Scalar, sources_of
from ripplenest.plan.sides import are_alike, side_of


@frozen
class Window:
    """The source of ``places``, and the one of ``rows``. Their ``keys`` are pairs of columns that are equal, of a place
    first; ``safe`` where NULL equals NULL. What a row has ``by``, one value after another, compares with each edge of a
    place as its function says, where those that are ``turned`` compare the other way round."""

    places: int
    rows: int
    keys: tuple[tuple[Col, Col], ...]
    safe: tuple[bool, ...]
    by: tuple[Scalar, ...]
    turned: tuple[bool, ...]
    edges: tuple[tuple[str, tuple[Scalar, ...]], ...]

    @property
    def keys_of_places(self) -> tuple[Col, ...]:
        return tuple(a for a, _ in self.keys)

    @property
    def keys_of_rows(self) -> tuple[Col, ...]:
        return tuple(b for _, b in self.keys)


@lru_cache(maxsize=1 << 14)
def window(p: Product, keyed: int) -> Window | None:
    """What ``p`` makes, if these are windows: what is folded is of rows alone, the ``keyed`` first columns of places
    alone, and what goes with what is told by equalities and by comparisons with one value. None where something else
    can fail than what rows are compared with."""
    if len(p.sources) != 2 or p.constant or any(len(sources_of(c)) < 2 for c in p.partial):
        return None
    found = (_window(p, keyed, places, rows) for places, rows in ((0, 1), (1, 0)))
    return next((w for w in found if w is not None), None)


def _window(p: Product, keyed: int, places: int, rows: int) -> Window | None:
    if not (_are_of(p.head[:keyed], places) and _are_of(p.head[keyed:], rows)):
        return None
    both = [c for c in p.conditions if len(sources_of(c)) == 2]
    if any(len(sources_of(t)) == 2 for t in p.times):
        return None
    keys = [_key(c, places) for c in both if not _compares(c)]
    edges = [side_of(c, rows) for c in both if _compares(c)]
    known, sides = [k for k in keys if k is not None], [e for e in edges if e is not None]
    ways = {(e.by, e.turned) for e in sides}
    if len(known) < len(keys) or len(sides) < len(edges) or len(ways) != 1:
        return None
    ((by, turned),), pairs = ways, tuple((a, b) for a, b, _ in known)
    return Window(places, rows, pairs, tuple(s for *_, s in known), by, turned, tuple((e.fn, e.of) for e in sides))


def _are_of(scalars: Sequence[Scalar], source: int) -> bool:
    return all(sources_of(s) <= {source} for s in scalars)


def _compares(c: Scalar) -> bool:
    return isinstance(c, Op) and c.fn in (*SWAPPED, "or")


def _key(c: Scalar, places: int) -> tuple[Col, Col, bool] | None:
    match c:
        case Op("eq" | "same" as fn, (Col() as a, Col() as b)) if are_alike(a, b):
            return (a, b, fn == "same") if a.source == places else (b, a, fn == "same")
    return None
