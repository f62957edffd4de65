"""Whether the row that constants tell comes or goes in a batch, or only some of its other columns change."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.cost.words import There
from ripplenest.data.columns import columns
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Type


def comes_or_goes(parts: Mapping[str, Type], changes: Mapping[str, Rows], there: There) -> bool:
    """Whether rows are left of the ``changes``, by part, of the rows that ``there`` is about, where those cancel that
    agree in the columns that are read. ``parts``: the types of their rows."""
    if there.part not in changes:
        return False
    paths = [c.path for c in columns(parts[there.part])]
    read = [i for i, path in enumerate(paths) if any(f"{path}.".startswith(f"{c}.") for c in there.columns)]
    found = changes[there.part].as_read(read).arrow()
    for path, value in there.equal:
        column = found.column(paths.index(path))
        found = found.filter(pc.equal(column, pa.scalar(value, column.type)))
    return bool(found.num_rows)
