"""Records that are set as a whole, there or NULL, at every depth: documents are what they should be."""

import copy
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import UnknownLabel, WrongColumns
from ripplenest.intake import apply
from ripplenest.nrc.errors import RipplenestError, TypeMismatch, UnknownName, WrongValue

COUNTS: Counter[str] = Counter()


@rn.record
class Place:
    lat: float
    lon: float | None


@rn.record
class Address:
    city: str
    at: Place | None


@rn.record
class Order:
    no: int
    to: Address | None
    tags: Bag[str]


@rn.record
class Customer:
    id: int
    home: Address | None
    work: Address
    orders: Bag[Order]


@rn.view
def towns(C: Bag[Customer]) -> list[Any]:
    return [
        {"id": c.id, "home": c.home, "known": c.work.at is not None, "to": [{"no": o.no, "to": o.to} for o in c.orders]}
        for c in C
    ]  # fmt: skip


def place(c: Choices) -> Any:
    return c.pick((None, {"lat": float(c.number(3)), "lon": c.pick((None, 0.5))}))


def address(c: Choices) -> Any:
    return {"city": c.pick("ab"), "at": place(c)}


def customer(c: Choices, key: int) -> dict[str, Any]:
    orders = [{"no": n, "to": c.pick((None, address(c))), "tags": ["x"] * c.number(2)} for n in range(c.number(3))]
    return {"id": key, "home": c.pick((None, address(c))), "work": address(c), "orders": orders}


def change(c: Choices, b: Any, d: dict[str, Any]) -> None:
    """One ``set`` of a customer."""
    at, kind = lambda: b.at("C", id=d["id"]), c.pick(("home", "work", "both", "inside", "deeper", "order", "orders"))
    new = c.pick((None, address(c)))
    match kind:
        case "home":
            d["home"] = new
            at().set(home=copy.deepcopy(new))
        case "work":
            d["work"] = address(c)
            at().set(work=Address(d["work"]["city"], d["work"]["at"]))
        case "both":
            d["home"], d["work"] = new, address(c)
            at().set(home=new, work=d["work"])
        case "inside" if d["home"]:
            d["home"]["at"] = place(c)
            at().home.set(at=d["home"]["at"])
        case "deeper" if d["work"]["at"]:
            d["work"]["at"]["lon"] = 7.0
            at().work.at.set(lon=7.0)
        case "order" if d["orders"]:
            d["orders"][0]["to"] = new
            at().orders.at(no=0).set(to=new)
        case "orders":
            for o in d["orders"]:
                o["to"] = new
                at().orders.at_all(no=o["no"]).set(to=new)
        case _:
            kind = "none"
    COUNTS[kind] += 1


@law(examples=many(12, 100))
def test_records_are_what_they_are_set_to(c: Choices) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        patch.setattr(apply, "FEW", c.pick((1, 1_000)))  # by columns, and row by row
        with rn.open(folder, engine="local") as db:
            db.relation("C", Customer, key="id", keys={"orders": "no"})
            docs = {key: customer(c, key) for key in range(3)}
            db.load("C", list(copy.deepcopy(docs).values()))
            view = db.create(towns)
            for _ in range(3):
                with db.batch() as b:
                    for key in {c.number(3) for _ in range(4)}:
                        change(c, b, docs[key])
                assert view.rows() == towns(list(docs.values()))
            assert db.verify().ok


@pytest.mark.parametrize(
    ("fields", "error", "part"),
    [
        ({"home": {"city": None, "at": None}}, WrongValue, "set C.home.city: NULL where none is allowed"),
        ({"home": {"town": "x"}}, WrongColumns, "missing fields city, at; extra fields town"),
        ({"work": None}, WrongValue, "set C.work: not a record"),
        ({"home": 3}, WrongValue, "set C.home: not a record"),
        ({"orders": []}, UnknownName, "fields without bags are set"),
        ({"id": 2}, UnknownName, "possible home, work"),
    ],
)
def test_what_is_no_such_record_changes_nothing(
    fields: dict[str, Any], error: type[RipplenestError], part: str, tmp_path: Path
) -> None:
    with rn.open(tmp_path, engine="local") as db:
        db.relation("C", Customer, key="id")
        db.load("C", [{"id": 1, "home": None, "work": {"city": "a", "at": None}, "orders": []}])
        with pytest.raises(error) as caught, db.batch() as b:
            b.at("C", id=1).set(**fields)
        assert part in str(caught.value)
        with pytest.raises(UnknownLabel, match="this record is NULL"), db.batch() as b:
            b.at("C", id=1).home.set(city="b")
        each = rn.each(pa.table({"id": [1], "city": ["b"]}))
        with pytest.raises(TypeMismatch, match="not set for each row of a table"), db.batch() as b:
            b.at("C", id=each.id).set(home=each.city)
        assert db.history()[0].version == 2


def test_every_way_was_taken() -> None:
    assert all(COUNTS[kind] > 0 for kind in ("home", "work", "both", "inside", "deeper", "order", "orders"))
