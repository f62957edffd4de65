"""Rows that a user gave, checked, in two faces: columns where they have no inner bags, and values of the calculus.

Each face is made when it is first asked for. Rows keep the order in which they came, for messages.
"""

from collections.abc import Sequence

import pyarrow as pa

from ripplenest.data.columns import base_types, from_leaves, to_leaves
from ripplenest.data.rows import Rows, arrow_columns
from ripplenest.nrc.bags import Value
from ripplenest.nrc.types import Type
from ripplenest.shred.values import has_bag


class Given:
    """Rows of ``type``."""

    def __init__(
        self, type: Type, *, values: tuple[Value, ...] | None = None, columns: Sequence[pa.Array] | None = None
    ) -> None:
        """Trusted: ``values`` or ``columns`` are canonical and of ``type``."""
        self.type, self._values = type, values
        self._rows = None if columns is None else Rows.of_columns(base_types(type), columns)

    def __len__(self) -> int:
        return len(self._values) if self._values is not None else len(self.rows)

    @property
    def is_flat(self) -> bool:
        """Whether the rows have columns: they have fields, and no inner bags."""
        return not has_bag(self.type) and bool(base_types(self.type))

    @property
    def rows(self) -> Rows:
        """Each row once for each time that it was given, in order; only of flat rows."""
        if self._rows is None:
            types = base_types(self.type)
            leaves = [to_leaves(value, self.type) for value in self._values or ()]
            self._rows = Rows.of_columns(types, arrow_columns(types, leaves))
        return self._rows

    @property
    def values(self) -> tuple[Value, ...]:
        """The rows one by one."""
        if self._values is None:
            self._values = tuple(from_leaves(row, self.type) for row, _ in self.rows.pairs())
        return self._values
