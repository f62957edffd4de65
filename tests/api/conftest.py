import shutil

import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, opened


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """The state of ``db``, which is copied for each test."""
    folder = tmp_path_factory.mktemp("shop") / "state"
    with opened(folder) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
    return folder


@pytest.fixture
def db(tmp_path, shop):
    """The shop with two customers, three films and every view, at a version where nothing has been changed yet."""
    shutil.copytree(shop, tmp_path / "state")
    with opened(tmp_path / "state") as db:
        yield db
