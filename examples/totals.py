"""Nested TPC-H with totals: customers with what they spent, their orders, and what each order comes to by part.

    pip install tpchgen-cli
    python examples/totals.py

Every total is kept at the cost of the change, wherever it stands: a new item reads and replaces one row of each total
that it is in, and the price of a part those of the orders that have it.
"""

import datetime
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

import ripplenest as rn
from ripplenest import Bag

SCALE = "0.001"


@rn.record
class Customer:
    c_custkey: int
    c_name: str


@rn.record
class Order:
    o_orderkey: int
    o_custkey: int
    o_orderdate: datetime.date


@rn.record
class Item:
    l_orderkey: int
    l_linenumber: rn.Int
    l_partkey: int
    l_quantity: rn.Decimal[15, 2]


@rn.record
class Part:
    p_partkey: int
    p_brand: str
    p_retailprice: rn.Decimal[15, 2]


RELATIONS: dict[str, tuple[str, type, str | tuple[str, ...]]] = {
    "C": ("customer", Customer, "c_custkey"),
    "O": ("orders", Order, "o_orderkey"),
    "L": ("lineitem", Item, ("l_orderkey", "l_linenumber")),
    "P": ("part", Part, "p_partkey"),
}


@rn.view
def priced(L: Bag[Item], P: Bag[Part]):
    """Every item with its order, its brand and its price."""
    return [
        {"order": i.l_orderkey, "brand": p.p_brand, "qty": i.l_quantity, "price": p.p_retailprice}
        for i in L
        for p in P
        if p.p_partkey == i.l_partkey
    ]


@rn.view
def spending(C: Bag[Customer], O: Bag[Order], L: Bag[Item], P: Bag[Part]):  # noqa: E741
    return [
        {
            "name": c.c_name,
            "spent": sum(
                i["qty"] * i["price"]
                for o in O
                if o.o_custkey == c.c_custkey
                for i in priced(L, P)
                if i["order"] == o.o_orderkey
            ),
            "orders": [
                {
                    "date": o.o_orderdate,
                    "lines": len([i for i in L if i.l_orderkey == o.o_orderkey]),
                    "brands": [
                        {
                            "brand": brand,
                            "worth": sum(i["qty"] * i["price"] for i in items),
                            "mean": rn.avg(i["price"] for i in items),
                        }
                        for brand, items in rn.group_by(
                            [i for i in priced(L, P) if i["order"] == o.o_orderkey], lambda i: i["brand"]
                        )
                    ],
                }
                for o in O
                if o.o_custkey == c.c_custkey
            ],
        }
        for c in C
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, rn.open(Path(folder) / "state", engine="local") as db:
        tables = generated(Path(folder))
        for name, (_, record, key) in RELATIONS.items():
            db.relation(name, record, key=key)
            db.load(name, tables[name])
        view = db.create(spending)
        print(f"{view.count()} customers, {tables['L'].num_rows} items. One of the customers:")
        show(one(view))

        orders = (o for o in tables["O"].to_pylist() if f"Customer#{o['o_custkey']:09}" == NAME)
        order = min(orders, key=lambda o: o["o_orderdate"])
        items = [i for i in tables["L"].to_pylist() if i["l_orderkey"] == order["o_orderkey"]]
        with db.batch() as b:
            b.insert("L", [{**items[0], "l_linenumber": 99, "l_quantity": Decimal("1.00")}])
        print("\nAn item more in the first order:")
        show(one(view), b.report)

        part = next(p for p in tables["P"].to_pylist() if p["p_partkey"] == items[0]["l_partkey"])
        with db.batch() as b:
            b.upsert("P", [{**part, "p_retailprice": Decimal("1.00")}])
        print("\nIts part becomes cheap, for everybody:")
        show(one(view), b.report)

        with db.batch() as b:
            for line in [*(i["l_linenumber"] for i in items), 99]:
                b.delete_key("L", l_orderkey=order["o_orderkey"], l_linenumber=line)
        print("\nThe order loses all of its items:")
        show(one(view), b.report)
        print("\nverified:", "all totals are what the rows come to" if db.verify().ok else "something is wrong")


NAME = "Customer#000000001"


def one(view: Any) -> Any:
    return next(row for row in view.rows() if row["name"] == NAME)


def generated(folder: Path) -> dict[str, pa.Table]:
    """The columns that the records have of the tables of TPC-H."""
    tables = ",".join(table for table, _, _ in RELATIONS.values())
    program = Path(sys.executable).with_name("tpchgen-cli")
    wanted: list[str | Path] = ["parquet", "-s", SCALE, "--tables", tables, "--output-dir", folder, "-q"]
    subprocess.run([program, *wanted], check=True)  # noqa: S603 - a program of this environment
    found = {}
    for name, (table, record, _) in RELATIONS.items():
        found[name] = pq.read_table(folder / f"{table}.parquet", columns=[a.name for a in attrs.fields(record)])
    return found


def show(row: Any, report: rn.Report | None = None) -> None:
    print(f"  {row['name']} spent {row['spent']}")
    for order in sorted(row["orders"], key=lambda o: o["date"])[:1]:
        print(f"    {order['date']}, {order['lines']} lines")
        for brand in sorted(order["brands"], key=lambda b: b["brand"]):
            print(f"      {brand['brand']}: {brand['worth']}, at {brand['mean']:.2f} on average")
    if report is not None:
        print(f"  {report.verdict}, {report.rows_read} rows read, {sum(report.rows_out.values())} changed")


if __name__ == "__main__":
    main()
