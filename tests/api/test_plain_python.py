"""What Python says in its own words: whether a bag has rows, the least of several values, texts of dates. On each
engine it is what Python itself makes of the same comprehension."""

import datetime as dt
import decimal
import math
from random import Random
from typing import Any

import pytest
from attrs import evolve, frozen
from pyspark.sql import SparkSession
from support.in_order import in_order

import ripplenest as rn
from ripplenest import Bag, errors

FIRST = dt.datetime(1969, 12, 29, 23, 59, 59, 999_999, tzinfo=dt.UTC)
ANY = (True, False, None)
DAYS = (dt.date.min, dt.date(999, 2, 28), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 12, 31), dt.date.max)


@rn.record
class Line:
    n: int
    price: float | None


@rn.record
class Order:
    id: int
    customer: int
    day: dt.date
    at: dt.datetime
    name: str | None
    most: int | None
    lines: Bag[Line]
    others: Bag[Line] | None


@rn.record
class Customer:
    id: int
    least: int


def kept(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Bags decide: at the top, within, joined by and, or and not; NULL has no rows."""
    return [
        {
            "id": c.id,
            "some": bool([o for o in R if o.customer == c.id]),
            "kind": "lines" if [o for o in R if o.customer == c.id and o.lines] else "none",
            "orders": [
                {"id": o.id, "none": not o.lines, "is": bool(o.others), "two": [x.n for x in o.lines if o.others]}
                for o in R
                if o.customer == c.id and (o.lines or not o.others)
            ],
        }
        for c in C
        if not [o for o in R if o.customer == c.id and o.others and not o.lines] or c.least > 1
    ]


def least(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Of values that are never NULL, of several kinds and of totals."""
    return [
        {
            "id": o.id,
            "least": min(c.least, o.id, 3),
            "most": max(1, c.least, len(o.lines), 2),
            "mean": len(o.lines) / max(len(o.lines), 1),
            "day": max(o.day, dt.date(2000, 1, 1)),
            "at": min(o.at, FIRST),
            "text": max("b", str(c.least)),
            "spring": o.at.month in range(3, 6) or o.id not in range(7),
        }
        for c in C
        for o in R
        if o.customer == c.id
    ]


def texts(C: Bag[Customer], R: Bag[Order]) -> list[Any]:  # noqa: ARG001 - as the others have it
    return [
        {
            "id": o.id,
            "weekday": (o.day.weekday(), o.day.isoweekday(), o.at.weekday(), o.at.isoweekday()),
            "iso": o.day.isoformat(),
            "month": o.at.strftime("%Y-%m"),
            "full": o.at.strftime("%d.%m.%Y, %H:%M:%S (100 %%)"),
            "of_day": o.day.strftime("%m-%d %H:%M:%S|%d/%m"),
            "written": f"{o.id} of {o.customer}: {o.day}",
            "first": o.day.replace(day=1),
            "year": o.day.replace(month=1, day=1),
            "moved": o.day.replace(2003, day=28),
            "starts": [
                o.at.replace(microsecond=0), o.at.replace(second=0, microsecond=0),
                o.at.replace(minute=0, second=0, microsecond=0),
                o.at.replace(hour=0, minute=0, second=0, microsecond=0),
            ],
            "seconds": o.at.timestamp(),
        }
        for o in R
    ]  # fmt: skip


LIMITS = {1: (0, 2), 3: (1, 3)}


def collections(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Sets and their operators, tuples among tuples, and what constant dicts hold."""
    return [
        {
            "id": o.id,
            "both": sorted({x.n for x in o.lines} & {1, 2}),
            "rest": sorted({x.n for x in o.lines} - {c.least, *[2]}),
            "all": sorted({x.n for x in o.lines} | {o.id, 2}),
            "one": (o.id, o.customer) in [(x.n, c.least) for x in o.lines],
            "none": (o.customer, c.least) not in {(k, low) for k, (low, high) in LIMITS.items() if low < high},
            "listed": (o.customer, c.least) in ((1, 0), (3, c.least)),
            "known": (o.customer in LIMITS.keys(), (c.least, 2) in LIMITS.values(), (3, (1, 3))[0] in LIMITS),  # noqa: SIM118
        }
        for c in C
        for o in R
        if o.customer == c.id
    ]


def last(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Values of the one row that a key finds, of bags around and of joined ones; rows without bags as they are."""
    return [
        {
            "id": c.id,
            "day": max([o for o in R if o.customer == c.id], key=lambda o: (o.at, o.id)).day
            if [o for o in R if o.customer == c.id]
            else None,
            "pair": max((o.at, o.id) for o in R if o.customer == c.id)[1]
            if [o for o in R if o.customer == c.id]
            else None,
            "lines": [
                {
                    "id": o.id,
                    "pair": min([(x.n % 3, (x.n, o.id)) for x in o.lines])[1][0] if o.lines else None,
                    "n": max(o.lines, key=lambda x: x.n).n if o.lines else None,
                    "price": max(o.lines, key=lambda x: x.n).price if o.lines else None,
                    "row": [min(o.lines, key=lambda x: -x.n)] if o.lines else [],
                    "cheap": sorted(o.lines, key=lambda x: -x.n)[0].price if o.lines else None,
                    "first": sorted(x.n for x in o.lines)[0] if o.lines else None,
                    "least": min((x.n for x in o.lines), key=lambda n: abs(n - 1)) if o.lines else None,
                }
                for o in R
                if o.customer == c.id
            ],
        }
        for c in C
    ]


def whole(C: Bag[Customer], R: Bag[Order]) -> list[Any]:  # noqa: ARG001
    """The nearest whole numbers, of halves the even ones; of whole numbers themselves."""
    return [
        {"near": round(x.price), "below": math.floor(x.price), "above": math.ceil(x.price), "cut": math.trunc(x.price),
         "same": (round(x.n), math.floor(x.n), math.ceil(x.n)), "cents": round(x.price * 100) / 100}
        for o in R
        for x in o.lines
        if x.price is not None
    ]  # fmt: skip


def kind(o: Order, least: int) -> str | None:
    """Branches that return, that go on, and that are within others; totals decide, too."""
    few = len(o.lines) < 2
    if not o.lines:
        return "none"
    if few and least > 1:
        name = "few"
    elif o.others:
        if o.day.year < 1000:
            return None
        name = f"others {o.day.year}"
    else:
        name = "many"
        few = False
    return name + "!" if few else name


def some(o: Order) -> list[Any]:
    if o.lines:
        return [x.n for x in o.lines]
    one = [o.id]
    return one + one


def branches(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    joined = [(c, o) for c in C for o in R if o.customer == c.id]
    if R:
        return [
            {"id": o.id, "kind": kind(o, c.least), "some": some(o), "n": n, "lines": [(m := x.n + n) * m for x in xs]}
            for c, o in joined
            if (n := len(o.lines)) < 3 and (n == 0 or o.id > n)
            if (xs := [x for x in o.lines if x.n != n]) or n == 0
        ]
    return []


def so_called(o: Order) -> str | None:
    """A date as a text that may be empty, or none at all."""
    return o.name and o.name.lower() and "b"


def truths(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Numbers, texts and dates decide as they do in Python, and ``or`` and ``and`` give one of both."""
    return [
        {
            "id": c.id,
            "named": bool([o for o in R if o.customer == c.id and o.name]),
            "sum": sum(o.most or 0 for o in R if o.customer == c.id) or None,
            "any": (
                any(o.most for o in R if o.customer == c.id),
                all(o.most for o in R if o.customer == c.id),
                any(o.name for o in R if o.customer == c.id and o.day),
            ),
            "orders": [
                {
                    "id": o.id,
                    "most": (o.most or 0, o.most or 7, o.most or c.least or 5, o.most or None, o.id or o.most),
                    "name": (o.name or "", o.name or "none", o.name or o.name, o.name and "b", so_called(o)),
                    "both": (o.id and o.most, o.most and o.id, (o.name and o.name) or "x"),
                    "twice": o.most * 2 if o.most else -1,
                    "not": (not o.most, not o.name, not o.id, bool(o.most), bool(o.day)),
                    "prices": sum(x.price or 0.0 for x in o.lines if (x.price and x.n) or x.n == 3) or 0.0,
                    "safe": o.most and 100 // o.most,
                    "lines": [x.n for x in o.lines if x.price or not x.n],
                    "many": (sum(x.n > 1 for x in o.lines), sum(not x.price for x in o.lines), sum([o.id == 3])),
                }
                for o in R
                if o.customer == c.id and (o.most or o.name or o.id == 3)
            ],
        }
        for c in C
        if c.least or c.id > 1
    ]


def floored(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Quotients are cut off toward -∞, exactly; dates come from texts."""
    return [
        {
            "id": o.id,
            "of": ((o.most or 1) // 2, (o.most or 1) // -3, 9223372036854775807 // (o.most or 1), -o.id // 4),
            "year": o.day.year // 10 * 10,
            "far": -9223372036854775807 // (o.id - 100) + 9007199254740993 // 1,
            "day": dt.date.fromisoformat(f"2024-02-{20 + c.least}"),
            "same": dt.date.fromisoformat(str(o.day)) == o.day,
            "sums": (sum(x.n for x in o.lines) or 0) // 2,
        }
        for c in C
        for o in R
        if o.customer == c.id and len(o.lines) // 2 == 0
    ]


def made(C: Bag[Customer], R: Bag[Order]) -> list[Any]:  # noqa: ARG001
    """Records and lists by their names, and months as keys of groups."""
    return [
        dict(month=month, names=list(o.id for o in os), days=[dict({"n": 1}, id=o.id) for o in os],  # noqa: C400
             of={f"n{k}": len([o for o in os if m <= o.customer <= n]) for k, (m, n) in LIMITS.items() if k > 1},
             **{name: max((o.id for o in os if o.name == name), default=None) for name in ("b", "Ba")})
        for month, os in rn.group_by(R, lambda o: o.at.strftime("%Y-%m"))
    ]


def shipped(o: Order) -> dict[str, Any]:
    if o.others:
        return {"kind": "sent", "day": o.day, "note": None, "lines": o.others}
    if o.name:
        return {"kind": o.name, "day": None, "note": None, "lines": []}
    return {"kind": "open", "day": None, "note": o.most, "lines": [{"n": 0, "price": None}]}


def nothing(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    """Rows of several kinds beside each other, each without what only others have."""
    return [
        *({"kind": "c", "id": c.id, "least": c.least, "day": None, "of": None, "tags": []} for c in C),
        {"kind": "none", "id": 0, "least": None, "day": None, "of": None, "tags": [["x"], []]},
    ] + [
        {
            "kind": "o", "id": o.id, "least": None, "day": o.day,
            "of": {"name": o.name, "n": None} if o.lines else {"name": None, "n": 1} if o.name else None,
            "tags": [[line["kind"]] for line in [shipped(o)]],
        }
        for o in R
    ]  # fmt: skip


def orders(C: Bag[Customer], R: Bag[Order]) -> list[Any]:
    return [{"id": c.id, "all": [shipped(o) for o in R if o.customer == c.id]} for c in C] if R else []


WRITTEN = (kept, least, texts, collections, last, whole, branches, truths, floored, made, nothing, orders)
PRICES = (None, 0.5, -0.5, 1.5, 2.5, -2.4999999999999996, 4503599627370495.5, -4503599627370497.5, 1e15, 7.125)
VIEWS = tuple(rn.view(f) for f in WRITTEN)


@frozen
class Rows:
    """What is in the relations, as rows that Python's own comprehensions read."""

    customers: dict[int, Customer]
    orders: dict[int, Order]

    def check(self, db: rn.Database) -> None:
        for f, view in zip(WRITTEN, VIEWS, strict=True):
            meant = f([*self.customers.values()], [*self.orders.values()])
            assert in_order(db.view(view.name).rows()) == in_order(meant), view.name


def an_order(random: Random, n: int) -> Order:
    day = random.choice([*DAYS, dt.date.fromordinal(random.randrange(365_000, 3_000_000))])
    at = FIRST + dt.timedelta(microseconds=random.choice([0, 1, random.randrange(-(10**15), 8 * 10**15)]))
    lines = [Line(i, random.choice(PRICES)) for i in random.sample((0, 1, 3, 7), random.randrange(3))]
    name, most = random.choice([None, "", "b", "Ba"]), random.choice([None, 0, 3, -7, 2**61])
    return Order(n, random.randrange(4), day, at, name, most, lines, random.choice([None, [], [Line(9, None)]]))


def lives(db: rn.Database, seed: int, batches: int) -> None:
    """Rows come, change and go; each view is what Python makes of them."""
    random = Random(seed)
    orders = {n: an_order(random, n) for n in range(10)}
    rows = Rows({n: Customer(n, random.randrange(4)) for n in range(4)}, orders)
    db.relation("C", Customer, key="id")
    db.relation("R", Order, key="id", keys={"lines": "n", "others": "n"})
    db.load("C", [*rows.customers.values()])
    db.load("R", [*orders.values()])
    for view in VIEWS:
        db.create(view)
    rows.check(db)
    for _ in range(batches):
        some = {n: an_order(random, n) for n in random.sample(range(12), 2)}
        gone = random.choice([n for n in orders if n not in some])
        deep = random.choice([n for n in orders if n not in (*some, gone)])
        emptied = random.random() < 0.5
        with db.batch(policy="incremental") as b:
            b.upsert("R", [*some.values()])
            b.delete_key("R", id=gone)
            lines = b.at("R", id=deep).lines
            if emptied:
                for line in orders[deep].lines:
                    lines.delete_key(n=line.n)
            else:
                lines.upsert([Line(7, 1.0)])
        del orders[gone]
        after = [] if emptied else [*(x for x in orders[deep].lines if x.n != 7), Line(7, 1.0)]
        orders |= some | {deep: evolve(orders[deep], lines=after)}
        rows.check(db)
    assert db.verify(deep=True).ok


def test_here(folder) -> None:
    with rn.open(folder / "state", engine="local") as db:
        lives(db, 1, 25)


def test_on_spark(folder, spark: SparkSession) -> None:
    with rn.open(folder / "state", spark=spark, engine="spark") as db:
        lives(db, 2, 2)


@rn.view
def of_nothing(R: Bag[Order]):
    return [
        {
            "least": min(o.most, 3),
            "most": max(2, o.most, o.id),
            "both": min(o.most, o.most),
            "text": f"{o.name}-{o.most}",
            "is": bool(o.most > 0),
        }
        for o in R
    ]


def test_null_is_neither_the_least_nor_the_greatest() -> None:
    order = Order(5, 0, DAYS[0], FIRST, None, None, [], None)
    nothing = dict.fromkeys(("least", "most", "both", "text"))
    assert of_nothing([order]) == [{**nothing, "is": False}]
    found = {"least": 1, "most": 5, "both": 1, "text": "a-1", "is": True}
    assert of_nothing([evolve(order, most=1, name="a")]) == [found]


@rn.view
def of_doubles(L: Bag[Line]):
    return [{"least": min(x.price, 1.0), "most": max(x.price, 1.0), "mixed": max(x.n, x.price)} for x in L]


def test_nan_is_above_all_and_whole_numbers_are_doubles_beside_doubles() -> None:
    nan = float("nan")
    [found] = of_doubles([Line(2, nan)])
    assert found["least"] == 1.0 and all(found[name] != found[name] for name in ("most", "mixed"))
    [found] = of_doubles([Line(2, 0.5)])
    assert found == {"least": 0.5, "most": 1.0, "mixed": 2.0} and isinstance(found["mixed"], float)


@rn.view
def thirtieths(R: Bag[Order]):
    return [{"id": o.id, "day": o.day.replace(day=30)} for o in R]


def test_a_day_that_there_is_not_ends_the_batch(folder) -> None:
    """As Python says ValueError; nothing changes."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("R", Order, key="id")
        db.create(thirtieths)
        with pytest.raises(errors.EvaluationError, match="yyyy-MM-dd"), db.batch() as b:
            b.insert("R", [Order(1, 0, dt.date(2024, 2, 1), FIRST, None, None, [], None)])
        assert db.view("thirtieths").rows() == []
        with db.batch() as b:
            b.insert("R", [Order(1, 0, dt.date(2024, 4, 1), FIRST, None, None, [], None)])
        assert db.view("thirtieths").rows() == [{"id": 1, "day": dt.date(2024, 4, 30)}]


def test_a_change_of_an_inner_bag_costs_what_it_changes(folder) -> None:
    """Whether a bag has rows is asked of that bag alone: of a hundred others nothing is read."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Customer, key="id")
        db.relation("R", Order, key="id", keys={"lines": "n"})
        db.load("C", [Customer(n, 0) for n in range(100)])
        db.load("R", [Order(n, n, DAYS[2], FIRST, None, None, [], None) for n in range(100)])
        db.create(VIEWS[0])
        with db.batch(policy="strict") as b:
            b.at("R", id=7).lines.insert([Line(1, 0.5)])
        assert b.report.rows_read <= 12
        assert [row for row in db.view("kept").rows() if row["kind"] == "lines"] == [
            {"id": 7, "some": True, "kind": "lines", "orders": [{"id": 7, "none": False, "is": False, "two": []}]}
        ]


@rn.record
class At:
    city: str
    zip: int


@rn.record
class Event:
    id: int
    order: int
    at: dt.datetime
    place: At
    parts: Bag[Line]


@rn.view
def latest(R: Bag[Order], E: Bag[Event]):
    return [
        {
            "id": o.id,
            "event": max([e for e in E if e.order == o.id], key=lambda e: e.at).id,
            "city": rn.top(3, [e for e in E if e.order == o.id], key=lambda e: e.at, desc=True)[0].place["city"],
            "place": max([e for e in E if e.order == o.id], key=lambda e: e.at, default=None).place,
        }
        for o in R
    ]


def test_a_row_that_is_not_there_is_null_and_a_batch_reads_few_rows(folder) -> None:
    """Of rows with inner bags and records in them; of 50 events of an order a few are read when the last one goes."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("R", Order, key="id")
        db.relation("E", Event, key="id")
        db.load("R", [an_order(Random(n), n) for n in range(20)])
        hours = [FIRST + dt.timedelta(hours=n) for n in range(1000)]
        db.load("E", [Event(n, n % 10, at, At(f"c{n}", n), []) for n, at in enumerate(hours[:500])])
        db.create(latest)
        rows = {row["id"]: row for row in db.view("latest").rows()}
        assert rows[3] == {"id": 3, "event": 493, "city": "c493", "place": {"city": "c493", "zip": 493}}
        assert rows[13] == {"id": 13, "event": None, "city": None, "place": None}
        with db.batch(policy="strict") as b:
            b.delete_key("E", id=493)
            b.insert("E", [Event(600, 13, hours[0], At("new", 1), [])])
        assert b.report.rows_read <= 150
        rows = {row["id"]: row for row in db.view("latest").rows()}
        assert (rows[3]["event"], rows[3]["place"]["zip"], rows[13]["city"]) == (483, 483, "new")
        assert db.verify(deep=True).ok


@rn.record
class Reading:
    id: int
    device: int
    place: At
    note: str | None


@rn.view
def lasts(R: Bag[Order], E: Bag[Reading]):
    """The last reading of each device as a whole, in a field, as a row, in a choice, or asked whether there is one."""
    known = [{"id": o.id, "of": [e for e in E if e.device == o.id]} for o in R]
    return [
        {
            "id": k.id,
            "last": max(k.of, key=lambda e: e.id, default=None),
            "place": max(k.of, key=lambda e: e.id).place if k.of else None,
            "none": max(k.of, key=lambda e: e.id, default=None) is None,
            "pair": max([(e.id, e.note) for e in k.of], key=lambda p: p[0], default=None),
        }
        for k in known
    ]


@rn.view
def firsts(R: Bag[Order], E: Bag[Reading]):
    return [
        {"id": o.id, "first": first.id}
        for o in R
        if (first := min([e for e in E if e.device == o.id], key=lambda e: e.id, default=None)) is not None
    ]


def test_a_first_row_that_is_not_there_is_none_as_a_whole(folder) -> None:
    """Though one may be there of which all values are NULL; and it comes and goes with its row."""
    draw = Random(7)
    with rn.open(folder / "state", engine="local") as db:
        db.relation("R", Order, key="id")
        db.relation("E", Reading, key="id")
        db.load("R", [an_order(draw, n) for n in range(4)])
        db.create(lasts)
        db.create(firsts)
        seen = set[tuple[bool, bool]]()
        for n in range(12):
            with db.batch() as b:
                b.upsert("E", [Reading(draw.randrange(6), draw.randrange(4), At("x", n), draw.choice([None, "a"]))])
                b.discard_key("E", id=draw.randrange(6))
            orders, readings = db.relation("R").rows(), db.relation("E").rows()
            found = {row["id"]: row for row in db.view("lasts").rows()}
            first = {row["id"]: row["first"] for row in db.view("firsts").rows()}
            for o in orders:
                own = sorted((e for e in readings if e["device"] == o["id"]), key=lambda e: e["id"])
                last = own[-1] if own else None
                assert found[o["id"]] == {
                    "id": o["id"],
                    "last": last,
                    "place": last and last["place"],
                    "none": last is None,
                    "pair": last and {"_1": last["id"], "_2": last["note"]},
                }
                assert first.get(o["id"]) == (own[0]["id"] if own else None)
                seen.add((last is None, bool(last and last["note"] is None)))
        assert len(seen) == 3 and db.verify(deep=True).ok


@rn.view
def by_builtin(L: Bag[Line]):
    return [{"near": min((x.n for x in L), key=abs), "word": max((str(x.n) for x in L), key=len)} for _ in [1]]


def test_functions_of_python_are_keys() -> None:
    lines = [Line(n, None) for n in (3, -12345, 40, -1)]
    assert by_builtin(lines) == [{"near": -1, "word": "-12345"}]


@rn.record
class Task:
    id: int
    done: bool | None
    late: bool | None


def judged(K: Bag[Task]) -> list[Any]:
    """``or False`` is what stands for NULL: as a value, within a condition, and below ``not``."""
    return [
        {
            "id": k.id,
            "done": k.done or False,
            "some": k.done or k.late or False,
            "word": "open" if not (k.done or False) else "done",
            "both": (k.done or False) and (k.late or False),
            "others": [o.id for o in K if o.id != k.id and not (o.late or False)],
        }
        for k in K
        if not ((k.done and k.late) or False)
    ]


JUDGED = rn.view(judged)


def test_or_false_is_never_null(folder, spark: SparkSession) -> None:
    tasks = [Task(3 * i + j, done, late) for i, done in enumerate(ANY) for j, late in enumerate(ANY)]
    assert JUDGED(tasks) == judged(tasks)
    for engine in ("local", "spark"):
        with rn.open(folder / engine, spark=spark if engine == "spark" else None, engine=engine) as db:
            db.relation("K", Task, key="id")
            db.load("K", tasks[:5])
            db.create(JUDGED)
            with db.batch(policy="incremental") as b:
                b.insert("K", tasks[5:])
                b.at("K", id=0).set(late=None)
            meant = judged([evolve(tasks[0], late=None), *tasks[1:]])
            assert in_order(db.view("judged").rows()) == in_order(meant)


@rn.record
class Sold:
    id: int
    price: rn.Decimal[10, 2]
    qty: int
    rate: rn.Decimal[6, 4] | None


def paid(S: Bag[Sold]) -> list[Any]:
    """Sums of products have 38 digits: fewer are said to be enough, and so they are added up and compared on."""
    each = [{"id": s.id, "paid": rn.decimal(s.price * s.qty, 18, 2)} for s in S]
    total = rn.decimal(sum(s["paid"] for s in each), 20, 2)
    return [
        {
            "id": e["id"],
            "taxed": rn.decimal(e["paid"] * decimal.Decimal("1.19"), 18, 2),
            "rest": total - e["paid"],
            "above": e["paid"] > rn.decimal(rn.avg(s["paid"] for s in each), 20, 2),
            "rate": [rn.decimal(s.rate, 4, 2) for s in S if s.id == e["id"]],
            "whole": [rn.decimal(s.qty, digits=12) for s in S if s.id == e["id"]],
            "signs": [(-x, abs(x)) for x in [rn.decimal(sum(s.price * s.qty for s in S if s.id == e["id"]), 38, 2)]],
        }
        for e in each
    ]


SOLD = rn.view(paid)


def test_decimals_have_as_many_digits_as_are_said_to_be_enough(folder, spark: SparkSession) -> None:
    rates = [None, *map(decimal.Decimal, ("0.0050", "-0.0050", "12.3450", "99.9949"))]
    sold = [Sold(n, decimal.Decimal(f"{n * 13 - 20}.15"), n % 5 - 1, rate) for n, rate in enumerate(rates * 2)]
    for engine in ("local", "spark"):
        with rn.open(folder / engine, spark=spark if engine == "spark" else None, engine=engine) as db:
            db.relation("S", Sold, key="id")
            db.load("S", sold[:7])
            db.create(SOLD)
            with db.batch(policy="incremental") as b:
                b.insert("S", sold[7:])
                b.delete_key("S", id=1)
            meant = paid([s for s in sold if s.id != 1])
            assert in_order(db.view("paid").rows()) == in_order(meant)
            beyond = Sold(99, decimal.Decimal(0), 0, decimal.Decimal("99.9950"))
            with pytest.raises(errors.RipplenestError, match=r"beyond its type|no value"), db.batch() as b:
                b.insert("S", [beyond])
            assert len(db.view("paid").rows()) == 9
    with pytest.raises(errors.EvaluationError, match=r"at most 99\.99"):
        rn.decimal(decimal.Decimal("99.995"), 4, 2)
    with pytest.raises(errors.WrongValue, match="no such decimals"):
        rn.decimal(1, 3, 4)
