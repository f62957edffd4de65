"""A session belongs to whoever brought it: between two pieces of work its settings become others, or it is stopped.

What Spark works out in another time zone, or without ANSI, would be wrong rows that stay: so each piece of work looks
at the session that it is to use, and says what it lacks before anything is read or changed.
"""

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import EnvironmentProblem
from ripplenest.spark.joiner import SparkJoiner
from ripplenest.spark.session import MEANING, Setting, check_session

OTHER = ("false", "Europe/Berlin", "TIMESTAMP_NTZ", "false")


@rn.record
class Seen:
    id: int
    n: int
    at: dt.datetime


@rn.view
def days(S: Bag[Seen]):
    return [{"id": s.id, "twice": s.n * s.n, "day": s.at.date(), "hour": s.at.hour} for s in S]


@rn.view
def again(S: Bag[Seen]):
    return [{"a": s.id, "b": t.id} for s in S for t in S if s.at.date() == t.at.date()]


def seen(number: int) -> dict[str, object]:
    return {"id": number, "n": number, "at": dt.datetime(2024, 1, 1, 23, number, tzinfo=dt.UTC)}


def insert(db: rn.Database, number: int) -> None:
    with db.batch() as b:
        b.insert("S", [seen(number)])


WORK: dict[str, Callable[[rn.Database], object]] = {
    "a batch": lambda db: insert(db, 2),
    "a view is made": lambda db: db.create(again),
    "verify": lambda db: db.verify(),
    "rows of a view": lambda db: db.view("days").nested(),
    "a program": lambda db: db.spark,
}


@pytest.fixture
def db(spark: SparkSession, tmp_path: Path) -> Iterator[rn.Database]:
    db = rn.open(tmp_path / "state", engine="spark", spark=spark.newSession())
    db.relation("S", Seen, key="id")
    db.create(days)
    insert(db, 1)
    yield db
    spark.createDataFrame([], "a int")  # which makes it the active one again


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("setting, other", list(zip(MEANING, OTHER, strict=True)), ids=lambda s: getattr(s, "key", s))
def test_no_work_is_done_in_a_session_that_has_become_another(
    db: rn.Database, work: str, setting: Setting, other: str
) -> None:
    session, version, rows = db.spark, db.version, db.view("days").rows()
    before = session.conf.get(setting.key)
    assert before is not None
    session.conf.set(setting.key, other)
    with pytest.raises(EnvironmentProblem, match=f"(?s)another meaning.*{setting.key}={setting.wanted[0]}") as caught:
        WORK[work](db)
    assert caught.value.got == f"{setting.key}={other}" and caught.value.where == "Spark: the session"
    session.conf.set(setting.key, before)
    assert db.version == version and db.view("days").rows() == rows
    WORK[work](db)


def test_there_is_one_joiner_for_a_session(db: rn.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It remembers what it made of products; of another session it would be another's."""
    found = db._sparks.joiner()
    assert db._sparks.joiner() is found
    monkeypatch.setattr(db._sparks, "_given", db.spark.newSession())
    assert db._sparks.joiner() is not found and cast(SparkJoiner, db._sparks.joiner()).spark is db.spark


@pytest.mark.parametrize("key, same", [("spark.sql.ansi.enabled", "True"), ("spark.sql.session.timeZone", "Etc/UTC")])
def test_names_of_the_same_setting_are_the_same(spark: SparkSession, key: str, same: str) -> None:
    session = spark.newSession()
    session.conf.set(key, same)
    check_session(session)


def test_who_passed_no_session_is_not_told_to_pass_none(spark: SparkSession, tmp_path: Path) -> None:
    """It is the active one of this process, and what it lacks may be set in one beside it."""
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    db = rn.open(tmp_path / "state", engine="spark")
    db.relation("S", Seen, key="id")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        with pytest.raises(EnvironmentProblem, match="newSession") as caught:
            db.create(days)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert not any("pass no session" in said for said in caught.value.possible)
    db.create(days)


PROGRAM = """
import ripplenest as rn
from ripplenest.errors import EnvironmentProblem
from test_changed_session import Seen, days, insert

db = rn.open("own", engine="spark")
db.relation("S", Seen, key="id")
db.create(days)
session = db.spark
given = rn.open("given", engine="spark", spark=session)
given.relation("S", Seen, key="id")
given.create(days)
session.stop()
for work in (lambda: insert(given, 1), given.verify, given.view("days").nested):
    try:
        work()
    except EnvironmentProblem as error:
        assert "the session was stopped" in str(error) and "open again" in str(error), error
    else:
        raise AssertionError("nothing was said")
assert given.view("days").rows() == []
insert(db, 1)  # of its own it starts another
assert db.spark is not session and len(db.view("days").rows()) == 1 and db.verify().ok
again = rn.open("given2", engine="spark", spark=db.spark)
again.relation("S", Seen, key="id")
insert(again, 1)
"""


@pytest.mark.long
def test_a_session_that_was_stopped_is_said_to_be(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {here!r})" + PROGRAM
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
