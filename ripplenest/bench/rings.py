"""Folds over rings that are measured: a chain of matrices, and the moments of a join of five relations, which are all
that a linear regression over it asks for (Nikolic, Olteanu, F-IVM, SIGMOD 2018). And what they are over."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define
from numpy.typing import NDArray

import ripplenest as rn
from ripplenest import Bag
from ripplenest.bench.data import Data

VARIABLES = ("x", "y", "z", "u", "v")
Ints = NDArray[np.int64]
WEIGHTS = 10  # entries and measures are numbers below
FACTS, BRANDS, SHOPS, REGIONS = 5_000_000, 100_000, 50_000, 1_000  # at scale 1


@rn.record
class Entry:
    id: int
    i: int
    j: int
    w: int


@rn.record
class Fact:
    id: int
    brand: int
    shop: int
    x: int


@rn.record
class Brand:
    brand: int
    region: int
    y: int


@rn.record
class Shop:
    shop: int
    town: int
    z: int


@rn.record
class Region:
    region: int
    u: int


@rn.record
class Town:
    town: int
    v: int


@rn.view
def chain(A: Bag[Entry], B: Bag[Entry], C: Bag[Entry]) -> list[Any]:
    """The entries of A · B · C."""
    return [
        {"i": k["i"], "l": k["l"], "w": rn.fold(rn.SumProduct, ((r["a"], r["b"], r["c"]) for r in rows))}
        for k, rows in rn.group_by(
            [
                {"i": a.i, "l": c.j, "a": a.w, "b": b.w, "c": c.w}
                for a in A
                for b in B
                if a.j == b.i
                for c in C
                if b.j == c.i
            ],
            lambda r: {"i": r["i"], "l": r["l"]},
        )
    ]


@rn.view
def moments(F: Bag[Fact], B: Bag[Brand], S: Bag[Shop], R: Bag[Region], T: Bag[Town]) -> list[Any]:
    """By region the moments of five variables of a snowflake join."""
    return [
        {
            "region": region,
            **rn.fold(rn.moments("x", "y", "z", "u", "v"), ((r["x"], r["y"], r["z"], r["u"], r["v"]) for r in rows)),
        }
        for region, rows in rn.group_by(
            [
                {"region": b.region, "x": f.x, "y": b.y, "z": s.z, "u": r.u, "v": t.v}
                for f in F
                for b in B
                if b.brand == f.brand
                for r in R
                if r.region == b.region
                for s in S
                if s.shop == f.shop
                for t in T
                if t.town == s.town
            ],
            lambda r: r["region"],
        )
    ]


# ---------------------------------------------------------------- tables


def matrices(data: Data, each: int) -> Mapping[str, pa.Table]:
    """Three matrices of as many entries as there are pairs, ``each`` row and column of which has so many on average."""
    return {name: _entries(data, each, number, np.arange(data.pair_count)) for number, name in enumerate("ABC")}


def _entries(data: Data, each: int, number: int, ids: Ints) -> pa.Table:
    draw = data.draw(number, int(ids[0]) if len(ids) else 0)
    i, j = draw.integers(0, max(data.pair_count // each, 1), (2, len(ids)))
    return pa.table({"id": ids, "i": i, "j": j, "w": draw.integers(0, WEIGHTS, len(ids))})


def snowflake(data: Data) -> Mapping[str, pa.Table]:
    """Facts of brands and shops, which are of regions and towns."""
    brands, shops, regions = (_some(data, most) for most in (BRANDS, SHOPS, REGIONS))
    draw = data.draw(7)
    return {
        "F": _facts(data, np.arange(fact_count(data))),
        "B": pa.table({"brand": np.arange(brands), "region": draw.integers(0, regions, brands),
                       "y": draw.integers(0, WEIGHTS, brands)}),
        "S": pa.table({"shop": np.arange(shops), "town": draw.integers(0, regions, shops),
                       "z": draw.integers(0, WEIGHTS, shops)}),
        "R": pa.table({"region": np.arange(regions), "u": draw.integers(0, WEIGHTS, regions)}),
        "T": pa.table({"town": np.arange(regions), "v": draw.integers(0, WEIGHTS, regions)}),
    }  # fmt: skip


def fact_count(data: Data) -> int:
    return _some(data, FACTS)


def _facts(data: Data, ids: Ints) -> pa.Table:
    draw = data.draw(8, int(ids[0]) if len(ids) else 0)
    brand, shop = (draw.integers(0, _some(data, most), len(ids)) for most in (BRANDS, SHOPS))
    return pa.table({"id": ids, "brand": brand, "shop": shop, "x": draw.integers(0, WEIGHTS, len(ids))})


def _some(data: Data, at_one: int) -> int:
    return max(round(at_one * data.scale), 10)


@define
class Entries:
    """New entries of the three matrices, a third of each."""

    data: Data
    each: int
    made: int = 0

    def fresh(self, rows: int) -> Mapping[str, pa.Table]:
        first = self.data.pair_count + self.made
        self.made += rows + 1
        shares = [rows - 2 * (rows // 3), rows // 3, rows // 3]
        return {n: _entries(self.data, self.each, k, first + np.arange(shares[k])) for k, n in enumerate("ABC")}


@define
class Facts:
    """New facts."""

    data: Data
    made: int = 0

    def fresh(self, rows: int) -> pa.Table:
        first = fact_count(self.data) + self.made
        self.made += rows + 1
        return _facts(self.data, first + np.arange(rows))
