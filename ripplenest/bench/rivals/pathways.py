"""Pathway, which maintains the flat join as rows come: in a process of its own, because it runs until its input ends.

    python -P -m ripplenest.bench.rivals.pathways FOLDER SCALE SEED ROUNDS ROWS...

It prints one JSON object, seconds by number of rows, and writes what has come out of the join to ``ANSWER`` in FOLDER.
A batch lasts from its first row until the last row that it changes has come out. What was inserted stays.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Condition
from typing import Any

import pyarrow as pa
from attrs import define, field

from ripplenest.bench.changes import Items, Write
from ripplenest.bench.data import Data
from ripplenest.bench.process import answered
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.timing import Timing
from ripplenest.examples.same import differing

WORKLOAD, ANSWER = "flat", "pathway.arrow"
PATIENCE = 600.0  # seconds that one batch may take
CHUNK = 100_000  # rows of a table that are rows of Python at a time


@define
class Arrived:
    """What has come out: each row as often as it came, and went again."""

    rows: list[tuple[Any, ...]] = field(factory=list)
    gone: int = 0
    changed: Condition = field(factory=Condition)

    def change(self, row: Mapping[str, Any], is_addition: bool) -> None:
        """One row came out."""
        with self.changed:
            if is_addition:
                self.rows.append((row["name"], row["day"], row["part"], row["qty"]))
            else:
                self.gone += 1
            self.changed.notify_all()

    def wait(self, rows: int) -> None:
        """Until so many came. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.rows) >= rows, PATIENCE):
                raise TimeoutError(f"{len(self.rows):,} of {rows:,} rows came in {PATIENCE:g} seconds")

    def table(self) -> pa.Table:
        """What is in the join, which inserts alone make no row leave."""
        assert not self.gone, "a row left the join, though none left its input"
        columns = list(zip(*self.rows, strict=True))
        dates = pa.array(columns[1], pa.int32()).cast(pa.date32())
        return pa.table({"name": columns[0], "date": dates, "part": columns[2], "qty": columns[3]})


def maintained(data: Data, sizes: Sequence[int], rounds: int, folder: Path) -> tuple[dict[int, Timing], int]:
    """By size what an insert of so many items took, and how many rows differ from what the join is at the end.

    Raises ProcessFailed.
    """
    found = answered(__name__, folder, data.scale, data.seed, rounds, *sizes)
    times = {int(rows): Timing.of(seconds) for rows, seconds in found.items()}
    with pa.memory_map(str(folder / ANSWER)) as file:
        return times, differing(_expected(data, sizes, rounds), pa.ipc.open_file(file).read_all())


def _expected(data: Data, sizes: Sequence[int], rounds: int) -> pa.Table:
    duck = Duck(WORKLOAD)
    duck.load({"C": data.customers, "O": data.orders, "L": data.items})
    duck.apply([Write("insert", "L", rows) for rows in _inserts(data, sizes, rounds)])
    found = duck.nested()
    duck.close()
    return found


def _inserts(data: Data, sizes: Sequence[int], rounds: int) -> Iterator[pa.Table]:
    items = Items(data)
    for _ in range(rounds + 1):  # the first is to warm up
        for rows in sizes:
            yield items.fresh(rows)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(CHUNK):
        yield from batch.to_pylist()


def _run(data: Data, sizes: Sequence[int], rounds: int) -> tuple[dict[int, list[float]], pa.Table]:
    """Pathway's program, until its last batch has come out: the seconds, and what the join holds."""
    import pathway as pw  # noqa: PLC0415 - it is optional

    arrived = Arrived()
    times: dict[int, list[float]] = {rows: [] for rows in sizes}

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
            for i, table in enumerate(_inserts(data, sizes, rounds)):
                rows = list(_rows(table))
                started = time.perf_counter()
                self.insert(rows)
                there += len(rows)
                arrived.wait(there)
                if i >= len(sizes):
                    times[len(rows)].append(time.perf_counter() - started)

    def read(feed: Feed, **types: type) -> Any:
        return pw.io.python.read(feed, schema=pw.schema_from_types(**types), autocommit_duration_ms=None)

    days = data.orders.set_column(2, "day", data.orders.column("date").cast(pa.int32()))
    c = read(Feed(data.customers), custkey=int, name=str)
    o = read(Feed(days), orderkey=int, custkey=int, day=int)
    items = read(Batches(data.items), orderkey=int, line=int, partkey=int, qty=int)
    placed = o.join(c, o.custkey == c.custkey).select(o.orderkey, o.day, c.name)
    joined = items.join(placed, items.orderkey == placed.orderkey)
    answer = joined.select(placed.name, placed.day, part=items.partkey, qty=items.qty)
    pw.io.subscribe(answer, lambda row, is_addition, **_: arrived.change(row, is_addition))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return times, arrived.table()


def main(folder: str, scale: str, seed: str, rounds: str, *sizes: str) -> None:
    times, answer = _run(Data(float(scale), int(seed)), [int(rows) for rows in sizes], int(rounds))
    with pa.OSFile(str(Path(folder) / ANSWER), "wb") as file, pa.ipc.new_file(file, answer.schema) as out:
        out.write_table(answer)
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
