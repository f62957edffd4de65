"""Sessions of clicks: what is no more than half an hour apart is one, whenever a click arrives, and whichever goes.

    python examples/sessions.py

A click begins a session if the one before it was long ago, and is in the session that was begun last. Both are asked as
Python asks them. All clicks of a user stand in order once, so a batch reads those beside what changes: one that comes
late may join two sessions, one that goes may be where another begins.
"""

import tempfile
from datetime import UTC, datetime, timedelta
from typing import Any

import ripplenest as rn
from ripplenest import Bag

GAP = timedelta(minutes=30)


@rn.record
class Click:
    id: int
    user: str
    at: datetime
    page: str


def begins(x: Any, clicks: Any) -> Any:
    """Whether a click is the first of a session."""
    before = max((c.at for c in clicks if c.user == x.user and c.at < x.at), default=None)
    return before is None or x.at - before > GAP


def begin(x: Any, clicks: Any) -> Any:
    """When the session of a click began."""
    return max((c.at for c in clicks if c.user == x.user and c.at <= x.at and begins(c, clicks)), default=None)


@rn.view
def sessions(Clicks: Bag[Click]):
    """By user and session when it ended, and the pages in it."""
    clicks = [{"user": c.user, "begin": begin(c, Clicks), "at": c.at, "page": c.page} for c in Clicks]
    return sorted(
        [
            {
                "user": user,
                "begin": begin,
                "end": max(c["at"] for c in cs),
                "pages": sorted([{"at": c["at"], "page": c["page"]} for c in cs], key=lambda p: p["at"]),
            }
            for (user, begin), cs in rn.group_by(clicks, lambda c: (c["user"], c["begin"]))
        ],
        key=lambda s: (s["user"], s["begin"]),
    )


DAY = datetime(2024, 2, 29, tzinfo=UTC)
OTHERS = 2_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/state", engine="local") as db:
        db.relation("Clicks", Click, key="id")
        ada = [click(1, "ada", 9, 0, "home"), click(2, "ada", 9, 20, "bags"), click(3, "ada", 10, 10, "cart")]
        db.load("Clicks", [*ada, *map(other, range(OTHERS))])
        db.create(sessions)
        print("Ada's sessions, beside 2,000 clicks of others:")
        show(db)

        with db.batch() as b:
            b.insert("Clicks", [click(4, "ada", 9, 45, "shoes")])
        print("\nA click arrives late, and two sessions are one:")
        show(db, b.report)

        with db.batch() as b:
            b.delete_key("Clicks", id=2)
        print("\nOne goes, and there are two:")
        show(db, b.report)

        with db.batch() as b:
            b.upsert("Clicks", [click(1, "ada", 11, 0, "home")])
        print("\nThe first one was at 11 o'clock:")
        show(db, b.report)
        print("\nverified:", "clicks are in their sessions" if db.verify().ok else "something is wrong")


def other(n: int) -> dict[str, Any]:
    """Those of twenty users, ten to a session."""
    minutes = n // 20 * 25 + n // 200 * 60
    return click(100 + n, f"u{n % 20}", *divmod(minutes, 60), "home")


def click(n: int, user: str, hour: int, minute: int, page: str) -> dict[str, Any]:
    return {"id": n, "user": user, "at": DAY + timedelta(hours=hour, minutes=minute), "page": page}


def show(db: rn.Database, report: rn.Report | None = None) -> None:
    for s in db.view("sessions").rows():
        if s["user"] == "ada":
            pages = ", ".join(p["page"] for p in s["pages"])
            print(f"  {s['begin']:%H:%M} to {s['end']:%H:%M}: {pages}")
    if report is not None:
        print(f"  {report.verdict}, {report.rows_read} rows read, {sum(report.rows_out.values())} changed")


if __name__ == "__main__":
    main()
