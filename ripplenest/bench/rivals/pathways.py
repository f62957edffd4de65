"""Pathway, which maintains flat views (``maintaining``); it has no nested ones.

A batch lasts from its first row until the last row that it changes has come out.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Condition
from typing import Any

import pyarrow as pa
from attrs import define, field

from ripplenest.bench.data import Data
from ripplenest.bench.rivals.maintaining import Times, inserts, run_as_program
from ripplenest.bench.workloads import GROUPBY, JOIN, Workload

PATIENCE = 600.0  # seconds that one batch may take
CHUNK = 100_000  # rows of a table that are rows of Python at a time


@define
class Arrived:
    """What has come out. Each of its rows stands for rows that were given: ``there`` is of how many all do."""

    there: int = 0
    changed: Condition = field(factory=Condition)

    def change(self, row: Mapping[str, Any], is_addition: bool) -> None:
        """One row came out."""
        with self.changed:
            self.take(row, is_addition)
            self.changed.notify_all()

    def take(self, row: Mapping[str, Any], is_addition: bool) -> None:
        """It is one of them, or no longer."""
        raise NotImplementedError

    def wait(self, rows: int) -> None:
        """Until so many have come out. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.there >= rows, PATIENCE):
                raise TimeoutError(f"{self.there:,} of {rows:,} rows came in {PATIENCE:g} seconds")

    def table(self) -> pa.Table:
        """The view."""
        raise NotImplementedError


@define
class Joined(Arrived):
    """Rows of the join, each of one item; inserts make none leave."""

    rows: list[tuple[Any, ...]] = field(factory=list)

    def take(self, row: Mapping[str, Any], is_addition: bool) -> None:
        assert is_addition, "a row left the join, though none left its input"
        self.rows.append((row["name"], row["day"], row["part"], row["qty"]))
        self.there += 1

    def table(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True))
        dates = pa.array(columns[1], pa.int32()).cast(pa.date32())
        return pa.table({"name": columns[0], "date": dates, "part": columns[2], "qty": columns[3]})


@define
class Grouped(Arrived):
    """Averages by group, each of so many pairs. What a group was before leaves, and need not be looked at."""

    groups: dict[int, tuple[float, int]] = field(factory=dict)

    def take(self, row: Mapping[str, Any], is_addition: bool) -> None:
        if is_addition:
            _, before = self.groups.get(row["x"], (0.0, 0))
            self.there += row["n"] - before
            self.groups[row["x"]] = row["mean"], row["n"]

    def table(self) -> pa.Table:
        return pa.table({"x": list(self.groups), "mean": [mean for mean, _ in self.groups.values()]})


def _join(_: Any, read: Any) -> Any:
    """The view ``flat``."""
    c = read("C", custkey=int, name=str)
    o = read("O", orderkey=int, custkey=int, day=int)
    i = read("L", orderkey=int, line=int, partkey=int, qty=int)
    placed = o.join(c, o.custkey == c.custkey).select(o.orderkey, o.day, c.name)
    joined = i.join(placed, i.orderkey == placed.orderkey)
    return joined.select(placed.name, placed.day, part=i.partkey, qty=i.qty)


def _groups(pw: Any, read: Any) -> Any:
    """The view ``groupby``, and how many pairs each of its rows is of."""
    s = read("S", id=int, x=int, y=int)
    return s.groupby(s.x).reduce(s.x, mean=pw.reducers.avg(s.y), n=pw.reducers.count())


PROGRAMS = {JOIN.name: (_join, Joined), GROUPBY.name: (_groups, Grouped)}


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """With days for dates."""
    if "date" in table.column_names:
        days = table.column("date").cast(pa.int32())
        table = table.drop_columns("date").append_column("day", days)
    for batch in table.to_batches(CHUNK):
        yield from batch.to_pylist()


def run(workload: Workload, _: Path, data: Data, sizes: Sequence[int], rounds: int) -> tuple[Times, pa.Table]:
    """Pathway's program, until its last batch has come out: the seconds, and what the view is."""
    import pathway as pw  # noqa: PLC0415 - it is optional

    program, kind = PROGRAMS[workload.name]
    arrived = kind()
    times: dict[int, list[float]] = {rows: [] for rows in sizes}
    tables = workload.tables(data)
    (changing,) = workload.changes(data).fresh(1)

    class Feed(pw.io.python.ConnectorSubject):  # type: ignore[misc]
        """Gives the rows of a table."""

        def __init__(self, table: pa.Table) -> None:
            super().__init__()
            self.table = table

        def run(self) -> None:
            self.insert(_rows(self.table))

        def insert(self, rows: Iterable[Mapping[str, Any]]) -> None:
            for row in rows:
                self.next(**row)
            self.commit()

    class Batches(Feed):
        """Gives the batches after it, each when all of the last has come out."""

        def run(self) -> None:
            super().run()
            there = self.table.num_rows
            arrived.wait(there)
            for counts, new in inserts(workload, data, sizes, rounds):
                rows = list(_rows(new[changing]))
                started = time.perf_counter()
                self.insert(rows)
                there += len(rows)
                arrived.wait(there)
                if counts:
                    times[len(rows)].append(time.perf_counter() - started)

    def read(relation: str, /, **types: type) -> Any:
        feed = (Batches if relation == changing else Feed)(tables[relation])
        return pw.io.python.read(feed, schema=pw.schema_from_types(**types), autocommit_duration_ms=None)

    pw.io.subscribe(program(pw, read), lambda row, is_addition, **_: arrived.change(row, is_addition))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return times, arrived.table()


if __name__ == "__main__":
    run_as_program(run, *sys.argv[1:])
