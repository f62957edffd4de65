import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, opened


@pytest.fixture
def db(tmp_path):
    """The shop with two customers, three films and every view, at a version where nothing has been changed yet."""
    with opened(tmp_path / "state") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
        yield db
