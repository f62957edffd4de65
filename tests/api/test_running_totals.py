"""Running totals: what all rows before a row come to is kept fresh by what lies between it and the next one."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest.run import running
from ripplenest.vector import combinations, join, windows
from ripplenest.vector.binding import Binding

ROWS, FAR = 6_000, 10**6


@rn.record
class Move:
    id: int
    user: int | None
    at: int | None
    v: int
    w: float | None


@rn.view
def up_to(E: rn.Bag[Move]):
    return [
        {
            "id": a.id,
            "total": sum(b.v for b in E if b.user == a.user and b.at <= a.at),
            "mean": rn.avg(b.w for b in E if b.user == a.user and b.at < a.at),
        }
        for a in E
    ]


@rn.view
def rank(E: rn.Bag[Move]):
    return [{"id": a.id, "n": len([b for b in E if b.user == a.user and b.v > a.v])} for a in E]


@rn.view
def last_ten(E: rn.Bag[Move]):
    return [
        {"id": a.id, "total": sum(b.v for b in E if b.user == a.user and b.at > a.at - 10 and b.at <= a.at)} for a in E
    ]


@rn.view
def numbered(E: rn.Bag[Move]):
    """Of moves at one time the one with the greater id came first."""
    return [
        {
            "id": a.id,
            "n": len([b for b in E if b.user == a.user and (b.at < a.at or (b.at == a.at and b.id >= a.id))]),
        }
        for a in E
    ]


@rn.view
def left(E: rn.Bag[Move]):
    return [{"id": a.id, "m": sum(b.v for b in E if b.user == a.user and (b.at, b.id) > (a.at, a.id))} for a in E]


VIEWS = (up_to, rank, last_ten, numbered, left)
Moves = dict[int, dict[str, Any]]


def wanted(rows: Moves) -> dict[str, dict[int, tuple[Any, ...]]]:
    """What the views are of so many rows, by Python's own sums; of doubles that are sums of few powers of two."""
    found: dict[str, dict[int, tuple[Any, ...]]] = {view.name: {} for view in VIEWS}
    for a in rows.values():
        own = [b for b in rows.values() if a["user"] is not None and b["user"] == a["user"]]
        known = [b for b in own if a["at"] is not None and b["at"] is not None]
        before = [b["w"] for b in known if b["at"] < a["at"] and b["w"] is not None]
        late = [b["v"] for b in known if a["at"] - 10 < b["at"] <= a["at"]]
        found["up_to"][a["id"]] = (
            _sum(b["v"] for b in known if b["at"] <= a["at"]), sum(before) / len(before) if before else None
        )  # fmt: skip
        found["rank"][a["id"]] = (sum(b["v"] > a["v"] for b in own),)
        found["last_ten"][a["id"]] = (_sum(late),)
        behind = [b["v"] for b in known if (b["at"], b["id"]) > (a["at"], a["id"])]
        first = [b for b in known if (b["at"], -b["id"]) <= (a["at"], -a["id"])]
        found["numbered"][a["id"]] = (len(first),)
        found["left"][a["id"]] = (_sum(behind),)
    return found


def _sum(values: Iterator[int] | list[int]) -> int | None:
    every = [*values]
    return sum(every) if every else None


def check(db: rn.Database, rows: Moves) -> None:
    for name, expected in wanted(rows).items():
        found = {r["id"]: tuple(value for field, value in r.items() if field != "id") for r in db.view(name).rows()}
        assert found == expected, name
    assert db.verify()


def moves(draw: random.Random, ids: range) -> Moves:
    return {
        i: {
            "id": i, "user": draw.choice((1, 1, 1, 2, None)), "at": draw.choice((draw.randrange(200), None, 7)),
            "v": draw.randrange(-5, 50), "w": draw.choice((0.25, -1.5, 2.0**40, None)),
        }
        for i in ids
    }  # fmt: skip


