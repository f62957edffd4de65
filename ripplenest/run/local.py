"""The engine in this process: products as chains of probes over columns."""

from collections.abc import Sequence

import pyarrow as pa

from ripplenest.data.columnar import consolidated
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import Target
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.sizes import are_few
from ripplenest.vector.joins import joined


class LocalJoiner:
    """Products over columns, in this process; those of very few rows by rows."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> dict[str, Rows]:
        """By target, the sum of its tasks' rows, consolidated. Raises EvaluationError."""
        if are_few(rows for task in tasks for rows in task.inputs):
            return PythonJoiner().join(tasks, targets)
        types = {t.name: t.types for t in targets}
        found = {name: Rows.empty(own) for name, own in types.items()}
        parts: dict[str, list[pa.Table]] = {}
        for task, rows in zip(tasks, joined([(task.product, task.inputs) for task in tasks]), strict=True):
            if rows is not None:
                parts.setdefault(task.target, []).append(rows)
        return found | consolidated({name: _added(types[name], tables) for name, tables in parts.items()})


def _added(types: tuple[Base, ...], parts: Sequence[pa.Table]) -> Rows:
    schema = arrow_schema(types)
    return Rows(types, table=pa.concat_tables([p if p.schema.equals(schema) else p.cast(schema) for p in parts]))
