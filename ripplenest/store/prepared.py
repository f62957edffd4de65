"""Statements that every batch asks, handed to the driver as it takes them.

SQLAlchemy says what a statement is in the words of each database, and what its values are there. That is asked once;
asking it each time takes ten times as long as the statement itself.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from attrs import frozen
from sqlalchemy.engine import Connection, Dialect

Convert = Callable[[Any], Any]
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
    def of(cls, statement: sa.Select[Any] | sa.CompoundSelect[Any], dialect: Dialect) -> "_Ready":
        compiled = statement.compile(dialect=dialect)
        bound = {name: bind.type.dialect_impl(dialect) for bind, name in compiled.bind_names.items()}
        stored = {name: convert for name, t in bound.items() if (convert := t.bind_processor(dialect))}
        columns = list(statement.selected_columns)
        read = tuple(c.type.dialect_impl(dialect).result_processor(dialect, None) for c in columns)
        order = None if compiled.positiontup is None else tuple(compiled.positiontup)
        row: Any = namedtuple("Row", [c.name for c in columns])  # type: ignore[misc]
        return cls(str(compiled), compiled.params, order, stored, read, row._make)

    def given(self, values: Mapping[str, Any]) -> Any:
        """``values`` as the driver takes them."""
        every = {**self.values, **values}
        for name, convert in self.stored.items():
            every[name] = convert(every[name])
        return every if self.order is None else tuple(every[name] for name in self.order)


class Prepared:
    """A statement that reads."""

    def __init__(self, statement: sa.Select[Any] | sa.CompoundSelect[Any]) -> None:
        self._statement = statement
        self._ready: dict[str, _Ready] = {}  # by database

    def rows(self, c: Connection, values: Mapping[str, Any] = NOTHING) -> list[Any]:
        """All rows, by the names of their columns; ``values`` are those of bind parameters. Raises the driver's own
        errors."""
        ready = self._ready.get(c.dialect.name)
        if ready is None:
            ready = self._ready[c.dialect.name] = _Ready.of(self._statement, c.dialect)
        cursor, given = c.connection.cursor(), ready.given(values)
        try:
            for hears in c.dispatch.before_cursor_execute:  # whoever listens to statements hears of these, too
                hears(c, cursor, ready.text, given, None, False)
            cursor.execute(ready.text, given)
            found = cursor.fetchall()
        finally:
            cursor.close()
        return [ready.row([v if f is None else f(v) for v, f in zip(r, ready.read, strict=True)]) for r in found]
