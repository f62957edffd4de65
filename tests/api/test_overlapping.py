"""What overlaps, and what is beyond limits of several columns: of the orders that tell one end each, batches read by
the one that finds fewer rows."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.run import running
from ripplenest.store import ref
from ripplenest.vector import windows

FEW, MORE = 80, 640


@rn.record
class Booking:
    id: int
    room: int
    begin: int
    end: int | None


@rn.record
class Room:
    id: int
    low: int
    late: int
    bookings: Bag[Booking]


@rn.view
def conflicts(B: Bag[Booking]):
    return [
        {"a": a.id, "b": b.id} for a in B for b in B
        if a.room == b.room and a.id < b.id and a.begin < b.end and b.begin < a.end
    ]  # fmt: skip


@rn.view
def of_all(B: Bag[Booking]):
    """In whichever room, from another side."""
    return [a.id for a in B for b in B if a.id != b.id and a.end > b.begin and b.end > a.begin + 1]


@rn.view
def of_each(B: Bag[Booking]):
    """Bags, totals and answers, where both ends count."""
    return [
        {
            "id": a.id,
            "beside": [b.id for b in B if a.room == b.room and b.begin <= a.end and a.begin <= b.end],
            "n": len([1 for b in B if a.room == b.room and b.begin < a.end and a.begin < b.end]),
            "free": not any(b.begin < a.end and a.begin < b.end for b in B if a.room == b.room and a.id != b.id),
        }
        for a in B
    ]


@rn.view
def inside(R: Bag[Room]):
    return [
        {"room": r.id, "is": [
            {"id": a.id, "n": len([b for b in r.bookings if b.begin < a.end and a.begin < b.end])} for a in r.bookings
        ]}
        for r in R
    ]  # fmt: skip


@rn.view
def alarms(B: Bag[Booking], R: Bag[Room]):
    """Two columns and two limits, of which the row that is looked up says both."""
    return [b.id for r in R for b in B if b.room == r.id and (b.begin < r.low or b.end > r.late)]


@rn.view
def of_two(R: Bag[Room]):
    """In the bag of the row that has the limits."""
    return [{"room": r.id, "is": [b.id for b in r.bookings if b.begin >= r.low and b.end >= r.late]} for r in R]


@rn.view
def of_moments(B: Bag[Booking], R: Bag[Room]):
    """Bookings that a moment is in, of another relation."""
    return [{"room": r.id, "is": [b.id for b in B if b.room == r.id % 2 and b.begin <= r.low < b.end]} for r in R]


VIEWS = (conflicts, of_all, of_each, inside, alarms, of_two, of_moments)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, *views: rn.View) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("B", Booking, key="id")
    db.relation("R", Room, key="id", keys={"bookings": "id"})
    for view in views:
        db.create(view)
    return db


def booking(c: Choices, key: int) -> Booking:
    begin = c.number(12)
    return Booking(key, c.number(2), begin, None if c.one_in(5) else begin + c.number(5))


def room(c: Choices, key: int) -> Room:
    return Room(key, c.number(12), c.number(14), [booking(c, i) for i in range(6) if c.one_in(2)])


@pytest.mark.filterwarnings("ignore:view of_all")
@law(examples=many(10, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    """Whichever order is read."""

    def anyhow(*_: object) -> int:
        COUNTS["either"] += 1
        return c.number(9)

    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory(dir=MEMORY) as folder,
        opened(folder, *VIEWS) as db,
    ):
        patch.setattr(ref, "count", anyhow)
        for _ in range(5):
            with db.batch(policy="incremental") as b:
                b.upsert("B", [booking(c, i) for i in range(8) if c.one_in(2)])
                b.upsert("R", [room(c, i) for i in range(3) if c.one_in(3)])
                b.discard_key("B", [{"id": c.number(9)}])
                b.discard_key("R", [{"id": c.number(6)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "BR"})
            COUNTS.update(view.name for view in VIEWS if db.view(view.name).rows())
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(15, 500) < COUNTS["either"] / 10, COUNTS


def read(folder: Path, view: rn.View, size: int) -> list[int]:
    """How many rows are read where one comes at the beginning, at the end or between, or moves; and where limits do."""
    with opened(folder, view) as db:
        bookings = [Booking(i, i % 2, 10 * i, 10 * i + 25) for i in range(size)]
        db.load("B", bookings)
        db.load("R", [Room(i, 15, 10 * size, bookings[i::2]) for i in range(2)])
        found = []

        def batch(edit: Any) -> None:
            with db.batch() as b:
                edit(b)
            found.append(b.report.rows_read)

        first, last = Booking(-1, 1, 5, 12), Booking(-2, 1, 10 * size, 10 * size + 8)
        batch(lambda b: b.insert("B", [first]))
        batch(lambda b: b.at("R", id=1).bookings.insert([first]))
        batch(lambda b: b.insert("B", [last]))
        batch(lambda b: b.at("R", id=1).bookings.insert([last]))
        batch(lambda b: b.upsert("B", [Booking(-2, 1, 10 * size + 1, 10 * size + 4)]))
        between = Booking(-3, 1, 5 * size + 1, 5 * size + 9)
        batch(lambda b: b.insert("B", [between]))
        batch(lambda b: b.at("R", id=1).bookings.insert([between]))
        batch(lambda b: b.delete_key("B", id=-1))
        batch(lambda b: b.insert("R", [Room(7, 5 * size + 3, 10 * size, [])]))
        batch(lambda b: b.at("R", id=0).set(low=25))
        batch(lambda b: b.at("R", id=0).set(late=10 * size - 30))
        assert db.verify().ok
        return found


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
@pytest.mark.filterwarnings("ignore:view of_all")
def test_what_lies_on_the_other_side_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: rn.View
) -> None:
    for module, name in ((running, "WORTH"), (windows, "WORTH"), (windows, "TIMES")):
        monkeypatch.setattr(module, name, 0)
    few, more = read(tmp_path / "few", view, FEW), read(tmp_path / "more", view, MORE)
    assert all(after <= before + 8 for before, after in zip(few, more, strict=True)), (few, more)
