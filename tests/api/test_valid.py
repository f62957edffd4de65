"""What is valid now, by values of rows from when to when it is: a tick reads what begins and what ends."""

import datetime
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from pyspark.sql import SparkSession
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database

START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


@rn.record
class Member:
    id: int
    user: int
    plan: int
    start: datetime.datetime
    end: datetime.datetime | None


@rn.record
class User:
    id: int
    others: Bag[Member]


@rn.record
class Clock:
    id: int
    at: datetime.datetime


@rn.view
def now(M: Bag[Member], K: Bag[Clock]):
    return [m for m in M for k in K if k.id == 1 and m.start <= k.at and k.at < m.end]


@rn.view
def open_ended(M: Bag[Member], K: Bag[Clock]):
    return [
        {"id": m.id, "user": m.user}
        for m in M
        for k in K
        if k.id == 1 and m.start <= k.at and (m.end is None or k.at <= m.end + HOUR)
    ]


@rn.view
def of_users(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """In bags, totals and what is asked, of rows of a relation and of inner bags."""
    return [
        {
            "id": u.id,
            "now": [m for m in M if m.user == u.id and m.start <= k.at < m.end],
            "n": len([m for m in M if m.user == u.id and m.start <= k.at and (m.end is None or m.end > k.at)]),
            "some": any(m.user == u.id and m.start < k.at < m.end for m in M),
            "others": [{"plan": o.plan} for o in u.others if o.start <= k.at <= o.end],
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def plans(M: Bag[Member], K: Bag[Clock]):
    return [
        {"plan": plan, "n": len(ms), "last": max(m.start for m in ms)}
        for plan, ms in rn.group_by(
            [m for m in M for k in K if k.id == 1 and m.start <= k.at <= m.end], lambda m: m.plan
        )
    ]


@rn.view
def states(M: Bag[Member], K: Bag[Clock]):
    return [
        {"id": m.id, "state": "future" if k.at < m.start else "active" if k.at < m.end else "ended"}
        for m in M
        for k in K
        if k.id == 1
    ]


@rn.view
def settled(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """What is asked of all rows, of which the end may be NULL."""
    return [
        {
            "id": u.id,
            "over": all(m.end is not None and m.end <= k.at for m in u.others),
            "on": all(m.end is None or m.end > k.at for m in M if m.user == u.id),
            "before": all(m.end > k.at for m in u.others if m.plan == 0),
            "left": any(m.end is None or m.end > k.at for m in u.others),
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def lasting(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """What has no end, or has not ended yet, whenever it began."""
    return [
        {
            "id": u.id,
            "is": [{"id": m.id} for m in u.others if m.end is None or m.end > k.at],
            "n": len([m for m in M if m.user == u.id and (m.end is None or k.at < m.end)]),
            "sum": sum(m.plan for m in M if m.user == u.id and (m.end is None or k.at < m.end or m.plan == 7)),
            "most": max(m.plan for m in u.others if (m.end or m.start) <= k.at - HOUR),
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def due(M: Bag[Member], K: Bag[Clock]):
    """By one of two values."""
    return [m.id for m in M for k in K if k.id == 1 and (m.end or m.start) <= k.at - HOUR]


@rn.view
def late(M: Bag[Member], K: Bag[Clock]):
    return [
        {"id": m.id, "late": (m.end if m.plan else m.start + HOUR) < k.at, "of": m.user}
        for m in M
        for k in K
        if k.id == 1
    ]


@rn.view
def paired(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """Beside who has none."""
    return [
        {"u": u.id, "m": m, "over": m.end <= k.at, "since": None if m is None else m.start <= k.at}
        for u, m in rn.left_join(U, M, lambda u, m: u.id == m.user)
        for k in K
        if k.id == 1
    ]


@rn.view
def charged(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """What is computed of those that are valid can fail, of them and of rows that are joined with them."""
    return [
        {"user": u.id, "id": m.id, "n": m.plan * v.plan + u.id}
        for k in K if k.id == 1
        for u in U for m in u.others if m.start <= k.at and (m.end is None or k.at < m.end)
        for v in M if v.id == m.id
    ]  # fmt: skip


@rn.view
def silent(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """Where nothing is there, what is so much before a value of the row is compared with the clock."""
    return [
        {"id": u.id, "m": m.id}
        for k in K if k.id == 1
        for u in U for m in M
        if m.user == u.id and max((o.start for o in u.others), default=m.start - 7 * HOUR) < k.at + HOUR
    ]  # fmt: skip


@rn.view
def remaining(U: Bag[User], K: Bag[Clock]):
    """What is shown beside the clock as well, of what it compares with."""
    return [
        {
            "id": u.id,
            "left": [
                (m.id, (m.end - k.at).total_seconds()) for m in u.others if k.at <= m.end and m.end <= k.at + HOUR
            ],
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def both(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """Rows of two bags that are valid at once."""
    return [
        {"user": u.id, "o": o.id, "m": m.id}
        for k in K if k.id == 1
        for u in U for o in u.others if o.start <= k.at and (o.end is None or k.at < o.end)
        for m in M if m.id == o.id and m.start <= k.at + 2 * HOUR
    ]  # fmt: skip


@rn.view
def each_other(M: Bag[Member], K: Bag[Clock]):
    """Of one list twice."""
    valid = [m for k in K if k.id == 1 for m in M if k.at <= m.end]
    return [{"a": a.id, "b": b.id} for a in valid for b in valid if a.id == b.id or a.id == b.id + 1]


@rn.view
def worths(M: Bag[Member], K: Bag[Clock]):
    """What can fail is computed of the rows of groups."""
    valid = [m for k in K if k.id == 1 for m in M if m.start <= k.at and (m.end is None or k.at < m.end)]
    return [
        {
            "user": u, "worth": sum(m.plan * m.id for m in ms), "most": max((m.plan * m.id for m in ms), default=0),
            "all": [{"id": m.id, "worth": m.plan * m.id} for m in ms],
        }
        for u, ms in rn.group_by(valid, lambda m: m.user)
    ]  # fmt: skip


@rn.view
def sizes(M: Bag[Member], K: Bag[Clock]):
    """Groups are of it."""
    valid = [m for k in K if k.id == 1 for m in M if m.start <= k.at and (m.end is None or k.at < m.end)]
    return [{"size": n, "n": len(ms)} for n, ms in rn.group_by(valid, lambda m: m.plan * m.id)]


@rn.view
def worth_of_users(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """Or of rows that go with one around them, which the clock is around as well."""
    return [
        {
            "id": u.id,
            "worth": sum(
                m.plan * m.id for m in M if m.user == u.id and m.start <= k.at and (m.end is None or k.at < m.end)
            ),
            "all": [
                {"id": m.id, "worth": m.plan * m.id}
                for m in M
                if m.user == u.id and m.start <= k.at and (m.end is None or k.at < m.end)
            ],
        }
        for k in K
        if k.id == 1
        for u in U
    ]


@rn.view
def worth_of_bags(U: Bag[User], K: Bag[Clock]):
    """Or of its bag."""
    return [
        {
            "id": u.id,
            "most": max((m.plan * m.id for m in valid), default=0),
            "all": [{"id": m.id, "worth": m.plan * m.id} for m in valid],
        }
        for k in K
        if k.id == 1
        for u in U
        for valid in [[m for m in u.others if m.start <= k.at and (m.end is None or k.at < m.end)]]
    ]


@rn.view
def sizes_of_bags(U: Bag[User], K: Bag[Clock]):
    return [
        {
            "id": u.id,
            "sizes": [{"size": n, "ids": [m.id for m in ms]} for n, ms in rn.group_by(valid, lambda m: m.plan * m.id)],
        }
        for u in U
        for k in K
        if k.id == 1
        for valid in [[m for m in u.others if m.start <= k.at and (m.end is None or k.at < m.end)]]
    ]


OF_BAGS = (worth_of_bags, sizes_of_bags)
OF_WORTH = (worths, sizes, worth_of_users, *OF_BAGS)


@rn.view
def of_others(U: Bag[User], M: Bag[Member], K: Bag[Clock]):
    """Asked of rows that are not stored: values, keys of groups, first rows."""
    return [
        {
            "id": u.id,
            "ends": all(end <= k.at for end in {m.end for m in u.others}),
            "begun": all(start <= k.at for start, ms in rn.group_by(M, lambda m: m.start) if len(ms) > 1),
            "first": all(m.start <= k.at for m in rn.top(2, u.others, key=lambda m: m.id)),
            "either": all((end or m.start) <= k.at for m in u.others for end in {o.end for o in u.others}),
            "some": any(end is None or end > k.at for end in {m.end for m in u.others}),
        }
        for u in U
        for k in K
        if k.id == 1
    ]


VIEWS = (
    now, open_ended, of_users, plans, states, settled, lasting, due, late, paired, charged, silent, remaining,
    both, each_other, *OF_WORTH, of_others,
)  # fmt: skip
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, spark: SparkSession | None = None, views: tuple[rn.View, ...] = VIEWS) -> Database:
    db = rn.open(folder, spark=spark, engine="local" if spark is None else "spark")
    db.relation("U", User, key="id", keys={"others": "id"})
    db.relation("M", Member, key="id")
    db.relation("K", Clock, key="id")
    for view in views:
        db.create(view)
    return db


def member(c: Choices, key: int) -> Member:
    end = None if c.one_in(4) else START + c.number(6) * HOUR
    return Member(key, c.number(3), c.number(2), START + c.number(6) * HOUR, end)


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
@law(examples=many(8, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                b.upsert("M", [member(c, key) for key in range(6) if c.one_in(2)])
                users = [User(key, [member(c, n) for n in range(3) if c.one_in(2)]) for key in range(3)]
                b.upsert("U", [user for user in users if c.one_in(2)])
                if not c.one_in(4):
                    b.upsert("K", [Clock(1, START + c.number(6) * HOUR)])
                if c.one_in(3):
                    b.discard_key(c.pick("MKU"), [{"id": c.number(5)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "UMK"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()))
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(8, 300), COUNTS


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
def test_on_spark(folder: Path, spark: SparkSession) -> None:
    c = Choices(Random(7).randrange)
    with opened(folder / "s", spark) as db:
        for _ in range(3):
            with db.batch(policy="incremental") as b:
                b.upsert("M", [member(c, key) for key in range(6)])
                b.upsert("U", [User(key, [member(c, n) for n in range(3)]) for key in range(3)])
                b.upsert("K", [Clock(1, START + c.number(6) * HOUR)])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "UMK"})
        assert db.verify().ok


@pytest.mark.parametrize(
    ("views", "most"), [([v for v in VIEWS[:-1] if v not in OF_BAGS], 9), (OF_BAGS, 15)], ids=["rows", "bags"]
)
def test_a_tick_reads_what_begins_and_what_ends(tmp_path: Path, views: tuple[rn.View, ...], most: int) -> None:
    with opened(tmp_path / "s", views=views) as db:
        members = [Member(i, i % 50, i % 7, START + i * HOUR, START + (i + 40) * HOUR) for i in range(2000)]
        with db.batch() as b:
            b.insert("U", [User(i, members[i::50]) for i in range(50)])
            b.insert("M", members)
            b.insert("K", [Clock(1, START + 1000 * HOUR)])
        for n in (1, 2):
            with db.batch(policy="strict") as b:
                b.upsert("K", [Clock(1, START + (1000 + n) * HOUR)])
            assert b.report.rows_read < most * len(db.views), b.report.rows_read
        assert db.verify().ok


@pytest.mark.parametrize("view", OF_WORTH, ids=lambda view: view.name)
def test_nothing_is_computed_of_what_is_not_valid(tmp_path: Path, view: rn.View) -> None:
    """Not when a view is made, when it comes, and when it ends; of what is valid it fails."""
    big = 2**62
    ended, coming = Member(big, 1, 9, START, START + HOUR), Member(big + 1, 1, 9, START + 9 * HOUR, None)
    rows = [ended, coming, Member(1, 1, 3, START, None), Member(2, 1, 0, START, None)]
    with opened(tmp_path / "s", views=()) as db:
        db.load("U", [User(1, rows[:3])])
        db.load("M", rows[:3])
        db.load("K", [Clock(1, START + 5 * HOUR)])
        db.create(view)
        with db.batch(policy="incremental") as b:
            b.insert("M", rows[3:])
            b.at("U", id=1).others.insert(rows[3:])
            b.upsert("K", [Clock(1, START + 6 * HOUR)])
        with db.batch(policy="incremental") as b:
            b.upsert("M", changed := [Member(2, 1, 7, START, START + 7 * HOUR)])
            b.at("U", id=1).others.upsert(changed)
        recomputed(db, {view.name: view}, {name: db.relation(name).rows() for name in "UMK"})
        assert db.view(view.name).rows() and db.verify().ok
        with pytest.raises(rn.errors.EvaluationError), db.batch() as b:
            b.upsert("K", [Clock(1, START + 9 * HOUR)])
        with db.batch(policy="incremental") as b:
            b.upsert("K", [Clock(1, START + 7 * HOUR)])
        recomputed(db, {view.name: view}, {name: db.relation(name).rows() for name in "UMK"})


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
def test_it_begins_when_the_clock_does(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as db:
        with db.batch() as b:
            b.insert("M", [Member(1, 1, 1, START, START + HOUR), Member(2, 1, 1, START + HOUR, None)])
        assert db.view("now").rows() == []
        with db.batch() as b:
            b.insert("K", [Clock(1, START)])
        assert [m["id"] for m in db.view("now").rows()] == [1]
        with db.batch() as b:
            b.delete_key("K", id=1)
        assert db.view("now").rows() == []
