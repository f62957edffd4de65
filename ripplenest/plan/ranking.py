"""How the first rows of places are kept, said in columns.

All rows of a place and the first of them have the same columns: those of the label, of what readers see, and of what
rows are ordered by besides. So what readers see are the first columns of what is stored, as of a group.
"""

from attrs import frozen

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
class Ranked:
    """The first ``limit`` rows of each of the ``keys``, the first columns, in the ``order`` of the table ``kept``, in
    which all rows are. ``visible`` are the types of what readers see; ``nothing`` is what they see of a place without
    rows, behind its key, where each place has a row."""

    kept: str
    order: Ordering
    limit: int
    keys: int
    visible: tuple[Base, ...]
    nothing: tuple[object, ...] | None

    @property
    def places(self) -> int:
        """The columns of the label."""
        return self.keys


def ranked(r: Ranking) -> Ranked:
    """The columns of the map of first rows."""
    keys = width(Label((r.site,)))
    order = Ordering(tuple(range(keys)), tuple(By(_column(o.by, r), o.descending, o.nulls_first) for o in r.order))
    nothing = tuple(lit.value for _, lit in r.of_nothing) if r.total else None
    return Ranked(r.kept, order, r.limit, keys, base_types(r.visible), nothing)


def _column(by: Elem, r: Ranking) -> int:
    """The column of a row that ``by`` is."""
    found = over_row(replace_elem(by, {RANKED: Proj(Var(RANKED), "row")}), RANKED, r.made)
    assert isinstance(found, Col)
    return found.column
