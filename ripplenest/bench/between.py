"""A view that compares columns, which is measured: visits of a site, each with the hits of its visitor in its time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define

import ripplenest as rn
from ripplenest import Bag
from ripplenest.bench.changes import Rows
from ripplenest.bench.data import Data

TIME, EACH = 1_000_000, 1_000  # moments, and hits of a visitor
VISIT, FEWEST = 10, 3  # hits in each visit, and for each; visits


@rn.record
class Visit:
    id: int
    visitor: int
    begins: int
    ends: int


@rn.record
class Hit:
    id: int
    visitor: int
    moment: int


@rn.view
def sessions(V: Bag[Visit], H: Bag[Hit]) -> list[Any]:
    """Visits with their hits, which are about ten."""
    return [
        {"id": v.id, "hits": [h.id for h in H if h.visitor == v.visitor and v.begins <= h.moment < v.ends]}
        for v in V
    ]


def tables(data: Data) -> Rows:
    """A visit for each ten hits."""
    return _made(data.draw(0), data, 0, max(data.pair_count // VISIT, FEWEST), data.pair_count)


@define
class Fresh:
    """New rows, as ``make`` makes so many of them whose ids begin somewhere."""

    data: Data
    make: Callable[[np.random.Generator, Data, int, int], Rows]
    made: int = 0

    def fresh(self, rows: int) -> Rows:
        base = self.data.pair_count + self.made
        self.made += rows + 1
        return self.make(self.data.draw(base), self.data, base, rows)


def both(draw: np.random.Generator, data: Data, first: int, rows: int) -> Rows:
    """Hits and visits, half of them each."""
    return _made(draw, data, first, rows - rows // 2, rows // 2)


def _made(draw: np.random.Generator, data: Data, first: int, visits: int, hits: int) -> Rows:
    """So many of both, whose ids begin at ``first``."""
    visitors, begins = max(data.pair_count // EACH, 1), draw.integers(0, TIME, visits)
    ends = begins + TIME * VISIT * visitors // data.pair_count
    ids, owners = first + np.arange(max(visits, hits)), draw.integers(0, visitors, visits)
    visited = {"id": ids[:visits], "visitor": owners, "begins": begins, "ends": ends}
    hit = {"id": ids[:hits], "visitor": draw.integers(0, visitors, hits), "moment": draw.integers(0, TIME, hits)}
    return {"V": pa.table(visited), "H": pa.table(hit)}
