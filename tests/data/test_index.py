"""Finding rows by columns: searches, and keys that are looked up more than once."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shop import Movie, movie, opened

from ripplenest.data import index
from ripplenest.data.index import Keys, Sorted, asked_for, key_rows, wanted
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec

TYPES = (Base("long"), Base("string", True))
ROWS = [(1, "a"), (2, None), (2, "b"), (3, "a")]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=30), st.lists(st.integers(0, 10), max_size=30))
def test_a_search_in_memory_says_where_hashes_are_and_how_often(known, asked):
    """Law: what a search from the left and one from the right say, in any order of what is asked."""
    hashes, some = np.sort(np.array(known, np.uint64)), np.array(asked, np.uint64)
    first, many = Sorted((hashes, np.arange(len(known)))).spans(some)
    assert first.tolist() == np.searchsorted(hashes, some, "left").tolist()
    assert (first + many).tolist() == np.searchsorted(hashes, some, "right").tolist()


def test_keys_that_were_hashed_are_looked_up_as_they_are(tmp_path, monkeypatch):
    """Law: a probe finds the same for keys as for their rows. Keys of other columns are hashed as any rows are."""
    with Store.open(tmp_path / "state") as store:
        spec = TableSpec("t", TYPES, ((0,), (0, 1), (1, 0)))
        store.commit(Change({"t": Rows.of_counts(TYPES, dict.fromkeys(ROWS, 1))}, (spec,)), 0)
        snapshot = store.snapshot()
        asked = Rows.of_counts(TYPES, {(2, None): 3, (3, "a"): 1, (3, "b"): -1})
        keys = Keys((0, 1), asked)
        assert sorted(key_rows(keys), key=repr) == sorted(key_rows(asked), key=repr)
        assert wanted(keys, TYPES).counts() == dict.fromkeys(asked.counts(), 1)
        assert asked_for((0, 1), keys, TYPES) is keys and asked_for((1, 0), keys, TYPES) is not keys
        hashed: Counter[str] = Counter()
        plain = index.hash_columns
        monkeypatch.setattr(index, "hash_columns", lambda *a: hashed.update(["hashed"]) or plain(*a))
        assert snapshot.probe("t", (0, 1), keys).counts() == {(2, None): 1, (3, "a"): 1} and not hashed
        assert snapshot.probe("t", (0, 1), asked).counts() == {(2, None): 1, (3, "a"): 1} and hashed["hashed"] == 1


@pytest.mark.parametrize("verb", ["insert", "delete_key", "upsert"])
def test_the_keys_of_an_operation_are_hashed_once(tmp_path, monkeypatch, verb):
    with opened(tmp_path / "state") as db:
        db.relation("K", Movie, key="name")
        db.load("K", [movie(f"old {i}") for i in range(100)])
        made: list[tuple[int, ...]] = []
        plain = Keys.__init__
        monkeypatch.setattr(Keys, "__init__", lambda self, *a: made.append(a[0]) or plain(self, *a))
        with db.batch() as b:
            if verb == "delete_key":
                b.delete_key("K", [{"name": f"old {i}"} for i in range(50)])
            else:
                getattr(b, verb)("K", [movie(f"new {i}") for i in range(50)])
        assert len(made) == 1, made
        assert db.relation("K").count() == (50 if verb == "delete_key" else 150)
