"""Where work is done, here or on Spark: by what was asked for and how much there is to do."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, movie, opened, order

import ripplenest as rn
from ripplenest import Bag
from ripplenest.api.sparks import Sparks
from ripplenest.run import engines, policy
from ripplenest.run.engines import MOST, Engines
from ripplenest.run.joiner import PythonJoiner
from ripplenest.run.local import LocalJoiner
from ripplenest.run.policy import Policy


class Spark(PythonJoiner):
    """Stands for Spark, and counts how often it was started."""

    started = 0

    def __init__(self) -> None:
        Spark.started += 1


@pytest.fixture(autouse=True)
def _not_started() -> None:
    Spark.started = 0


@pytest.mark.parametrize(
    ("wanted", "rows", "name", "why"),
    [
        ("local", 1e12, "local", "engine local"),
        ("spark", 0, "spark", "engine spark"),
        ("auto", MOST, "local", f"this process does up to {MOST:,}"),
        ("auto", MOST + 1, "spark", f"more than {MOST:,}"),
    ],
)
def test_the_choice(wanted: Any, rows: float, name: str, why: str) -> None:
    found = Engines(wanted, Spark).choose(rows)
    assert (found.name, type(found.joiner)) == (name, LocalJoiner if name == "local" else Spark)
    assert why in found.why and Spark.started == (name == "spark")


def test_the_readme_says_how_much_it_is() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert f"is beyond {MOST:,}, about 8 GB" in text


def test_an_engine_here_is_made_once_and_that_of_spark_is_asked_for_each_time() -> None:
    """Its session may have become another: ``Sparks`` looks at it, and has one joiner for it."""
    both = Engines("auto", Spark)
    assert both.choose(2).joiner is both.choose(1).joiner and Spark.started == 0
    assert both.choose(MOST * 2).joiner is not both.choose(1).joiner and Spark.started == 1
    assert both.choose(MOST * 2).here is both.choose(1).joiner and Spark.started == 2


def test_work_beyond_one_process_goes_to_spark(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads, views and batches each by their own estimate; the report, its text and the history say which and why."""
    spark = cache(Spark)
    monkeypatch.setattr(Sparks, "joiner", lambda _: spark())
    with opened(tmp_path, engine="auto") as db:
        for view in VIEWS:
            db.create(view)
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        assert not Spark.started
        with db.batch() as b:
            b.insert("M", [movie("late")])
        assert (b.report.engine, Spark.started) == ("local", 0) and "rows of work" in b.report.engine_why
        assert f"on   local: {b.report.engine_why}" in str(b.report)
        monkeypatch.setattr(engines, "MOST", 5)
        with db.batch() as b:
            b.at("C", custkey=7).orders.insert([order(i) for i in range(9)])
        assert (b.report.engine, Spark.started) == ("spark", 1) and "more than 5" in b.report.engine_why
        db.rollback(db.version - 1)
        assert db.verify().ok and Spark.started == 1
        notes = [entry.note for entry in db.history()]
    said = {note["kind"]: (note.get("engine"), note.get("engine_why")) for note in reversed(notes) if note}
    assert said["batch"][0] == said["rollback"][0] == "spark" and said["load"][0] == said["create"][0] == "local"
    assert all(why for _, why in (said[kind] for kind in ("batch", "load", "create", "rollback")))


@rn.record
class Pair:
    a: int
    b: int


@rn.view
def firsts(E: Bag[Pair]):
    """Their places are in a domain, because what they are made of may be too large for its type."""
    return [
        {"a": a, "first": rn.top(2, [{"b": e.b + 1} for e in es], key=lambda e: e["b"])}
        for a, es in rn.group_by(E, lambda e: e.a)
    ]


@pytest.mark.parametrize("how", ["incremental", "auto"])
def test_what_may_be_too_much_for_one_process_begins_there(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, how: Policy
) -> None:
    """Rows of groups that are there change nothing that others see; new groups do, and then Spark is asked."""
    monkeypatch.setattr(Sparks, "joiner", lambda _: Spark())
    monkeypatch.setattr(engines, "MOST", 3_000)
    monkeypatch.setattr(policy, "SMALL", 0)
    monkeypatch.setattr(policy, "MARGIN", 1_000)  # recomputing is not cheaper, as far as is known
    with rn.open(tmp_path, engine="auto", policy=how) as db:
        db.relation("E", Pair)
        rows = [{"a": i % 20, "b": i} for i in range(400)]
        db.load("E", rows)
        db.create(firsts)
        for new, engine in (([{"a": i, "b": 999} for i in range(20)], "local"), (many_groups(), "spark")):
            with db.batch() as b:
                b.insert("E", new)
            rows += new
            assert (b.report.engine, b.report.verdict) == (engine, "incremental")
        assert Spark.started == 1 and "more than 3,000" in b.report.engine_why
        assert db.view("firsts").rows() == firsts(rows) and db.verify().ok


def many_groups() -> list[dict[str, int]]:
    return [{"a": 100 + i, "b": i} for i in range(100)]


def test_no_jvm_before_spark_is_asked_for(tmp_path: Any) -> None:
    """A program that says nothing of engines imports no pyspark, whatever it does to a state."""
    program = """
import sys, ripplenest as rn

@rn.record
class Film:
    name: str
    near: rn.Bag[int]

@rn.view
def films(F: rn.Bag[Film]):
    return [{"n": f.name, "near": [x for x in f.near if x > 1]} for f in F]

with rn.open(sys.argv[1]) as db:
    db.relation("F", Film, key="name")
    db.load("F", [{"name": "a", "near": [1, 2]}])
    db.create(films)
    with db.batch() as b:
        b.upsert("F", [{"name": "a", "near": [3]}])
    assert db.view("films").rows() == [{"n": "a", "near": [3]}] and db.verify().ok
    db.rollback(db.version - 1)
print([m for m in sys.modules if m.partition(".")[0] in ("pyspark", "py4j")])
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    said = subprocess.run([sys.executable, "-P", file, tmp_path / "state"], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
