"""The README's program runs as it stands, and gives the tables of the paper; its table of operators is true."""

import re
import runpy
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import ripplenest as rn
from ripplenest import Bag

README = Path(__file__).resolve().parent.parent / "README.md"


def test_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(blocks()[0], encoding="utf-8")
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
    table = README.read_text(encoding="utf-8").split("| in a view | in Python |")[1].split("\n\n")[0]
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


@rn.record
class Item:
    part: int
    qty: int


@rn.record
class Order:
    orderkey: int
    items: Bag[Item]


@rn.record
class Customer:
    custkey: int
    segment: str
    rate: int
    orders: list[Order]


def test_the_other_programs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs in a state that has the view of the first one, the customers, and enough versions."""
    first, deep, table, read, versions, published, definitions, *_ = blocks()
    monkeypatch.chdir(tmp_path)
    names = program(first.replace('rn.open("state/")', 'rn.open("state/", spark=spark)'), tmp_path, {"spark": spark})
    with names["db"] as db:
        db.relation("Customers", Customer, key="custkey")
        db.load("Customers", [Customer(7, "BUILDING", 1, [Order(orderkey=11, items=[])])])
        while db.version < 13:
            with db.batch() as b:
                b.insert("M", [{"name": f"Film {db.version}", "gen": "Drama", "dir": None}])
        names = program(deep, tmp_path, names)
        (customer,) = db.relation("Customers").rows()
        assert customer["orders"][0]["items"] == [{"part": 3, "qty": 2}] and customer["rate"] == 2
        changes = pa.table({"customer": [7, 7], "order": [11, 11], "part": [4, 5], "qty": [1, 2]})
        names = program(table, tmp_path, {**names, "changes": changes})
        assert len(db.relation("Customers").rows()[0]["orders"][0]["items"]) == 3
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


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def program(text: str, folder: Path, names: dict[str, Any]) -> dict[str, Any]:
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file), names)


def test_the_text_file(tmp_path: Path) -> None:
    """The views of the block are the same, and make rows."""
    file = tmp_path / "films.nrc"
    (text,) = re.findall(r"```\n(relation.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
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
    (code,) = (block for block in blocks() if "class Spread" in block)
    file = tmp_path / "ring.py"
    file.write_text(f"import ripplenest as rn\n{code}", encoding="utf-8")
    ring = runpy.run_path(str(file))["Spread"]
    assert rn.testing.check_ring(ring, [1, 2, -3]) == 81
    assert rn.fold(ring, [(1, 2), (4, 1)]) == {"longest": 5, "shortest": 3}


def test_the_view_with_totals(tmp_path: Path) -> None:
    """It is kept fresh, inside of inner bags too."""
    (code,) = (block for block in blocks() if "def spending" in block)
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
