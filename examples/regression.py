"""A linear regression that is kept fresh over a join: of each town what a square metre costs.

    python examples/regression.py

The moments of the ring of degree 2 (F-IVM: Nikolic, Olteanu, SIGMOD 2018) are all that least squares ask for: how many
rows there are, the sum of each variable, and of each product of two. They are kept at the cost of the change, exactly,
inside of a nested view; nothing is fitted again but a line through four numbers.
"""

import tempfile
from fractions import Fraction
from typing import Any

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Town:
    town: str


@rn.record
class House:
    id: int
    town: str
    area: int


@rn.record
class Sale:
    house: int
    price: int


@rn.view
def prices(T: Bag[Town], H: Bag[House], S: Bag[Sale]):
    """By town the moments of area and price, and the best price."""
    return [
        {
            "town": t.town,
            "of": rn.fold(
                rn.moments("area", "price"),
                ((h.area, s.price) for h in H if h.town == t.town for s in S if s.house == h.id),
            ),
            "dearest": max(s.price for h in H if h.town == t.town for s in S if s.house == h.id),
        }
        for t in T
    ]


def line(m: dict[str, Any]) -> tuple[Fraction, Fraction] | None:
    """The line price = a + b · area of least squares, of the moments."""
    spread = m["n"] * m["area_area"] - m["area"] ** 2 if m["n"] else 0
    if not spread:
        return None
    slope = Fraction(m["n"] * m["area_price"] - m["area"] * m["price"], spread)
    return (m["price"] - slope * m["area"]) / m["n"], slope


HOUSES = 3_000
TOWNS = ("Delft", "Gouda", "Leiden")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/state", engine="local") as db:
        db.relation("T", Town, key="town")
        db.relation("H", House, key="id")
        db.relation("S", Sale, key="house")
        db.load("T", [{"town": town} for town in TOWNS])
        db.load("H", [{"id": n, "town": TOWNS[n % 3], "area": 40 + n * 37 % 120} for n in range(HOUSES)])
        db.load("S", [{"house": n, "price": sold(n)} for n in range(0, HOUSES, 2)])
        db.create(prices)
        print(f"{HOUSES:,} houses, half of them sold:")
        show(db)

        with db.batch() as b:
            b.insert("S", [{"house": n, "price": 2 * sold(n)} for n in (1, 4 * 3 + 1, 7)])
        print("\nThree houses in Gouda are sold for twice as much:")
        show(db, b.report)

        with db.batch() as b:
            b.upsert("H", [{"id": 0, "town": "Leiden", "area": 40}])
        print("\nA house turns out to be in Leiden:")
        show(db, b.report)
        print("\nverified:", "the moments are those of the rows" if db.verify().ok else "something is wrong")


def sold(n: int) -> int:
    return 50_000 + (40 + n * 37 % 120) * (3_000 + 500 * (n % 3)) + n * 7919 % 20_000


def show(db: rn.Database, report: rn.Report | None = None) -> None:
    for row in sorted(db.view("prices").rows(), key=lambda row: str(row["town"])):
        fitted = line(row["of"])
        text = f"{float(fitted[0]):,.2f} + {float(fitted[1]):,.2f} a square metre" if fitted else "nothing sold"
        print(f"  {row['town']}: {row['of']['n']:,} sales, {text}; the dearest for {row['dearest']:,}")
    if report is not None:
        print(f"  {report.verdict}, {report.rows_read} rows read, {sum(report.rows_out.values())} changed")


if __name__ == "__main__":
    main()
