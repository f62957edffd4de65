"""First rows so far: numbers against a list that is sorted at each point."""

from collections import Counter

import numpy as np
import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.data.so_far import NONE, Sequence

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
    found = Sequence(*map(np.array, (run, at, ranks, copies))).first(limit) if size else ()
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
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    assert all(COUNTS[what] > many(50, 1000) for what in ("several", "copies", "others")), COUNTS
