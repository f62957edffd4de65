"""The recipes of README.md, kept through batches, have the rows of plain Python; those of GUIDE.md are what they are
without the compiler. None is warned of."""

import ast
import random
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.documents import README, block, chapter, program

import ripplenest as rn

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
    assert len(views) == 13
    with rn.open(tmp_path / "state", engine="local", policy="incremental") as db:
        filled(db, made, 80)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for view in views:
                db.create(view)
        changed(db, 2)
        changed(db, 3)
        assert db.verify(deep=True).ok
