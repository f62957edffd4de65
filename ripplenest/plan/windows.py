"""Products whose rows are windows: of each place of one source, those rows of another that lie between two values.

    for l in L union for b in R where k(b) = k(l) where lo(l) ≤ at(b) where at(b) ≤ hi(l) union sng(⟨label(l), v(b)⟩)

Where rows lie on an edge, more of them may say which are behind it, ``at(b) < at(l) or at(b) = at(l) and n(b) ≤ n(l)``.
What is folded of them by place, as running totals and moving averages are, need not be joined: the rows of a key stand
in the order of ``at``, the rows of each place are next to each other there, and what a fold adds up is the difference
of two sums from the first row on (``vector/windows.py``).
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from attrs import frozen

from ripplenest.data.order import By, Ordering
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import may_be_null, nullable
from ripplenest.plan.groups import Folding
from ripplenest.plan.product import Col, Op, Product, Scalar, sources_of

UPPER, STRICT = ("lt", "le"), ("lt", "gt")


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
def window(p: Product, f: Folding) -> Window | None:
    """What ``p`` makes for ``f``, if these are windows: what is folded is of rows alone, keys of places alone, and what
    goes with what is told by equalities and by comparisons with one value. None where something else can fail than what
    rows are compared with."""
    if len(p.sources) != 2 or p.constant or any(len(sources_of(c)) < 2 for c in p.partial):
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
        case Op("eq" | "same" as fn, (Col() as a, Col() as b)) if _is_ordered(a, b):
            return (a, b, fn == "same") if a.source == places else (b, a, fn == "same")
    return None


@frozen
class _Edge:
    """How what a row has ``by``, one value after another, compares with those ``of`` a place."""

    fn: str
    by: tuple[Scalar, ...]
    turned: tuple[bool, ...]
    of: tuple[Scalar, ...]


def _edge(c: Scalar, rows: int) -> _Edge | None:
    """What ``c`` says; NULL may only be in what is compared first, as it decides nothing beside a value that does."""
    found = _compared([[c]], rows)
    if not found or any(may_be_null(t.type) for _, *pair in found[1:] for t in pair):
        return None
    is_upper = [fn in UPPER for fn, _, _ in found]
    fn = next(f for f in SWAPPED if (f in UPPER) == is_upper[0] and (f in STRICT) == (found[-1][0] in STRICT))
    turned = tuple(up != is_upper[0] for up in is_upper)
    return _Edge(fn, tuple(by for _, by, _ in found), turned, tuple(of for *_, of in found))


def _compared(ways: list[list[Scalar]], rows: int) -> list[tuple[str, Scalar, Scalar]]:
    """The comparisons of which one after the other decides, if ``ways``, of which one must be true in all that it is
    made of, say that: a < p, or a = p and b < q, and so on. None where they do not."""
    ways = [own for way in ways for own in _alternatives(way)]
    if len(ways) == 1:
        return [*_comparison(ways[0], rows)]
    for i, way in enumerate(ways):
        for fn, by, of in _comparison(way, rows):
            others = (*ways[:i], *ways[i + 1 :])
            ties = [[t for t in other if not _says_tie(t, by, of)] for other in others]
            are_ties = all(0 < len(tie) < len(other) for tie, other in zip(ties, others, strict=True))
            if fn in STRICT and are_ties and (rest := _compared(ties, rows)):
                return [(fn, by, of), *rest]
    return []


def _alternatives(way: list[Scalar]) -> Iterator[list[Scalar]]:
    """``way`` as several, if it is an ``or`` alone; each without ``and``."""
    match [t for own in way for t in _parts(own, "and")]:
        case [Op("or") as either]:
            for t in _parts(either, "or"):
                yield from _alternatives([t])
        case every:
            yield every


def _parts(t: Scalar, fn: str) -> Iterator[Scalar]:
    if isinstance(t, Op) and t.fn == fn:
        for a in t.args:
            yield from _parts(a, fn)
    else:
        yield t


def _comparison(way: list[Scalar], rows: int) -> Iterator[tuple[str, Scalar, Scalar]]:
    """A comparison of a value of a row with one of a place, if ``way`` is that alone."""
    match way:
        case [Op(fn, (a, b))] if fn in SWAPPED and _is_ordered(a, b) and [len(sources_of(t)) for t in (a, b)] == [1, 1]:
            yield (fn, a, b) if sources_of(a) == {rows} else (SWAPPED[fn], b, a)


def _says_tie(t: Scalar, by: Scalar, of: Scalar) -> bool:
    return isinstance(t, Op) and t.fn == "eq" and t.args in ((by, of), (of, by))


def _is_ordered(a: Scalar, b: Scalar) -> bool:
    """Whether two values are compared as they are; doubles are not, of which NaN is equal to nothing."""
    return nullable(a.type) == nullable(b.type) and a.type.kind != "double"


@frozen
class Running:
    """A ``window`` of all rows of a key up to a value, or from it on, as running totals are of. What a place comes to
    is what the nearest one ``near`` it does that has fewer rows, and the rows between the two. So of places in the
    table ``asked`` that come, no more is read. Places are stored in their order (``in_order``), and rows of the table
    ``of`` in theirs. ``edge``: the columns of a place that rows compare with, and how they do with those of the one
    near it which this has not (``beyond``)."""

    window: Window
    asked: str
    of: str
    near: Ordering
    in_order: Ordering
    rows: Ordering
    edge: tuple[Col, ...]
    beyond: str

    @property
    def asks(self) -> tuple[int, ...]:
        """The columns of a place that are equated with those that rows have for a key, in their order."""
        return tuple(a.column for a, _ in sorted(self.window.keys, key=lambda pair: pair[1].column))

    @property
    def first(self) -> int:
        """The column of a place that rows compare with first."""
        return self.edge[0].column

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
    ((fn, of),), places, rows = w.edges, p.sources[w.places], p.sources[w.rows]
    edge, by = (tuple(c for c in some if isinstance(c, Col)) for some in (of, w.by))
    if len(edge) < len(of) or len(by) < len(of) or places.at is not At.DELTA or rows.at is not At.NEW:
        return None
    key, own = (sorted(c.column for c in some) for some in (w.keys_of_places, w.keys_of_rows))
    every = tuple(Col(w.places, i, t) for i, t in enumerate(places.types))
    if sorted([*key, *(c.column for c in edge)]) != [*range(len(every))] or p.head[: f.keys] != every:
        return None
    if len({*own}) < len(own):
        return None
    near = tuple(By(c.column, (fn in UPPER) != turned) for c, turned in zip(edge, w.turned, strict=True))
    asc, key_of_rows = Ordering(tuple(key), (By(edge[0].column),)), Ordering(tuple(own), (By(by[0].column),))
    return Running(w, places.table, rows.table, Ordering(asc.key, near), asc, key_of_rows, edge, OPPOSITE[fn])
