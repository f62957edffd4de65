"""Rows that are with several processes, played in this one: each partition is done by one attempt or several."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve, field, frozen

from ripplenest import Database
from ripplenest.intake import operations
from ripplenest.run.engines import Engines
from ripplenest.run.local import LocalJoiner
from ripplenest.state import tasks
from ripplenest.store import ranges
from ripplenest.tasks.jobs import OnRows, OnWork
from ripplenest.tasks.loads import TaskLoads
from support.choices import Choices


def shared_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are left to tasks from the first row on, and few of them are several ranges."""
    monkeypatch.setattr(tasks, "ALONE", 0)
    monkeypatch.setattr(operations, "SPREAD", 0)
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)


class TaskLost(Exception):
    """An attempt ends in the middle."""


@frozen
class Partitions:
    """What a DataFrame is: the batches of each partition."""

    schema: pa.Schema
    parts: Sequence[Sequence[pa.RecordBatch]]

    @classmethod
    def of(cls, table: pa.Table, c: Choices) -> "Partitions":
        """The rows of ``table`` in their order, some partitions without rows."""
        ends = sorted(c.number(len(table) + 1) for _ in range(c.number(4)))
        pieces = [table.slice(a, b - a) for a, b in zip([0, *ends], [*ends, len(table)], strict=True)]
        return cls(table.schema, [[b for b in piece.to_batches(1 + c.number(9)) if len(b)] for piece in pieces])

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches([batch for part in self.parts for batch in part], self.schema)

    def mapInArrow(self, *_: object) -> None:
        raise AssertionError("nobody asks")


@frozen
class Attempts:
    """Jobs on ``rows``: attempts that are lost, that come twice, and of which any counts, as ``c`` says."""

    rows: Partitions
    c: Choices
    lost: list[str] = field(factory=list)
    at_once: int = 3

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    @property
    def many(self) -> int:
        return sum(len(batch) for part in self.rows.parts for batch in part)

    def on_rows(self, job: type[OnRows], common: str) -> dict[int, str]:
        shares = [*enumerate(self.rows.parts)]
        if self.c.one_in(2):
            shares.reverse()
        return {i: self._attempted(lambda batches, i=i: job.do(common, i, batches), part) for i, part in shares}

    def on_work(self, job: type[OnWork], common: str, works: Sequence[str]) -> list[str]:
        return [self._attempted(lambda _, own=own: job.do(common, own), ()) for own in works]

    def _attempted(self, do: Callable[[Iterator[Any]], str], batches: Sequence[Any]) -> str:
        if batches and self.c.one_in(4):
            self.lost.append("lost")
            try:
                do(_breaking(batches))
            except TaskLost:
                pass
            else:
                raise AssertionError("it goes on without its rows")
        said = [do(iter(batches)) for _ in range(1 + self.c.one_in(4))]
        self.lost.extend("twice" for _ in said[1:])
        return self.c.pick(said)


def _breaking(batches: Sequence[Any]) -> Iterator[Any]:
    yield from batches[: (len(batches) + 1) // 2]
    raise TaskLost


@frozen
class Played(TaskLoads):
    """Loads of ``Partitions``."""

    def takes(self, rows: object) -> bool:
        return isinstance(rows, Partitions)


def nobody() -> Any:
    raise AssertionError("nobody opens a file")


def shared(db: Database, c: Choices, memory: int, lost: list[str]) -> None:
    """From now on loads of ``Partitions`` are played."""
    tasks = Played(memory, nobody, lambda rows: Attempts(rows, c, lost))
    db._commits = evolve(db._commits, tasks=lambda: tasks)


def shared_inserts(db: Database, c: Choices, memory: int, lost: list[str]) -> None:
    """So are inserts of them, for a state that is said to be worked on by Spark, though this process joins."""
    shared(db, c, memory, lost)
    db._commits = evolve(db._commits, engines=Engines("spark", LocalJoiner))
