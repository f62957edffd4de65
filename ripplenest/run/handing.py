"""When tasks read the tables of a statement by themselves.

To look rows up, this process reads the keys of a change, and holds what it finds until it is joined. A change in files
was to stay there; so where the other tables are not much larger than the change, tasks read them whole, and no row of
either comes here. What is looked up is a part of what is read then, and products ask for equal keys themselves, so they
make the same rows.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from attrs import frozen

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import Index, Plan
from ripplenest.plan.product import Product
from ripplenest.store.files import Filed

LARGER = 8
"""Times as many rows as of the change are read sooner than some are looked up: to look one up costs several times what
it costs to read one, and what is found is held."""


@frozen
class Handing:
    """``stored`` gives the rows of a table, which nobody reads here, and ``size`` says how many there are; but for
    tables that have some elsewhere: ``apart``."""

    stored: Callable[[str], Rows]
    size: Callable[[str], int]
    room: Room
    apart: Collection[str] = ()

    def by_key(self, rows: Rows, key: Index) -> Iterator[Rows]:
        """``rows``, in files some at a time; those of one key come together."""
        if isinstance(rows, Filed) and {*rows.ref.clustered} <= {*key}:
            yield from rows.windows(self.room)
        else:
            yield rows

    def is_worth(self, p: Product, plan: Plan, changed: Mapping[str, Rows], caused: Collection[str]) -> bool:
        """Whether tasks are to read what ``p`` reads beside a change: statements see just what is stored of it, and it
        is not much larger. Auxiliary maps that were ``caused`` to change are not what is stored."""
        deltas, others = ([s for s in p.sources if (s.at is At.DELTA) == is_delta] for is_delta in (True, False))
        if len(deltas) != 1 or not others or any(step.place for step in p.steps):
            return False
        change = changed.get(deltas[0].table)
        if not isinstance(change, Filed) or sum(map(self.size, {s.table for s in others})) > LARGER * len(change):
            return False
        seen = {*caused, *plan.shown, *self.apart}
        return not any(s.table in seen or (s.at is At.NEW and s.table in changed) for s in others)
