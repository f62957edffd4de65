"""Views that fold rows, over the shop."""

import ripplenest as rn
from ripplenest import Bag
from support.shop import Customer, Movie


@rn.view
def spent(C: Bag[Customer]):
    """Folds of inner bags at two depths, and a condition on one: of customers without orders too."""
    return [
        {
            "name": c.name,
            "all": sum(i.qty for o in c.orders for i in o.items),
            "orders": [
                {"key": o.orderkey, "qty": sum(i.qty * i.part for i in o.items), "lines": len(o.items)}
                for o in c.orders
                if len(o.items) < 5
            ],
        }
        for c in C
    ]


@rn.view
def alike(M: Bag[Movie], C: Bag[Customer]):
    """Folds of what a place has in common with relations: those that NULL has, those that none has, and those that are
    the same everywhere; and one of folds."""
    return [
        {
            "n": m.name,
            "same": len([x for x in M if x.dir == m.dir]),
            "fans": sum(c.custkey for c in C if c.name == m.gen),
            "films": len(M),
            "most": sum(len(c.orders) for c in C if c.custkey > len([x for x in M if x.gen == m.gen])),
        }
        for m in M
    ]


@rn.view
def unlike(M: Bag[Movie], C: Bag[Customer]):
    """Rows that are in one bag and not in another, and those that are in both: at two depths, and folded."""
    return [
        {
            "name": c.name,
            "others": len(rn.difference([m.name for m in M], [m.name for m in M if m.gen == c.name])),
            "orders": [
                {
                    "key": o.orderkey,
                    "parts": rn.difference([{"part": i.part, "qty": i.qty} for i in o.items], []),
                    "again": rn.intersect(
                        [i.part for i in o.items],
                        [i.part for p in c.orders if p.orderkey != o.orderkey for i in p.items],
                    ),
                }
                for o in c.orders
            ],
        }
        for c in C
    ]


@rn.view
def ranked(M: Bag[Movie], C: Bag[Customer]):
    """First rows and greatest values: of the same rows by other orders, of what has an order by its inner bags, of what
    a place has in common with a relation, and one of another."""
    return [
        {
            "name": c.name,
            "first": rn.top(2, c.orders, key=lambda o: (sum(i.qty for i in o.items), o.orderkey), desc=(True, False)),
            "most": max(max(i.qty for i in o.items) for o in c.orders),
            "orders": rn.sorted(
                [
                    {
                        "key": o.orderkey,
                        "least": min(i.qty for i in o.items),
                        "films": sorted([m.name for m in M if m.gen == c.name], reverse=True)[:1],
                        "parts": rn.top(2, [{"part": i.part, "qty": i.qty} for i in o.items], key=lambda i: i.qty),
                    }
                    for o in c.orders
                    if max(i.part for i in o.items) > 1
                ],
                key=lambda o: o["key"],
                desc=True,
            ),
        }
        for c in C
    ]


TOTALS = (spent, alike, unlike, ranked)
