"""What type checkers see: a user's program of records and views passes ``mypy --strict``, also out of the wheel."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("mypy")  # two of it would spoil each other's cache
ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
import datetime
import decimal
from typing import Annotated, Any

import ripplenest as rn
from ripplenest import Bag, Decimal, Int, coalesce, flatten
from ripplenest.nrc.types import Base


@rn.record
class Item:
    part: str
    price: Decimal[10, 2]
    discount: Decimal[4, 3] | None
    exact: Annotated[decimal.Decimal, Base("decimal", precision=5, scale=1)]
    qty: Int
    tags: list[list[str | None]]


@rn.record
class Order:
    orderkey: int
    due: datetime.date | None
    items: list[Item]
    notes: list[str] | None


@rn.record
class Customer:
    custkey: int
    orders: list[Order]
    visits: list[datetime.datetime]


@rn.view
def bulk(Customers: Bag[Customer]) -> list[Any]:
    return [
        {"key": c.custkey, "orders": [{"items": [i.part for i in o.items if i.qty > 1]} for o in c.orders],
         "notes": [note.upper() for o in c.orders for note in coalesce(o.notes, [])]}
        for c in Customers
    ]


@rn.view
def tags(Customers: list[Customer]) -> Any:
    return [
        {"part": i.part, "tag": coalesce(t, "none"), "cost": i.price * i.exact}
        for c in Customers for o in c.orders for i in o.items for t in flatten(i.tags)
    ]


@rn.view
def named(Customers: Bag[Customer]) -> list[Any]:
    rows = [{"key": c.custkey, "visits": c.visits} for c in Customers]
    same: list[Any] = [{"key": c.custkey} for c in Customers]
    return [{"key": r["key"], "same": s.key} for r in rows for s in same if s.key == r["key"]]


@rn.record
class Part:
    name: str
    price: Decimal[12, 2]
    since: datetime.date | None = None


@rn.record
class Buyer:
    key: int
    parts: list[Part]
    rate: float = 1


@rn.view
def buyers(Customers: Bag[Customer]) -> list[Buyer]:
    return [Buyer(c.custkey, [Part(i.part, i.price) for o in c.orders for i in o.items]) for c in Customers]


@rn.view
def twice(Customers: Bag[Customer], Old: Bag[Customer]) -> Bag[Any]:
    return Customers * Old + [(a, b) for a in Customers for b in Old]


@rn.view
def changed(Customers: Bag[Customer], Old: Bag[Customer]) -> Bag[Any]:
    return Customers - Old


ITEM = Item("bolt", decimal.Decimal("1.00"), None, exact=decimal.Decimal("0.5"), qty=2, tags=[["steel", None]])
ANN = Customer(custkey=1, orders=[Order(orderkey=2, due=None, items=[ITEM], notes=None)], visits=[])


def main() -> None:
    with rn.open("state/", engine="local") as db:
        customers = db.relation("Customers", Customer, key="custkey")
        version: int = db.load("Customers", [ANN])
        view = db.create(bulk, materialize="full")
        with db.batch(source="shop", seq=1) as b:
            b.insert("Customers", [Customer(custkey=2, orders=[], visits=[datetime.datetime(2020, 1, 1)])])
            b.at("Customers", custkey=1).orders.at(orderkey=2).items.insert([ITEM])
            b.at("Customers", custkey=1)["orders"].at_all(orderkey=2).items.delete([ITEM])
        assert b.report.version > version and b.report.rows_in["Customers"] == 1
        assert view.rows() == bulk(customers.rows()) and db.verify(deep=True).ok and db.usage.bytes
        assert buyers([ANN]) == [{"key": 1, "parts": [{"name": "bolt", "price": 1, "since": None}], "rate": 1}]
        assert [row["part"] for row in tags([ANN])] == ["bolt", "bolt"] and twice([ANN], []) == changed([], [])
        for entry in db.history(3):
            print(entry.version, entry.time.isoformat(), entry.note.get("kind"))
        went, came = view.changed_rows(since=version)
        print(len(went), len(came), rn.__version__.upper(), rn.explain(bulk).text, tags.row, tags.query)
        try:
            db.rollback(1000)
        except rn.errors.StateError as error:
            print(error.where, error.possible)


main()
"""


def strict(folder: Path, program: str, packages: Path) -> list[str]:
    """What mypy --strict says of a user's program, with Ripplenest in the folder ``packages``; of it alone."""
    (folder / "shop.py").write_text(program)
    settings = "[mypy]\nstrict = True\npython_version = 3.11\n[mypy-ripplenest.*]\nfollow_imports = silent\n"
    (folder / "mypy.ini").write_text(settings)
    cache = ROOT / ".mypy_cache" / "users"
    command = [Path(sys.executable).with_name("mypy"), "--cache-dir", cache, "shop.py"]
    environ = {"MYPYPATH": str(packages), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if "error:" in line or "note:" in line]


def test_a_users_program_is_clean_under_mypy_strict(tmp_path: Path) -> None:
    """And runs: ``list[...]`` is another spelling of ``Bag[...]`` to both."""
    assert strict(tmp_path, PROGRAM, ROOT) == []
    command = [sys.executable, "-P", "shop.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_mistakes_of_users_are_found(tmp_path: Path) -> None:
    """The types that are public are types, and not Any throughout."""
    wrong = """
import ripplenest as rn

@rn.record
class Row:
    a: int
    b: list[str]

Row(a="x", b=[])
Row(1)
Row(1, [2])
rn.open(1)
with rn.open("state/", policy="fast") as db:
    db.batch(source=1)
    db.version.nothing

@rn.view
def untyped(R: rn.Bag[Row]):
    return R

rn.explain(untyped).nothing
"""
    found = strict(tmp_path, wrong, ROOT)
    assert [int(line.split(":")[1]) for line in found if "error:" in line] == [9, 10, 11, 12, 13, 14, 15, 18, 21]
    assert "missing a return type annotation" in found[-2]


def test_the_wheel_says_that_it_is_typed() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert "py.typed" in data["ripplenest"] and (ROOT / "ripplenest" / "py.typed").read_bytes() == b""


@pytest.mark.long
def test_the_wheel_is_typed(tmp_path: Path) -> None:
    """One marker at the top is for all packages below it, those of the compiler, too."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        files.extractall(tmp_path / "packages")
    assert {"ripplenest/py.typed", "ripplenest/nrc/types.py", "ripplenest/delta/rules.py"} <= names
    assert strict(tmp_path, PROGRAM, tmp_path / "packages") == []
