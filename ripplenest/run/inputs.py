"""The small inputs of a statement: the change itself, and what probes find in other tables at the keys of the change.

A statement may read a table before or after the batch (``At``), and an auxiliary map as of its turn
(``delta/program.py``); these must not be mixed up. Statements of a batch that ask the same table for the same keys are
given the same rows, which are read once: what is asked is a function of the rows that ask, of the step and of its
conditions, and the engine sees by their identity that they are the same. It says as of which moment of the batch a
table is read, and no statement reads a map before that has its changes up to this moment.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from ripplenest.data import columnar
from ripplenest.data.index import Places
from ripplenest.data.rows import KEPT, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.plan import evaluate
from ripplenest.plan.lower import nullable_base
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product, Source, Step, sources_of
from ripplenest.run import answers, keys
from ripplenest.run.handing import Came, Handing
from ripplenest.run.joiner import Task
from ripplenest.run.passing import visible
from ripplenest.run.sizes import are_few
from ripplenest.run.step import Stepper
from ripplenest.vector import join
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.combinations import Combinations
from ripplenest.version.version import Tables

NO_KEYS = Rows.empty(())
NO_PLACE = Rows.of_counts((), {(): 1})  # of what does not depend on what is around it
Found = TypeVar("Found")


@frozen
class Run:
    """One run over a program: the tables before it, and what is known to change, as statements see it; where what is
    stored changes otherwise, that (``moved``); of groups and first rows what readers have ``seen``.

    What it cost: stored rows that were ``read``, of which by map so many were ``cancelled`` by others of it, ``jobs``,
    and rows that were joined ``here`` in place of one. Tables may be read by tasks, as ``handing`` says, and who has
    these may do the ``steps`` of keys.
    """

    plan: Plan
    reader: Tables
    changes: dict[str, Rows]
    moved: dict[str, Rows] = field(factory=dict)
    caused: dict[str, dict[str, Rows]] = field(factory=dict)
    seen: dict[str, Rows] = field(factory=dict)
    built: dict[str, Rows] = field(factory=dict)
    read: list[int] = field(factory=list)
    cancelled: dict[str, int] = field(factory=dict)
    jobs: list[int] = field(factory=list)
    here: list[int] = field(factory=list)
    handing: Handing | None = None
    steps: Stepper | None = None
    combinations: Combinations = field(factory=Combinations)
    _known: dict[Hashable, tuple[object, Any]] = field(factory=dict)
    _lasting: set[Hashable] = field(factory=set)

    def next_level(self) -> None:
        """What statements have read is there for those of the levels to come, unless it is much, or whole tables."""
        for asked in self._known.keys() - self._lasting:
            del self._known[asked]
        self.combinations.forget()

    def in_vain(self, table: str, rows: int) -> None:
        """So many more rows of a table were read that others of it cancel: exactly, or, of an order, those that were
        read beyond what the first rows change by."""
        self.cancelled[table] = self.cancelled.get(table, 0) + max(rows, 0)

    def tasks(self, target: str, p: Product, part: str) -> Iterator[Task]:
        """A product of a statement for ``part`` with the rows of each source that can take part; none when the product
        is empty. One task, or one for each order that rows of the change choose: p(c₁ ⊎ c₂) = p(c₁) ⊎ p(c₂)."""
        came = Came(self.changes, self.moved, self.caused)
        how = None if self.handing is None else self.handing.how(p, self.plan, came)
        if self.handing is not None and how is not None:
            rows = tuple(self._handed(self.handing, s, came, how) for s in p.sources)
            if not any(own.is_empty and self._total(s) is None for own, s in zip(rows, p.sources, strict=True)):
                totals = tuple(map(self._total, p.sources))
                yield Task(target, p, rows, how == "looked up", totals, self.combinations)
            return
        for order, change in self._chosen(p):
            task = self._task(target, order, part, change)
            if task is not None:
                yield task

    def _total(self, source: Source) -> PlannedMap | None:
        """The map of a source that has a row for every place."""
        m = self.plan.passing.get(source.table)
        return None if m is None or m.answers is None or m.answers.nothing is None else m

    def _handed(self, handing: Handing, source: Source, came: Came, how: str) -> Rows:
        """The rows of a source, which nobody reads here."""

        def whole() -> Rows:
            rows = handing.rows(source, self.plan, came)
            if source.at is not At.DELTA and how == "whole":
                self.read.append(len(rows))
            return rows

        return self._once((source.table, source.at, how), None, whole)

    def _chosen(self, p: Product) -> Iterator[tuple[Product, Rows | None]]:
        """The orders in which ``p`` is read, each with the rows of the change that choose it: each row chooses the one
        in which the list that it asks for first is the shortest. All choose that of ``p`` where a key has no value."""
        change = self.changes.get(p.sources[p.steps[0].source].table) if p.others else None
        if change is None:
            yield p, None
            return
        begins = tuple((order.sources[order.steps[1].source].table, order.steps[1]) for order in p.orders)
        parts = self._once((id(change), "chosen", begins), change, lambda: self._divided(change, begins))
        yield from ((order, rows) for order, rows in zip(p.orders, parts, strict=True) if len(rows))

    def _divided(self, change: Rows, begins: Sequence[tuple[str, Step]]) -> list[Rows]:
        """``change`` by which of the lists where orders begin is the shortest, the first one of equal ones."""
        rows = change.consolidated()
        try:
            many = [self._many(self.indexed(rows), table, step) for table, step in begins]
        except EvaluationError:
            return [change, *(Rows.empty(change.types) for _ in begins[1:])]
        choice = np.argmin(many, axis=0)
        if not choice.any():
            return [change, *(Rows.empty(change.types) for _ in begins[1:])]
        table = rows.arrow()
        return [Rows(change.types, table=table.filter(pa.array(choice == i)), summed=True) for i in range(len(begins))]

    def _many(self, rows: Input, table: str, step: Step) -> Places:
        """By row, how many rows of a table the list has that ``step`` reads for it."""
        asked, asking = join.keys_of(Binding.of(step.via[0], rows), step.keys)
        found = np.zeros(len(rows), np.int64)
        types = tuple(k.scalar.type for k in step.keys)
        found[asking] = self.reader.many(table, step.columns, Rows.of_columns(types, asked))
        return found

    def _task(self, target: str, p: Product, part: str, change: Rows | None) -> Task | None:
        """A product with the rows of each source that can take part, of the change those that chose it.

        A source is read whole where a key has no value for some row, which may be a row without a partner.
        """
        product = p
        found: dict[int, Rows] = {}
        steps: list[Step] = []
        for step in p.steps:
            apart = not step.via and not step.place and p.sources[step.source].at is not At.DELTA
            if apart and not self._possible(p, steps, found):
                return None
            read, looked_up = self._asked(p, steps, step, found)
            if read.keys != step.keys and not read.keys:
                product = p.cautious()
            steps.append(read)
            if change is not None and not found:
                found[step.source] = change
            else:
                found[step.source] = self._source(p, read, looked_up, part)
            if found[step.source].is_empty:
                return None
        rows = tuple(found[i] for i in range(len(p.sources)))
        return Task(target, product, rows, combinations=self.combinations)

    def _asked(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> tuple[Step, Rows]:
        """What is looked up at ``step``, and by which of its keys: by none where one has no value, by those of one
        source where all are too many."""
        if step.place:
            return step, self._places(p, read, step, found)
        several = len(step.via) > 1
        asked = self._joined(p, read, step, found) if several else self._keys(p, step, found)
        if asked == "too many":
            step = step.alone or step
            asked = self._keys(p, step, found)
        return (step, asked) if isinstance(asked, Rows) else (evolve(step, keys=(), via=()), NO_KEYS)

    def scan(self, p: Product) -> Iterator[Rows]:
        """Every source whole; of a fold that has a row for every place, those that the others ask for."""
        found: dict[int, Rows] = {}
        read: list[Step] = []
        for step in p.steps:
            table = p.sources[step.source].table
            rows = self._once(table, None, partial(self._whole, table))
            places = self._places(p, read, step, found) if step.place else NO_KEYS
            found[step.source] = self._completed(table, rows, places)
            read.append(step)
        return (found[i] for i in range(len(p.sources)))

    def _source(self, p: Product, step: Step, keys: Rows, part: str) -> Rows:
        source = p.sources[step.source]
        change = self.changes.get(source.table)
        if source.at is At.DELTA:
            return change if change is not None else Rows.empty(source.types)
        turn = part if source.table in self.plan.auxiliaries else None
        asked = (source.table, source.at, turn, step.columns, id(keys))

        def read() -> Rows:
            rows = self._before(source.table, step, keys)
            if turn is not None:
                return reduce(Rows.plus, self._passed(source.table, turn, source.at), rows)
            before = self._completed(source.table, rows, keys)  # whose change says when it gets a row of its own
            return before.plus(change) if source.at is At.NEW and change is not None else before

        return self._once(asked, keys, read, lasts=True)

    def _places(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> Rows:
        """The places for which combinations of the rows ``found`` by the steps ``read`` ask, each once."""
        inputs = [self.indexed(found[own.source]) for own in read]
        keys, asking = join.keys_of(self.combinations.of(p, read, inputs), step.keys)
        if not keys:
            return NO_PLACE if len(asking) else NO_KEYS
        types = tuple(nullable_base(k.scalar.type) for k in step.keys)
        return columnar.each_once(Rows.of_columns(types, keys).consolidated())

    def _completed(self, table: str, rows: Rows, places: Rows) -> Rows:
        """What is read of a map, also of a fold that has a row for every place."""
        m = self.plan.passing.get(table)
        if m is None or m.answers is None or m.answers.nothing is None:
            return rows
        return answers.completed(m.answers, rows, places)

    def _keys(self, p: Product, step: Step, found: Mapping[int, Rows]) -> keys.Asked:
        """The keys that the rows of the source already read ask for, or the constants."""
        if not step.keys:
            return NO_KEYS
        own = tuple(c for c in p.conditions if sources_of(c) == {*step.via} and c not in p.partial)
        rows = found[step.via[0]] if step.via else None
        asked = (id(rows), step.via, step.keys, own)
        return self._once(asked, rows, lambda: keys.keys_of(step, rows, own, self.indexed), lasts=True)

    def _joined(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> keys.Asked:
        """The keys that combinations of rows of several sources ask for. What was read without its keys hangs together
        with nothing."""
        before = {s.source: s for s in read}
        behind = [(s, before[s.source]) for s in p.behind(step)]
        if any(s.keys and not own.keys for s, own in behind):
            return "no value"
        steps = tuple(s for s, _ in behind)
        rows = {s.source: found[s.source] for s in steps}
        asked = (tuple(map(id, rows.values())), steps, step.keys, step.via)
        joined = lambda: keys.joined(p, steps, step, rows, self.indexed, self.combinations)  # noqa: E731
        return self._once(asked, rows, joined, lasts=True)

    def indexed(self, rows: Rows) -> Input:
        """``rows`` with their indexes, the same for all of a level who look them up."""
        return self._once((id(rows), "input"), rows, lambda: Input.of(rows))

    def _possible(self, p: Product, steps: Sequence[Step], found: Mapping[int, Rows]) -> bool:
        if are_few(found.values()):
            return evaluate.possible(p, steps, {i: rows.counts() for i, rows in found.items()})
        return len(self.combinations.of(p, steps, [self.indexed(found[step.source]) for step in steps])) > 0

    def _once(self, asked: Hashable, keeps: object, read: Callable[[], Found], lasts: bool = False) -> Found:
        """What ``read`` gives, the same for all of a level who ask so, or of the batch if it ``lasts``; ``keeps`` is
        what ``asked`` has the id of."""
        if asked not in self._known:
            self._known[asked] = (keeps, read())
            if lasts and not any(isinstance(some, Rows) and len(some) > KEPT for some in self._known[asked]):
                self._lasting.add(asked)
        found: Found = self._known[asked][1]
        return found

    def _passed(self, table: str, part: str, at: At) -> Iterator[Rows]:
        """What parts whose turn came before that of ``part`` did to an auxiliary map, and ``part`` itself for M⁺."""
        turn = self.plan.turns[part] + (at is At.NEW)
        return (rows for cause, rows in self.caused.get(table, {}).items() if self.plan.turns[cause] < turn)

    def stored(self, table: str) -> Rows:
        """All rows of a table, as they are stored."""
        return self.built[table] if table in self.built else self.reader.scan(table)

    def _whole(self, table: str) -> Rows:
        return self._visible(table, self.stored(table))

    def _before(self, table: str, step: Step, keys: Rows) -> Rows:
        rows = self.reader.probe(table, step.columns, keys) if step.keys else self.reader.scan(table)
        self.read.append(len(rows))
        return self._visible(table, rows)

    def _visible(self, table: str, rows: Rows) -> Rows:
        return visible(self.plan.shown.get(table), rows)
