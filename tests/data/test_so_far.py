"""First rows so far: numbers against a list that is sorted at each point."""

from collections import Counter

import numpy as np
import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.data.so_far import NONE, Spans, Stream

COUNTS: Counter[str] = Counter()


@pytest.mark.xdist_group("first rows so far")
@law(examples=many(200, 5000))
def test_they_are_the_first_of_all_before(c: Choices) -> None:
    """Of several runs, as they come; ranks may be those of equal rows, and rows there several times."""
    size, runs = c.number(30), 1 + c.number(3)
    run = [c.number(runs) for _ in range(size)]
    at = [2 * c.number(5) + 1 for _ in range(size)]
    ranks = [-1 if c.one_in(3) else c.number(size) for _ in range(size)]
    at = [t - (rank == NONE) for t, rank in zip(at, ranks, strict=True)]
    copies = [1 if rank == NONE else 1 + c.number(4) for rank in ranks]
    limit = c.number(5)
    found = Stream(*map(np.array, (run, at, ranks, copies))).first(limit) if size else ()
    wanted = []
    for i in (i for i, rank in enumerate(ranks) if rank == NONE):
        before = [j for j in range(size) if ranks[j] != NONE and run[j] == run[i] and at[j] < at[i]]
        first = sorted(rank for j in before for rank in [ranks[j]] * copies[j])[:limit]
        wanted += [(i, rank, n) for rank, n in Counter(first).items()]
        COUNTS["several"] += len(first) > 1
        COUNTS["copies"] += len({*first}) < len(first)
        COUNTS["others"] += len(before) > limit
    assert sorted(zip(*(own.tolist() for own in found), strict=True)) == sorted(wanted)


@pytest.mark.xdist_group("first rows so far")
@law(examples=many(200, 5000))
def test_those_of_spans_are_the_first_of_all_within(c: Choices) -> None:
    """Each row of a run is there once, with its copies; spans may be empty, or begin where there is nothing."""
    size, runs, limit = c.number(40), 1 + c.number(3), 1 + c.number(4)
    run, at = [c.number(runs) for _ in range(size)], [c.number(9) for _ in range(size)]
    ranks, copies = [j * 37 % 41 for j in range(size)], [1 + c.number(4) for _ in range(size)]
    spans = [(c.number(runs), c.number(10), c.number(10)) for _ in range(c.number(9))]
    of, low, high = (np.array([span[i] for span in spans], np.int64) for i in range(3))
    rows = Spans(*(np.array(own, np.int64) for own in (run, at, ranks, copies)))
    found = list(zip(*(own.tolist() for own in rows.first(of, low, high, limit)), strict=True))
    wanted = []
    for i, (own, first, end) in enumerate(spans):
        inside = [j for j in range(size) if run[j] == own and first <= at[j] < end]
        every = [j for j in sorted(inside, key=lambda j: ranks[j]) for _ in range(copies[j])][:limit]
        wanted += [(i, j, n) for j, n in Counter(every).items()]
        COUNTS["within"] += len(inside) > limit
    assert sorted(found) == sorted(wanted)


@pytest.mark.xdist_group("first rows so far")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    assert all(COUNTS[what] > many(50, 1000) for what in ("several", "copies", "others", "within")), COUNTS
