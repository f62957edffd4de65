"""Running a trigger program: which rows each statement reads, and in which order statements run.

Theory of operation. A batch is a signed bag of rows for some parts. Level by level, each statement of a changed part
becomes joins over small inputs: the change itself, and what a *probe* finds in the other tables at the keys of the
change. A ``Joiner`` evaluates those joins: Spark in production, plain Python in tests; nothing else differs between
the two. What is looked up by constants or read whole is not looked at before some combination of the rows read so far
can be in the result. A domain passes on only the labels that appear (+1) or disappear (-1). Nothing is written here:
the result is one signed bag per map, which the store commits together with the batch. When you touch this: a statement
may read a table before or after the batch (``At``), an auxiliary map as of its turn (``delta/program.py``), and these
must not be mixed up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Protocol

from attrs import evolve, field, frozen

from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.plan.access import Step, access, cautious
from ripplenest.plan.evaluate import Binding, evaluate, possible, value
from ripplenest.plan.planned import PlannedMap, Target
from ripplenest.plan.product import Product, is_total, sources_of

Changes = Mapping[str, Rows]
HEAVY = 2**40  # a change of a multiplicity that makes it worth looking how often the row would be there
MOST = 2**62  # how often it may be, so that smaller changes would take millions of batches to leave 64 bits


class Reader(Protocol):
    """Tables at one version."""

    def scan(self, table: str) -> Rows:
        """Every row of ``table``."""

    def probe(self, table: str, columns: tuple[int, ...], keys: Sequence[Row]) -> Rows:
        """The rows whose ``columns`` equal one of ``keys``; NULL equals NULL."""


class Levels(Protocol):
    """One program, or those of several views: the maps in the order in which they run, which of them are domains or
    auxiliary, and the turns of parts and domains."""

    @property
    def levels(self) -> tuple[tuple[PlannedMap, ...], ...]: ...

    @property
    def domains(self) -> frozenset[str]: ...

    @property
    def auxiliaries(self) -> frozenset[str]: ...

    @property
    def turns(self) -> Mapping[str, int]: ...


@frozen
class Task:
    """One product over its inputs, for the target of that name."""

    target: str
    product: Product
    inputs: tuple[Rows, ...]


class Joiner(Protocol):
    """An engine for products."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> dict[str, Rows]:
        """By target, the sum of its tasks' rows, consolidated; every one of ``targets`` is in the answer."""


