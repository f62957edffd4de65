"""Rows that a user gave, checked, in two faces: columns by level, and values of the calculus.

Each face is made when it is first asked for. Rows keep the order in which they came, for messages.
"""

from functools import cached_property

from ripplenest.data.columns import base_types
from ripplenest.data.content import Content, content_digest, level_digest
from ripplenest.data.level_values import of_values, total, values_of
from ripplenest.data.levels import Level
from ripplenest.data.rows import Rows
from ripplenest.nrc.bags import Value
from ripplenest.nrc.types import Type, is_flat


class Given:
    """Rows of ``type``."""

    def __init__(self, type: Type, *, values: tuple[Value, ...] | None = None, level: Level | None = None) -> None:
        """Trusted: ``values`` or ``level`` is canonical and of ``type``."""
        self.type, self._values, self._level = type, values, level

    def __len__(self) -> int:
        return len(self._values) if self._values is not None else len(self.level)

    @property
    def is_flat(self) -> bool:
        """Whether the rows have columns of their own and nothing else: fields, and no inner bags."""
        return is_flat(self.type) and bool(base_types(self.type))

    @cached_property
    def total(self) -> int:
        """How many there are, with those in inner bags."""
        if is_flat(self.type):
            return len(self)
        return self.level.total if self._level is not None else sum(total(v, self.type) for v in self._values or ())

    @cached_property
    def rows(self) -> Rows:
        """Each row once for each time that it was given, in order; only of flat rows."""
        return Rows.of_columns(base_types(self.type), self.level.columns)

    @property
    def level(self) -> Level:
        """The rows in the order in which they came."""
        if self._level is None:
            self._level = of_values(self._values or (), self.type)
        return self._level

    @cached_property
    def ordered(self) -> Level:
        """The rows in an order of their own, the same for the same rows; without inner bags, each once."""
        return self.level.printed.ordered()

    def columns_digest(self) -> str:
        """The digest of flat rows, whatever their order."""
        return content_digest(self.rows)

    def level_digest(self) -> str:
        """The digest of rows, whatever their order and that of their bags."""
        return level_digest(lambda: [self.ordered])

    @cached_property
    def content(self) -> Content:
        """What the rows are, whatever their order and that of their bags, as what can be added up."""
        return Content.of(self.level)

    @property
    def values(self) -> tuple[Value, ...]:
        """The rows one by one."""
        if self._values is None:
            self._values = tuple(values_of(self.level, self.type))
        return self._values
