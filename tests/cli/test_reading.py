"""``show`` and ``changes``: any version, views and relations, without Spark where Python will do."""

import datetime
import json
import math
import subprocess
import sys
from decimal import Decimal

import pytest

import ripplenest as rn
from ripplenest.api.database import Database
from ripplenest.cli import reading
from ripplenest.cli.output import json_text


@rn.record
class Row:
    b: bool
    i: rn.Int
    n: int
    f: float
    s: str
    d: datetime.date
    t: datetime.datetime
    x: rn.Decimal[8, 2]


def rows(done):
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def without_spark(monkeypatch):
    def started(_):
        raise AssertionError("Spark would start")

    monkeypatch.setattr(Database, "spark", property(started))


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("name", ["Orders", "big", "skus"])
def test_every_version_of_views_and_relations(state, run, name):
    """By its number and by its batch, as the API reads it; the newest without one."""
    with rn.open(state, engine="local") as db:
        handle = db.relation(name) if name == "Orders" else db.view(name)
        wanted = {at: handle.as_of(at).rows() for at in (5, 6, 8, 9)}
    assert len({json.dumps(found) for found in wanted.values()}) == 4
    assert rows(run("show", state, name, "--as-of", 8)) == wanted[8]
    assert rows(run("show", state, name, "--as-of", "shop:2")) == wanted[6]
    assert rows(run("show", state, name)) == wanted[9]
    shown = json.loads(run("show", state, name, "--as-of", "shop:1", "--json").stdout)
    assert shown == {"relation" if name == "Orders" else "view": name, "version": 5, "rows": wanted[5]}


@pytest.mark.usefixtures("without_spark")
def test_some_rows_and_one(state, run):
    """``--limit`` and ``--key`` are what ``limit`` and ``get`` of a handle give."""
    with rn.open(state, engine="local") as db:
        some, one = db.view("big").as_of(8).limit(2), db.relation("Orders").get(id=2)
    assert rows(run("show", state, "big", "--limit", 2, "--as-of", 8)) == some and len(some) == 2
    assert rows(run("show", state, "Orders", "--key", "id=2")) == [one]
    assert rows(run("show", state, "Orders", "--key", "id=2", "--key", "customer=c2")) == [one]
    for args, asked in ((("--key", "id=2", "--key", "customer=c3"), " with these values"), (("--as-of", 1), "")):
        none = run("show", state, "Orders", *args)
        said = f"no rows of relation Orders{asked} at version {1 if not asked else 9}\n"
        assert (none.exit_code, none.stdout, none.stderr) == (0, "", said)
    assert run("show", state, "Orders", "--limit", 0).stderr == ""
    assert json.loads(run("show", state, "Orders", "--key", "id=2", "--json").stdout)["rows"] == [one]
    for args, said in (
        (("--key", "id=x"), "id=VALUE with a long"),
        (("--key", "id"), "FIELD=VALUE"),
        (("--key", "items=1"), "items"),
        (("--key", "nothing=1"), "possible id, customer"),
        (("--key", "id=1", "--limit", 1), "one row, or some"),
        (("--key", "id=1", "--where", "id=1"), "one row, or some"),
        (("--where", "id=1", "--where", "id=2"), "two values of one field"),
        (("--where", "id=x"), "id=VALUE with a long"),
        (("--where", "nothing=1"), "possible id, customer"),
    ):
        done = run("show", state, "Orders", *args)
        assert done.exit_code == 2 and said in done.stderr, (args, done.stderr)


@pytest.mark.usefixtures("without_spark")
def test_rows_by_values(state, run):
    """``--where`` is what ``where`` of a handle gives, of any version; of these ``--limit`` are the first."""
    with rn.open(state, engine="local") as db:
        with db.batch() as b:
            b.insert("Orders", [{"id": 20, "customer": "c1", "items": []}])
        of_one, one = db.relation("Orders").where(customer="c1"), db.view("big").as_of(8).where(id=2)
    assert [row["id"] for row in of_one] == [1, 20] and one
    assert rows(run("show", state, "Orders", "--where", "customer=c1")) == of_one
    assert rows(run("show", state, "Orders", "--where", "customer=c1", "--limit", 1)) == of_one[:1]
    assert rows(run("show", state, "Orders", "--where", "customer=c1", "--where", "id=-1")) == []
    assert rows(run("show", state, "big", "--where", "id=2", "--as-of", 8)) == one
    assert json.loads(run("show", state, "Orders", "--where", "customer=c1", "--json").stdout)["rows"] == of_one


