"""The row before another one: what views of it store, and what batches cost, as groups grow.

    python -P scripts/nearest.py [groups]

Events of ten users, or of so many: how long after the one before it each was, their sessions, which begin where no
event was shortly before, and what the greatest cost was so far. Printed are the rows of all maps of the view, how long
it took to make it, and of a batch of one new event, which is a session of its own, the rows that were read, and the
median time of 20 such batches.
"""

import sys
import tempfile
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any

import ripplenest as rn
from ripplenest import Bag

ROWS = (3_000, 30_000, 300_000)
BATCHES = 20
GAP, IN_A_ROW, PAUSE = 50, 100, 2_000


@rn.record
class Event:
    id: int
    user: int
    at: int
    cost: int


@rn.view
def gaps(E: Bag[Event]) -> list[dict[str, object]]:
    """How long after the event before it each event was."""
    return [
        {"id": a.id, "gap": a.at - max((b.at for b in E if b.user == a.user and b.at < a.at), default=a.at)} for a in E
    ]


def begins(x: Any, events: Any) -> Any:
    """Whether no event was shortly before."""
    last = max((b.at for b in events if b.user == x.user and b.at < x.at), default=None)
    return last is None or x.at - last > GAP


def begin(x: Any, events: Any) -> Any:
    """When the session of an event began."""
    return max((b.at for b in events if b.user == x.user and b.at <= x.at and begins(b, events)), default=None)


@rn.view
def sessions(E: Bag[Event]) -> list[dict[str, object]]:
    """The events of each session."""
    events = [{"user": a.user, "begin": begin(a, E), "id": a.id} for a in E]
    return [
        {"user": user, "begin": begin, "ids": [e["id"] for e in es]}
        for (user, begin), es in rn.group_by(events, lambda e: (e["user"], e["begin"]))
    ]


@rn.view
def peaks(E: Bag[Event]) -> list[dict[str, object]]:
    """The greatest cost of a user up to each event."""
    return [{"id": a.id, "peak": max(b.cost for b in E if b.user == a.user and b.at <= a.at)} for a in E]


def moment(i: int) -> int:
    """When the event of a number was: there is a pause behind each hundred."""
    return 2 * i + i // IN_A_ROW * PAUSE


def events(rows: int, users: int) -> list[dict[str, int]]:
    """As many of each user."""
    return [{"id": i, "user": i % users, "at": moment(i), "cost": i * 7_919 % 10_007} for i in range(rows)]


def measured(view: rn.View, rows: int, users: int) -> Iterator[str]:
    """The columns of a line."""
    with tempfile.TemporaryDirectory() as folder, rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("E", Event, key="id")
        db.load("E", events(rows, users))
        started = perf_counter()
        db.create(view)
        made = perf_counter() - started
        size = db._state.snapshot().size
        stored = sum(size(m.name) for m in db._declared.plan().maps)
        times, read, pause = [], 0, moment(rows // 2 // IN_A_ROW * IN_A_ROW - 1) + PAUSE // 10
        for n in range(BATCHES):
            started = perf_counter()
            with db.batch() as b:
                b.insert("E", [{"id": rows + n, "user": n % users, "at": pause + n * (GAP + 1), "cost": n}])
            times.append(perf_counter() - started)
            read = max(read, b.report.rows_read)
        yield from (f"{rows:,}", f"{stored:,}", f"{made:.2f} s", f"{read}", f"{1000 * median(times):.1f} ms")


def main() -> None:
    """Prints a line for each view and number of events."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"{'view':10} {'events':>10} {'rows stored':>12} {'made in':>10} {'rows read':>10} {'a batch':>10}")
    for view in (gaps, sessions, peaks):
        for rows in ROWS:
            print("{:10} {:>10} {:>12} {:>10} {:>10} {:>10}".format(view.name, *measured(view, rows, users)))


if __name__ == "__main__":
    main()
