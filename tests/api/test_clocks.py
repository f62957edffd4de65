"""What is folded of a window that a clock moves: who was active lately, and what they did."""

import datetime
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.nrc.errors import NotIncremental

START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
LATELY = datetime.timedelta(hours=2)
TICK = datetime.timedelta(minutes=6)


@rn.record
class User:
    id: int
    limit: int


@rn.record
class Clock:
    id: int
    at: datetime.datetime


@rn.record
class Event:
    id: int
    user: int
    at: datetime.datetime
    n: int


@rn.view
def active(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """By a fold of conditions on the rows of a user."""
    return [{"u": u.id} for u in U for k in K if k.id == 1 and any(e.at >= k.at - LATELY for e in E if e.user == u.id)]


@rn.view
def listed(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """By a fold of conditions on all rows; the clock is named last."""
    return [{"u": u.id} for u in U for k in K if any(e.user == u.id and e.at >= k.at - LATELY for e in E) and k.id == 1]


@rn.view
def counted(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    return [
        {"u": u.id}
        for u in U
        for k in K
        if k.id == 1 and len([e for e in E if e.user == u.id and e.at >= k.at - LATELY]) > 0
    ]


@rn.view
def idle(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    return [
        {"u": u.id} for u in U for k in K if k.id == 1 and not any(e.at >= k.at - LATELY for e in E if e.user == u.id)
    ]


@rn.view
def exactly(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """By a total that is compared: it is there for every user, and leaves out those who have another one."""
    return [
        {"u": u.id}
        for u in U
        for k in K
        if k.id == 1 and len([e for e in E if e.user == u.id and e.at >= k.at - LATELY]) == u.limit
    ]


@rn.view
def busy(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """Bags with a name that have rows, and what is folded of them."""
    return [
        {"u": u.id, "n": len(es), "sum": sum(e.n for e in es), "e": [{"id": e.id} for e in es]}
        for u in U
        for k in K
        if k.id == 1
        for es in [[e for e in E if e.user == u.id and e.at >= k.at - LATELY]]
        if es
    ]


@rn.view
def read_inside(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    return [{"u": u.id} for u in U if any(e.at >= k.at - LATELY for k in K if k.id == 1 for e in E if e.user == u.id)]


@rn.view
def totals(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    return [
        {
            "u": u.id,
            "sum": sum(e.n for e in E if e.user == u.id and e.at >= k.at - LATELY),
            "most": max((e.n for e in E if e.user == u.id and e.at >= k.at - LATELY), default=0),
            "some": any(e.at >= k.at - LATELY for e in E if e.user == u.id),
            "none": all(e.at < k.at - LATELY for e in E if e.user == u.id),
            "small": all(e.at < k.at - LATELY or e.n < 2 for e in E if e.user == u.id),
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def recent(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """By the last of the events of a user, which is shown, too."""
    return [
        {"u": u.id, "last": last, "least": [{"id": e.id} for e in E if e.user == u.id and e.at == last]}
        for u in U
        for k in K
        if k.id == 1
        for last in [max(e.at for e in E if e.user == u.id)]
        if last >= k.at - LATELY
    ]


@rn.view
def gone(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """By the last one, and by the first; of who has none both are NULL, and so is what is compared with them."""
    return [
        {"u": u.id, "new": [{"id": e.id} for e in E if e.user == u.id and u.limit < 3]}
        for u in U
        for k in K
        if k.id == 1
        and k.at + LATELY >= max(e.at for e in E if e.user == u.id)
        and min(e.at for e in E if e.user == u.id) <= k.at
    ]


@rn.view
def kinds(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """By the last one, as values: NULL where there is none."""
    return [
        {
            "u": u.id,
            "active": k.at - max(e.at for e in E if e.user == u.id) <= LATELY,
            "kind": "old" if max(e.at for e in E if e.user == u.id) + TICK < k.at or u.limit > 2 else "new",
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def aged(K: Bag[Clock], E: Bag[Event]):
    """How old events are, as values of rows, of inner bags and of what is added up."""
    return [
        {
            "e": e.id,
            "late": k.at > e.at + LATELY,
            "age": "new" if k.at - e.at <= TICK else "recent" if e.at >= k.at - LATELY else "old",
            "n": e.n,
        }
        for e in E
        for k in K
        if k.id == 1 and e.at >= k.at - 2 * LATELY
    ]


@rn.view
def aging(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    return [
        {
            "u": u.id,
            "es": [{"e": e.id, "old": e.at < k.at - LATELY} for e in E if e.user == u.id],
            "n": sum(e.n if e.at < k.at - LATELY else 1 for e in E if e.user == u.id),
        }
        for u in U
        for k in K
        if k.id == 1
    ]


@rn.view
def above(U: Bag[User], E: Bag[Event]):
    """By a value of each row, which moves as clocks do."""
    return [
        {"u": u.id, "low": all(e.n <= u.limit for e in E if e.user == u.id)}
        for u in U
        if any(e.n >= u.limit for e in E if e.user == u.id)
    ]


@rn.view
def by_maximum(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """The latest moment as a clock: what was last so far, and who was silent, also those who never did anything."""
    return [
        {
            "u": u.id,
            "last": max(
                (e for e in E if e.user == u.id and e.at <= max(k.at for k in K)), key=lambda e: (e.at, e.id)
            ).n,
            "gone": max((e.at for e in E if e.user == u.id), default=START) < max(k.at for k in K) - LATELY,
        }
        for u in U
    ]


WARNED = (active, listed, counted, idle, exactly, busy, recent, gone)
ACCEPTED = (by_maximum, read_inside, totals, kinds, aged, aging, above)
VIEWS = (*WARNED, *ACCEPTED)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, views: Sequence[rn.View] = VIEWS) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("U", User, key="id")
    db.relation("K", Clock, key="id")
    db.relation("E", Event, key="id")
    for view in views:
        db.create(view)
    return db


def user(c: Choices, key: int) -> User:
    return User(key, c.number(4))


def clock(c: Choices, key: int) -> Clock:
    return Clock(key, START + datetime.timedelta(hours=c.number(6)))


def event(c: Choices, key: int) -> Event:
    return Event(key, c.number(4), START + datetime.timedelta(hours=c.number(5)), c.number(4))


@law(examples=many(8, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                for name, made in (("U", user), ("K", clock), ("E", event)):
                    if not c.one_in(3):
                        b.upsert(name, [made(c, key) for key in range(5) if c.one_in(2)])
                    if c.one_in(3):
                        b.discard_key(name, [{"id": c.number(5)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "UKE"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()))
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(8, 300), COUNTS


USERS, EACH = 100, 40  # four events become old in a tick


def running(folder: Path, view: rn.View) -> Database:
    """Users with an event each in turn, forty in an hour: ten hours, of which the clock says that eight are over."""
    db = opened(folder, (view,))
    with db.batch() as b:
        b.insert("U", [User(i, 2) for i in range(USERS)])
        b.insert("K", [Clock(1, START + datetime.timedelta(hours=80)), Clock(2, START)])
        many = USERS * EACH
        b.insert("E", [Event(i, i % USERS, START + datetime.timedelta(hours=i / 40), i % 3) for i in range(many)])
    return db


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
@pytest.mark.parametrize("view", [v for v in VIEWS if v is not above], ids=lambda view: view.name)
def test_a_tick_reads_what_becomes_old(tmp_path: Path, view: rn.View) -> None:
    """Not all events, nor all of a user, nor all users: of four events, and what is known of four users."""
    with running(tmp_path / "s", view) as db:
        for n in (1, 2):
            with db.batch(policy="strict") as b:
                b.upsert("K", [Clock(1, START + datetime.timedelta(hours=80) + n * TICK), Clock(2 + n, START)])
            assert b.report.rows_read < 60, b.report.rows_read
        assert db.verify().ok


def test_a_limit_that_moves_reads_what_lies_between(tmp_path: Path) -> None:
    with running(tmp_path / "s", above) as db:
        with db.batch(policy="incremental") as b:
            b.upsert("U", [User(7, 1)])
        assert b.report.rows_read < EACH
        assert db.verify().ok


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_who_is_read_whole_when_the_clock_itself_comes_or_goes(tmp_path: Path, view: rn.View) -> None:
    """All users, of whom some are shown: strict refuses that, and says how it is not so."""
    with opened(tmp_path / "s", (view,)) as db:
        if view in ACCEPTED:  # or of whose rows none is read for nothing
            with db.batch(policy="strict") as b:
                b.upsert("K", [Clock(1, START)])
            return
        with refused(), db.batch(policy="strict") as b:
            b.upsert("K", [Clock(1, START)])
        with db.batch() as b:
            b.upsert("K", [Clock(1, START)])
        with refused(), db.batch(policy="strict") as b:
            b.delete_key("K", id=1)


@contextmanager
def refused() -> Iterator[None]:
    with pytest.raises(NotIncremental, match="when the row of K comes or goes, U is read whole") as error:
        yield
    assert "read K inside of what compares with it, and not around it" in str(error.value)


@rn.record
class Switch:
    id: int
    on: bool | None
    at: datetime.datetime


@rn.view
def switched(U: Bag[User], K: Bag[Switch], E: Bag[Event]):
    return [
        {"u": u.id}
        for u in U
        for k in K
        if k.id == 1 and k.on and any(e.at >= k.at - LATELY for e in E if e.user == u.id)
    ]


def test_a_clock_that_is_switched_off_goes(tmp_path: Path) -> None:
    """A strict database takes the view, and says what it refuses then: what reads all users, and no tick."""
    with rn.open(tmp_path / "s", engine="local", policy="strict") as db:
        for name, record in (("U", User), ("K", Switch), ("E", Event)):
            db.relation(name, record, key="id")
        with pytest.warns(UserWarning, match="when the row of K comes or goes, U is read whole"):
            db.create(switched)
        with db.batch(policy="auto") as b:
            b.insert("U", [User(1, 2), User(2, 2)])
            b.insert("E", [Event(1, 1, START, 1)])
            b.insert("K", [Switch(1, True, START), Switch(2, True, START)])
        with db.batch() as b:
            b.upsert("K", [Switch(1, True, START + LATELY / 2), Switch(2, False, START)])
        assert db.view("switched").rows() == [{"u": 1}]
        for on in (False, None):
            with refused(), db.batch() as b:
                b.upsert("K", [Switch(1, on, START)])
        assert db.verify().ok


NAN = float("nan")


@rn.record
class Gauge:
    id: int
    x: float
    at: datetime.datetime


@rn.view
def unknown(U: Bag[User], K: Bag[Gauge], E: Bag[Event]):
    return [
        {"u": u.id}
        for u in U
        for k in K
        if k.id == 1 and k.x == NAN and any(e.at >= k.at - LATELY for e in E if e.user == u.id)
    ]


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
def test_a_clock_that_equals_nan_comes_and_goes(tmp_path: Path) -> None:
    """NaN equals itself, also for who asks whether the row is there."""
    with rn.open(tmp_path / "s", engine="local") as db:
        for name, record in (("U", User), ("K", Gauge), ("E", Event)):
            db.relation(name, record, key="id")
        db.create(unknown)
        with refused(), db.batch(policy="strict") as b:
            b.insert("K", [Gauge(1, NAN, START)])
        with db.batch() as b:
            b.insert("U", [User(1, 2)])
            b.insert("E", [Event(1, 1, START, 1)])
            b.insert("K", [Gauge(1, NAN, START)])
        with db.batch(policy="strict") as b:
            b.upsert("K", [Gauge(1, NAN, START + LATELY)])
        assert db.view("unknown").rows() == [{"u": 1}]
        with refused(), db.batch(policy="strict") as b:
            b.upsert("K", [Gauge(1, 0.5, START)])


@rn.record
class Until:
    id: int
    end: datetime.datetime | None
    f: float | None = None
    n: int | None = None


@rn.view
def late(X: Bag[Until], K: Bag[Until]):
    return [{"id": x.id, "less": x.end < k.end} for k in K if k.id == 1 for x in X] + [
        {"id": -x.id, "less": x.f < k.n} for k in K if k.id == 1 for x in X
    ]


def test_both_may_be_null(tmp_path: Path) -> None:
    """A tick reads what becomes late; where the clock is NULL, and where it is none any more, all are read."""
    with rn.open(tmp_path / "s", engine="local") as db:
        for name in ("X", "K"):
            db.relation(name, Until, key="id")
        db.create(late)
        with db.batch() as b:
            rows = ((n, None if n % 5 == 0 else START + n * TICK, None if n % 7 == 0 else float(n)) for n in range(500))
            b.insert("X", [Until(*row) for row in rows])
            b.insert("K", [Until(1, START, None, 0), Until(2, None)])
        read = []
        for end, n in ((START + 3 * TICK, 2), (None, 3), (None, 5), (START + TICK, 5), (START, None)):
            with db.batch(policy="strict") as b:
                b.upsert("K", [Until(1, end, None, n)])
                b.upsert("K", [Until(2, START)])
            read.append(b.report.rows_read > 400)
            recomputed(db, {"late": late}, {name: db.relation(name).rows() for name in "XK"})
        assert read == [False, True, False, True, True] and db.verify().ok


@rn.record
class Moment:
    id: int
    at: datetime.datetime


@rn.view
def overdue(X: Bag[Until], K: Bag[Moment]):
    return [{"id": x.id, "late": x.end < k.at} for k in K if k.id == 1 for x in X]


@rn.view
def undone(X: Bag[Until], K: Bag[Moment]):
    return [{"id": x.id, "is": False} for k in K if k.id == 1 for x in X if x.end is None] + [
        {"id": x.id, "is": True} for k in K if k.id == 1 for x in X if x.end < k.at
    ]


def test_where_all_rows_are_told_apart_none_is_read_for_nothing(tmp_path: Path) -> None:
    """Also of those that are NULL: when the clock comes, all rows do. Not so where some of them are left out."""
    with rn.open(tmp_path / "s", engine="local", policy="strict") as db:
        db.relation("X", Until, key="id")
        db.relation("K", Moment, key="id")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.create(overdue)
        with db.batch() as b:
            b.insert("X", [Until(n, None if n % 5 == 0 else START + n * TICK) for n in range(50)])
            b.insert("K", [Moment(1, START)])
        assert len(db.view("overdue").rows()) == 50
        with pytest.warns(UserWarning, match="when the row of K comes or goes, X is read whole"):
            db.create(undone)
        with pytest.raises(NotIncremental, match="X is read whole"), db.batch() as b:
            b.delete_key("K", id=1)


@rn.record
class Round:
    id: int
    no: int


@rn.record
class Player:
    id: int
    since: int


@rn.record
class Move:
    id: int
    player: int
    no: int


@rn.view
def out(P: Bag[Player], M: Bag[Move], R: Bag[Round]):
    """Who has not moved for ten rounds, or has come as long ago."""
    return [
        {"p": p.id}
        for r in R
        if r.id == 1
        for p in P
        if max((m.no for m in M if m.player == p.id), default=p.since - 1) < r.no - 10
    ]


@rn.view
def statuses(P: Bag[Player], M: Bag[Move], R: Bag[Round]):
    """The same as values, and of a sum that is no choice."""
    return [
        {
            "p": p.id,
            "out": max((m.no for m in M if m.player == p.id), default=p.since - 1) < r.no - 10,
            "new": p.since + 5 > r.no,
        }
        for r in R
        if r.id == 1
        for p in P
    ]


@rn.view
def due(P: Bag[Player], R: Bag[Round]):
    return [
        {"p": p.id, "due": (p.since - 2 if p.id > 100 else p.since + 2) < r.no} for r in R if r.id == 1 for p in P
    ]


@pytest.mark.parametrize("view", [out, statuses, due])
def test_sums_beside_a_clock_say_who_becomes_another(tmp_path: Path, view: rn.View) -> None:
    """However many players there are: those whose rounds lie between the old one and the new one."""
    with rn.open(tmp_path / "s", engine="local", policy="strict") as db:
        for name, record in (("P", Player), ("M", Move), ("R", Round)):
            db.relation(name, record, key="id")
        db.load("P", [{"id": i, "since": i} for i in range(400)])
        db.load("M", [{"id": i, "player": i % 200, "no": i} for i in range(300)])
        db.load("R", [{"id": 1, "no": 100}])
        db.create(view)
        for no in (101, 102, 99):
            with db.batch() as b:
                b.upsert("R", [{"id": 1, "no": no}])
            assert b.report.rows_read < 60
            stored = {name: db.relation(name).rows() for name, _ in view.query.relations}
            assert db.view(view.name).rows() == view(**stored)
        assert db.verify().ok


@rn.record
class Held:
    id: int
    es: Bag[Event]


@rn.view
def moved(H: Bag[Held], K: Bag[Clock]):
    """Each has an edge of its own, and all of them move."""
    so_far = [{"id": h.id, "es": [e for e in h.es if e.n + h.id <= max(k.id for k in K)]} for h in H]
    return [{"n": sum(e.user for e in rn.top(2, h.es, key=lambda e: (e.n, e.id), desc=True))} for h in so_far]


def test_places_that_all_move_are_no_small_change(tmp_path: Path) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("H", Held, key="id", keys={"es": "id"})
        db.relation("K", Clock, key="id")
        with pytest.warns(UserWarning, match="when max.k.id., one value for all rows, changes, every row"):
            db.create(moved)
