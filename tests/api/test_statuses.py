"""Groups by what totals and last rows say: who has which status, in bags and counted."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database


@rn.record
class User:
    id: int
    country: str
    note: str


@rn.record
class Event:
    id: int
    user: int
    at: int
    kind: str


def last(u: User, E: Bag[Event]) -> Any:
    return max([e for e in E if e.user == u.id], key=lambda e: (e.at, e.id)).kind


@rn.view
def statuses(U: Bag[User], E: Bag[Event]):
    return [
        {
            "status": status,
            "n": len(us),
            "users": [{"id": u.id} for u in us],
            "countries": [{"c": c, "n": len(xs)} for c, xs in rn.group_by(us, lambda r: r.country)],
        }
        for status, us in rn.group_by(
            [{"id": u.id, "country": u.country, "status": last(u, E)} for u in U], lambda r: r.status
        )
    ]


@rn.view
def segments(U: Bag[User], E: Bag[Event]):
    return [
        {"segment": segment, "users": [{"id": r.id, "n": r.n} for r in rows], "sum": sum(r.n for r in rows)}
        for segment, rows in rn.group_by(
            [{"id": u.id, "n": len([e for e in E if e.user == u.id])} for u in U],
            lambda r: "many" if r.n > 2 else "few" if r.n > 0 else "none",
        )
    ]


@rn.view
def alike(U: Bag[User], E: Bag[Event]):
    """Beside each user those who have as many, and the greatest number of those."""
    counted = [{"id": u.id, "n": len([e for e in E if e.user == u.id])} for u in U]
    return [
        {"id": r.id, "others": [s.id for s in counted if s.n == r.n], "most": max(s.id for s in counted if s.n == r.n)}
        for r in counted
    ]


VIEWS = (statuses, segments, alike)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("U", User, key="id")
    db.relation("E", Event, key="id")
    for view in VIEWS:
        db.create(view)
    return db


@law(examples=many(8, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                b.upsert("U", [User(key, c.pick("ab"), c.pick("xy")) for key in range(4) if c.one_in(2)])
                b.upsert("E", [Event(key, c.number(4), c.number(3), c.pick("pqr")) for key in range(6) if c.one_in(2)])
                b.discard_key(c.pick("UE"), [{"id": c.number(6)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "UE"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()) > 1)
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(8, 300), COUNTS


def test_what_is_new_does_not_read_who_has_it(tmp_path: Path) -> None:
    """A status that nobody had, a user without events, and one whose status changes."""
    with opened(tmp_path / "s") as db:
        with db.batch() as b:
            b.insert("U", [User(i, f"c{i % 5}", "") for i in range(1000)])
            b.insert("E", [Event(i, i % 1000, i, f"k{i % 4}") for i in range(3000)])
        db.drop("alike")  # which shows all others
        changes = (("E", Event(5000, 3, 5000, "new")), ("U", User(1000, "c1", "")), ("E", Event(5001, 5, 5001, "k0")))
        for name, row in changes:
            with db.batch(policy="strict") as b:
                b.insert(name, [row])
            assert b.report.rows_read < 40, b.report
        assert db.verify().ok
