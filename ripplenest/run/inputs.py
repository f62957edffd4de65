"""The small inputs of a statement: the change itself, and what probes find in other tables at the keys of the change.

A statement may read a table before or after the batch (``At``), and an auxiliary map as of its turn
(``delta/program.py``); these must not be mixed up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from attrs import evolve, field, frozen

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Product, Step, sources_of
from ripplenest.run.joiner import Task
from ripplenest.run.passing import visible
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.join import fulfilling, keys_of, possible
from ripplenest.version.version import Tables

NO_KEYS = Rows.empty(())


@frozen
class Run:
    """One run over a program: the tables before it, and what is known to change."""

    plan: Plan
    reader: Tables
    changes: dict[str, Rows]
    caused: dict[str, dict[str, Rows]] = field(factory=dict)
    built: dict[str, Rows] = field(factory=dict)
    read: list[int] = field(factory=list)

    def task(self, target: str, p: Product, part: str) -> Task | None:
        """A product of a statement for ``part`` with the rows of each source that can take part; None when the product
        is empty.

        A source is read whole where a key has no value for some row, which may be a row without a partner.
        """
        product = p
        found: dict[int, Rows] = {}
        steps: list[Step] = []
        for step in p.steps:
            if step.via is None and p.sources[step.source].at is not At.DELTA and not _possible(p, steps, found):
                return None
            looked_up = _keys(p, step, found)
            if looked_up is None:
                product = p.cautious()
            steps.append(evolve(step, keys=(), via=None) if looked_up is None else step)
            found[step.source] = self._source(p, steps[-1], looked_up or NO_KEYS, part)
            if found[step.source].is_empty:
                return None
        return Task(target, product, tuple(found[i] for i in range(len(p.sources))))

    def scan(self, p: Product) -> Iterable[Rows]:
        """Every source whole."""
        return (self._before(s.table, Step(i), NO_KEYS) for i, s in enumerate(p.sources))

    def _source(self, p: Product, step: Step, keys: Rows, part: str) -> Rows:
        source = p.sources[step.source]
        change = self.changes.get(source.table)
        if source.at is At.DELTA:
            return change if change is not None else Rows.empty(source.types)
        rows = self._before(source.table, step, keys)
        self.read.append(len(rows))
        if source.table in self.plan.auxiliaries:
            return reduce(Rows.plus, self._passed(source.table, part, source.at), rows)
        return rows.plus(change) if source.at is At.NEW and change is not None else rows

    def _passed(self, table: str, part: str, at: At) -> Iterator[Rows]:
        """What parts whose turn came before that of ``part`` did to an auxiliary map, and ``part`` itself for M⁺."""
        turn = self.plan.turns[part] + (at is At.NEW)
        return (rows for cause, rows in self.caused.get(table, {}).items() if self.plan.turns[cause] < turn)

    def _before(self, table: str, step: Step, keys: Rows) -> Rows:
        if table in self.built:
            return self._visible(table, self.built[table])
        if not step.keys:
            return self._visible(table, self.reader.scan(table))
        return self._visible(table, self.reader.probe(table, step.columns, keys))

    def _visible(self, table: str, rows: Rows) -> Rows:
        return visible(self.plan.passing.get(table), rows)


def _possible(p: Product, steps: Sequence[Step], found: Mapping[int, Rows]) -> bool:
    return possible(p, steps, [Input(found[step.source]) for step in steps])


def _keys(p: Product, step: Step, found: Mapping[int, Rows]) -> Rows | None:
    """The keys that the rows of the source already read ask for, or the constants; NULL asks only when NULL equals
    NULL. Rows that do not fulfil the conditions on their source alone ask nothing. None when a key has no value.
    """
    if not step.keys:
        return NO_KEYS
    binding = Binding.nothing_read()
    if step.via is not None:
        binding = Binding.of(step.via, Input(found[step.via]))
    own = [c for c in p.conditions if sources_of(c) == {step.via} and c not in p.partial]
    try:
        keys, _ = keys_of(fulfilling(binding, own), step.keys)
    except EvaluationError:
        return None
    return Rows.of_columns(tuple(k.scalar.type for k in step.keys), keys)