@pytest.mark.parametrize("always", [True, False])
def test_they_are_what_python_adds_up(tmp_path: Path, always: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come at any place, go and change, with NULL in all that is compared; some batches are built again. Windows
    are folded however small they are, or rows are joined."""
    for module, name in ((windows, "WORTH"), (windows, "TIMES"), (running, "WORTH")):
        monkeypatch.setattr(module, name, 0 if always else FAR)
    draw = random.Random(7)
    rows = moves(draw, range(300))
    with rn.open(tmp_path / "state") as db:
        db.relation("E", Move, key="id")
        db.load("E", [*rows.values()])
        for view in VIEWS:
            db.create(view)
        check(db, rows)
        for n in range(5):
            fresh = moves(draw, range(1000 * (n + 1), 1000 * (n + 1) + (1, 40)[n % 2]))
            gone = draw.sample(sorted(rows), 10)
            with db.batch(policy="incremental" if n < 4 else "full") as b:
                b.insert("E", [*fresh.values()])
                for i in gone:
                    b.delete_key("E", id=i)
            rows = {i: row for i, row in rows.items() if i not in gone} | fresh
            check(db, rows)


def at(n: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": FAR + first + i, "user": 1, "at": FAR + first + i, "v": i, "w": 0.5} for i in range(n)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some thousand rows of a user are enough."""
    monkeypatch.setattr(running, "WORTH", 1_000)


@pytest.fixture
def kept(tmp_path: Path, few: None) -> Iterator[rn.Database]:  # noqa: ARG001
    with rn.open(tmp_path / "state") as db:
        db.relation("E", Move, key="id")
        db.load("E", [{"id": i, "user": i % 2, "at": i, "v": i % 7, "w": i / 4} for i in range(ROWS)])
        db.create(up_to)
        db.create(numbered)
        yield db


CHANGES: dict[str, Callable[[Any], None]] = {
    "a row at the end": lambda b: b.insert("E", at(1)),
    "twenty rows at the end": lambda b: b.insert("E", at(20)),
    "the last row goes": lambda b: b.delete_key("E", id=ROWS - 1),
    "the last row changes": lambda b: b.upsert("E", [at(1)[0] | {"id": ROWS - 1}]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_read_lies_near_what_changes(kept: rn.Database, change: str) -> None:
    """And not all rows of the user, of whom there are thousands."""
    with kept.batch(policy="incremental") as b:
        CHANGES[change](b)
    assert b.report.rows_read <= 100
    assert kept.verify()


@rn.record
class Day:
    id: int
    moves: rn.Bag[Move]


@rn.view
def of_each_day(D: rn.Bag[Day]):
    return [
        {"id": d.id, "moves": [{"id": a.id, "total": sum(b.v for b in d.moves if b.at <= a.at)} for a in d.moves]}
        for d in D
    ]


@pytest.mark.usefixtures("few")
def test_so_it_is_in_inner_bags(tmp_path: Path) -> None:
    """And no sums of what each time has are kept, which would be read up to it."""
    moves = [{"id": i, "user": 1, "at": i, "v": i % 7, "w": None} for i in range(ROWS)]
    with rn.open(tmp_path / "state") as db:
        db.relation("D", Day, key="id", keys={"moves": "id"})
        db.load("D", [{"id": 1, "moves": moves}, {"id": 2, "moves": moves[:10]}])
        db.create(of_each_day)
        with db.batch(policy="incremental") as b:
            b.at("D", id=1).moves.insert(at(2))
            b.at("D", id=2).moves.delete_key(id=9)
        assert b.report.rows_read <= 100
        assert db.verify()
        assert not any(m["kind"] == "auxiliary" for m in db.view("of_each_day").explain().json()["maps"])


@rn.record
class Rate:
    id: int
    user: int
    rate: int


@rn.view
def rated(E: rn.Bag[Move], F: rn.Bag[Rate]):
    return [
        {
            "id": a.id,
            "x": sum(b.v * c.rate for b in E for c in F if b.user == a.user and b.at <= a.at and c.user == a.user),
        }
        for a in E
    ]


@pytest.mark.usefixtures("few")
def test_sums_that_others_read_by_part_are_joined(tmp_path: Path) -> None:
    """What each part did to them is asked for by statements of other parts, and pieces are of no part."""
    with rn.open(tmp_path / "state") as db:
        db.relation("E", Move, key=("user", "at"))
        db.relation("F", Rate, key="id")
        db.load("E", [{"id": i, "user": i % 5, "at": i, "v": 3, "w": None} for i in range(5_000)])
        db.load("F", [{"id": i, "user": i % 5, "rate": 2} for i in range(50)])
        db.create(rated)
        facts = db.view("rated").explain().json()
        sums = {m["name"] for m in facts["maps"] if m["kind"] == "auxiliary"}
        assert any({"E", "rated/Dom[rated/G[rated.x]]"} <= {s["part"] for s in facts["statements"] if s["map"] == m}
                   for m in sums)  # fmt: skip
        assert not any(s["near"] for s in facts["statements"] if s["map"] in sums)
        with db.batch(policy="incremental") as b:
            b.insert("E", at(2))
            b.insert("F", [{"id": FAR, "user": 1, "rate": 5}])
        assert db.verify()


def test_explain_says_so(kept: rn.Database) -> None:
    text = " ".join(str(kept.view("up_to").explain()).split())
    assert "or reads the place before each one, what that comes to, and the rows of E between the two" in text
    near = {s["part"]: s["near"] for s in kept.view("up_to").explain().json()["statements"] if s["near"]}
    assert {*near.values()} == {"before"}


@rn.record
class Customer:
    id: int
    region: str


@rn.record
class Sale:
    id: int
    customer: int
    day: int
    total: int


@rn.view
def leaders(C: rn.Bag[Customer], S: rn.Bag[Sale]):
    """The rank of a customer in a region, by what was sold."""
    sold = [{"id": c.id, "region": c.region, "t": sum(s.total for s in S if s.customer == c.id)} for c in C]
    return [{"id": a.id, "rank": 1 + len([b for b in sold if b.region == a.region and b.t > a.t])} for a in sold]


@rn.view
def so_far(C: rn.Bag[Customer], S: rn.Bag[Sale]):
    """What was sold in a region up to a sale."""
    sales = [
        {"id": s.id, "region": c.region, "day": s.day, "t": s.total} for c in C for s in S if s.customer == c.id
    ]
    return [
        {"id": a.id, "t": sum(b.t for b in sales if b.region == a.region and (b.day, b.id) <= (a.day, a.id))}
        for a in sales
    ]


def expected(view: rn.View, customers: list[dict[str, Any]], sales: list[dict[str, Any]]) -> dict[int, int]:
    """What a view is, by sorting."""
    found: dict[int, int] = {}
    for region in "NS":
        ids = {c["id"] for c in customers if c["region"] == region}
        own = [s for s in sales if s["customer"] in ids]
        if view is so_far:
            own.sort(key=lambda s: (s["day"], s["id"]))
            found |= dict(zip((s["id"] for s in own), accumulate(s["total"] for s in own), strict=True))
            continue
        sold = dict.fromkeys(ids, 0)
        for s in own:
            sold[s["customer"]] += s["total"]
        every = sorted(sold.values())
        found |= {i: 1 + len(every) - bisect_right(every, t) for i, t in sold.items()}
    return found


@rn.view
def places(C: rn.Bag[Customer], S: rn.Bag[Sale]):
    """The places of sales of a customer by what they came to, in which ties share one."""
    return [
        {"id": a.id, "place": 1 + len({b.total for b in S if b.customer == a.customer and b.total > a.total})}
        for a in S
        for c in C
        if c.id == a.customer
    ]


@rn.view
def returning(S: rn.Bag[Sale]):
    """How many customers there were so far, and of each sale who had come by then."""
    return [
        {
            "id": a.id,
            "n": len({b.customer for b in S if b.day <= a.day}),
            "later": len({b.customer for b in S if b.day > a.day}),
        }
        for a in S
    ]


@pytest.mark.parametrize("view", [places, returning])
def test_what_is_distinct_is_kept_once(tmp_path: Path, view: rn.View) -> None:
    """However many rows there are up to each of them; and it is what Python counts."""
    stored, draw = [], random.Random(3)
    for size in (200, 800):
        days = [draw.randrange(size) for _ in range(size)]
        rows = [{"id": i, "customer": i * 7 % 9, "day": day, "total": i % 150} for i, day in enumerate(days)]
        with rn.open(tmp_path / str(size), engine="local") as db:
            tables = {"C": [{"id": i, "region": "N"} for i in range(9)], "S": rows}
            for name, record in (("C", Customer), ("S", Sale)):
                db.relation(name, record, key="id")
                db.load(name, tables[name])
            db.create(view)
            size_of = db._state.snapshot().size
            stored.append(sum(size_of(m.name) for m in db._declared.plan().maps) / size)
            for n in range(3):
                with db.batch() as b:
                    b.insert("S", [{"id": size + n, "customer": n % 2 * 20, "day": n * size // 3, "total": 149 + n}])
                    b.delete_key("S", id=n * 7)
                own = {name: db.relation(name).rows() for name, _ in view.query.relations}
                assert size > 200 or db.view(view.name).rows() == view(**own)
            assert db.verify()
    assert stored[1] < 1.2 * stored[0] < 20


@pytest.mark.parametrize("view", [leaders, so_far])
def test_of_joins_no_pairs_are_made(tmp_path: Path, view: rn.View, monkeypatch: pytest.MonkeyPatch) -> None:
    """A region has 2,000 rows, of which 4,000,000 pairs are not made."""
    made, extended = [], join.extended

    def counted(*given: Any) -> Binding:
        found = extended(*given)
        made.append(len(found))
        return found

    monkeypatch.setattr(combinations, "extended", counted)
    customers = [{"id": i, "region": "NS"[i % 2]} for i in range(4_000)]
    sales = [{"id": i, "customer": i * 7 % 4_000, "day": i // 3, "total": i * 37 % 1_009} for i in range(4_000)]
    with rn.open(tmp_path / "state", engine="local") as db:
        for name, record, rows in (("C", Customer, customers), ("S", Sale, sales)):
            db.relation(name, record, key="id")
            db.load(name, rows)
        db.create(view)
        assert 0 < max(made) <= 5_000
        for day in (700, 0):
            sales.append({"id": len(sales), "customer": 5, "day": day, "total": 1})
            with db.batch() as b:
                b.insert("S", sales[-1:])
            found = dict(r.values() for r in db.view(view.name).rows())
            assert found == expected(view, customers, sales)