@pytest.mark.usefixtures("without_spark")
def test_rows_in_which_a_field_is_null(tmp_path, run):
    """A text may be empty, and be called null: a field without a value is NULL."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("R", rn.record(type("R", (), {"__annotations__": {"n": int, "s": str | None}})))
        db.load("R", [{"n": n, "s": s} for n, s in enumerate((None, "", "null", None))])
    found = {args: rows(run("show", tmp_path / "state", "R", *args)) for args in (("--where", "s"), ("--where", "s="))}
    assert [[row["n"] for row in some] for some in found.values()] == [[0, 3], [1]]
    assert rows(run("show", tmp_path / "state", "R", "--where", "s", "--where", "n=3")) == [{"n": 3, "s": None}]
    never = run("show", tmp_path / "state", "R", "--where", "n")
    assert never.exit_code == 2 and "NULL where none is allowed" in never.stderr
    unknown = run("show", tmp_path / "state", "R", "--where", "x")
    assert unknown.exit_code == 2 and "possible n, s" in unknown.stderr


def test_values_of_every_kind_name_a_row(tmp_path, run):
    day, time = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5)
    values = {"b": True, "i": 7, "n": -1, "f": 1.5, "s": "a=b", "d": day, "t": time, "x": Decimal("1.50")}
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("R", Row)
        db.load("R", [values, {**dict.fromkeys("infx", 0), "b": False, "s": "", "d": day, "t": time}])
    for name, text in zip(values, ("true", "7", "-1", "1.5", "a=b", None, None, "1.5"), strict=True):
        if text is not None:
            (row,) = rows(run("show", tmp_path / "state", "R", "--key", f"{name}={text}"))
            assert row["s"] == "a=b"
    several = run("show", tmp_path / "state", "R", "--key", "d=2026-01-02", "--key", "t=2026-01-02T03:04:05")
    assert several.exit_code == 2 and "several rows" in several.stderr


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("name", ["Orders", "big", "skus"])
def test_many_rows_are_printed_as_they_are_read(state, run, monkeypatch, name):
    """The same rows, in the order in which they are stored."""
    few = rows(run("show", state, name))
    monkeypatch.setattr(reading, "ORDERED", 0)
    many = rows(run("show", state, name))
    for row in [row for row in many if isinstance(row, dict) and "items" in row]:
        row["items"].sort(key=json.dumps)
    assert sorted(map(json.dumps, many)) == sorted(map(json.dumps, few))


@pytest.mark.usefixtures("without_spark")
def test_a_view_that_was_dropped_is_in_the_versions_before(state, run):
    shown = rows(run("show", state, "big"))
    assert "version 9 has it" in run("drop", state, "big", "--yes").stdout
    assert rows(run("show", state, "big", "--as-of", 9)) == shown
    assert run("show", state, "big").exit_code == 2
    assert run("changes", state, "big", "--since", 7, "--as-of", 8, "--nested").exit_code == 0


@pytest.mark.usefixtures("without_spark")
def test_nested_changes(state, run):
    done = run("changes", state, "big", "--since", "shop:1", "--as-of", 6, "--nested")
    assert done.stdout == '- {"id": 2, "items": ["a"]}\n+ {"id": 2, "items": ["a", "n2"]}\n'
    found = json.loads(run("changes", state, "Orders", "--since", 7, "--as-of", 8, "--nested", "--json").stdout)
    assert [row["id"] for row in found.pop("came")] == [9]
    assert found == {"relation": "Orders", "since": 7, "version": 8, "went": []}
    assert run("changes", state, "big", "--since", 7, "--nested").stdout == ""  # it was rolled back


WITHOUT_JAVA = """
import sys
from ripplenest.cli import app
for options in ([], ["--nested"], ["--json"]):
    for name in ("big", "Orders"):
        app(["changes", sys.argv[1], name, "--since", "shop:1", "--as-of", "6", *options], standalone_mode=False)
print(*(name for name in ("py4j", "pyspark") if name in sys.modules), file=sys.stderr)
"""


def test_changes_start_no_jvm(state):
    """What a JVM is started with is not even imported: in a process of its own, as others here have it."""
    ask = [sys.executable, "-P", "-c", WITHOUT_JAVA, str(state)]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert done.stdout.count("changed row") >= 4
    assert done.stderr == "\n"


def test_flat_changes_of_a_relation(state, run):
    found = json.loads(run("changes", state, "Orders", "--since", "shop:2", "--as-of", "shop:3", "--json").stdout)
    (rows_of_items,) = found.pop("dictionaries").values()
    assert found == {"relation": "Orders", "since": 6, "version": 7, "flat": []}
    assert [(row["sku"], row["_multiplicity"]) for row in rows_of_items] == [("n3", 1)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", "nothing"), ["UnknownView", "possible big, skus, Orders"]),
        (("show", "big", "--as-of", "99"), ["StateError", "no such version", "0 to 9"]),
        (("show", "big", "--as-of", "2"), ["StateError", "no such table yet", "version 3 or later"]),
        (("show", "big", "--as-of", "shop:4"), ["StateError", "no such batch was applied", "got      shop:4"]),
        (("show", "big", "--as-of", "ab\x1b[1m:4"), ["StateError", "ab\\u001b[1m:4"]),
        (("show", "big", "--as-of", "shop"), ["neither a version nor", "SOURCE:SEQ"]),
        (("show", "big", "--as-of", "shop:x"), ["neither a version nor"]),
        (("show", "big", "--as-of", "9" * 5000), ["neither a version nor"]),
        (("show", "big", "--as-of", "shop:" + "9" * 19), ["neither a version nor"]),
        (("show", "big", "--as-of", "٣"), ["neither a version nor"]),
        (("show", "big", "--as-of", "\udcff:3"), ["neither a version nor"]),
        (("show", "big", "--as-of", "-1"), ["neither a version nor"]),
        (("changes", "big", "--since", "8", "--as-of", "7", "--nested"), ["StateError", "0 to 7"]),
        (("changes", "big", "--nested"), ["--since"]),
    ],
)
def test_what_is_not_there(state, run, args, said):
    command, *rest = args
    done = run(command, state, *rest)
    assert (done.exit_code, done.stdout) == (2, "")
    framed = " ".join(line.strip("│ ") for line in done.stderr.splitlines())
    assert [text for text in said if text not in done.stderr and text not in framed] == []
    assert "\x1b" not in done.stderr


def test_what_json_has_no_form_for():
    value = {"nan": math.nan, "rows": [(math.inf, 1.5)], "bidi": "\u202e", "odd": "\ud800", "bytes": b"x\xff"}
    text = json_text(value)
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found == {"nan": "nan", "rows": [["inf", 1.5]], "bidi": "\u202e", "odd": "\ud800", "bytes": "x\\xff"}
    assert text.isprintable()
