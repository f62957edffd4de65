"""Products whose rows are windows: of each place of one source, those rows of another that lie between two values.

    for l in L union for b in R where k(b) = k(l) where lo(l) ≤ at(b) where at(b) ≤ hi(l) union sng(⟨label(l), v(b)⟩)

What is folded of them by place, as running totals and moving averages are, need not be joined: the rows of a key stand
in the order of ``at``, the rows of each place are next to each other there, and what a fold adds up is the difference
of two sums from the first row on (``vector/windows.py``).
"""

from collections.abc import Sequence
from functools import lru_cache

from attrs import frozen

from ripplenest.data.order import By, Ordering
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import nullable
from ripplenest.plan.groups import Folding
from ripplenest.plan.product import Col, Op, Product, Scalar, sources_of


@frozen
class Window:
    """The source of ``places``, and the one of ``rows``. Their ``keys`` are pairs of columns that are equal, of a place
    first; ``safe`` where NULL equals NULL. ``by`` of a row compares with each edge of a place as its function says."""

    places: int
    rows: int
    keys: tuple[tuple[Col, Col], ...]
    safe: tuple[bool, ...]
    by: Scalar
    edges: tuple[tuple[str, Scalar], ...]

    @property
    def keys_of_places(self) -> tuple[Col, ...]:
        return tuple(a for a, _ in self.keys)

    @property
    def keys_of_rows(self) -> tuple[Col, ...]:
        return tuple(b for _, b in self.keys)


@lru_cache(maxsize=1 << 14)
def window(p: Product, f: Folding) -> Window | None:
    """What ``p`` makes for ``f``, if these are windows: what is folded is of rows alone, keys of places alone, and what
    goes with what is told by equalities and by comparisons with one value. None where something can fail."""
    if len(p.sources) != 2 or p.partial or p.constant:
        return None
    found = (_window(p, f, places, rows) for places, rows in ((0, 1), (1, 0)))
    return next((w for w in found if w is not None), None)


def _window(p: Product, f: Folding, places: int, rows: int) -> Window | None:
    if not (_are_of(p.head[: f.keys], places) and _are_of(p.head[f.keys :], rows)):
        return None
    both = [c for c in p.conditions if len(sources_of(c)) == 2]
    if any(len(sources_of(t)) == 2 for t in p.times):
        return None
    keys = [_key(c, places) for c in both if not _compares(c)]
    edges = [_edge(c, rows) for c in both if _compares(c)]
    known, sides = [k for k in keys if k is not None], [e for e in edges if e is not None]
    if len(known) < len(keys) or len(sides) < len(edges) or len({by for _, by, _ in sides}) != 1:
        return None
    pairs = tuple((a, b) for a, b, _ in known)
    return Window(places, rows, pairs, tuple(s for *_, s in known), sides[0][1], tuple((fn, e) for fn, _, e in sides))


def _are_of(scalars: Sequence[Scalar], source: int) -> bool:
    return all(sources_of(s) <= {source} for s in scalars)


def _compares(c: Scalar) -> bool:
    return isinstance(c, Op) and c.fn in SWAPPED


def _key(c: Scalar, places: int) -> tuple[Col, Col, bool] | None:
    match c:
        case Op("eq" | "same" as fn, (Col() as a, Col() as b)) if _is_ordered(a, b):
            return (a, b, fn == "same") if a.source == places else (b, a, fn == "same")
    return None


def _edge(c: Scalar, rows: int) -> tuple[str, Scalar, Scalar] | None:
    """How a value of a row compares with one of a place."""
    assert isinstance(c, Op)
    a, b = c.args
    if not _is_ordered(a, b) or len(sources_of(a)) != 1 or len(sources_of(b)) != 1:
        return None
    return (c.fn, a, b) if sources_of(a) == {rows} else (SWAPPED[c.fn], b, a)


def _is_ordered(a: Scalar, b: Scalar) -> bool:
    """Whether two values are compared as they are; doubles are not, of which NaN is equal to nothing."""
    return nullable(a.type) == nullable(b.type) and a.type.kind != "double"


@frozen
class Running:
    """A ``window`` of all rows of a key up to a value, or from it on, as running totals are of. What a place comes to
    is what the nearest one ``near`` it does that has fewer rows, and the rows between the two. So of places in the
    table ``asked`` that come, no more is read. Places are stored in their order (``in_order``), and rows of the table
    ``of`` in theirs. The ``edge`` of a place, and how rows compare with that of the one near it which this has not."""

    window: Window
    asked: str
    of: str
    near: Ordering
    in_order: Ordering
    rows: Ordering
    edge: Col
    beyond: str

    @property
    def asks(self) -> tuple[int, ...]:
        """The columns of a place that are equated with those that rows have for a key, in their order."""
        return tuple(a.column for a, _ in sorted(self.window.keys, key=lambda pair: pair[1].column))

    @property
    def is_upper(self) -> bool:
        """Whether rows are those up to the edge."""
        return self.beyond in ("gt", "ge")


@lru_cache(maxsize=1 << 14)
def running(p: Product, f: Folding) -> Running | None:
    """What ``p`` makes when places change, if these are such windows, and a place is its key and its edge."""
    w = window(p, f)
    if w is None or len(w.edges) != 1 or p.times or p.weight != 1 or p.conditions_on(w.places):
        return None
    ((fn, edge),), by, places, rows = w.edges, w.by, p.sources[w.places], p.sources[w.rows]
    if not (isinstance(edge, Col) and isinstance(by, Col)) or places.at is not At.DELTA or rows.at is not At.NEW:
        return None
    key, own = (sorted(c.column for c in some) for some in (w.keys_of_places, w.keys_of_rows))
    every = tuple(Col(w.places, i, t) for i, t in enumerate(places.types))
    if sorted([*key, edge.column]) != [*range(len(every))] or p.head[: f.keys] != every or len({*own}) < len(own):
        return None
    asc = Ordering(tuple(key), (By(edge.column),))
    near = Ordering(asc.key, (By(edge.column, descending=fn in ("lt", "le")),))
    of = Ordering(tuple(own), (By(by.column),))
    return Running(w, places.table, rows.table, near, asc, of, edge, OPPOSITE[fn])
