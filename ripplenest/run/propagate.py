"""Running a trigger program: which rows each statement reads, and in which order statements run.

Theory of operation. A batch is a signed bag of rows for some parts. Level by level, each statement of a changed part
becomes joins over small inputs: the change itself, and what a *probe* finds in the other tables at the keys of the
change. A ``Joiner`` evaluates those joins: Spark, or columns in this process; nothing else differs between the two.
What is looked up by constants or read whole is not looked at before some combination of the rows read so far
can be in the result. A map that passes on shows statements something else than its rows (``passing``). Nothing is
written here: the result is one signed bag per map, which the store commits together with the batch.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from ripplenest.data.rows import Rows
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.run.counts import check_counts
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Joiner, Task, summed
from ripplenest.run.passing import stored_before, visible_change
from ripplenest.version.version import Tables

Changes = Mapping[str, Rows]


@frozen
class Propagation:
    """What a batch did to every map, and how many rows were read from the state to find out."""

    changes: dict[str, Rows]
    rows_read: int
    jobs: int

    @property
    def changed(self) -> dict[str, Rows]:
        """The change of each map that has one."""
        return {name: rows for name, rows in self.changes.items() if not rows.is_empty}


def propagate(plan: Plan, reader: Tables, changes: Changes, joiner: Joiner) -> Propagation:
    """The change of every map when the parts change by ``changes`` (signed rows by part).

    Law 6: what a map holds plus its change is what its definition gives on the changed parts.
    """
    run = Run(plan, reader, {table: rows for table, rows in changes.items() if not rows.is_empty})
    out: dict[str, Rows] = {}
    jobs = 0
    for level in plan.levels:
        tasks = list(_tasks(run, level))
        jobs += bool(tasks)
        for target, rows in summed(joiner, tasks, [t for m in level for t in m.summed]):
            out[target.map] = out[target.map].plus(rows).consolidated() if target.map in out else rows
            if target.part is not None and not rows.is_empty:
                run.caused.setdefault(target.map, {})[target.part] = rows
            if target.map in plan.passing and not rows.is_empty:
                _pass_on(run, plan.passing[target.map], rows)
    check_counts(reader, {**changes, **out})
    return Propagation(out, sum(run.read), jobs)


def _tasks(run: Run, level: Sequence[PlannedMap]) -> Iterator[Task]:
    """The products of the statements of every changed part that can have rows."""
    run.next_level()
    for m in level:
        for part, products in m.triggers:
            if part in run.changes:
                tasks = (run.task(m.targets[part].name, p, part) for p in products)
                yield from (task for task in tasks if task is not None)


def _pass_on(run: Run, m: PlannedMap, change: Rows) -> None:
    """What those who read the map see of its change."""
    before = stored_before(m, change, run.reader)
    run.read.append(len(before))
    run.changes[m.name] = visible_change(m, change, before)
