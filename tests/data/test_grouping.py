"""Law: rows that are grouped by a hash are grouped by what they are, whatever collides; sums are those of each key."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many

from ripplenest.data import grouping
from ripplenest.data.grouping import about_different, hashes_of, stretches
from ripplenest.data.rows import SMALL, Rows
from ripplenest.nrc.types import Base

pytestmark = pytest.mark.xdist_group("grouping")  # one worker, which counts what it met
TYPES = (Base("long", True), Base("string", True), Base("double", True))
NAN = float("nan")
ROWS = st.tuples(
    st.sampled_from([None, 0, 1, -(2**63)]), st.sampled_from([None, "", "a", "ab"]), st.sampled_from([None, 0.0, NAN])
)
COUNTS: Counter[str] = Counter()


@given(st.lists(ROWS, max_size=40), st.sampled_from([1, 3, 1 << 62]), st.sampled_from([(), (1,), (2, 0), (0, 1, 2)]))
@settings(max_examples=many(60, 2000))
def test_rows_of_one_key_are_neighbours(rows: list[tuple[object, ...]], hashes: int, near: tuple[int, ...]) -> None:
    table = Rows.of_pairs(TYPES, [(row, 1) for row in rows]).arrow()
    values = np.arange(len(rows))
    wanted: defaultdict[str, int] = defaultdict(int)
    for row, n in zip(rows, values.tolist(), strict=True):
        wanted[repr(row)] += n
    keys = table.select(range(3))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("hash_columns", "prints"):
            plain = getattr(grouping, name)
            patch.setattr(grouping, name, lambda c, n, plain=plain: plain(c, n) % np.uint64(hashes))
        found = grouping.grouping(keys, near)
        if found is None:
            assert hashes < 4 and len(wanted) > 1
            COUNTS["collided"] += 1
            return
        firsts = keys.take(pa.array(found.firsts))
        assert not near or (np.diff(hashes_of(firsts, near).astype(object)) >= 0).all()
    names = list(map(repr, zip(*(c.to_pylist() for c in firsts.columns), strict=True)))
    assert dict(zip(names, found.sums(values).tolist(), strict=True)) == wanted
    COUNTS["apart" if found.are_all_apart else "together"] += 1


def test_collisions_were_met() -> None:
    assert set(COUNTS) == {"collided", "apart", "together"}


@pytest.mark.parametrize("hashes", [1, 1 << 62])
def test_many_rows_are_summed_whatever_collides(hashes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = grouping.prints
    monkeypatch.setattr(grouping, "prints", lambda c, n: plain(c, n) % np.uint64(hashes))
    pairs = [((n % 700, "x" * (n % 3), NAN if n % 2 else 0.0), 1 - 2 * (n % 5 == 0)) for n in range(3 * SMALL)]
    wanted: Counter[str] = Counter()
    for row, n in pairs:
        wanted[repr(row)] += n
    rows = Rows(TYPES, table=Rows.of_pairs(TYPES, pairs).arrow())
    summed = {repr(row): n for row, n in rows.consolidated().pairs()}
    assert summed == {row: n for row, n in wanted.items() if n}


def test_no_key_is_in_two_stretches() -> None:
    keys = np.sort(np.random.default_rng(1).integers(0, 300, 2_000))
    hashes = hashes_of(pa.table({"k": keys}), (0,))
    in_order = pa.table({"k": keys[np.argsort(hashes, kind="stable")]})
    found = stretches(in_order, (0,), 100)
    assert len(found) > 10 and found[0][0] == 0 and found[-1][1] == 2_000
    parts = [set(in_order.column(0).to_pylist()[a:b]) for a, b in found]
    assert all(a[1] == b[0] for a, b in pairwise(found)) and sum(map(len, parts)) == len(set(keys.tolist()))
    assert stretches(pa.table({"k": keys}), (0,), 100) == [(0, 2_000)]


@pytest.mark.parametrize("different", [1, 2, 70, 1_000, 9_999])
def test_how_many_values_differ_is_known_about(different: int) -> None:
    rows = 10_000
    own = np.arange(rows) % different
    table = pa.table({"a": own // 7, "b": pa.array(own % 7, mask=own % 7 == 3), "c": np.arange(rows)})
    assert about_different(table, (0, 1)) == pytest.approx(different, rel=0.05)
    assert about_different(table, ()) == 1 and about_different(table.slice(0, 0), (0, 1)) == 0
