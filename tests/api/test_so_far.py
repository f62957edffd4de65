"""What was the greatest so far: maxima, minima and first rows up to a row, at every depth, and what is made of them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.choices import Choices
from support.compiling import compiled_once
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag
from ripplenest.run import stretches


@rn.record
class Step:
    at: int
    cost: int


@rn.record
class Span:
    id: int
    user: str | None
    begin: int
    end: int | None
    v: float | None
    steps: Bag[Step]


@rn.view
def peaks(S: Bag[Span]) -> list[Any]:
    """The greatest up to a row, and how far it is below; and of all later ones, by an order that tells all apart."""
    return [
        {
            "id": a.id,
            "peak": max((b.v for b in S if b.user == a.user and b.begin <= a.begin), default=None),
            "below": max((b.end for b in S if b.user == a.user and b.begin < a.begin), default=0) - a.begin,
            "later": min((b.v for b in S if (b.begin, b.id) > (a.begin, a.id)), default=None),
        }
        for a in S
    ]


@rn.view
def firsts(S: Bag[Span]) -> list[Any]:
    """Several, in an order of several columns; of those that are not less than some value, and of all users."""
    return [
        {
            "id": a.id,
            "top": rn.top(2, [{"v": b.v, "id": b.id} for b in S if b.user == a.user and b.begin <= a.begin],
                          key=lambda r: (r["v"], r["id"]), desc=True),
            "ends": sorted(b.end for b in S if b.v >= a.v)[:3],
            "names": rn.top(1, [{"user": b.user} for b in S if b.end < a.end - 1 and b.v is not None],
                            key=lambda r: r["user"]),
        }
        for a in S
    ]  # fmt: skip


@rn.view
def inside(S: Bag[Span]) -> list[Any]:
    """Of rows of inner bags, and of groups."""
    return [
        {
            "user": user,
            "spans": [
                {
                    "id": a.id,
                    "v": min((b.v for b in spans if b.begin >= a.begin), default=None),
                    "steps": [
                        {
                            "at": s.at,
                            "cost": max(t.cost for t in a.steps if t.at <= s.at),
                            "end": max((b.end for b in S if b.user == user and b.begin <= s.at), default=None),
                        }
                        for s in a.steps
                    ],
                }
                for a in spans
            ],
        }
        for user, spans in rn.group_by(S, lambda s: s.user)
    ]


def is_first(x: Any, spans: Any) -> Any:
    """Whether nothing that began before goes on when it begins."""
    last = max((b.end for b in spans if b.user == x.user and b.begin < x.begin), default=None)
    return last is None or last < x.begin


@rn.view
def islands(S: Bag[Span]) -> list[Any]:
    """Spans of a user that overlap, as one."""
    known = [s for s in S if s.end is not None]
    rows = [
        {
            "user": a.user,
            "first": max((b.begin for b in known if b.user == a.user and b.begin <= a.begin and is_first(b, known)),
                         default=None),
            "id": a.id,
        }
        for a in known
    ]  # fmt: skip
    return [
        {"user": user, "begin": begin, "ids": [r["id"] for r in rs]}
        for (user, begin), rs in rn.group_by(rows, lambda r: (r["user"], r["first"]))
    ]


@rn.view
def moving(S: Bag[Span]) -> list[Any]:
    """Of those some way before and behind: of a user, of all, and of steps."""
    return [
        {
            "id": a.id,
            "last": max((b.v for b in S if b.user == a.user and a.begin - 2 <= b.begin <= a.begin), default=None),
            "next": rn.top(2, [{"end": b.end, "id": b.id} for b in S if a.begin < b.begin < a.begin + 3],
                           key=lambda r: r["end"]),
            "around": min((b.v for b in S if b.user == a.user and a.end - 3 < b.end and b.end <= a.end + 1),
                          default=None),
            "costs": [max((t.cost for t in a.steps if s.at - 1 <= t.at < s.at), default=None) for s in a.steps],
        }
        for a in S
    ]  # fmt: skip


def begins(x: Any, spans: Any) -> Any:
    """Whether nothing began shortly before: what is compared is a sum of one of two values, of which one is a sum."""
    return x.begin - max((b.begin for b in spans if b.user == x.user and b.begin < x.begin), default=x.begin - 3) > 2


@rn.view
def apart(S: Bag[Span]) -> list[Any]:
    """When the session of a span began; and the first ones before which all had ended."""
    return [
        {
            "id": a.id,
            "first": max((b.begin for b in S if b.user == a.user and b.begin <= a.begin and begins(b, S)),
                         default=None),
            "alone": sorted(
                b.id for b in S if b.begin <= a.begin
                and max((c.end for c in S if c.user == b.user and c.begin < b.begin), default=b.begin - 1) < b.begin
            )[:2],
        }
        for a in S
    ]  # fmt: skip


VIEWS = (peaks, firsts, inside, islands, moving, apart)
SO_FAR = dict(zip([v.name for v in VIEWS], (3, 3, 3, 1, 4, 2), strict=True))


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    with compiled_once():
        yield


def span(c: Choices, i: int) -> dict[str, Any]:
    v = c.pick([None, float("nan"), -1.0, -0.0, 0.0, *map(float, range(4))])
    begin, steps = c.number(6), [{"at": c.number(4), "cost": c.number(4)} for _ in range(c.number(3))]
    end = None if c.one_in(8) else begin + c.number(4)
    return {"id": i, "user": c.pick(["a", "a", "b", None]), "begin": begin, "end": end, "v": v, "steps": steps}


@law(examples=many(8, 300), tries=200)
def test_they_are_those_after_every_batch(c: Choices) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(dir=MEMORY) as folder,
        rn.open(folder, engine="local", policy="incremental") as db,
    ):
        patch.setattr(stretches, "FIRST", 1 + c.number(4))
        db.relation("S", Span, key="id")
        rows = {i: span(c, i) for i in range(c.number(9))}
        db.load("S", [*rows.values()])
        for view in VIEWS:
            db.create(view)
        for _ in range(1 + c.number(4)):
            with db.batch() as b:
                for i in {c.number(12) for _ in range(c.number(4))}:
                    if i in rows and c.one_in(2):
                        b.delete_key("S", id=i)
                        del rows[i]
                    else:
                        rows[i] = span(c, i)
                        b.upsert("S", [rows[i]])
            for view in VIEWS:
                assert db.view(view.name).rows() == view(S=[*rows.values()]), view.name
        assert db.verify()


@pytest.mark.parametrize("view", VIEWS)
def test_they_are_so_far(tmp_path: Path, view: rn.View) -> None:
    with rn.open(tmp_path, engine="local") as db:
        db.relation("S", Span, key="id")
        db.create(view)
        found = [m.ranked for m in db._declared.plan().maps if m.ranked is not None]
        assert sum(r.nearest is not None and r.nearest.by is not None for r in found) == SO_FAR[view.name]


@pytest.mark.parametrize("view", [peaks, islands, apart])
def test_what_is_stored_and_read_does_not_grow_with_a_group(tmp_path: Path, view: rn.View) -> None:
    """However many rows a user has: of one that comes at the end, and of one that something stands above."""
    stored, read = [], []
    for size in (300, 1_200):
        with rn.open(tmp_path / str(size), engine="local") as db:
            db.relation("S", Span, key="id")
            one = {"user": "a", "steps": []}
            db.load("S", [{**one, "id": i, "begin": 2 * i, "end": 2 * i + 5, "v": i % 97} for i in range(size)])
            db.create(view)
            own = db._state.snapshot().size
            stored.append(sum(own(m.name) for m in db._declared.plan().maps) / size)
            for begin in (2 * size, size):
                with db.batch() as b:
                    b.insert("S", [{**one, "id": 10_000 + begin, "begin": begin, "end": begin + 1, "v": 96}])
                read.append(b.report.rows_read)
            assert db.verify()
    assert stored[1] < 1.1 * stored[0]
    assert max(read[2:]) <= max(read[:2]) + 8 < 120, read


@rn.view
def largest(S: Bag[Span]) -> list[Any]:
    return [
        {"id": a.id, "v": max(b.v for b in S if b.user == a.user and a.begin - 200 < b.begin <= a.begin)} for a in S
    ]


def test_windows_are_not_stored(tmp_path: Path) -> None:
    """A row is there once, however many places it is near; what comes last reads what it takes the place of."""
    with rn.open(tmp_path, engine="local") as db:
        db.relation("S", Span, key="id")
        one = {"user": "a", "steps": []}
        db.load("S", [{**one, "id": i, "begin": i, "end": i, "v": i * 37 % 101} for i in range(1_000)])
        db.create(largest)
        size, maps = db._state.snapshot().size, db._declared.plan().maps
        assert sum(size(m.name) for m in maps) == 4 * 1_000
        read = []
        for i in range(1_000, 1_110):  # in which the largest of before is no longer near
            with db.batch() as b:
                b.insert("S", [{**one, "id": i, "begin": i, "end": i, "v": i * 37 % 101}])
            read.append(b.report.rows_read)
        assert sorted(read)[100] < 30 and max(read) < 600, read
        rows = db.relation("S").rows()
        near = {a["id"]: [b["v"] for b in rows if a["begin"] - 200 < b["begin"] <= a["begin"]] for a in rows}
        assert db.view("largest").rows() == [{"id": i, "v": max(found)} for i, found in near.items()] and db.verify()


def test_a_place_is_followed_as_far_as_it_changes(tmp_path: Path) -> None:
    """A maximum that comes and goes: what is read is about what changes, however it is cut."""
    with rn.open(tmp_path, engine="local") as db:
        db.relation("S", Span, key="id")
        db.load("S", [{"id": i, "user": "a", "begin": i, "end": i, "v": i, "steps": []} for i in range(1_000)])
        db.create(peaks)
        for until in (110, 600):
            for change in ("upsert", "delete"):
                with db.batch() as b:
                    row = {"id": 5_000, "user": "a", "begin": 100, "end": 100, "v": until, "steps": []}
                    getattr(b, change)("S", [row])
                places = until - 100
                assert places < b.report.rows_read < 16 * places + 250
                found = {r["id"]: r["peak"] for r in db.view("peaks").rows()}
                comes = change == "upsert"
                assert all(found[i] == (max(i, until) if comes and i >= 100 else i) for i in range(1_000))


@rn.record
class Limit:
    id: int
    at: int


@rn.view
def within(S: Bag[Span], L: Bag[Limit]) -> list[Any]:
    """Up to limits, which are few."""
    return [
        {
            "id": k.id,
            "most": max((s.end for s in S if s.begin <= k.at), default=None),
            "least": rn.top(2, [{"v": s.v, "id": s.id} for s in S if s.begin <= k.at],
                            key=lambda r: r["v"], nulls_first=True),
        }
        for k in L
    ]  # fmt: skip


@pytest.mark.parametrize("many_limits", [1, 16])
def test_what_lies_between_few_places_is_not_read(tmp_path: Path, many_limits: int) -> None:
    """One comes where none is, many share an edge, one jumps ahead and back, and the first row goes, which has NULL."""
    with rn.open(tmp_path, engine="local", policy="incremental") as db:
        db.relation("S", Span, key="id")
        db.relation("L", Limit, key="id")
        size, read = 5_000, []
        values = [None if i in (7, 99) else i * 1_009 % size for i in range(size)]
        rows = [{"id": i, "user": None, "begin": i, "end": i * 1_777 % size, "v": values[i]} for i in range(size)]
        db.load("S", [{**row, "steps": []} for row in rows])
        db.create(within)
        with db.batch() as b:
            b.insert("L", [{"id": i, "at": size - 10} for i in range(many_limits)])
        read.append(b.report.rows_read)
        for at in (size - 20, 500, 4_000):
            with db.batch() as b:
                b.upsert("L", [{"id": 100, "at": at}])
            read.append(b.report.rows_read)
        for i in (7, max(range(4_000), key=lambda i: rows[i]["end"])):
            with db.batch() as b:
                b.delete_key("S", id=i)
            read.append(b.report.rows_read)
        assert max(read) < 150, read
        assert db.view("within").rows() == within(S=db.relation("S").rows(), L=db.relation("L").rows()) and db.verify()


def test_explain_says_how_they_are_kept() -> None:
    found = {r["so_far"]: (r["open"], r["edge"], r["fits"]) for r in rn.explain(peaks).json()["rankings"]}
    assert found["o0 ≤ label.edge"] == (False, "label.edge", []) and found["o0 < label.edge"][0], found
    assert {*found} == {"o0 ≤ label.edge", "o0 < label.edge", "o0 > label.edge", None}
    text = " ".join(rn.explain(peaks).text.split())
    assert "first 1 by value desc nulls last of those with o0 ≤ label.edge, kept in the order of that" in text
    assert "until one has the same first rows as before" in text
    text = " ".join(rn.explain(largest).text.split())
    assert "of those with o0 ≤ label.edge and o0 ≥ label.until, kept in the order of that" in text
    assert "with the first rows of all places that it is between the edges of" in text and "until one has" not in text
