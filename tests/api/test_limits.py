"""Limits that rows look up, by a key or in the row that holds them: who is beyond one of two, in which class each is,
and how many are. When a limit moves, what lies between the old one and the new one is read."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.run import running
from ripplenest.vector import windows

FEW, MORE = 60, 480


@rn.record
class Value:
    no: int
    test: int
    value: int
    other: int | None
    day: int | None = None


@rn.record
class Patient:
    id: int
    low: int
    high: int | None
    values: Bag[Value]


@rn.record
class Limit:
    test: int
    on: bool
    lo: int
    hi: int
    least: int | None
    first: int | None = None
    last: int | None = None


@rn.view
def outside(P: Bag[Patient], L: Bag[Limit]):
    """Beyond one of both, by what is looked up."""
    return [
        {"id": p.id, "no": v.no} for p in P for v in p.values for k in L
        if k.test == v.test and (v.value < k.lo or v.value > k.hi)
    ]  # fmt: skip


@rn.view
def of_each(P: Bag[Patient], L: Bag[Limit]):
    """The same in inner bags, where what is compared may be NULL, or the limit."""
    return [
        {
            "test": k.test,
            "out": [v.no for p in P for v in p.values if v.test == k.test and (v.value < k.lo or v.value > k.hi)],
            "n": len([1 for p in P for v in p.values if v.test == k.test and not k.lo <= v.other <= k.hi]),
            "some": [v.no for p in P for v in p.values if v.test == k.test and (v.value < k.least or v.other > k.hi)],
        }
        for k in L
    ]  # fmt: skip


@rn.view
def alarms(P: Bag[Patient], L: Bag[Limit]):
    """Where a limit is on, or beside what the row says of itself."""
    return [
        {"id": p.id, "no": v.no} for p in P for v in p.values for k in L
        if k.test == v.test and k.on and (v.other == 3 or v.value > k.hi or v.value < k.lo)
    ] + [
        {"id": -p.id, "no": v.no} for p in P for v in p.values for k in L
        if k.test == v.test and ((k.on and v.value < k.lo) or v.value > k.hi)
    ]  # fmt: skip


@rn.view
def classes(P: Bag[Patient], L: Bag[Limit]):
    return [
        {"id": p.id, "no": v.no, "is": "low" if v.value < k.lo else "high" if v.value > k.hi else "normal"}
        for p in P for v in p.values for k in L if k.test == v.test
    ]  # fmt: skip


@rn.view
def of_some(P: Bag[Patient], L: Bag[Limit]):
    """By limits that there need not be."""
    return [
        {"id": p.id, "no": v.no, "is": "early" if v.day < k.first else "late" if v.day > k.last else "in time"}
        for p in P for v in p.values for k in L if k.test == v.test
    ]  # fmt: skip


@rn.view
def by_class(P: Bag[Patient], L: Bag[Limit]):
    """Groups by a class, said where the key is."""
    return [
        {
            "test": k.test,
            "by": [
                {"is": c, "n": len(vs), "sum": sum(v.other for v in vs)}
                for c, vs in rn.group_by(
                    [v for p in P for v in p.values if v.test == k.test],
                    lambda v: 0 if v.value < k.lo else 2 if v.value > k.hi else 1,  # noqa: B023
                )
            ],
        }
        for k in L
    ]


@rn.view
def in_all(P: Bag[Patient], L: Bag[Limit]):
    return [
        {"is": c, "n": len(vs), "most": max(v.value for v in vs)}
        for c, vs in rn.group_by(
            [
                {"value": v.value, "is": (v.value >= k.lo, k.least is None or v.value >= k.least)}
                for p in P for v in p.values for k in L if k.test == v.test
            ],
            lambda v: v["is"],
        )
    ]  # fmt: skip


@rn.view
def of_its_own(P: Bag[Patient]):
    """Limits of the row that holds the bag."""
    return [
        {
            "id": p.id,
            "out": [v.no for v in p.values if v.value < p.low or v.value > p.high],
            "n": len([1 for v in p.values if not (v.other < p.low or v.other > p.high)]),
            "by": [{"k": c, "n": len(vs)} for c, vs in rn.group_by(p.values, lambda v: v.value < p.low)],  # noqa: B023
        }
        for p in P
    ]


@rn.view
def of_all(P: Bag[Patient], L: Bag[Limit]):
    """Of one limit for all rows."""
    return [
        {"k": c, "n": len(vs)} for k in L if k.test == 1
        for c, vs in rn.group_by(
            [v for p in P for v in p.values], lambda v: 0 if v.value < k.lo else 1 if v.value < k.hi else 2  # noqa: B023
        )
    ] + [
        {"k": -v.no, "n": 0} for k in L if k.test == 1 for p in P for v in p.values if v.value < k.lo or v.value > k.hi
    ]  # fmt: skip


VIEWS = (outside, of_each, alarms, classes, of_some, by_class, in_all, of_its_own, of_all)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, *views: rn.View) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("P", Patient, key="id", keys={"values": "no"})
    db.relation("L", Limit, key="test")
    for view in views:
        db.create(view)
    return db


def patient(c: Choices, i: int) -> Patient:
    maybe = lambda: None if c.one_in(4) else c.number(7)  # noqa: E731
    values = [Value(no, c.number(3), c.number(7), maybe(), maybe()) for no in range(c.number(5))]
    return Patient(i, c.number(5), maybe(), values)


def limit(c: Choices, test: int) -> Limit:
    maybe = lambda: None if c.one_in(3) else c.number(6)  # noqa: E731
    return Limit(test, not c.one_in(3), c.number(6), c.number(7), maybe(), maybe(), maybe())


def relations(view: rn.View) -> list[str]:
    return [name for name, _ in view.query.relations]


@law(examples=many(12, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder, *VIEWS) as db:
        for _ in range(5):
            with db.batch(policy="incremental") as b:
                b.upsert("P", [patient(c, i) for i in range(4) if c.one_in(3)])
                b.discard_key("P", [{"id": c.number(5)}])
                b.upsert("L", [limit(c, i) for i in range(3) if c.one_in(2)])
                b.discard_key("L", [{"test": c.number(6)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "PL"})
            COUNTS.update(view.name for view in VIEWS if db.view(view.name).rows())
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(20, 600), COUNTS


def read(folder: Path, view: rn.View, size: int) -> list[int]:
    """How many rows are read when a limit moves, by which one value goes, and when others come and go."""
    with opened(folder) as db:
        db.load("L", [Limit(i, True, 100, 20_000, None, 100, 20_000) for i in range(3)])
        values = lambda i: [Value(j, 1, n := 1_000 + 20 * i + j, 7, n) for j in range(5)]  # noqa: E731
        far = [Value(10, 1, 50, 7, 50), Value(11, 1, 50_000, 7, 50_000), Value(12, 1, 102, 7, 102)]
        every = [*far, *(Value(100 + j, 1, 1_000 + j, 7, 1_000 + j) for j in range(size))]
        db.load("P", [Patient(0, 100, 20_000, every), *(Patient(i, 0, None, values(i)) for i in range(1, size))])
        db.create(view)
        found = []
        for lower, upper in ((105, 20_000), (105, 30_000), (90, 30_000)):
            with db.batch(policy="strict") as b:
                b.at("L", test=1).set(lo=lower, first=lower, hi=upper, last=upper)
                b.at("P", id=0).set(low=lower, high=upper)
            found.append(b.report.rows_read)
        with db.batch(policy="strict") as b:
            b.at("P", id=0).values.insert([Value(13, 1, 60, None)])
            b.at("P", id=0).values.delete_key(no=12)
        assert db.verify(deep=True).ok
        return [*found, b.report.rows_read]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_what_stays_where_it_is_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: rn.View) -> None:
    for module, name in ((running, "WORTH"), (windows, "WORTH"), (windows, "TIMES")):
        monkeypatch.setattr(module, name, 0)
    few, more = read(tmp_path / "few", view, FEW), read(tmp_path / "more", view, MORE)
    assert all(after <= before + 12 for before, after in zip(few, more, strict=True)), (few, more)


