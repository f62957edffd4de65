"""The engine in this process: products as chains of probes over columns."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import evolve

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.data.sums import Sums
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Product
from ripplenest.run.joiner import Joined, PythonJoiner, Task
from ripplenest.run.piecewise import Contributions
from ripplenest.run.sizes import are_few
from ripplenest.vector import windows
from ripplenest.vector.joins import joined


class LocalJoiner:
    """Products over columns, in this process; those of very few rows by rows. What they make is in a file where it does
    not fit the room."""

    def __init__(self, room: Room | None = None) -> None:
        self._room = Room() if room is None else room

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        """See ``Joiner``; what is to be folded comes in the order of its keys' hashes where it is in a file. Raises
        EvaluationError."""
        if are_few(rows for task in tasks for rows in task.inputs):
            return PythonJoiner().join(tasks, targets)
        by_name, apart = {t.name: t for t in targets}, _apart(tasks)
        folded = {t.name: t.folded for t in targets if t.folded is not None}
        sums = Sums(self._room, dict.fromkeys(apart, ()) | folded)
        known = next((task.combinations for task in tasks), None)  # tasks that come together are of one run
        made = {t.name: Contributions(t, t.fold, sums, self._room.chunk) for t in targets if t.fold is not None}
        others = [task for task in tasks if task.target not in made]
        others += (part for task in tasks if task.target in made for part in self._left(task, made[task.target]))
        asked = [(task.product, task.inputs) for task in others]
        for place, table in joined(asked, self._room, known):
            name = others[place].target
            rows = _typed(by_name[name].types, table)
            if name in made:
                made[name].add(rows)
            else:
                sums.add(name, rows)
        for own in made.values():
            own.end()
        folded_already = frozenset(name for name, own in made.items() if own.is_folded)
        once = apart - folded_already  # two pieces may come to the same
        found = {name: rows.as_sum() if name in once else rows for name, rows in sums.rows().items()}
        nothing = {t.name: Rows.empty(t.types) for t in targets if t.name not in found}
        return Joined(nothing | found, in_pieces=folded_already)

    def _left(self, task: Task, made: Contributions) -> Iterator[Task]:
        """What of a task must be joined: the rest is folded as windows (``vector/windows.py``)."""
        p, f = task.product, made.fold
        for inputs in windows.parts(p, f, task.inputs, self._room):
            found = windows.pieces(p, f, inputs)
            if found is None:
                yield task if inputs is task.inputs else evolve(task, inputs=tuple(inputs))
            else:
                made.add_piece(found)


def _apart(tasks: Sequence[Task]) -> set[str]:
    """The targets whose rows are each there once as they are made: those of one product that keeps them apart."""
    products: dict[str, list[Product]] = {}
    for task in tasks:
        products.setdefault(task.target, []).append(task.product)
    return {name for name, own in products.items() if len(own) == 1 and own[0].keeps_apart}


def _typed(types: tuple[Base, ...], table: pa.Table) -> Rows:
    schema = arrow_schema(types)
    return Rows(types, table=table if table.schema.equals(schema) else table.cast(schema))
