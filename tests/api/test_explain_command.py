"""``ripplenest explain``: every form, of a file and of a state; and the plan of Spark."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.shop import FILMS, opened, related
from typer.testing import CliRunner, Result

import ripplenest as rn
from ripplenest.cli import app
from ripplenest.spark.plans import EXCLUDED

VIEWS = """
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Edge:
    a: int
    b: int

@rn.view
def paths(E: Bag[Edge]):
    return [{"a": x.a, "b": z.b} for x in E for y in E if x.b == y.a for z in E if y.b == z.a]
"""


def explained(*args: object) -> Result:
    return CliRunner().invoke(app, ["explain", *(str(a) for a in args)])


@pytest.fixture
def views(tmp_path: Path) -> Path:
    path = tmp_path / "views.py"
    path.write_text(VIEWS)
    return path


def test_each_form(views: Path) -> None:
    view = f"{views}:paths"
    assert "paths^F" in explained(view).stdout
    assert json.loads(explained(view, "--json").stdout)["views"][0]["view"] == "paths"
    assert explained(view, "--mermaid").stdout.startswith("flowchart LR\n")
    assert explained(view, "--graphviz").stdout.startswith('digraph "paths" {')
    assert explained(view, "--html").stdout.startswith("<!doctype html>")
    assert explained(view, "--html", "--json").exit_code == 2


def test_in_short(views: Path) -> None:
    """What comes before the first stage: what is read, and the verdict with what mends it."""
    whole, short = explained(views).stdout, explained(views, "--summary").stdout
    assert short.split() == whole[: whole.index("1. Query")].split() and "incremental" in short
    assert explained(views, "--summary", "--json").exit_code == 2


def test_sizes_and_maps(views: Path) -> None:
    options = ("--sizes", "E=1000000", "--delta", "E=7", "--materialize", "full", "--json")
    (found,) = json.loads(explained(views, *options).stdout)["views"]
    assert (found["rows"], found["changes"]) == ({"E": 1_000_000}, {"E": 7})
    assert "auxiliary" in {m["kind"] for m in found["maps"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sizes", "X=3"), "possible E"),
        (("--sizes", "E=0"), "an integer above 0"),
        (("--sizes", "E"), "PART=ROWS"),
        (("--materialize", "most"), "materialize"),
    ],
)
def test_wrong_options(views: Path, options: tuple[str, ...], message: str) -> None:
    done = explained(views, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_state(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with opened(folder) as db:
        db.load("M", FILMS)
        db.create(related)
    (found,) = json.loads(explained(f"{folder}:related", "--json").stdout)["views"]
    assert found["rows"] == {"M": len(FILMS)}
    assert explained(folder, "--sizes", "M=1").exit_code == 2
    assert explained(f"{folder}:other").exit_code == 2
    assert explained(f"{tmp_path}/none:other").exit_code == 2


def test_the_plan_of_spark(spark: SparkSession) -> None:
    """Each product is a join, though its inputs are empty; the session is as it was."""
    before = spark.conf.get(EXCLUDED, None)
    plan = rn.explain(related).spark_plan(spark)
    assert spark.conf.get(EXCLUDED, None) == before
    first, second = plan.split("step 2: ")
    assert first.startswith("step 1: related (tag 0), related/Dom[related.related] (tag 1)\n== Physical Plan ==")
    assert first.count("ShuffledHashJoin") == 0
    tree = second.partition("\n\n")[0]
    assert tree.count("ShuffledHashJoin Inner") == 4  # two statements, each split into two disjoint joins
    assert "Exchange" not in plan
