"""Maps computed from scratch over the relations, and what that changes in them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Protocol

import pyarrow as pa
from attrs import field, frozen

from ripplenest.data import sums
from ripplenest.data.grouping import stretches
from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import First, Firsts, Within, first_of
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import StateError
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import Plan, PlannedMap, Target
from ripplenest.plan.ranking import Ranked
from ripplenest.run import groups, lists, nearest, so_far
from ripplenest.run.counts import check_counts, check_most
from ripplenest.run.groups import STRETCH
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Joiner, summed
from ripplenest.run.propagate import Propagation
from ripplenest.run.trees import chosen, way
from ripplenest.version.version import Tables


def build(plan: Plan, reader: Tables, joiner: Joiner, *, pairs: float = 0) -> dict[str, Rows]:
    """Every map computed from scratch over the parts: an ordinary query, not a change of nothing. A map whose
    definition joins no more than so many ``pairs`` is not built of sums that others keep."""
    return _built(plan, reader, joiner, pairs).built


def _built(plan: Plan, reader: Tables, joiner: Joiner, pairs: float = 0) -> Run:
    run = Run(plan, reader, {})
    for level in plan.levels:
        run.next_level()
        ways = [way(m, chosen(run, m, pairs) if m.trees else None) for m in level]
        tasks = [task for w in ways for p in w.products for task in lists.tasks(run, w.target.map, p)]
        folded = {w.target.map: w.folding for w in ways}
        for target, rows in summed(joiner, tasks, [w.target for w in ways], run, run.plan):
            check_most(target.map, [rows.heaviest()])
            run.built[target.map] = _kept(plan.by_name[target.map], folded[target.map], target, rows)
    return run


def _kept(m: PlannedMap, folding: Folding | None, target: Target, made: Rows) -> Rows:
    """What is stored of a map, of which products made all rows."""
    if folding is not None:
        return groups.built(m, folding, made, target.in_pieces)
    return made if m.ranked is None else _first_rows(m, m.ranked, made)


def _first_rows(m: PlannedMap, r: Ranked, made: Rows) -> Rows:
    """The first rows of each place, of rows that come in the order of these, in stretches. Where all rows are of one
    place, the first ones are among the first of each stretch."""
    table, near = made.arrow(), m.near or m.together
    ends = stretches(table, near, STRETCH) if near else list(pairwise([*range(0, len(table), STRETCH), len(table)]))
    pieces = (Rows(made.types, table=table.slice(first, end - first)) for first, end in ends)
    if r.nearest is not None:  # of rows of one group all are needed
        some, way = pieces if near else [made], nearest if r.nearest.by is None else so_far
        return Rows(m.types, table=pa.concat_tables([way.built(r, p, m.types).arrow() for p in some]), summed=True)
    found = pa.concat_tables([first_of(piece, r.order, r.limit).arrow() for piece in pieces] or [table])
    rows = Rows(m.types, table=found, summed=bool(near))
    return rows if near or len(ends) < 2 else first_of(rows, r.order, r.limit)


class Scanned(Protocol):
    """Tables that are read whole."""

    def scan(self, table: str) -> Rows:
        """Every row that is stored."""


@frozen
class Loaded:
    """A version with signed rows on top that are not committed yet; read whole, as builds do. How many stored rows were
    ``read``, and by table how many of them were ``cancelled`` by others."""

    before: Scanned
    changes: Mapping[str, Rows]
    read: list[int] = field(factory=list)
    cancelled: dict[str, int] = field(factory=dict)

    def scan(self, table: str) -> Rows:
        """Every row."""
        rows = self.held(table)
        return rows.plus(self.changes[table]) if table in self.changes else rows

    def held(self, table: str) -> Rows:
        """Every row that is stored."""
        rows = self.before.scan(table)
        self.read.append(len(rows))
        self.cancelled[table] = rows.cancelled()
        return rows

    def probe(self, table: str, columns: tuple[int, ...], keys: Wanted) -> Rows:  # noqa: ARG002
        """Nothing is looked up where everything is read. Raises StateError."""
        raise StateError("a build reads whole tables", where=table)

    def many(self, table: str, columns: tuple[int, ...], keys: Rows) -> Places:  # noqa: ARG002
        """Nor counted. Raises StateError."""
        raise StateError("a build reads whole tables", where=table)

    def first(self, table: str, asked: Firsts) -> First:  # noqa: ARG002
        """Nothing is read in order, either. Raises StateError."""
        raise StateError("a build reads whole tables", where=table)

    def within(self, table: str, *asked: Within) -> Rows | None:  # noqa: ARG002
        """Nor between values. Raises StateError."""
        raise StateError("a build reads whole tables", where=table)


def recomputed(plan: Plan, before: Tables, changes: Mapping[str, Rows], joiner: Joiner, room: Room) -> Propagation:
    """The change of each map from what it holds to what its definition gives on the changed parts.

    Law: the same signed rows that ``propagate`` finds. Raises EvaluationError.
    """
    check_counts(before, changes)
    reader = Loaded(before, changes)
    run = _built(plan, reader, joiner)
    fresh, found = run.built, {}
    for name in [*fresh]:
        rows, held = fresh.pop(name), reader.held(name)
        found[name] = sums.summed(rows.plus(held.negated()), room)
    return Propagation(found, sum(reader.read), sum(run.jobs), cancelled=reader.cancelled)
