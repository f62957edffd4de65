"""P1 for random batches: after every batch each view is its definition on a plain list of all rows.

The model is Python lists of nested rows. Batches mix inserts, deletes, upserts and deep updates on a keyed nested
relation and an unkeyed flat one; some are repeated, and the directory is reopened in between.
"""

import copy
import tempfile
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shop import ANN, BOB, FILMS, VIEWS, customer, item, movie, opened, order
from support.states import MEMORY, state

from ripplenest import Database, declared
from ripplenest.batch import Batch
from ripplenest.delta.materialize import MODES

Rows = list[dict[str, Any]]
Places = list[tuple[Any, list[Any]]]  # an inner bag as the batch and as the model reach it
OPERATIONS = ("insert", "insert film", "upsert", "delete", "delete film", "into orders", "out of orders",
              "into items", "out of items", "into tags", "out of tags", "all tags")  # fmt: skip
MET: Counter[str] = Counter()

items = st.builds(item, st.integers(1, 2), st.integers(1, 2), st.lists(st.sampled_from("ab"), max_size=2))
orders = st.builds(lambda key, found: order(key, *found), st.integers(1, 2), st.lists(items, max_size=2))
customers = st.builds(
    customer, st.integers(1, 4), st.sampled_from([None, "Ann", "Drama"]), st.none() | st.lists(orders, max_size=2)
)
films = st.builds(movie, st.sampled_from("xyz"), st.sampled_from([None, "Drama", "Ann"]), st.sampled_from([None, "d"]))


def single(rows: Rows, key: str) -> Rows:
    """The rows that ``key`` alone tells from the others."""
    counts = Counter(row[key] for row in rows)
    return [row for row in rows if counts[row[key]] == 1]


class Model:
    """The rows of both relations, changed by the same draws as the batch."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.customers, self.films = data, Rows(), Rows()

    def pick(self, rows: list[Any]) -> Any:
        return rows[self.data.draw(st.integers(0, len(rows) - 1))] if rows else None

    def apply(self, name: str, b: Batch) -> bool:
        """One random operation; False when there is nothing that it could change."""
        match name:
            case "insert":
                return self.insert(b)
            case "insert film":
                new = self.data.draw(st.lists(films, max_size=3))
                b.insert("M", new)
                self.films += new
            case "upsert":
                new = self.data.draw(customers)
                b.upsert("C", [new])
                self.customers = [c for c in self.customers if c["custkey"] != new["custkey"]] + [copy.deepcopy(new)]
            case "delete":
                return self.delete(b, "C", self.customers)
            case "delete film":
                return self.delete(b, "M", self.films)
            case _:
                return self.deep(name, b)
        return True

    def insert(self, b: Batch) -> bool:
        new = self.data.draw(customers)
        if any(c["custkey"] == new["custkey"] for c in self.customers):
            return False
        b.insert("C", [new])
        self.customers.append(copy.deepcopy(new))
        return True

    def delete(self, b: Batch, relation: str, rows: Rows) -> bool:
        old = self.pick(rows)
        if old is not None:
            b.delete(relation, [copy.deepcopy(old)])
            rows.remove(old)
        return old is not None

    def deep(self, name: str, b: Batch) -> bool:
        """Change one of the inner bags that can be addressed."""
        there = [c for c in self.customers if c["orders"] is not None]
        owners = [(b.at("C", custkey=c["custkey"]).orders, c["orders"]) for c in there]
        if name.endswith("orders"):
            return self.change(name, owners, orders)
        boxes = [(at.at(orderkey=o["orderkey"]).items, o["items"]) for at, x in owners for o in single(x, "orderkey")]
        if name.endswith("items"):
            return self.change(name, boxes, items)
        if name == "all tags":
            return self.tag_all(boxes)
        labels = [(at.at(part=i["part"]).tags, i["tags"]) for at, x in boxes for i in single(x, "part")]
        return self.change(name, labels, st.sampled_from("ab"))

    def tag_all(self, boxes: Places) -> bool:
        place = self.pick([(at, found) for at, found in boxes if found])
        if place is not None:
            part = place[1][0]["part"]
            place[0].at_all(part=part).tags.insert(["z"])
            for i in place[1]:
                i["tags"] += ["z"] * (i["part"] == part)
        return place is not None

    def change(self, name: str, places: Places, new: st.SearchStrategy[Any]) -> bool:
        place = self.pick([(at, rows) for at, rows in places if rows or name.startswith("into")])
        if place is None:
            return False
        bag, rows = place
        if name.startswith("into"):
            added = self.data.draw(st.lists(new, max_size=2))
            bag.insert(copy.deepcopy(added))
            rows += added
        else:
            old = self.pick(rows)
            bag.delete([copy.deepcopy(old)])
            rows.remove(old)
        return True


def check(db: Database, model: Model) -> None:
    rows = {"C": model.customers, "M": model.films}
    for view in VIEWS:
        given_rows = {name: rows[name] for name, _ in view.query.relations}
        assert db.view(view.name).rows() == view(**given_rows), view.name


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """Compiling six views takes longer than a whole example."""
    with pytest.MonkeyPatch.context() as patch:
        cached = cache(declared.compile_view)
        patch.setattr(declared, "compile_view", lambda query, options: cached(query, evolve(options, rows=())))
        yield


@settings(max_examples=45)
@given(data=st.data())
def test_views_are_their_definitions_after_every_batch(data):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        db, model = opened(folder), Model(data)
        if data.draw(st.integers(0, 3)):
            model.customers, model.films = copy.deepcopy([ANN, BOB]), copy.deepcopy(FILMS)
            db.load("C", [ANN, BOB])
            db.load("M", FILMS)
        late, mode = data.draw(st.integers(0, 3)), data.draw(st.sampled_from(MODES))
        for seq in range(1, data.draw(st.integers(2, 5)) + 1):
            if seq == late:  # views over rows that are there already
                MET["built late"] += bool(model.customers)
            if seq >= max(late, 1):
                for view in VIEWS:
                    db.create(view, mode)
            policy = data.draw(st.sampled_from(["auto", "auto", "full"]))
            MET[policy] += 1
            with db.batch("test", seq, policy) as b:
                # From a seed: hypothesis repeats itself, and some operations would hardly be met.
                for name in Random(data.draw(st.integers(0, 2**32 - 1))).choices(OPERATIONS, k=4):
                    MET[name] += model.apply(name, b)
            operations = list(b._operations)
            if seq >= max(late, 1):
                check(db, model)
            if data.draw(st.integers(0, 3)) == 0:
                MET["repeated"] += 1
                before = state(db)
                with db.batch("test", seq) as again:
                    again._operations = operations
                assert not again.report.applied and state(db) == before
            if data.draw(st.integers(0, 4)) == 0:
                MET["reopened"] += 1
                db.close()
                db = opened(folder)
        db.close()


def test_every_operation_was_met():
    if not MET:
        pytest.skip("the property did not run")
    assert all(MET[name] >= 3 for name in (*OPERATIONS, "built late", "repeated", "reopened", "full")), MET
