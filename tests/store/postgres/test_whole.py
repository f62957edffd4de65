"""The whole: a database whose catalogue is on PostgreSQL."""

import pytest
from support.shop import ANN, BOB, FILMS, movie, opened, related
from support.states import recomputed, state

import ripplenest as rn
from ripplenest.errors import BatchConflict, BatchGap
from ripplenest.nrc.errors import StateError
from ripplenest.source.asked import CATALOGUE, Asked
from ripplenest.source.handed import handed, taken

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server


def test_a_database_with_its_catalogue_there(tmp_path, url):
    """Two objects, as on two hosts: what one commits the other sees, retries change nothing, and views are right."""
    films, people = list(FILMS), [ANN, BOB]
    with opened(tmp_path / "db", catalogue=url) as here:
        here.load("M", films)
        here.load("C", people)
        here.create(related)
        with opened(tmp_path / "db", catalogue=url) as there:
            for seq, name in enumerate(("Jarhead", "é\0🎬"), 1):
                for db in (here, there):  # the second is a retry
                    with db.batch("imdb", seq) as b:
                        b.insert("M", [movie(name, "Drama", "Mendes")])
                    assert b.report.applied is (db is here)
                films.append(movie(name, "Drama", "Mendes"))
            with pytest.raises(BatchConflict), there.batch("imdb", 2) as b:
                b.insert("M", [movie("Other", "Drama", "Mendes")])
            with pytest.raises(BatchGap), there.batch("imdb", 4) as b:
                b.insert("M", [movie("Other", "Drama", "Mendes")])
            there.rollback(there.version - 1)
            recomputed(here, {"related": related}, {"M": films[:-1], "C": people})
            before = state(there)
    with pytest.raises(StateError, match="elsewhere"):
        rn.open(tmp_path / "db", engine="local", catalogue=None)
    with rn.open(tmp_path / "db", engine="local", catalogue=url) as again:
        assert state(again) == before and again.verify().ok
        assert again.where.startswith("postgresql") and "***" in again.where


def test_spark_reads_what_is_catalogued_there(tmp_path, url, monkeypatch):
    """By the option or the environment; what tasks are handed has neither."""
    monkeypatch.delenv(CATALOGUE, raising=False)
    with opened(tmp_path / "state", catalogue=url) as db:
        db.load("M", FILMS)
        wanted = db.relation("M").to_arrow()
    asked = {"path": str(tmp_path / "state"), "relation": "M"}
    with pytest.raises(StateError, match="elsewhere"):
        Asked.of(asked).pinned()
    monkeypatch.setenv(CATALOGUE, url)
    for options in (asked, {**asked, "catalogue": url}):
        found = handed(Asked.of(options).pinned())
        assert "postgresql" not in found
        (piece,) = taken(found).pieces()
        (batch,) = taken(found).batches(piece)
        assert sorted(map(str, batch.to_pylist())) == sorted(map(str, wanted.to_pylist()))
        monkeypatch.delenv(CATALOGUE, raising=False)
