"""Views of running totals and of greatest values so far, which are measured: entries of accounts, each with what the
account had come to, or the largest of its amounts."""

from typing import Any

import numpy as np
import pyarrow as pa

import ripplenest as rn
from ripplenest import Bag
from ripplenest.bench.between import EACH
from ripplenest.bench.changes import Rows
from ripplenest.bench.data import Data

MOST = 1_000  # of an amount, in either direction


@rn.record
class Entry:
    id: int
    account: int
    moment: int
    amount: int


@rn.view
def balances(N: Bag[Entry]) -> list[Any]:
    """Entries with the balance behind each."""
    return [
        {"id": n.id, "balance": sum(m.amount for m in N if m.account == n.account and m.moment <= n.moment)} for n in N
    ]


@rn.view
def peaks(N: Bag[Entry]) -> list[Any]:
    """Entries with the largest amount up to each."""
    return [
        {"id": n.id, "peak": max(m.amount for m in N if m.account == n.account and m.moment <= n.moment)} for n in N
    ]


def tables(data: Data) -> Rows:
    """A thousand entries of each account."""
    return new(data.draw(0), data, 0, data.pair_count)


def new(draw: np.random.Generator, data: Data, first: int, entries: int) -> Rows:
    """So many, whose ids begin at ``first``: later than all before, as they come in ledgers."""
    accounts = draw.integers(0, max(data.pair_count // EACH, 1), entries)
    ids, amounts = first + np.arange(entries), draw.integers(-MOST, MOST, entries)
    return {"N": pa.table({"id": ids, "account": accounts, "moment": ids, "amount": amounts})}
