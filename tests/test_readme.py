"""The programs of the documents run as they stand, and print what is shown; README's first one gives the tables of the
paper. Its recipes have the rows of plain Python. The guide's recipes are kept, and its table of operators is true."""

import ast
import random
import re
import runpy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ripplenest as rn

ROOT = Path(__file__).resolve().parent.parent
README, GUIDE, OPERATIONS = (ROOT / f"{name}.md" for name in ("README", "GUIDE", "OPERATIONS"))


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


def block(file: Path, has: str) -> str:
    """The one program of a document that has a text."""
    (found,) = (code for code in blocks(file) if has in code)
    return found


def blocks(file: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL)


def program(text: str, folder: Path, names: dict[str, Any]) -> dict[str, Any]:
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file), names)


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


DAY, AT = date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)
WEEK, GAP = timedelta(days=7), timedelta(minutes=30)


def inputs(seed: int, n: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of the relations of the recipes."""
    r = random.Random(seed)
    ids = range(seed * 10_000, seed * 10_000 + n)
    times = [AT + timedelta(minutes=m) for m in r.sample(range(30_000), 3 * n)]
    return {
        "O": [
            {
                "id": i,
                "customer": r.randrange(40),
                "day": DAY + timedelta(days=r.randrange(90)),
                "total": r.randrange(50),
            }
            for i in ids
        ],
        "K": [{"id": i, "user": r.randrange(40), "at": times[3 * (i % n)]} for i in ids],
        "Q": [{"id": i, "sym": r.choice("XY"), "at": times[3 * (i % n) + 1], "bid": r.randrange(50)} for i in ids],
        "T": [{"id": i, "sym": r.choice("XYZ"), "at": times[3 * (i % n) + 2]} for i in ids],
    }


def chapter() -> str:
    """The program of the guide's recipes: the blocks of a chapter, one after the other."""
    text = GUIDE.read_text(encoding="utf-8").split("\n## 7 ")[1].split("\n## 8 ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def recipes() -> tuple[str, dict[str, str]]:
    """The README's: the helpers, and the views by what stands above them."""
    code = block(README, "# Totals by group")
    helpers, found, above = "", {}, re.compile(r"# (.*?)[,:]")
    for node in ast.parse(code).body:
        source = ast.get_source_segment(code, node)
        assert source is not None
        if isinstance(node, ast.Expr):
            heads = [m[1] for line in code.splitlines()[: node.lineno] if (m := above.match(line))]
            found[heads[-1]] = source
        else:
            helpers += f"{source}\n"
    return helpers, found


def by(rows: Iterable[dict[str, Any]], key: str) -> dict[Any, list[dict[str, Any]]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return groups


def begun(ks: list[dict[str, Any]]) -> dict[Any, list[datetime]]:
    """Sessions of one user's clicks, by their first."""
    found: dict[Any, list[datetime]] = {}
    times: list[datetime] = []
    for at in sorted(k["at"] for k in ks):
        if not times or at - times[-1] > GAP:
            times = found[at] = []
        times.append(at)
    return found


def best(orders: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    first = sorted(orders, key=lambda x: (-x["total"], x["id"]))[:3]
    return [{"id": x["id"], "total": x["total"]} for x in first]


Rows = list[dict[str, Any]]
PLAIN: dict[str, Callable[[SimpleNamespace], Rows]] = {
    "Totals by group": lambda i: [
        {"customer": c, "orders": len(os), "spent": sum(x["total"] for x in os)}
        for c, os in by(i.o, "customer").items()
    ],
    "Top 3": lambda i: [
        {"customer": c, "best": best(os)}
        for c, os in by(i.o, "customer").items()
    ],
    "The latest version by key": lambda i: [
        max(qs, key=lambda x: (x["at"], x["id"])) for qs in by(i.q, "sym").values()
    ],
    "A running total": lambda i: [
        {"id": os[n]["id"], "sum": sum(x["total"] for x in os[: n + 1])}
        for rows in by(i.o, "customer").values()
        for os in [sorted(rows, key=lambda x: (x["day"], x["id"]))]
        for n in range(len(os))
    ],
    "A rank": lambda i: [
        {"id": x["id"], "place": 1 + sorted(-y["total"] for y in os).index(-x["total"])}
        for os in by(i.o, "customer").values()
        for x in os
    ],
    "A moving window": lambda i: [
        {"id": x["id"], "week": sum(y["total"] for y in os if 0 <= (x["day"] - y["day"]).days < 7)}
        for os in by(i.o, "customer").values()
        for x in os
    ],
    "Sessions": lambda i: [
        {"user": user, "start": start, "clicks": len(times)}
        for user, ks in by(i.k, "user").items()
        for start, times in begun(ks).items()
    ],
    "Who was inactive": lambda i: [
        {"user": user} for user, ks in by(i.k, "user").items() if all(x["at"] < i.now - WEEK for x in ks)
    ],
    "Cohorts": lambda i: [
        {"month": month, "customers": len(rows)}
        for month, rows in by(
            ({"month": min(x["day"] for x in os).replace(day=1)} for os in by(i.o, "customer").values()), "month"
        ).items()
    ],
    "An as-of join": lambda i: [
        {"id": x["id"], "bid": (sorted((y["at"], y["bid"]) for y in i.q if y["sym"] == x["sym"] and y["at"] <= x["at"])
                                or [(None, None)])[-1][1]}
        for x in i.t
    ],
}  # fmt: skip
CLOCK = """
@rn.record
class Clock:
    id: int
    now: datetime.datetime

"""


def test_the_recipes_are_read() -> None:
    assert list(recipes()[1]) == list(PLAIN)


def changed(db: rn.Database, seed: int) -> list[rn.Report]:
    """Batches that insert, correct and delete rows of each relation, and move the clock."""
    reports = []
    for n, (name, new) in enumerate(inputs(seed, 4).items()):
        old = sorted(db.relation(name).rows(), key=lambda row: row["id"])
        with db.batch() as b:
            b.insert(name, new)
            b.delete_key(name, id=old[n]["id"])
            b.upsert(name, [{**old[n + 1], **{k: v for k, v in old[n + 2].items() if k != "id"}}])
        reports.append(b.report)
    with db.batch() as b:
        b.at("Clock", id=1).set(now=AT + timedelta(days=18 + seed, minutes=7))
    return [*reports, b.report]


@pytest.mark.parametrize("what", PLAIN)
def test_each_recipe(tmp_path: Path, what: str) -> None:
    """Kept through batches it has the rows of plain Python; no warning, no batch that policy strict refuses."""
    helpers, found = recipes()
    head = chapter().split("@rn.view")[0]
    view = "\n@rn.view\ndef v(O: Bag[Order], K: Bag[Click], Q: Bag[Quote], T: Bag[Trade], Clock: Bag[Clock]):\n"
    made = program(f"{head}{CLOCK}{helpers}{view}    return {found[what]}\n", tmp_path, {})
    with rn.open(tmp_path / "state", engine="local", policy="strict") as db:
        filled(db, made)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.create(made["v"])
        for seed in range(2, 6):
            reports = changed(db, seed)
            assert max(report.rows_read for report in reports) < 300, [report.rows_read for report in reports]
            tables = {name.lower(): db.relation(name).rows() for name in "OKQT"}
            wanted = PLAIN[what](SimpleNamespace(**tables, now=db.relation("Clock").rows()[0]["now"]))
            assert sorted(db.view("v").rows(), key=repr) == sorted(wanted, key=repr)


def filled(db: rn.Database, made: dict[str, Any], n: int = 600) -> None:
    for name, record in {"O": "Order", "K": "Click", "Q": "Quote", "T": "Trade", "Clock": "Clock"}.items():
        db.relation(name, made[record], key="id")
    for name, rows in inputs(1, n).items():
        db.load(name, rows)
    db.load("Clock", [{"id": 1, "now": AT + timedelta(days=18)}])


def test_the_recipes_of_the_guide(tmp_path: Path) -> None:
    """They are kept through batches as they are evaluated without the compiler."""
    made = program(chapter() + CLOCK, tmp_path, {})
    views = [view for view in made.values() if isinstance(view, rn.View)]
    assert len(views) == 12
    with rn.open(tmp_path / "state", engine="local", policy="incremental") as db:
        filled(db, made, 80)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for view in views:
                db.create(view)
        changed(db, 2)
        changed(db, 3)
        assert db.verify(deep=True).ok


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
