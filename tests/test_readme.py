"""The programs of the documents run as they stand, and print what is shown; README's first one gives the tables of the
paper. The guide's table of operators is true. Links lead somewhere. (Recipes: test_recipes.py.)"""

import re
import runpy
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.documents import GUIDE, OPERATIONS, README, ROOT, block, blocks, chapter, program

import ripplenest as rn


def test_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(block(README, "def related"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with runpy.run_path(str(file))["db"] as db:
        found = {row["name"]: sorted(row["related"]) for row in db.view("related").rows()}
    assert found.pop("Jarhead") == ["Drive", "Skyfall"]
    assert found == {"Drive": ["Jarhead"], "Skyfall": ["Jarhead", "Rush"], "Rush": ["Skyfall"]}
    shown = capsys.readouterr().out
    assert "imdb:17, incremental" in shown
    assert "{'name': 'Jarhead', 'related': ['Drive', 'Skyfall']}" in shown
    with runpy.run_path(str(file))["db"] as db:
        assert (db.version, db.view("related").count()) == (4, 4)
    assert "imdb:17 was applied before, nothing changed" in capsys.readouterr().out


ROW = {
    "n": None, "nan": float("nan"), "big": 2**63 - 1, "small": 2**31 - 1, "s": "abc", "d": Decimal("1.50"),
}  # fmt: skip
HEAD = """
import ripplenest as rn
from ripplenest import Bag, Decimal, Int

@rn.record
class Row:
    n: int | None
    nan: float
    big: int
    small: Int
    s: str
    d: Decimal[4, 2]

@rn.view
def v(R: Bag[Row]):
    return """


def operators() -> list[tuple[str, str, str]]:
    """The rows of the table of operators: an expression, what Python says, what a view says."""
    table = GUIDE.read_text(encoding="utf-8").split("| in a view | in Python |")[1].split("\n\n")[0]
    found = [re.match(r"\| `(.*?)` \| `(.*?)` \| `(.*?)` \|", line) for line in table.splitlines()[2:]]
    return [(m[1], m[2], m[3]) for m in found if m]


def test_the_table_of_operators_is_read() -> None:
    assert len(operators()) == 29 and sum(python != view for _, python, view in operators()) >= 15


def viewed(body: str, folder: Path) -> Any:
    """The view that returns ``body``, read from a file."""
    file = folder / "operators.py"
    file.write_text(HEAD + body, encoding="utf-8")
    return runpy.run_path(str(file))


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("expr", "python", "view"), operators(), ids=[expr for expr, _, _ in operators()])
def test_each_operator(tmp_path: Path, expr: str, python: str, view: str) -> None:
    """Python's answer is Python's, a view's is that of the reference interpreter; an answer may be an error's name."""
    (tmp_path / "python.py").write_text(f"def answer(x):\n    return {expr}\n", encoding="utf-8")
    answer = runpy.run_path(str(tmp_path / "python.py"))["answer"]
    assert said(lambda: answer(SimpleNamespace(**ROW))) == python
    assert said(lambda: viewed(f"[{expr} for x in R]", tmp_path)["v"]([ROW])[0]) == view


def said(ask: Callable[[], object]) -> str:
    try:
        return repr(ask())
    except Exception as error:
        return type(error).__name__


def test_the_operators_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """All that have a value, in one view."""
    values = [(e, view) for e, _, view in operators() if view in ("True", "None") or not view[0].isupper()]
    fields = ", ".join(f"'c{i}': {e}" for i, (e, _) in enumerate(values))
    made = viewed(f"[{{{fields}}} for x in R]", tmp_path)
    assert len(values) >= 13
    with rn.open(tmp_path / "state", spark=spark, engine="spark") as db:
        db.relation("R", made["Row"])
        db.create(made["v"])
        with db.batch(policy="full") as b:
            b.insert("R", [ROW])
        (row,) = db.view("v").rows()
        assert [repr(row[f"c{i}"]) for i in range(len(values))] == [view for _, view in values]


def test_the_programs_of_operations(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs in a state that has the view of the first one and enough versions."""
    first, read, versions, definitions, published, *_ = block(README, "def related"), *blocks(OPERATIONS)
    monkeypatch.chdir(tmp_path)
    names = program(first.replace('rn.open("state/")', 'rn.open("state/", spark=spark)'), tmp_path, {"spark": spark})
    with names["db"] as db:
        while db.version < 13:
            with db.batch() as b:
                b.insert("M", [{"name": f"Film {db.version}", "gen": "Drama", "dir": None}])
        read = read.replace("state/", str(tmp_path / "state"))  # Spark started in another folder
        names = program(read, tmp_path, {**names, "spark": spark})
        assert names["films"].count() == len(db.relation("M").rows())
        assert {row["_multiplicity"] for row in names["then"].collect()} == {1}
        names = program(published, tmp_path, program(versions, tmp_path, names))
        assert len(names["old"].rows()) == len(db.relation("M").rows()) and names["came"]
        assert db.history(2)[1].what == "rollback to 12" and (tmp_path / "lake" / "related" / "_delta_log").is_dir()
        program(definitions, tmp_path, names)
        assert db.views == () and {"genre", "year"} < db.relation("M").rows()[0].keys()
        assert db.view("related", as_of=db.version - 1).count() == len(names["old"].rows())


def complete() -> list[tuple[Path, str, str]]:
    """The programs that open a state of their own, and the output that is shown below each."""
    found = []
    for file in (README, GUIDE):
        text = file.read_text(encoding="utf-8")
        for code, shown in re.findall(
            r"```python\n((?:(?!```).)*?)```\n\nIt prints:\n\n```\n(.*?)```", text, re.DOTALL
        ):
            found.append((file, code, shown))
    return found


def test_the_complete_programs_are_read() -> None:
    """None is left out: what opens a state is shown with its output."""
    opening = [code for file in (README, GUIDE) for code in blocks(file) if "rn.open(" in code]
    assert [code for _, code, _ in complete()] == opening and len(opening) == 4
    others = [code for code in blocks(GUIDE) if code not in opening and code not in chapter()]
    assert others == [block(GUIDE, "def spending"), block(GUIDE, "class Spread")]  # which have tests of their own


@pytest.mark.parametrize(("file", "code", "shown"), complete(), ids=[code[:60] for _, code, _ in complete()])
def test_each_program_prints_what_is_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: Path,
    code: str,
    shown: str,
) -> None:
    """But for the time that it took; those of the README can be run again."""
    monkeypatch.chdir(tmp_path)
    for again in range(1 if file == GUIDE else 2):
        program(code, tmp_path, {})["db"].close()
        lines = untimed(capsys.readouterr().out)
        assert lines == untimed(shown) if not again else set(lines) >= set(untimed(shown)[-2:])


def untimed(text: str) -> list[str]:
    return re.sub(r"\d+\.\d+ s\b", "TIME", text).splitlines()


def test_what_goes_on_from_the_first_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the calls of the table of verbs and of the table of reading are what the tables say."""
    monkeypatch.chdir(tmp_path)
    names = program(block(README, "def related"), tmp_path, {})
    with names["db"] as db:
        names = program(block(README, "db.rollback"), tmp_path, names)
        assert len(names["old"].rows()) == 3 and len(db.relation("M").rows()) == 3
        assert [film["name"] for film in names["came"]] == ["Drive", "Jarhead", "Skyfall"]
        v = db.view("related")
        assert v.get(name="Drive") == v.where(name="Drive")[0] in list(v) and len(v.limit(2)) == 2
        assert v.to_arrow().num_rows == v.batches(2).read_all().num_rows == 3
        assert v.flat_to_arrow().num_rows == 3 and len(v.dictionaries_to_arrow()) == 1
        assert v.changes(since=3).to_arrow().num_rows == 0


def test_the_table_of_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call, of a customer who is there and of one who is not."""
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8").split("| I have | I call |")[1].split("\n\n")[0]
    calls = re.findall(r"\| `(b\..*?)` \| (.*?) \| (.*?) \|", text)
    assert len(calls) == 5
    with program(block(README, "class Customer"), tmp_path, {})["db"] as db:
        for call, absent, present in calls:
            for said_of, key in ((absent, 99), (present, 7)):
                rows = [{"custkey": key, "name": "Z", "rate": 1, "orders": []}]

                def run(call: str = call, key: int = key, rows: object = rows) -> object:
                    with db.batch() as b:
                        program(re.sub(r"custkey=\d", f"custkey={key}", call), tmp_path, {"b": b, "rows": rows})
                    changed: object = b.report.rows_out
                    db.rollback(db.version - 1)
                    return changed

                if said_of.startswith("`"):
                    assert said(run) == said_of.strip("`"), call
                else:
                    assert bool(run()) == (said_of != "passed over"), call


def test_the_text_file(tmp_path: Path) -> None:
    """The views of the block are the same, and make rows."""
    file = tmp_path / "films.nrc"
    (text,) = re.findall(r"```\n(relation.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    file.write_text(text, encoding="utf-8")
    program = rn.read(file)
    with rn.open(tmp_path / "state", engine="local") as db:
        for r in program.relations:
            db.relation(r)
        db.load("M", [{"name": "Drive", "gen": "Drama", "dir": None}, {"name": "Rush", "gen": None, "dir": None}])
        for view in program.views:
            assert db.create(view).rows() == [{"name": "Drive"}]


TOTALS = """
import datetime
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Item:
    part: str
    qty: int
    price: rn.Decimal[8, 2]

@rn.record
class Order:
    custkey: int
    date: datetime.date
    late: bool
    total: int
    items: Bag[Item]

@rn.record
class Customer:
    custkey: int
    name: str

"""


def test_the_ring(tmp_path: Path) -> None:
    """It is one, and is folded over."""
    code = block(GUIDE, "class Spread")
    file = tmp_path / "ring.py"
    file.write_text(f"import ripplenest as rn\n{code}", encoding="utf-8")
    ring = runpy.run_path(str(file))["Spread"]
    assert rn.testing.check_ring(ring, [1, 2, -3]) == 81
    assert rn.fold(ring, [(1, 2), (4, 1)]) == {"longest": 5, "shortest": 3}


def test_the_view_with_totals(tmp_path: Path) -> None:
    """It is kept fresh, inside of inner bags too."""
    code = block(GUIDE, "def spending")
    file = tmp_path / "totals.py"
    file.write_text(TOTALS + code, encoding="utf-8")
    made = runpy.run_path(str(file))
    item = {"part": "nut", "qty": 2, "price": Decimal("1.50")}
    order = {"custkey": 1, "date": date(2024, 5, 1), "late": False, "total": 3, "items": [item, item]}
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", made["Customer"], key="custkey")
        db.relation("O", made["Order"])
        db.load("C", [{"custkey": 1, "name": "Ann"}, {"custkey": 2, "name": "Bob"}])
        db.create(made["spending"])
        assert db.view("spending").rows() == []  # of nothing, all are late
        with db.batch() as b:
            b.insert("O", [order, {**order, "late": True, "items": []}])
        (row,) = db.view("spending").rows()
        assert (row["name"], row["spent"], row["late"]) == ("Ann", Decimal("6.00"), True)
        assert sorted((o["lines"], o["parts"]) for o in row["orders"]) == [(0, []), (2, ["nut"])]
        assert row["by_month"] == [{"month": 5, "n": 2, "mean": 3.0}]


@pytest.mark.parametrize("file", [README, GUIDE, OPERATIONS])
def test_links_lead_somewhere(file: Path) -> None:
    """To files that are there, and to headings in them."""
    for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text(encoding="utf-8")):
        name, _, heading = target.partition("#")
        to = ROOT / name if name else file
        assert to.exists(), target
        assert not heading or heading in headings(to), target


def headings(file: Path) -> list[str]:
    found = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in found]
