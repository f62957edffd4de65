"""Totals of some of a group's rows each, as the columns of a pivot have them: one map holds them all."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database

HOURS = {f"h{i}": i for i in range(24)}


@rn.record
class Hit:
    id: int
    site: int | None
    hour: int
    n: int | None
    share: float


@rn.view
def pivot(S: Bag[Hit]):
    return [
        {"site": site, **{name: sum(x.n for x in xs if x.hour == i) for name, i in HOURS.items()}}
        for site, xs in rn.group_by(S, lambda x: x.site)
    ]


@rn.view
def several(S: Bag[Hit]):
    """Of what may be NULL, or fails elsewhere; counts, averages, and whether some or all are."""
    return [
        {
            "site": site,
            "n": len([x for x in xs if x.n > 1]),
            "of": len(xs),
            "each": sum(12 // x.hour for x in xs if x.hour != 0),
            "mean": rn.avg(x.n for x in xs if x.hour < 2 or x.n is None),
            "shares": sum(x.share for x in xs if x.hour == x.n),
            "some": any(x.n > 2 for x in xs if x.hour == 1),
            "all": all(x.n > 0 for x in xs if x.hour > 0),
            "most": max(x.n for x in xs if x.hour == 2),
            "by": sum(site - x.n for x in xs if x.hour == 2),
        }
        for site, xs in rn.group_by(S, lambda x: x.site)
    ]


@rn.view
def inside(S: Bag[Hit]):
    """In inner bags, of the groups of each key."""
    return [
        {
            "site": site,
            "hours": [
                {"hour": hour, "n": len(ys), "large": sum(y.n for y in ys if y.n > 1), "of": len(xs)}
                for hour, ys in rn.group_by(xs, lambda y: y.hour)
            ],
        }
        for site, xs in rn.group_by(S, lambda x: x.site)
    ]


VIEWS = (pivot, several, inside)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, *views: rn.View) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("S", Hit, key="id")
    for view in views:
        db.create(view)
    return db


def hit(c: Choices, key: int) -> Hit:
    site, n = (None if c.one_in(5) else c.number(3) for _ in range(2))
    return Hit(key, site, c.number(4), n, c.number(8) / 4)


@law(examples=many(8, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder, *VIEWS) as db:
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                b.upsert("S", [hit(c, key) for key in range(8) if c.one_in(2)])
                b.discard_key("S", [{"id": c.number(8)}])
            rows = db.relation("S").rows()
            recomputed(db, {view.name: view for view in VIEWS}, {"S": rows})
            COUNTS["none"] += any(row["h2"] is None for row in db.view("pivot").rows())
            COUNTS["some"] += any(row["n"] and row["each"] for row in db.view("several").rows())
        assert db.verify(deep=True).ok


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(12, 500), COUNTS


def test_they_are_one_map(tmp_path: Path) -> None:
    """Twenty-four columns, of which each would be a map of its own, and a level of the term."""
    with opened(tmp_path, pivot) as db:
        assert str(db.view("pivot").explain()).count(", of pivot.") == 1
        for n in (100, 1_000):
            with db.batch() as b:
                b.insert("S", [Hit(i, i % 5, i % 24, 1, 0.0) for i in range(n * 10, n * 11)])
            with db.batch(policy="strict") as b:
                b.upsert("S", [Hit(n * 10, 0, 3, 7, 0.0)])
            assert b.report.rows_read <= 8
