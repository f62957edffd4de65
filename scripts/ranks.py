"""Ranks and counts so far: what views of them store, and what making them and batches cost, as groups grow.

    python -P scripts/ranks.py [rows ...]

Customers of one region by what their orders come to, what was sold there up to each order, the places of orders that
ties share, how many customers there were so far, and the places of orders by a double, and by what is computed. Printed
are the rows of all maps of the view, how long it took to make it, the most memory that the process had by then, the
rows that a batch of one new order read, and its time.
"""

import resource
import sys
import tempfile
from collections.abc import Iterator
from statistics import median
from time import perf_counter

import ripplenest as rn
from ripplenest import Bag

ROWS = (4_000, 8_000, 100_000)
BATCHES = 10


@rn.record
class Customer:
    id: int
    region: str


@rn.record
class Order:
    id: int
    cust: int
    day: int
    total: int
    share: float


@rn.view
def leaders(C: Bag[Customer], S: Bag[Order]) -> list[dict[str, object]]:
    """The rank of each customer in the region."""
    spent = [{"id": c.id, "region": c.region, "t": sum(o.total for o in S if o.cust == c.id)} for c in C]
    return [{"id": s.id, "rank": 1 + len([x for x in spent if x.region == s.region and x.t > s.t])} for s in spent]


@rn.view
def sold(C: Bag[Customer], S: Bag[Order]) -> list[dict[str, object]]:
    """What was sold in the region up to each order."""
    orders = [{"id": o.id, "region": c.region, "day": o.day, "t": o.total} for c in C for o in S if o.cust == c.id]
    return [
        {"id": a.id, "t": sum(b.t for b in orders if b.region == a.region and (b.day, b.id) <= (a.day, a.id))}
        for a in orders
    ]


@rn.view
def places(S: Bag[Order]) -> list[dict[str, object]]:
    """The place of each order by what it came to, which ties share."""
    return [{"id": a.id, "place": 1 + len({b.total for b in S if b.total > a.total})} for a in S]


@rn.view
def so_far(S: Bag[Order]) -> list[dict[str, object]]:
    """How many customers there were up to the day of each order."""
    return [{"id": a.id, "n": len({b.cust for b in S if b.day <= a.day})} for a in S]


@rn.view
def scored(S: Bag[Order]) -> list[dict[str, object]]:
    """The place of each order by a double."""
    return [{"id": a.id, "place": 1 + len([b for b in S if b.share > a.share])} for a in S]


@rn.view
def weighed(S: Bag[Order]) -> list[dict[str, object]]:
    """The place of each order by what is computed of it."""
    orders = [{"id": o.id, "weight": 2 * o.total - o.day} for o in S]
    return [{"id": a.id, "place": 1 + len([b for b in orders if b.weight > a.weight])} for a in orders]


VIEWS = (leaders, sold, places, so_far, scored, weighed)


def measured(view: rn.View, rows: int) -> Iterator[str]:
    """The columns of a line."""
    with tempfile.TemporaryDirectory() as folder, rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("C", Customer, key="id")
        db.relation("S", Order, key="id")
        db.load("C", [{"id": i, "region": "north"} for i in range(rows)])
        orders = ((i, i * 7_919 % 1_000_003) for i in range(rows))
        db.load("S", [{"id": i, "cust": i, "day": i // 3, "total": n, "share": n / 8} for i, n in orders])
        started = perf_counter()
        db.create(view)
        made = perf_counter() - started
        size = db._state.snapshot().size
        stored = sum(size(m.name) for m in db._declared.plan().maps)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        times, read = [], 0
        for n in range(BATCHES):
            started = perf_counter()
            with db.batch() as b:
                b.insert("S", [{"id": rows + n, "cust": rows // 2, "day": rows, "total": 3, "share": 0.5}])
            times.append(perf_counter() - started)
            read = max(read, b.report.rows_read)
        yield from (f"{rows:,}", f"{stored:,}", f"{made:.2f} s", f"{most:,} MB", f"{read:,}")
        yield f"{1000 * median(times):.1f} ms"


def main() -> None:
    """Prints a line for each view and number of rows."""
    given = [int(text) for text in sys.argv[1:]] or ROWS
    line = "{:10} {:>10} {:>12} {:>10} {:>10} {:>10} {:>10}"
    print(line.format("view", "rows", "rows stored", "made in", "memory", "rows read", "a batch"))
    for rows in given:
        for view in VIEWS:
            print(line.format(view.name, *measured(view, rows)))


if __name__ == "__main__":
    main()
