"""The per-key step: what rows that statements have made change in the rows of keys, and in what readers see of them.

It is the same wherever it is done: it asks for the stored rows of the keys that have rows, and rows of other keys are
nothing to it. Law: the steps of rows that share no key add up to the step of all of them.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from attrs import field, frozen

from ripplenest.data.index import Places
from ripplenest.data.order import First, Firsts
from ripplenest.data.rows import Rows
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.ranking import Ranked
from ripplenest.run import answers, groups, nearest, so_far
from ripplenest.run.passing import stored_before, visible_change
from ripplenest.run.refill import refilled
from ripplenest.store.files import Filed
from ripplenest.version.version import Tables


@frozen
class Stepped:
    """The change of the stored rows of a map, that of what readers see, and how many stored rows were ``read`` for it,
    in so many ``jobs``; by table, how many of them were ``cancelled`` by others (tasks do not say)."""

    change: Rows
    seen: Rows
    read: int = 0
    jobs: int = 0
    cancelled: Mapping[str, int] = field(factory=dict)


@runtime_checkable
class Stepper(Protocol):
    """An engine whose tasks do the per-key step of rows that they have left in files."""

    def stepped(self, m: PlannedMap, made: Filed) -> Stepped | None:
        """See ``stepped``; what it comes to is in files, too. None where they cannot. Raises EvaluationError."""


def stepped(m: PlannedMap, made: Rows, tables: Tables, in_pieces: bool = False) -> Stepped:
    """What rows ``made`` by statements, maybe ``in_pieces``, do to a map that is folded, or passes on what is seen of
    it: to a group or a sum map, to first rows, or to a domain, whose change they are. Raises EvaluationError for an
    answer beyond its type."""
    if m.folding is not None:
        stored = _stored(m, made, tables)
        found = groups.folded(m, m.adding, made, stored, in_pieces)
        return Stepped(found.change, found.seen, len(stored), cancelled={m.name: stored.cancelled()})
    if m.ranked is not None:
        return (_refilled if m.ranked.nearest is None else _moved)(m, m.ranked, made, tables)
    before = stored_before(m, made, tables)
    return Stepped(made, visible_change(m, made, before), len(before))


def _refilled(m: PlannedMap, r: Ranked, made: Rows, tables: Tables) -> Stepped:
    """How the first rows of the places change whose rows change by ``made``."""

    def read_on(keys: Rows, limits: Places, start: Rows, plus: Rows) -> First:
        return tables.first(r.kept, Firsts(r.order, keys, limits, start, plus))

    stored = _stored(m, made, tables)
    found = refilled(m.name, r.order, r.limit, stored, made, read_on)
    in_vain = {m.name: stored.cancelled(), r.kept: max(found.read - len(found.change), 0)}
    return Stepped(found.change, answers.seen_change(r, found.change), len(stored) + found.read, cancelled=in_vain)


def _moved(m: PlannedMap, r: Ranked, made: Rows, tables: Tables) -> Stepped:
    """How those behind edges change when places and rows of their groups change as they are ``made``."""
    assert r.nearest is not None
    found = (nearest if r.nearest.by is None else so_far).moved(m, r, made, tables)
    seen = answers.seen_change(r, found.change)
    return Stepped(found.change, seen, found.read, cancelled=found.cancelled)


def _stored(m: PlannedMap, made: Rows, tables: Tables) -> Rows:
    """The stored rows of the keys that have rows."""
    key = m.own_key
    return tables.probe(m.name, key, made.select(key)) if key else tables.scan(m.name)
