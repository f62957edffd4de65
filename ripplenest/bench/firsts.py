"""The views with first rows that are measured, over pairs: the ten greatest of each group, and the greatest."""

from typing import Any

import ripplenest as rn
from ripplenest import Bag
from ripplenest.bench.totals import Pair

LIMIT = 10


@rn.view
def top10(S: Bag[Pair]) -> list[Any]:
    """Of each x the ten pairs with the greatest y."""
    return [
        {
            "x": x,
            "top": rn.top(LIMIT, [{"y": s.y, "id": s.id} for s in rows], key=lambda s: (s["y"], s["id"]), desc=True),
        }
        for x, rows in rn.group_by(S, lambda s: s.x)
    ]


@rn.view
def most(S: Bag[Pair]) -> list[Any]:
    """select (x, max(y)) from (x, y) in S group by x"""
    return [{"x": x, "most": max(s.y for s in rows)} for x, rows in rn.group_by(S, lambda s: s.x)]
