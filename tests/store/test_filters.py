"""Filters of indexes: what is not in an index is mostly passed over, what is there never."""

import numpy as np
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.store.index.filters import FEW, MOST, WORTH, Filter


@law(examples=many(60, 1000))
def test_what_is_there_is_possible(c: Choices) -> None:
    """Law: possible(have, wanted) ⊇ {i | wanted[i] ∈ have}; of what is not there a fifteenth is left, about."""
    drawn = np.random.default_rng(c.number(1 << 30))
    have = np.sort(drawn.integers(0, 1 << 32, 1 + c.number(5000), dtype=np.uint32))
    wanted = np.sort(np.concatenate([drawn.integers(0, 1 << 32, 3000, dtype=np.uint32), have[:: 1 + c.number(9)]]))
    found = Filter().possible(have, wanted)
    there = np.isin(wanted, have)
    assert np.isin(np.flatnonzero(there), found).all()
    assert (~there[found]).sum() < (~there).sum() / 10


def test_it_is_made_once_it_is_worth_it() -> None:
    """Not for few hashes, nor of many entries, and of some only after they were asked for as much as it costs."""
    own = Filter()
    assert own.is_worth(FEW, WORTH * FEW)
    assert not own.is_worth(FEW - 1, 1)
    assert not own.is_worth(FEW, MOST + 1)
    later = Filter()
    asked = [later.is_worth(FEW, 3 * WORTH * FEW) for _ in range(4)]
    assert asked == [False, False, True, True]
