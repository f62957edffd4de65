"""How much memory this process takes for each row of work, which says where ``engine="auto"`` goes to Spark.

    python -P scripts/rows_of_work.py [ITEMS]

Builds and changes a nested view over ITEMS flat rows (2,000,000 without one) in a process of its own, and prints the
rows of work as ``run/policy.py`` estimates them, the memory at its peak, and how many rows of work fit 8 GB
(``MOST`` in ``run/engines.py``).
"""

import resource
import sys
import tempfile

import numpy as np
import pyarrow as pa

import ripplenest as rn
from ripplenest.run.policy import Work

FITS = 8_000_000_000  # bytes


@rn.record
class Item:
    orderkey: int
    line: int
    part: int
    qty: float


@rn.record
class Order:
    orderkey: int
    date: str


@rn.view
def dated(Os: rn.Bag[Order], Is: rn.Bag[Item]):  # type: ignore[no-untyped-def]
    return [
        {"date": o.date, "items": [{"part": i.part, "qty": i.qty} for i in Is if i.orderkey == o.orderkey]} for o in Os
    ]


def peak() -> int:
    """Bytes that the process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    keys, lines = np.divmod(np.arange(items), 4)
    flat = pa.table({"orderkey": keys, "line": lines, "part": keys * 7 % 200_003, "qty": keys / 8})
    heads = pa.table({"orderkey": np.arange(items // 4), "date": [f"1998-{k % 12 + 1:02}" for k in range(items // 4)]})
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/state", engine="local") as db:
        db.relation("Os", Order, key="orderkey")
        db.relation("Is", Item, key=("orderkey", "line"))
        db.load("Os", heads)
        db.load("Is", flat)
        before = peak()
        db.create(dated)
        work = Work(db._declared.plan(), db._state.snapshot().size, {}).full()
        taken = peak()
    each = (taken - before) / work
    print(f"{items:,} items: {work:,.0f} rows of work, {before / 1e6:,.0f} MB before, {taken / 1e6:,.0f} MB at most")
    print(f"{each:,.0f} bytes a row of work beyond what was held, {taken / work:,.0f} in all: ", end="")
    print(f"{FITS / (taken / work):,.0f} rows of work fit {FITS / 1e9:,.0f} GB")


if __name__ == "__main__":
    main()
