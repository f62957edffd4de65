"""What the tests of publishing share: the shop with three views, made once, and each view compiled once. States are
in memory, where there is no waiting for the disk."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from publish.tables import index
from support.compiling import compiled_once
from support.shop import ANN, BOB, FILMS, customers, movies, opened, related
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Database


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    with compiled_once():
        yield


@pytest.fixture(scope="session")
def shop() -> Iterator[Path]:
    """The state of the shop, closed."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as path:
        with compiled_once(), opened(f"{path}/state") as db:
            db.load("C", [ANN, BOB])
            db.load("M", FILMS)
            for view in (customers, movies, related):
                db.create(view)
                index(db, view.name)
        yield Path(path) / "state"


@pytest.fixture
def db(shop: Path, folder: Path) -> Iterator[Database]:
    """The shop with its views, and the access keys that publishing wants."""
    shutil.copytree(shop, folder / "state")
    with rn.open(folder / "state", engine="local") as db:
        yield db
