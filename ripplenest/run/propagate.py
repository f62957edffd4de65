"""Running a trigger program: which rows each statement reads, and in which order statements run.

Theory of operation. A batch is a signed bag of rows for some parts. Level by level, each statement of a changed part
becomes joins over small inputs: the change itself, and what a *probe* finds in the other tables at the keys of the
change. A ``Joiner`` evaluates those joins: Spark, or columns in this process; nothing else differs between the two.
Where each question to it is a job, what nobody waits for is one question at the end, and what others do wait for is
joined in this process as long as it is small (``schedule``).
What is looked up by constants or read whole is not looked at before some combination of the rows read so far
can be in the result. A map that passes on shows statements something else than its rows (``passing``). Nothing is
written here: the result is one signed bag per map, which the store commits together with the batch.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from ripplenest.data.rows import Rows
from ripplenest.data.sums import Sum
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product
from ripplenest.run import marginals, running, statements
from ripplenest.run.counts import check_counts
from ripplenest.run.handing import Handing
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Joiner, Task, summed
from ripplenest.run.one_state import are_of_one_state
from ripplenest.run.piecewise import piece
from ripplenest.run.policy import Trial
from ripplenest.run.schedule import HERE, awaited, rows_of
from ripplenest.run.statements import Asked
from ripplenest.run.step import Stepped, Stepper, stepped
from ripplenest.run.upward import ways
from ripplenest.store.files import Filed
from ripplenest.version.version import Tables

Changes = Mapping[str, Rows]


@frozen
class Propagation:
    """What a batch did to every map, how many rows were read from the state to find out, in how many ``jobs``, and how
    many rows were joined ``here`` so that these are fewer. By map, how many of the rows that were read of it were
    ``cancelled`` by others."""

    changes: dict[str, Rows]
    rows_read: int
    jobs: int
    here: int = 0
    cancelled: Mapping[str, int] = field(factory=dict)

    @property
    def changed(self) -> dict[str, Rows]:
        """The change of each map that has one."""
        return {name: rows for name, rows in self.changes.items() if not rows.is_empty}


def propagate(
    plan: Plan,
    reader: Tables,
    changes: Changes,
    joiner: Joiner,
    here: Joiner | None = None,
    handing: Handing | None = None,
    trial: Trial | None = None,
) -> Propagation:
    """The change of every map when the parts change by ``changes`` (signed rows by part). ``here`` is for a ``joiner``
    of jobs: what joins the little that others wait for in place of it; ``handing`` says what its tasks read. Raises
    GivenUp where a ``trial`` ends.

    Law 6: what a map holds plus its change is what its definition gives on the changed parts. Raises EvaluationError
    where that has no value, or where what was and what comes meet, which are then joined apart if they can be.
    """
    steps = joiner if isinstance(joiner, Stepper) else None
    changed = {table: rows for table, rows in changes.items() if not rows.is_empty}
    run = Run(plan, reader, changed, handing=handing, steps=steps)
    try:
        return _propagated(run, changes, joiner, here, trial)
    except EvaluationError:
        if run.by_tasks or any(isinstance(rows, Filed) for rows in run.changes.values()):
            raise
        changed = {part: rows for part, rows in changes.items() if not rows.is_empty}  # maps were added to it
        return _propagated(Run(plan, reader, changed, read=run.read, apart=True), changes, joiner, here, trial)


def _propagated(run: Run, changes: Changes, joiner: Joiner, here: Joiner | None, trial: Trial | None) -> Propagation:
    plan = run.plan
    first = frozenset(m.name for m in plan.maps) if here is None else awaited(plan, run.changes)
    out: dict[str, Rows] = {}
    last: list[Task] = []
    for level in plan.levels:
        if trial is not None:
            made = sum(map(len, out.values()))
            trial.check(level, run.changes, sum(run.read), made)
        now = [m for m in level if m.name in first]
        names = {t.name for m in now for t in m.summed}
        run.next_level()
        tasks = statements.tasks(run, _asked(run, level))
        mine = [task for task in tasks if task.target in names]
        last += (task for task in tasks if task.target not in names)
        _add(run, out, _engine(run, mine, joiner, here), mine, now)
        for m in now:
            if m.kind.passes_on and m.name in out and not out[m.name].is_empty:
                _pass_on(run, m, out[m.name])
    _add(run, out, joiner, last, [m for m in plan.maps if m.name not in first])
    check_counts(run.reader, {**changes, **out})
    in_order = {m.name: out[m.name] for m in plan.maps if m.name in out}
    return Propagation(in_order, sum(run.read), sum(run.jobs), sum(run.here), run.cancelled)


def _engine(run: Run, tasks: Sequence[Task], joiner: Joiner, here: Joiner | None) -> Joiner:
    """Who joins what others wait for."""
    if here is None or (rows := rows_of(tasks)) > HERE:
        return joiner
    run.here.append(rows)
    return here


def _add(run: Run, out: dict[str, Rows], joiner: Joiner, tasks: Sequence[Task], maps: Sequence[PlannedMap]) -> None:
    """What ``maps`` change by; what each part does to an auxiliary map is for statements to come."""
    made: dict[str, Rows] = {}
    folded = set[str]()
    targets = [t for m in maps for t in m.summed]
    for target, every in summed(joiner, tasks, targets, run, run.plan):
        rows = every if target.part is None else _added_up(run, target.map, target.part, every)
        made[target.map] = _both(made[target.map], rows) if target.map in made else rows
        if target.in_pieces:
            folded.add(target.map)
        if target.part is not None and not rows.is_empty:
            run.caused.setdefault(target.map, {})[target.part] = rows
    for name, rows in made.items():
        m = run.plan.by_name[name]
        every, in_pieces = _with_told(run, m, rows, name in folded)
        out[name] = _kept(run, m, every, in_pieces)


def _added_up(run: Run, name: str, part: str, made: Rows) -> Rows:
    """What a part has done to an auxiliary map, added up where that is much less."""
    m = run.plan.by_name[name]
    found = made if m.folding is None else marginals.fewer(m, made)
    if found is not made:
        run.added_up[name, part] = len(found)
    return found


def _both(a: Rows, b: Rows) -> Rows:
    """The sum of sums; one of which nothing is there stays what it is, and where."""
    if a.is_empty or b.is_empty:
        return b if a.is_empty else a
    return a.plus(b).consolidated()


def _kept(run: Run, m: PlannedMap, made: Rows, in_pieces: bool) -> Rows:
    """What changes in the stored rows of a map of which statements have ``made`` rows, maybe ``in_pieces``."""
    if m.answers is None or made.is_empty:
        return made if m.answers is None else Rows.empty(m.types)
    found = _stepped(run, m, made, in_pieces)
    run.seen[m.name] = found.seen
    return found.change


def _stepped(run: Run, m: PlannedMap, made: Rows, in_pieces: bool = False) -> Stepped:
    """The per-key step: by tasks of rows that are in their files, else here."""
    found = run.steps.stepped(m, made) if run.steps is not None and isinstance(made, Filed) else None
    if found is None:
        found = _stepped_here(run, m, made, in_pieces)
    run.read.append(found.read)
    run.jobs.append(found.jobs)
    for table, rows in found.cancelled.items():
        run.in_vain(table, rows)
    return found


def _stepped_here(run: Run, m: PlannedMap, made: Rows, in_pieces: bool) -> Stepped:
    """Rows that are in files come some at a time, and what is found goes to files if it does not fit."""
    if m.answers is None or run.handing is None or not isinstance(made, Filed):
        return stepped(m, made, run.reader, in_pieces)
    every, seen = Sum(run.handing.room, m.types), Sum(run.handing.room, m.answers.visible)
    read, cancelled = 0, Counter[str]()
    for some in run.handing.by_key(made, m.together):
        found = stepped(m, some, run.reader)
        every.add(found.change)
        seen.add(found.seen)
        read += found.read
        cancelled.update(found.cancelled)
    return Stepped(every.rows(), seen.rows(), read, cancelled=cancelled)


def _asked(run: Run, level: Sequence[PlannedMap]) -> Iterator[Asked]:
    """The products of the statements of every changed part. A change in files is joined by tasks, which read it in
    pieces: so products read it once."""
    for m in level:
        in_files = [(part, products) for part, products in m.once if isinstance(run.changes.get(part), Filed)]
        every = {part: own for part, own in {**dict(m.triggers), **dict(in_files)}.items() if part in run.changes}
        apart = run.apart and are_of_one_state(m, (p for own in every.values() for p in own), run.plan, run.changes)
        for part, products in every.items():
            if apart or not _is_told(run, m, part, products):
                own = products if apart else ways(run, m, part, products)
                yield from (Asked(m.targets[part].name, p, part, apart) for p in own)


def _is_told(run: Run, m: PlannedMap, part: str, products: Sequence[Product]) -> bool:
    """Whether what a statement contributes is told by places near those that change: it is known then."""
    some = m.running.get(part, ()) if run.handing is None and run.steps is None else ()
    told = [*zip(products, some, strict=True)] if run.plan.tells(some) else []
    found = running.contributed(run, m, told) if told else None
    if found is not None:
        run.pieces[m.name] = found
    return found is not None


def _with_told(run: Run, m: PlannedMap, made: Rows, in_pieces: bool) -> tuple[Rows, bool]:
    """What all statements of a map contribute, and whether in pieces."""
    told = run.pieces.get(m.name)
    if told is None:
        return made, in_pieces
    return told.plus(made if in_pieces else piece(m.adding, made)), True


def _pass_on(run: Run, m: PlannedMap, change: Rows) -> None:
    """What those who read the map see of its change."""
    run.moved[m.name] = change
    if m.kind.is_plain:
        run.changes[m.name] = change
    elif m.answers is None:
        run.changes[m.name] = _stepped(run, m, change).seen
    elif not run.seen[m.name].is_empty:
        run.changes[m.name] = run.seen[m.name]
