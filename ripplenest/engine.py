"""Running a trigger program: which rows each statement reads, and in which order statements run.

Theory of operation. A batch is a signed bag of rows for some parts. Level by level, each statement of a changed part
becomes joins over small inputs: the change itself, and what a *probe* finds in the other tables at the keys of the
change. A ``Joiner`` evaluates those joins: Spark in production, plain Python in tests; nothing else differs between
the two. A domain passes on only the labels that appear (+1) or disappear (-1). Nothing is written here: the result is
one signed bag per map, which the store commits together with the batch. When you touch this: a statement may read a
table before or after the batch (``At``), and the two must not be mixed up.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from attrs import field, frozen

from ripplenest.delta.program import MapKind
from ripplenest.nrc.syntax import At
from ripplenest.plan.access import Step, access
from ripplenest.plan.evaluate import Binding, evaluate, value
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Product
from ripplenest.rows import Row, Rows

Changes = Mapping[str, Rows]


class Reader(Protocol):
    """Tables at one version."""

    def scan(self, table: str) -> Rows:
        """Every row of ``table``."""

    def probe(self, table: str, columns: tuple[int, ...], keys: Sequence[Row]) -> Rows:
        """The rows whose ``columns`` equal one of ``keys``; NULL equals NULL."""


class Levels(Protocol):
    """One program, or those of several views: the maps in the order in which they run, and which are domains."""

    @property
    def levels(self) -> tuple[tuple[PlannedMap, ...], ...]: ...

    @property
    def domains(self) -> frozenset[str]: ...


@frozen
class Task:
    """One product over its inputs, for one map."""

    map: str
    product: Product
    inputs: tuple[Rows, ...]


class Joiner(Protocol):
    """An engine for products."""

    def join(self, tasks: Sequence[Task], maps: Sequence[PlannedMap]) -> dict[str, Rows]:
        """By map, the sum of its tasks' rows, consolidated; every one of ``maps`` is in the answer."""


class PythonJoiner:
    """Products over Python rows, by the reference meaning of every scalar."""

    def join(self, tasks: Sequence[Task], maps: Sequence[PlannedMap]) -> dict[str, Rows]:
        """See ``Joiner``."""
        pairs: dict[str, list[tuple[Row, int]]] = {m.name: [] for m in maps}
        for t in tasks:
            pairs[t.map].extend(evaluate(t.product, [rows.counts() for rows in t.inputs]).items())
        return {m.name: Rows.of_pairs(m.types, pairs[m.name]).consolidated() for m in maps}


@frozen
class Propagation:
    """What a batch did to every map, and how many rows were read from the state to find out."""

    changes: dict[str, Rows]
    rows_read: int
    jobs: int


@frozen
class _Run:
    """One run over a program: the tables before it, and what is known to change."""

    plan: Levels
    reader: Reader
    changes: dict[str, Rows]
    built: dict[str, Rows] = field(factory=dict)
    read: list[int] = field(factory=list)

    def inputs(self, p: Product) -> tuple[Rows, ...] | None:
        """The rows of each source that can take part; None when some source has none, and so the product is empty."""
        found: dict[int, Rows] = {}
        for step in access(p):
            rows = self._source(p, step, found)
            if rows.is_empty:
                return None
            found[step.source] = rows
        return tuple(found[i] for i in range(len(p.sources)))

    def scan(self, p: Product) -> Iterable[Rows]:
        """Every source whole."""
        return (self._before(s.table, Step(i), {}) for i, s in enumerate(p.sources))

    def _source(self, p: Product, step: Step, found: Mapping[int, Rows]) -> Rows:
        source = p.sources[step.source]
        change = self.changes.get(source.table)
        if source.at is At.DELTA:
            return change if change is not None else Rows.empty(source.types)
        rows = self._before(source.table, step, found)
        self.read.append(len(rows))
        return rows.plus(change) if source.at is At.NEW and change is not None else rows

    def _before(self, table: str, step: Step, found: Mapping[int, Rows]) -> Rows:
        if table in self.built:
            return self._visible(table, self.built[table])
        if not step.keys:
            return self._visible(table, self.reader.scan(table))
        return self._visible(table, self.reader.probe(table, step.columns, _keys(step, found)))

    def _visible(self, table: str, rows: Rows) -> Rows:
        """What statements see of a table: of a domain, each label with a count above 0 once."""
        return support(rows) if table in self.plan.domains else rows


def propagate(plan: Levels, reader: Reader, changes: Changes, joiner: Joiner) -> Propagation:
    """The change of every map when the parts change by ``changes`` (signed rows by part).

    Law 6: what a map holds plus its change is what its definition gives on the changed parts.
    """
    run = _Run(plan, reader, {table: rows for table, rows in changes.items() if not rows.is_empty})
    out: dict[str, Rows] = {}
    jobs = 0
    for level in plan.levels:
        tasks = [
            Task(m.name, p, inputs)
            for m in level
            for part, products in m.triggers
            if part in run.changes
            for p in products
            if (inputs := run.inputs(p)) is not None
        ]
        jobs += bool(tasks)
        for m, rows in _results(joiner, tasks, level):
            out[m.name] = rows
            if m.kind is MapKind.DOMAIN:
                _pass_on(run, m, rows)
    return Propagation(out, sum(run.read), jobs)


def build(plan: Levels, reader: Reader, joiner: Joiner) -> dict[str, Rows]:
    """Every map computed from scratch over the parts: an ordinary query, not a change of nothing."""
    run = _Run(plan, reader, {})
    for level in plan.levels:
        tasks = [Task(m.name, p, tuple(run.scan(p))) for m in level for p in m.build]
        run.built.update({m.name: rows for m, rows in _results(joiner, tasks, level)})
    return run.built


def support(rows: Rows) -> Rows:
    """Each row with a count above 0, once."""
    return Rows.of_pairs(rows.types, ((row, 1) for row, n in rows.counts().items() if n > 0))


def _results(
    joiner: Joiner, tasks: Sequence[Task], level: Sequence[PlannedMap]
) -> Iterable[tuple[PlannedMap, Rows]]:
    if not tasks:
        return [(m, Rows.empty(m.types)) for m in level]
    results = joiner.join(tasks, level)
    return [(m, results[m.name]) for m in level]


def _pass_on(run: _Run, m: PlannedMap, change: Rows) -> None:
    """δDom for those who read the domain: +1 for labels whose count leaves 0, -1 for those whose count reaches it."""
    if change.is_empty:
        return
    counts = change.counts()
    before = run.reader.probe(m.name, tuple(range(len(m.types))), list(counts)).counts()
    moved = ((row, (before.get(row, 0) + n > 0) - (before.get(row, 0) > 0)) for row, n in counts.items())
    run.changes[m.name] = Rows.of_pairs(m.types, ((row, n) for row, n in moved if n)).consolidated()


def _keys(step: Step, found: Mapping[int, Rows]) -> list[Row]:
    """The distinct keys that the rows of the source already read ask for, or the constants; NULL asks only when NULL
    equals NULL."""
    rows: list[Binding] = [{}] if step.via is None else [{step.via: row} for row, _ in found[step.via].pairs()]
    keys = dict.fromkeys(tuple(value(k.scalar, binding) for k in step.keys) for binding in rows)
    return [key for key in keys if all(v is not None or k.null_safe for v, k in zip(key, step.keys, strict=True))]
