"""Rows in order over columns: what Python's own comparisons say, for every type, and of every number that is stored."""

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from support.choices import Choices
from support.edges import EDGES
from support.laws import law
from support.ordering import KINDS, compared, first_copies, key_of, ordering, row_of, shown
from support.sizes import many

from ripplenest.data.order import By, Ordering, codes, first_of, key_numbers, ordering_of, prefixes, ranks
from ripplenest.data.rows import Rows, arrow_type
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import INT, LONG, STRING, Base

COUNTS: Counter[str] = Counter()
WAYS = [By(0, descending, nulls_first) for descending, nulls_first in product((False, True), repeat=2)]


@law(examples=many(150, 600))
def test_first_of_is_what_sorting_finds(c: Choices) -> None:
    """Law: the first copies of each key, whatever the types, however rows are split into entries, for any limits."""
    types = tuple(c.pick(KINDS) for _ in range(1 + c.number(4)))
    o = ordering(c, len(types))
    pairs = [(row_of(c, types, 4), 1 + c.number(3)) for _ in range(c.pick((3, 12, 40)))]
    counts = Rows.of_pairs(types, pairs).counts()
    extra = [(row, c.pick((1, -1, 5))) for row in counts if c.one_in(3)]
    rows = Rows.of_pairs(types, [*pairs, *extra, *((row, -n) for row, n in extra)])
    limit = c.pick((1, 2, 3, 7, 100, 2**63 - 1))
    found = first_of(rows, o, limit)
    wanted = first_copies(counts, o, lambda _: limit)
    assert shown(dict(found.pairs())) == shown(wanted) and found.is_sum
    COUNTS["cut"] += sum(wanted.values()) < sum(counts.values())
    COUNTS["part of a row"] += any(n < counts[row] for row, n in wanted.items())
    COUNTS["several keys"] += len({key_of(row, o) for row in counts}) > 1
    limits = {key_of(row, o): c.number(5) for row in counts}
    given = np.array([limits[key_of(row, o)] for row, _ in rows.pairs()], np.int64)
    each = first_copies(counts, o, lambda row: limits[key_of(row, o)])
    assert shown(dict(first_of(rows, o, given).pairs())) == shown(each)


def test_the_law_met_what_it_is_about():
    assert all(COUNTS[what] > 10 for what in ("cut", "part of a row", "several keys")), COUNTS


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("t", EDGES, ids=str)
def test_numbers_are_ordered_as_values_are(t, by):
    """Law: codes say all of it, prefixes nothing else; of a slice they are those of the whole."""
    values = [None, *EDGES[t], *EDGES[t][::-1]]
    column = pa.array(values, arrow_type(t))
    own, short = list(zip(*(x.tolist() for x in codes(column, by)), strict=True)), prefixes(column, by)
    for i, j in product(range(len(values)), repeat=2):
        n = compared(values[i], values[j], by)
        assert (own[i] > own[j]) - (own[i] < own[j]) == n
        assert n >= 0 or short[i] <= short[j]
    assert len(set(short.tolist())) > len(EDGES[t]) // 2 or len(EDGES[t]) == 2
    assert prefixes(column.slice(2, 3), by).tolist() == short[2:5].tolist()
    assert [list(map(int, x)) for x in zip(*codes(column.slice(0, 0), by), strict=True)] == []


WIDER = [(INT, LONG), (Base("decimal", True, 9, 2), Base("decimal", True, 38, 2))]


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize(("old", "new"), WIDER, ids=str)
def test_a_value_keeps_its_prefix_when_its_column_becomes_wider(old, new, by):
    """Law: what is stored of a value stays right, whatever else there is and whatever its type becomes."""
    values = [None, *EDGES[Base(old.kind, True, old.precision, old.scale)]]
    before, after = (prefixes(pa.array(values, arrow_type(t)), by).tolist() for t in (old, new))
    assert before == after == [prefixes(pa.array([v], arrow_type(old)), by)[0] for v in values]


def test_texts_differ_in_their_first_bytes_and_decimals_in_their_digits():
    texts = prefixes(pa.array(["abcdefg", "abcdefgh", "abcdefgi", "abcdefghi"]), By(0))
    assert texts[0] < texts[1] < texts[2] and texts[1] == texts[3]
    values = [v for n in (1, 99, 10**15) for v in (n, -n)]
    cents = prefixes(pa.array(values).cast(pa.decimal128(19, 0)), By(0))
    assert len(set(cents.tolist())) == len(values)


def test_equal_rows_have_one_rank_and_keys_one_number():
    types = (Base("double", True), STRING)
    nan = float("nan")
    rows = Rows.of_pairs(types, [((nan, "b"), 1), ((None, "a"), 1), ((nan, "b"), 2), ((0.0, "a"), 1), ((-0.0, "a"), 1)])
    assert ranks(rows.arrow(), Ordering((), (By(0, descending=True),))).tolist() == [0, 4, 0, 2, 2]
    assert ranks(rows.arrow(), Ordering((0,), (By(1),))).tolist() == [3, 2, 3, 0, 0]
    assert key_numbers(rows.arrow(), (1,)).tolist() == [3, 0, 3, 0, 0]
    assert key_numbers(rows.arrow(), ()).tolist() == [0] * 5


def test_what_is_there_less_than_nothing_is_in_no_order():
    with pytest.raises(LawBroken, match="less than 0 times"):
        first_of(Rows.of_pairs((LONG,), [((1,), 1), ((2,), -1)]), Ordering((), ()), 1)


def test_an_ordering_survives_json():
    for o in (Ordering((), ()), Ordering((2, 0), (By(1, True), By(3, nulls_first=True)))):
        assert ordering_of(o.plain()) == o
