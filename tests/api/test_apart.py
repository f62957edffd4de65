"""What lies near a row on both sides is read, and not all of its group: by days, spans, seconds and numbers."""

import datetime
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.run import running

START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
HOUR, DAY = datetime.timedelta(hours=1), datetime.timedelta(days=1)


@rn.record
class Event:
    id: int
    of: int
    at: datetime.datetime
    day: datetime.date


@rn.view
def near(E: Bag[Event]) -> list[Any]:
    return [
        {
            "id": e.id,
            "span": len([f for f in E if f.of == e.of and abs(f.at - e.at) <= 2 * HOUR]),
            "seconds": sum(f.id for f in E if f.of == e.of and abs((f.at - e.at).total_seconds()) < 3601),
            "both": len([
                f for f in E
                if f.of == e.of and (f.at - e.at).total_seconds() <= 7200 and (e.at - f.at).total_seconds() <= 7200
            ]),
            "days": len([f for f in E if f.of == e.of and abs((f.day - e.day).days) <= 2]),
            "dates": len([f for f in E if f.of == e.of and abs(f.day - e.day) <= 2 * DAY]),
            "numbers": [f.id for f in E if f.of == e.of and abs(e.id - f.id) < 3],
            "alone": not any(f.of == e.of and f.id != e.id and not abs(f.at - e.at) > HOUR for f in E),
        }
        for e in E
    ]  # fmt: skip


def test_both_sides_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WORTH", 0)
    read = []
    for n in (30, 60):
        with rn.open(tmp_path / str(n), engine="local") as db:
            db.relation("E", Event, key="id")
            db.load("E", [Event(k, 1, START + k * HOUR, START.date() + k * DAY) for k in range(n)])
            db.create(near)
            with db.batch(policy="strict") as b:
                b.insert("E", [Event(1_000, 1, START + 12 * HOUR, START.date() + 12 * DAY)])
                b.delete_key("E", id=20)
            read.append(b.report.rows_read)
            assert db.view("near").rows() == near(db.relation("E").rows())
    assert read[0] == read[1] < 300, read  # of seven fields, and two changes
