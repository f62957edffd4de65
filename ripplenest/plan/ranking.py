"""How the first rows of places are kept, said in columns.

All rows of a place and the first of them have the same columns: those of the label, of what readers see, and of what
rows are ordered by besides. So what readers see are the first columns of what is stored, as of a group.
"""

from collections.abc import Iterator

from attrs import evolve, field, frozen

from ripplenest.data.columns import base_types
from ripplenest.data.labels import width
from ripplenest.data.order import By, Ordering
from ripplenest.delta.groups.ranking import RANKED, Ranking
from ripplenest.nrc.syntax import Elem, Proj, Var
from ripplenest.nrc.types import Base, Label
from ripplenest.nrc.walk import replace_elem
from ripplenest.plan.lower import over_row
from ripplenest.plan.product import Col


@frozen
class Nearest:
    """The first rows behind an edge, a ``column`` of the key. Rows of the table ``kept`` have the columns before it,
    and neither that nor those behind it, which it is computed of. Where it is ``open``, rows with that value itself are
    not behind it. The table ``asked`` has the places that have rows. ``by``: the column of rows that compares with the
    edge, if it is not the one that orders them first, in an order in which they are behind it; then the column
    behind that of the edge may be the one ``until`` which they are, which is True where none lies on that.

    Rows that are made for such a map have one column more, which tells the places that are asked for from rows of all
    places; what a column of the other kind has does not matter."""

    asked: str
    open: bool
    column: int
    by: By | None = None
    until: bool | None = None


@frozen
class Ranked:
    """The first ``limit`` rows of each of the ``keys``, the first columns, in the ``order`` of the table ``kept``, in
    which all rows are. ``visible`` are the types of what readers see; ``nothing`` is what they see of a place without
    rows, behind its key, where each place has a row. ``nearest``: where places have those behind an edge."""

    kept: str
    order: Ordering
    limit: int
    keys: int
    visible: tuple[Base, ...]
    nothing: tuple[object, ...] | None
    nearest: Nearest | None = field(default=None, repr=False)

    @property
    def places(self) -> int:
        """The columns of the label."""
        return self.keys

    @property
    def edge(self) -> int:
        """The column of the key behind whose value the rows of a place are; the first behind the key if there is none.
        """
        return self.keys if self.nearest is None else self.nearest.column

    @property
    def group(self) -> tuple[int, ...]:
        """The columns of rows that places share: of the whole key, where there is no edge."""
        return tuple(range(self.edge))

    @property
    def asked_by(self) -> range:
        """The columns of places that rows do not have."""
        return range(self.edge, self.keys)

    @property
    def all_rows(self) -> Ordering:
        """The order of the rows that are kept, in their own columns."""
        return Ordering(self.group, tuple(map(self._kept, self.order.by)))

    @property
    def compared(self) -> By:
        """By which of their own columns rows are behind an edge."""
        assert self.nearest is not None
        return self._kept(self.nearest.by or self.order.by[0])

    def _kept(self, by: By) -> By:
        return evolve(by, column=by.column - len(self.asked_by))

    @property
    def by_edge(self) -> Ordering:
        """The order of the places of a group."""
        return self.by_edges(descending=False)

    def by_edges(self, descending: bool) -> Ordering:
        """The same, or the other way round."""
        return Ordering(self.group, (By(self.edge, descending),))

    def orders(self, width: int) -> Iterator[tuple[str, Ordering]]:
        """By table, those in which its rows are read; ``width`` is that of this map."""
        if self.nearest is not None and self.nearest.by is not None:
            yield self.kept, Ordering(self.group, (self.compared,))
            yield self.kept, self.all_rows
            yield from ((self.nearest.asked, self.by_edges(descending)) for descending in (False, True))
            return
        yield self.kept, self.all_rows
        if self.nearest is not None:
            yield self.kept, self.all_rows.backwards(width - len(self.asked_by))
            yield self.nearest.asked, self.by_edge


def ranked(r: Ranking, asked: str) -> Ranked:
    """The columns of the map of first rows. Those behind an edge are of the places in the table ``asked``."""
    keys = width(Label((r.site,)))
    order = Ordering(tuple(range(keys)), tuple(By(_column(o.by, r), o.descending, o.nulls_first) for o in r.order))
    nothing = tuple(lit.value for lit in r.nulls) if r.total else None
    return Ranked(r.kept, order, r.limit, keys, base_types(r.visible), nothing, _nearest(r, asked))


def _nearest(r: Ranking, asked: str) -> Nearest | None:
    if r.edge is None:
        return None
    by = None if r.edge.by is None else By(_column(r.edge.by.by, r), r.edge.by.descending)
    until = None if r.edge.until is None else r.edge.until.open
    return Nearest(asked, r.edge.open, width(Label((r.definition.site,))), by, until)


def _column(by: Elem, r: Ranking) -> int:
    """The column of a row that ``by`` is."""
    found = over_row(replace_elem(by, {RANKED: Proj(Var(RANKED), "row")}), RANKED, r.stored)
    assert isinstance(found, Col)
    return found.column
