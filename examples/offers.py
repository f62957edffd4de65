"""Least and greatest values and first rows: of each product the cheapest offers, and of all the best shops.

    python examples/offers.py

All offers are kept in order. When the cheapest one goes, the next is read, and nothing else: however many offers there
are, and however many went before.
"""

import tempfile
from decimal import Decimal
from typing import Any

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Offer:
    id: int
    shop: str
    price: rn.Decimal[8, 2]


@rn.record
class Product:
    name: str
    offers: Bag[Offer]


@rn.view
def best(P: Bag[Product]):
    """By product its cheapest offers, the cheapest first, and how far prices are apart."""
    return sorted(
        [
            {
                "name": p.name,
                "least": min(o.price for o in p.offers),
                "most": max((o.price for o in p.offers), default=None),
                "offers": rn.count(o.id for o in p.offers),
                "cheapest": [
                    {"shop": o.shop, "price": o.price} for o in sorted(p.offers, key=lambda o: (o.price, o.id))[:2]
                ],
            }
            for p in P
        ],
        key=lambda p: p["name"],
    )


@rn.view
def shops(P: Bag[Product]):
    """The three shops with most offers that are the cheapest of their product."""
    winners = [o.shop for p in P for o in rn.top(1, p.offers, key=lambda o: (o.price, o.id))]
    counted = [{"shop": shop, "first": len(rows)} for shop, rows in rn.group_by(winners, lambda shop: shop)]
    return rn.top(3, counted, key=lambda s: (s["first"], s["shop"]), desc=(True, False))


SHOPS = ("Acorn", "Birch", "Cedar", "Dogwood")
COUNT = 5_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/state", engine="local") as db:
        db.relation("P", Product, key="name", keys={"offers": "id"})
        db.load("P", [{"name": name, "offers": list(map(offer, range(COUNT)))} for name in ("anvil", "bellows")])
        db.create(best)
        db.create(shops)
        print(f"{COUNT:,} offers of each product.")
        show(db)

        for n in range(3):
            with db.batch() as b:
                b.at("P", name="anvil").offers.delete_key(id=cheapest(n))
        print("\nThe cheapest anvil has been sold, three times:")
        show(db, b.report)

        with db.batch() as b:
            b.at("P", name="bellows").offers.insert([{"id": COUNT, "shop": "Elder", "price": Decimal("0.50")}])
        print("\nElder sells bellows:")
        show(db, b.report)

        with db.batch() as b:
            b.upsert("P", [{"name": "anvil", "offers": []}])
        print("\nNobody offers an anvil:")
        show(db, b.report)
        print("\nverified:", "what is first comes first" if db.verify().ok else "something is wrong")


def offer(n: int) -> dict[str, Any]:
    """Prices that come in no order."""
    return {"id": n, "shop": SHOPS[n % len(SHOPS)], "price": Decimal(100 + n * 7919 % COUNT) / 100}


def cheapest(n: int) -> int:
    return next(i for i in range(COUNT) if i * 7919 % COUNT == n)


def show(db: rn.Database, report: rn.Report | None = None) -> None:
    for row in db.view("best").rows():
        first = ", ".join(f"{o['price']} at {o['shop']}" for o in row["cheapest"]) or "none"
        print(f"  {row['name']}: {row['offers']:,} offers from {row['least']} to {row['most']}; cheapest {first}")
    print("  " + ", ".join(f"{s['shop']} is first {s['first']} times" for s in db.view("shops").rows()))
    if report is not None:
        print(f"  {report.verdict}, {report.rows_read} rows read, {sum(report.rows_out.values())} changed")


if __name__ == "__main__":
    main()
