"""A view of the rows before others, which is measured: hits by sessions, which end where a pause is long."""

from typing import Any

import numpy as np
import pyarrow as pa

import ripplenest as rn
from ripplenest import Bag
from ripplenest.bench.between import EACH, TIME, Hit
from ripplenest.bench.changes import Rows
from ripplenest.bench.data import Data

PAUSE = 2_300  # moments, which one of ten hits was behind the one before, so that a session has about ten


def before(hit: Any, hits: Any) -> Any:
    """When the visitor was there last."""
    return max((h.moment for h in hits if h.visitor == hit.visitor and h.moment < hit.moment), default=None)


def begins(hit: Any, hits: Any) -> Any:
    """Whether a hit is the first of a session."""
    last = before(hit, hits)
    return last is None or hit.moment - last > PAUSE


def start(hit: Any, hits: Any) -> Any:
    """When the session of a hit began."""
    firsts = [h.moment for h in hits if h.visitor == hit.visitor and h.moment <= hit.moment and begins(h, hits)]
    return max(firsts, default=None)


@rn.view
def gaps(H: Bag[Hit]) -> list[Any]:
    """Sessions with their hits, which are about ten."""
    hits = [{"visitor": h.visitor, "start": start(h, H), "id": h.id} for h in H]
    return [
        {"visitor": visitor, "start": start, "hits": [h["id"] for h in hs]}
        for (visitor, start), hs in rn.group_by(hits, lambda h: (h["visitor"], h["start"]))
    ]


def tables(data: Data) -> Rows:
    """A thousand hits of each visitor."""
    return new(data.draw(0), data, 0, data.pair_count)


def new(draw: np.random.Generator, data: Data, first: int, hits: int) -> Rows:
    """So many, whose ids begin at ``first``."""
    visitors = draw.integers(0, max(data.pair_count // EACH, 1), hits)
    moments = draw.integers(0, TIME, hits)
    return {"H": pa.table({"id": first + np.arange(hits), "visitor": visitors, "moment": moments})}
