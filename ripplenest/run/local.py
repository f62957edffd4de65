"""The engine in this process: products as chains of probes over columns."""

from collections.abc import Sequence

import pyarrow as pa

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.data.sums import Sums
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import Target
from ripplenest.run.joiner import Joined, PythonJoiner, Task
from ripplenest.run.sizes import are_few
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
        by_name = {t.name: t for t in targets}
        sums = Sums(self._room, {t.name: t.folded for t in targets if t.folded is not None})
        for place, table in joined([(task.product, task.inputs) for task in tasks], self._room):
            target = by_name[tasks[place].target]
            sums.add(target.name, _typed(target.types, table))
        return Joined({t.name: Rows.empty(t.types) for t in targets} | sums.rows())


def _typed(types: tuple[Base, ...], table: pa.Table) -> Rows:
    schema = arrow_schema(types)
    return Rows(types, table=table if table.schema.equals(schema) else table.cast(schema))
