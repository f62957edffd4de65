"""The engine in this process: products as chains of probes over columns."""

from collections.abc import Sequence

import pyarrow as pa

from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.plan.planned import Target
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.sizes import are_few
from ripplenest.vector.binding import Input
from ripplenest.vector.join import joined


class LocalJoiner:
    """Products over columns, in this process; those of very few rows by rows."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> dict[str, Rows]:
        """By target, the sum of its tasks' rows, consolidated. Raises EvaluationError."""
        if are_few(rows for task in tasks for rows in task.inputs):
            return PythonJoiner().join(tasks, targets)
        inputs = {id(rows): Input(rows) for task in tasks for rows in task.inputs}  # what several read is indexed once
        found: dict[str, list[pa.Table]] = {t.name: [] for t in targets}
        for task in tasks:
            rows = joined(task.product, [inputs[id(rows)] for rows in task.inputs])
            if rows is not None:
                found[task.target].append(rows)
        return {t.name: _summed(t, found[t.name]) for t in targets}


def _summed(target: Target, parts: Sequence[pa.Table]) -> Rows:
    if not parts:
        return Rows.empty(target.types)
    schema = arrow_schema(target.types)
    return Rows(target.types, table=pa.concat_tables([part.cast(schema) for part in parts])).consolidated()
