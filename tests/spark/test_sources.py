"""Data sources in sessions of one application, of which Spark lets one have a name."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.shop import ANN, BOB, FILMS, VIEWS, opened

import ripplenest as rn
from ripplenest.errors import EnvironmentProblem
from ripplenest.source import frames
from ripplenest.source.source import Source
from ripplenest.spark.sources import known
from ripplenest.state import tasks


def test_each_session_builds_and_reads(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tasks, whichever session came first, and as often as it likes."""
    monkeypatch.setattr(tasks, "ALONE", 0)
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    view = VIEWS[0]
    for i, session in enumerate((spark, spark.newSession(), spark.newSession())):
        with opened(tmp_path / str(i), engine="spark", spark=session) as db:
            db.load("C", [ANN, BOB])
            db.load("M", FILMS)
            db.create(view)
            for _ in range(2):
                frame = db.view(view.name).nested()
                assert frame.sparkSession is session
                assert frame.toArrow().num_rows == db.view(view.name).to_arrow().num_rows > 0
        assert known(session, Source) == known(session, Source)
    assert len({known(session, Source) for session in (spark, spark.newSession())}) == 2


def test_the_format_is_one_session_s(spark: SparkSession) -> None:
    rn.register(spark)
    rn.register(spark)
    with pytest.raises(EnvironmentProblem, match="another session of this application has the format"):
        rn.register(spark.newSession())
