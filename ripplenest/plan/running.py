"""Windows of all rows of a key up to a value, or from it on, which those near them tell (``run/running.py``)."""

from collections.abc import Sequence
from functools import lru_cache

from attrs import frozen

from ripplenest.data.order import By, Ordering
from ripplenest.nrc.rewriting.bands import OPPOSITE
from ripplenest.nrc.syntax import At
from ripplenest.plan.product import Col, Product
from ripplenest.plan.sides import UPPER
from ripplenest.plan.windows import Window, window


@frozen
class Running:
    """A ``window`` of all rows of a key up to a value, or from it on, as running totals are of. What a place comes to
    is what the nearest one ``near`` it does that has fewer rows, and the rows between the two. So of places in the
    table ``asked`` that come, no more is read. Places are stored in their order (``in_order``), and rows of the table
    ``of`` in theirs. ``edge``: the columns of a place that rows compare with, and how they do with those of the one
    near it which this has not (``beyond``). Rows ``have_changed`` that have their turn before places."""

    window: Window
    asked: str
    of: str
    near: Ordering
    in_order: Ordering
    rows: Ordering
    edge: tuple[Col, ...]
    beyond: str
    have_changed: bool

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


def together(found: Sequence[Running | None]) -> tuple[Running, ...]:
    """All of these, if each is such a window and they ask for the nearest place in one order: what places come to is
    the sum of what each of them says."""
    some = tuple(r for r in found if r is not None)
    orders = {(r.asked, r.near, r.in_order, r.first, r.is_upper) for r in some}
    return some if len(some) == len(found) and len(orders) == 1 else ()


@lru_cache(maxsize=1 << 14)
def running(p: Product, keyed: int) -> Running | None:
    """What ``p`` makes when places change, if these are such windows, and a place is its key and its edge."""
    w = window(p, keyed)
    if w is None or len(w.edges) != 1 or p.times or p.weight != 1 or p.conditions_on(w.places):
        return None
    ((fn, of),), places, rows = w.edges, p.sources[w.places], p.sources[w.rows]
    edge, by = (tuple(c for c in some if isinstance(c, Col)) for some in (of, w.by))
    if len(edge) < len(of) or len(by) < len(of) or places.at is not At.DELTA:
        return None
    key, own = (sorted(c.column for c in some) for some in (w.keys_of_places, w.keys_of_rows))
    every = tuple(Col(w.places, i, t) for i, t in enumerate(places.types))
    if sorted([*key, *(c.column for c in edge)]) != [*range(len(every))] or p.head[:keyed] != every:
        return None
    if len({*own}) < len(own):
        return None
    near = tuple(By(c.column, (fn in UPPER) != turned) for c, turned in zip(edge, w.turned, strict=True))
    asc, key_of_rows = Ordering(tuple(key), (By(edge[0].column),)), Ordering(tuple(own), (By(by[0].column),))
    orders = Ordering(asc.key, near), asc, key_of_rows
    return Running(w, places.table, rows.table, *orders, edge, OPPOSITE[fn], rows.at is At.NEW)
