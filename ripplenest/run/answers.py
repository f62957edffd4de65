"""What readers see of the rows of groups, and of first rows: the first columns of what is stored, and where every place
has a row, the answers of nothing for those that have none (the ghosts).

Law (ghosts): what is seen after a change is what was seen before it and how that changes, completed at every place.
"""

import pyarrow as pa

from ripplenest.data import columnar
from ripplenest.data.rows import Rows, arrow_schema, arrow_type
from ripplenest.plan.answers import Answers


def seen(f: Answers, rows: Rows) -> Rows:
    """What readers see of stored rows, or of their change."""
    return Rows(f.visible, table=rows.select(range(len(f.visible))).arrow())


def seen_change(f: Answers, change: Rows) -> Rows:
    """How what readers see changes. A place that gets its first row had the answers of nothing before."""
    visible = seen(f, change)
    return (visible if f.nothing is None else visible.plus(_ghosts(f, change))).consolidated()


def _ghosts(f: Answers, change: Rows) -> Rows:
    """The answers of nothing that places lose, which get a row, and get back, which lose theirs."""
    there = change.select(range(f.keys)).consolidated()
    return _of_nothing(f, there.negated())


def completed(f: Answers, rows: Rows, places: Rows) -> Rows:
    """Visible ``rows`` with the answers of nothing, once, for those of ``places`` that have none."""
    if places.is_empty:
        return rows
    held = columnar.each_once(rows.consolidated()).select(range(f.keys))
    types = held.types
    once = columnar.each_once(places.consolidated())  # several statements may have asked for one
    asked = Rows(types, table=once.arrow().cast(arrow_schema(types)))
    absent = columnar.positive(asked.plus(held.negated()).consolidated())
    return rows.plus(_of_nothing(f, absent))


def _of_nothing(f: Answers, places: Rows) -> Rows:
    """The answers of nothing for ``places``."""
    assert f.nothing is not None
    table = places.arrow()
    types = map(arrow_type, f.visible[f.keys :])
    answers = [pa.repeat(pa.scalar(v, t), len(places)) for v, t in zip(f.nothing, types, strict=True)]
    columns = [*table.columns[:-1], *answers, table.columns[-1]]
    return Rows(f.visible, table=pa.Table.from_arrays(columns, schema=arrow_schema(f.visible)))
