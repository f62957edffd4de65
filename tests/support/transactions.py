"""The transactions of the catalogue in a SQLite file that a block of a test makes, with their statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from attrs import field, frozen


@frozen
class Made:
    """Statements, in their order; each transaction begins with one."""

    statements: list[str] = field(factory=list)

    @property
    def reads(self) -> int:
        """Transactions that only read."""
        return self.statements.count("BEGIN")

    @property
    def writes(self) -> int:
        return self.statements.count("BEGIN IMMEDIATE")

    @property
    def asked(self) -> int:
        """Statements besides those that begin a transaction."""
        return len(self.statements) - self.reads - self.writes


@contextmanager
def transactions() -> Iterator[Made]:
    """What this process asks of any catalogue inside the block."""
    made = Made()

    def statement(_c: Any, _cursor: Any, sql: str, _parameters: Any, _context: Any, _many: bool) -> None:
        made.statements.append(sql)

    sa.event.listen(sa.Engine, "before_cursor_execute", statement)
    try:
        yield made
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", statement)
