"""The row before another one: what a view of it stores, and what batches cost, as groups grow.

    python -P scripts/nearest.py [groups]

Events of ten users, or of so many; each shows how long after the one before it was. Printed are the rows of all maps of
the view, how long it took to make it, and of a batch of one new event in the middle of those of its user the rows that
were read, and the median time of 20 such batches.
"""

import sys
import tempfile
from collections.abc import Iterator
from statistics import median
from time import perf_counter

import ripplenest as rn
from ripplenest import Bag

ROWS = (3_000, 30_000, 300_000)
BATCHES = 20


@rn.record
class Event:
    id: int
    user: int
    at: int


@rn.view
def gaps(E: Bag[Event]) -> list[dict[str, object]]:
    """How long after the event before it each event was."""
    return [
        {"id": a.id, "gap": a.at - max((b.at for b in E if b.user == a.user and b.at < a.at), default=a.at)} for a in E
    ]


def events(rows: int, users: int) -> list[dict[str, int]]:
    """As many of each user, at even moments."""
    return [{"id": i, "user": i % users, "at": 2 * i} for i in range(rows)]


def measured(rows: int, users: int) -> Iterator[str]:
    """The columns of a line."""
    with tempfile.TemporaryDirectory() as folder, rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("E", Event, key="id")
        db.load("E", events(rows, users))
        begin = perf_counter()
        db.create(gaps)
        made = perf_counter() - begin
        size = db._state.snapshot().size
        stored = sum(size(m.name) for m in db._declared.plan().maps)
        times, read = [], 0
        for n in range(BATCHES):
            begin = perf_counter()
            with db.batch() as b:
                b.insert("E", [{"id": rows + n, "user": n % users, "at": rows // 2 + 2 * n + 1}])
            times.append(perf_counter() - begin)
            read = max(read, b.report.rows_read)
        yield from (f"{rows:,}", f"{stored:,}", f"{made:.2f} s", f"{read}", f"{1000 * median(times):.1f} ms")


def main() -> None:
    """Prints a line for each number of events."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"{'events':>10} {'rows stored':>12} {'made in':>10} {'rows read':>10} {'a batch':>10}")
    for rows in ROWS:
        print("{:>10} {:>12} {:>10} {:>10} {:>10}".format(*measured(rows, users)))


if __name__ == "__main__":
    main()
