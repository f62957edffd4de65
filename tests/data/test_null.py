"""Law: NULL is one value, whatever stands behind it: in hashes, digests of rows, orders and groups."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from support.behind import over_edges
from support.edges import EDGES

from ripplenest.data.content import content_digest
from ripplenest.data.grouping import grouping, row_prints, same
from ripplenest.data.hashing import fingerprints, hash_columns, seeded
from ripplenest.data.order import By, Ordering, prefixes, ranks
from ripplenest.data.rows import WEIGHT, Rows, arrow_type
from ripplenest.nrc.types import Base

WAYS = [By(0, descending, nulls_first) for descending, nulls_first in product((False, True), repeat=2)]
SHORT, MANY = 3, 40  # rows of columns of which texts are hashed one by one, and of others


@pytest.fixture(params=EDGES, ids=str)
def t(request):
    return request.param


@pytest.fixture(params=[SHORT, MANY])
def pair(request, t: Base):
    """A column of edge values and NULL, and the same with other edge values behind NULL; both begin within another."""
    edges = EDGES[t]
    known = [None if i % 3 == 1 else edges[i % len(edges)] for i in range(request.param + 1)]
    return [made[1:] for made in (pa.array(known, arrow_type(t)), over_edges(known, t))]


def test_something_stands_there(t: Base) -> None:
    """Else the others could not fail."""
    plain, over = (pa.array([None] * 3, arrow_type(t)), over_edges([None] * 3, t))
    assert plain.equals(over) and not all(a == b for a, b in zip(plain.buffers(), over.buffers(), strict=True))


def test_it_has_one_hash(pair: list[pa.Array]) -> None:
    of_words, of_blake, of_seed, of_prints, of_rows = (
        [find(column) for column in pair]
        for find in (
            lambda c: hash_columns([c], len(c)),
            lambda c: hash_columns([c], len(c), "blake2b"),
            lambda c: next(seeded([c], 7)),
            lambda c: fingerprints([c], len(c)),
            lambda c: row_prints(pa.table({"k": c})),
        )
    )
    for plain, over in (of_words, of_blake, of_seed, of_prints, of_rows):
        assert plain.tolist() == over.tolist()
        assert len(set(plain[::3].tolist())) == 1, "the rows that are NULL"


def test_it_has_one_place_in_an_order(pair: list[pa.Array]) -> None:
    for by in WAYS:
        plain, over = (prefixes(column, by).tolist() for column in pair)
        assert plain == over
        plain, over = (ranks(rows_of(column), Ordering((), (by,))).tolist() for column in pair)
        assert plain == over


def test_it_has_one_digest(pair: list[pa.Array], t: Base) -> None:
    plain, over = (content_digest(Rows((t,), table=rows_of(column))) for column in pair)
    assert plain == over


def rows_of(column: pa.Array) -> pa.Table:
    return pa.table({"c0": column, WEIGHT: np.ones(len(column), np.int64)})


def test_it_is_equal_to_itself(pair: list[pa.Array]) -> None:
    plain, over = pair
    assert same(plain, over).all()
    both = pa.table({"k": pa.chunked_array([plain, over])})
    found = grouping(both)
    assert found is not None and len(found.starts) == len(plain.unique())
