"""What the tests of publishing share: the shop with three views, made once, and each view compiled once. States are
in memory, where there is no waiting for the disk."""

import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve
from publish.tables import index
from support.shop import ANN, BOB, FILMS, customers, movies, opened, related
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Database
from ripplenest.state import views


@pytest.fixture(scope="package", autouse=True)
def compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        cached = cache(views.compile_view)
        patch.setattr(views, "compile_view", lambda query, options: cached(query, evolve(options, rows=())))
        yield


@pytest.fixture(scope="package")
def shop(compiled_once: None) -> Iterator[Path]:  # noqa: ARG001
    """The state of the shop, closed."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as path:
        with opened(f"{path}/state") as db:
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
