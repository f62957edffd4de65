"""Rows that a user gave and that are with several processes, such as those of a DataFrame."""

from collections.abc import Iterable, Sequence

from ripplenest.data.content import Content
from ripplenest.data.levels import Level
from ripplenest.intake.given import Given
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.operations import Operation, Set
from ripplenest.nrc.bags import Value
from ripplenest.nrc.types import Type


class Spread(Given):
    """``many`` rows of ``type``, in which ``key`` has the fields that name one in messages. They come here when
    somebody wants to see them. Whoever looked at them where they are says what they are (``content``)."""

    def __init__(self, type: Type, key: Sequence[str], rows: object, many: int, where: str) -> None:
        super().__init__(type)
        self.given, self._many, self._key, self.where = rows, many, key, where
        self._content: Content | None = None

    def __len__(self) -> int:
        return self._many

    @property
    def total(self) -> int:
        """At least so many."""
        return self._many

    @property
    def level(self) -> Level:
        """The rows, here. Raises what is wrong with their types."""
        return self._here().level

    @property
    def values(self) -> tuple[Value, ...]:
        return self._here().values

    @property
    def content(self) -> Content:
        if self._content is None:
            self._content = Content.of(self.level)
        return self._content

    def is_known_as(self, content: Content) -> None:
        """They were looked at where they are; which may be when not all of them come that were counted."""
        self._content, self._many = content, content.rows

    def _here(self) -> Given:
        if self._level is None:
            found = read_rows(self.given, self.type, self.where, self._key)
            self._level = found.level
        return Given(self.type, level=self._level)


def are_spread(operations: Iterable[Operation]) -> bool:
    """Whether rows of operations are somewhere else, so that what they are is known when they have been looked at."""
    return any(isinstance(o.rows, Spread) for o in operations if not isinstance(o, Set))
