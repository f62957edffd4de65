"""Statements that every batch asks, handed to the driver as it takes them.

SQLAlchemy says what a statement is in the words of each database, and what its values are there. That is asked once;
asking it each time takes ten times as long as the statement itself.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from attrs import frozen
from sqlalchemy.engine import Connection, Dialect

Convert = Callable[[Any], Any]
Statement = sa.Select[Any] | sa.CompoundSelect[Any] | sa.Insert | sa.Update | sa.Delete
S = TypeVar("S", bound=Statement)
NOTHING: Mapping[str, Any] = {}


@frozen
class _Ready:
    """A statement for one database: its text; its values, and in which order they are given if they are not by name;
    how values are stored, and read again; and its rows."""

    text: str
    values: Mapping[str, Any]
    order: tuple[str, ...] | None
    stored: Mapping[str, Convert]
    read: tuple[Convert | None, ...]
    row: Callable[[list[Any]], Any]

    @classmethod
    def of(cls, statement: Statement, dialect: Dialect) -> "_Ready":
        compiled = statement.compile(dialect=dialect)
        bound = {name: bind.type.dialect_impl(dialect) for bind, name in compiled.bind_names.items()}
        values = {name: value for name, value in compiled.params.items() if value is not None}  # an insert has none
        stored = {name: convert for name, t in bound.items() if (convert := t.bind_processor(dialect))}
        columns = list(statement.selected_columns) if isinstance(statement, sa.SelectBase) else []
        read = tuple(c.type.dialect_impl(dialect).result_processor(dialect, None) for c in columns)
        order = None if compiled.positiontup is None else tuple(compiled.positiontup)
        row: Any = namedtuple("Row", [c.name for c in columns])  # type: ignore[misc]
        return cls(str(compiled), values, order, stored, read, row._make)

    def given(self, values: Mapping[str, Any]) -> Any:
        """``values`` as the driver takes them."""
        every: dict[str, Any] = {**self.values, **values}
        for name, convert in self.stored.items():
            every[name] = convert(every[name])
        return every if self.order is None else tuple([every[name] for name in self.order])


class _Prepared(Generic[S]):
    """A statement, made ready for each database when it first meets it."""

    def __init__(self, statement: S) -> None:
        self._statement = statement
        self._known: dict[str, _Ready] = {}  # by database

    def _ready(self, c: Connection) -> _Ready:
        ready = self._known.get(c.dialect.name)
        if ready is None:
            ready = self._known[c.dialect.name] = _Ready.of(self._statement, c.dialect)
        return ready


class Prepared(_Prepared[sa.Select[Any] | sa.CompoundSelect[Any]]):
    """A statement that reads."""

    def rows(self, c: Connection, values: Mapping[str, Any] = NOTHING) -> list[Any]:
        """All rows, by the names of their columns; ``values`` are those of bind parameters. Raises the driver's own
        errors."""
        ready = self._ready(c)
        with _cursor(c, ready.text, given := ready.given(values), False) as cursor:
            cursor.execute(ready.text, given)
            found = cursor.fetchall()
        return [ready.row([v if f is None else f(v) for v, f in zip(r, ready.read, strict=True)]) for r in found]


class Writing(_Prepared[sa.Insert | sa.Update | sa.Delete]):
    """A statement that writes. Of an insert, every row has all columns of its table."""

    def run(self, c: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Once for each of ``rows``, which are values of bind parameters. Raises the driver's own errors."""
        if not rows:
            return
        ready = self._ready(c)
        with _cursor(c, ready.text, given := [ready.given(row) for row in rows], len(rows) > 1) as cursor:
            if len(rows) > 1:
                cursor.executemany(ready.text, given)
            else:
                cursor.execute(ready.text, given[0])


@contextmanager
def _cursor(c: Connection, text: str, given: Any, many: bool) -> Iterator[Any]:
    """A cursor of the driver, once whoever listens to statements has heard of this one, too."""
    cursor = c.connection.cursor()
    try:
        for hears in c.dispatch.before_cursor_execute:
            hears(c, cursor, text, given, None, many)
        yield cursor
    finally:
        cursor.close()
