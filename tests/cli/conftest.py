"""A state with a history, as commands meet it, and the commands themselves."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ripplenest as rn
from ripplenest import Bag
from ripplenest.cli import app

HOSTILE = "ware\x1b[31m\n\u202ehouse"  # a source: it would turn a terminal red, begin a line, and run backwards


@rn.record
class Item:
    sku: str
    qty: int


@rn.record
class Order:
    id: int
    customer: str | None
    items: Bag[Item]


@rn.view
def big(Orders: Bag[Order]):
    return [{"id": o.id, "items": [i.sku for i in o.items if i.qty > 1]} for o in Orders]


@rn.view
def skus(Orders: Bag[Order]):
    return [i.sku for o in Orders for i in o.items]


def order(i: int) -> dict[str, object]:
    return {"id": i, "customer": f"c{i}", "items": [{"sku": "a", "qty": i}, {"sku": "b", "qty": 1}]}


def build(folder: Path, catalogue: str | None = None) -> None:
    """Versions: 1 relation, 2 load, 3 and 4 views, 5 to 7 batches shop:1 to 3, 8 a batch of HOSTILE, 9 a rollback."""
    with rn.open(folder, engine="local", catalogue=catalogue, retain=50) as db:
        db.relation("Orders", Order, key="id")
        db.load("Orders", [order(i) for i in range(4)])
        db.create(big)
        db.create(skus)
        for i in range(1, 4):
            with db.batch("shop", i) as b:
                b.at("Orders", id=i).items.insert([{"sku": f"n{i}", "qty": 5}])
        with db.batch(HOSTILE, 7, policy="full") as b:
            b.insert("Orders", [order(9)])
        db.rollback(7)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands") / "state"
    build(folder)
    return folder


@pytest.fixture
def state(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "state"))


@pytest.fixture
def run() -> Callable[..., Result]:
    """A command in this process; what it raises is raised here."""
    return lambda *args, **more: CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=False, **more)