class PythonJoiner:
    """Products over Python rows, by the reference meaning of every scalar."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> dict[str, Rows]:
        """See ``Joiner``."""
        pairs: dict[str, list[tuple[Row, int]]] = {t.name: [] for t in targets}
        for task in tasks:
            pairs[task.target].extend(evaluate(task.product, [rows.counts() for rows in task.inputs]).items())
        return {t.name: Rows.of_pairs(t.types, pairs[t.name]).consolidated() for t in targets}


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
        for step in access(p):
            if step.via is None and p.sources[step.source].at is not At.DELTA and not _possible(p, steps, found):
                return None
            looked_up = _keys(p, step, found)
            if looked_up is None:
                product = cautious(p)
            steps.append(Step(step.source) if looked_up is None else step)
            found[step.source] = self._source(p, steps[-1], looked_up or [], part)
            if found[step.source].is_empty:
                return None
        return Task(target, product, tuple(found[i] for i in range(len(p.sources))))

    def scan(self, p: Product) -> Iterable[Rows]:
        """Every source whole."""
        return (self._before(s.table, Step(i), []) for i, s in enumerate(p.sources))

    def _source(self, p: Product, step: Step, keys: Sequence[Row], part: str) -> Rows:
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

    def _before(self, table: str, step: Step, keys: Sequence[Row]) -> Rows:
        if table in self.built:
            return self._visible(table, self.built[table])
        if not step.keys:
            return self._visible(table, self.reader.scan(table))
        return self._visible(table, self.reader.probe(table, step.columns, keys))

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
        tasks = list(_tasks(run, level))
        jobs += bool(tasks)
        for target, rows in _results(joiner, tasks, [t for m in level for t in dict.fromkeys(m.targets.values())]):
            out[target.map] = out[target.map].plus(rows).consolidated() if target.map in out else rows
            if target.part is not None and not rows.is_empty:
                run.caused.setdefault(target.map, {})[target.part] = rows
            if target.map in plan.domains:
                _pass_on(run, target, rows)
    check_counts(reader, {**changes, **out})
    return Propagation(out, sum(run.read), jobs)


def check_counts(reader: Reader, changes: Changes) -> None:
    """Raises EvaluationError when a row would be there so often that 64 bits may soon not count it: nobody could read
    its table any more.

    Only rows that change by very much are looked at, for which the table is read whole.
    """
    for table, rows in changes.items():
        if rows.heaviest() >= HEAVY:
            held = reader.scan(table).counts()
            _check_most(table, (held.get(row, 0) + n for row, n in rows.counts().items()))


def _check_most(table: str, counts: Iterable[int]) -> None:
    for n in counts:
        if abs(n) > MOST:
            what = "multiplicity overflow: a row would be there too often"
            raise EvaluationError(what, where=table, wanted=f"at most {MOST} times", got=f"{n} times")


def _tasks(run: _Run, level: Sequence[PlannedMap]) -> Iterator[Task]:
    """The products of the statements of every changed part that can have rows."""
    for m in level:
        for part, products in m.triggers:
            if part in run.changes:
                tasks = (run.task(m.targets[part].name, p, part) for p in products)
                yield from (task for task in tasks if task is not None)


def build(plan: Levels, reader: Reader, joiner: Joiner) -> dict[str, Rows]:
    """Every map computed from scratch over the parts: an ordinary query, not a change of nothing."""
    run = _Run(plan, reader, {})
    for level in plan.levels:
        tasks = [Task(m.name, p, tuple(run.scan(p))) for m in level for p in m.build]
        for target, rows in _results(joiner, tasks, [m.whole for m in level]):
            _check_most(target.map, [rows.heaviest()])
            run.built[target.map] = rows
    return run.built


def support(rows: Rows) -> Rows:
    """Each row with a count above 0, once."""
    return Rows.of_pairs(rows.types, ((row, 1) for row, n in rows.counts().items() if n > 0))


def _results(joiner: Joiner, tasks: Sequence[Task], targets: Sequence[Target]) -> Iterable[tuple[Target, Rows]]:
    if not tasks:
        return [(t, Rows.empty(t.types)) for t in targets]
    try:
        results = joiner.join(tasks, targets)
    except EvaluationError:  # perhaps of a key, for a row without a partner
        again = [evolve(task, product=cautious(task.product)) for task in tasks]
        if again == tasks:
            raise
        results = joiner.join(again, targets)
    return [(t, results[t.name]) for t in targets]


def _pass_on(run: _Run, domain: Target, change: Rows) -> None:
    """δDom for those who read the domain: +1 for labels whose count leaves 0, -1 for those whose count reaches it."""
    if change.is_empty:
        return
    counts = change.counts()
    columns = tuple(range(len(domain.types)))
    held = run.reader.probe(domain.map, columns, list(counts)) if columns else run.reader.scan(domain.map)
    run.read.append(len(held))
    before = held.counts()
    moved = ((row, (before.get(row, 0) + n > 0) - (before.get(row, 0) > 0)) for row, n in counts.items())
    run.changes[domain.map] = Rows.of_pairs(domain.types, ((row, n) for row, n in moved if n)).consolidated()


def _possible(p: Product, steps: Sequence[Step], found: Mapping[int, Rows]) -> bool:
    return possible(p, steps, {i: rows.counts() for i, rows in found.items()})


def _keys(p: Product, step: Step, found: Mapping[int, Rows]) -> list[Row] | None:
    """The distinct keys that the rows of the source already read ask for, or the constants; NULL asks only when NULL
    equals NULL. Rows that do not fulfil the conditions on their source alone ask nothing. None when a key has no value.
    """
    if not step.keys:
        return []
    rows: list[Binding] = [{}] if step.via is None else [{step.via: row} for row, _ in found[step.via].pairs()]
    own = [c for c in p.conditions if sources_of(c) == {step.via} and is_total(c)]
    asking = (binding for binding in rows if all(value(c, binding) is True for c in own))
    try:
        keys = dict.fromkeys(tuple(value(k.scalar, binding) for k in step.keys) for binding in asking)
    except EvaluationError:
        return None
    return [key for key in keys if all(v is not None or k.null_safe for v, k in zip(key, step.keys, strict=True))]
