"""The shop's rows as plain Python lists, changed by the same random choices as batches of a database."""

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

from ripplenest.api.batch import Batch
from support.choices import Choices
from support.shop import ANN, BOB, FILMS, customer, item, movie, order

Rows = list[dict[str, Any]]
Places = list[tuple[Any, list[Any]]]  # an inner bag as the batch and as the model reach it
OPERATIONS = ("insert", "insert film", "upsert", "delete", "delete film", "into orders", "out of orders",
              "into items", "out of items", "into tags", "out of tags", "all tags")  # fmt: skip


def an_item(c: Choices) -> dict[str, Any]:
    return item(1 + c.number(2), 1 + c.number(2), tuple(c.pick("ab") for _ in range(c.number(3))))


def an_order(c: Choices) -> dict[str, Any]:
    return order(1 + c.number(2), *(an_item(c) for _ in range(c.number(3))))


def a_customer(c: Choices) -> dict[str, Any]:
    found = None if c.one_in(4) else [an_order(c) for _ in range(c.number(3))]
    return customer(1 + c.number(4), c.pick([None, "Ann", "Drama"]), found)


def a_film(c: Choices) -> dict[str, Any]:
    return movie(c.pick("xyz"), c.pick([None, "Drama", "Ann"]), c.pick([None, "d"]))


def single(rows: Rows, key: str) -> Rows:
    """The rows that ``key`` alone tells from the others."""
    counts = Counter(row[key] for row in rows)
    return [row for row in rows if counts[row[key]] == 1]


class Model:
    """The rows of both relations, changed by the same choices as the batch."""

    def __init__(self, c: Choices) -> None:
        self.c, self.customers, self.films = c, Rows(), Rows()

    def load(self) -> None:
        self.customers, self.films = copy.deepcopy([ANN, BOB]), copy.deepcopy(FILMS)

    def pick(self, rows: list[Any]) -> Any:
        return self.c.pick(rows) if rows else None

    def apply(self, name: str, b: Batch) -> bool:
        """One random operation; False when there is nothing that it could change."""
        match name:
            case "insert":
                return self.insert(b)
            case "insert film":
                new = [a_film(self.c) for _ in range(self.c.number(4))]
                b.insert("M", new)
                self.films += new
            case "upsert":
                new = a_customer(self.c)
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
        new = a_customer(self.c)
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
            return self.change(name, owners, an_order)
        boxes = [(at.at(orderkey=o["orderkey"]).items, o["items"]) for at, x in owners for o in single(x, "orderkey")]
        if name.endswith("items"):
            return self.change(name, boxes, an_item)
        if name == "all tags":
            return self.tag_all(boxes)
        labels = [(at.at(part=i["part"]).tags, i["tags"]) for at, x in boxes for i in single(x, "part")]
        return self.change(name, labels, lambda c: c.pick("ab"))

    def tag_all(self, boxes: Places) -> bool:
        place = self.pick([(at, found) for at, found in boxes if found])
        if place is not None:
            part = place[1][0]["part"]
            place[0].at_all(part=part).tags.insert(["z"])
            for i in place[1]:
                i["tags"] += ["z"] * (i["part"] == part)
        return place is not None

    def change(self, name: str, places: Places, new: Callable[[Choices], Any]) -> bool:
        place = self.pick([(at, rows) for at, rows in places if rows or name.startswith("into")])
        if place is None:
            return False
        bag, rows = place
        if name.startswith("into"):
            added = [new(self.c) for _ in range(self.c.number(3))]
            bag.insert(copy.deepcopy(added))
            rows += added
        else:
            old = self.pick(rows)
            bag.delete([copy.deepcopy(old)])
            rows.remove(old)
        return True
