"""Who reads tables in order: versions without rows, those of folded bags, and builds, which read tables whole."""

import numpy as np
import pytest
from support.shop import ANN, BOB, Customer

import ripplenest as rn
from ripplenest.data.order import LEAST, MOST, By, Firsts, Ordering, Within
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import LawBroken, StateError
from ripplenest.nrc.types import LONG
from ripplenest.run.build import Loaded
from ripplenest.store import Change, Store, TableSpec
from ripplenest.version.empty import Empty
from ripplenest.version.folding import Unfolding

TYPES = (LONG, LONG)
BY = Ordering((0,), (By(1),))
SPEC = TableSpec("t", TYPES, ((0,),), (BY,))
KEYS = Rows.of_pairs((LONG,), [((1,), 1), ((2,), 1)])
LIMITS = np.array([1, 2])
ROWS = Rows.of_pairs(TYPES, [((k, v), 1) for k in (1, 2, 3) for v in (7, 8, 9)])


def test_a_version_without_rows_has_those_of_the_change():
    empty = Empty(3, {"t": SPEC})
    assert empty.first("t", Firsts(BY, KEYS, LIMITS)).rows.is_empty
    found = empty.first("t", Firsts(BY, KEYS, LIMITS, Rows.of_pairs(TYPES, [((2, 8), 1)]), ROWS))
    assert found.rows.counts() == {(1, 7): 1, (2, 8): 1, (2, 9): 1} and found.read == 0


def test_rows_of_arrays_are_in_no_order(tmp_path):
    """As long as there are some: who reads in order stores the rows that they stand for."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders")
        o, asked = Ordering((), (By(0),)), (Rows.of_pairs((), [((), 1)]), np.array([1]))
        db._store.commit(Change(ordered={"C.orders": (o,)}), db.version)
        assert Unfolding(db._store.snapshot(), db._declared.folds).first("C.orders", Firsts(o, *asked)).rows.is_empty
        db.load("C", [ANN, BOB])
        with pytest.raises(LawBroken, match="stored as arrays"):
            Unfolding(db._store.snapshot(), db._declared.folds).first("C.orders", Firsts(o, *asked))
        whole = Within(o, asked[0], *np.array([[LEAST], [MOST]]))
        assert Unfolding(db._store.snapshot(), db._declared.folds).within("C.orders", whole) is None


def test_builds_read_tables_whole(tmp_path):
    with Store.open(tmp_path / "s") as store:
        store.commit(Change({"t": ROWS}, (SPEC,)), 0)
        with pytest.raises(StateError, match="reads whole tables"):
            Loaded(store.snapshot(), {}).first("t", Firsts(BY, KEYS, LIMITS))
        with pytest.raises(StateError, match="reads whole tables"):
            Loaded(store.snapshot(), {}).within("t", Within(BY, KEYS, *np.array([[LEAST] * 2, [MOST] * 2])))
        found = Unfolding(store.snapshot(), ()).first("t", Firsts(BY, KEYS, LIMITS, None, ROWS))
        assert found.rows.counts() == {(1, 7): 1, (2, 7): 2} and found.read <= 6
