"""Inner bags that are NULL, which are no empty ones: a view can ask, at every depth, on every surface and engine."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.nrc.printing.pretty import show


@rn.record
class Item:
    n: int
    tags: list[str] | None


@rn.record
class Box:
    k: int
    xs: list[int] | None
    items: Bag[Item] | None


@rn.view
def inside(B: Bag[Box]):
    return [
        {"k": b.k, "none": b.xs is None, "own": b.items,
         "items": [{"n": i.n, "none": i.tags is None, "b": b.k if b.items is not None else None}
                   for i in b.items if i.tags is not None or b.xs is None]}
        for b in B
    ]  # fmt: skip


@rn.view
def grouped(B: Bag[Box]):
    return [{"none": none, "n": len(bs)} for none, bs in rn.group_by(B, lambda b: b.items is None)]


@rn.view
def over(B: Bag[Box]):
    """Of rows of another view: what passes on is NULL where it was, and what a view makes never is."""
    return [{"k": r["k"], "own": r["own"] is None, "made": r["items"] is None} for r in inside(B)]


@rn.view
def beside(B: Bag[Box]):
    """Who has no partner is beside a row of NULLs with empty bags."""
    return [{"k": a.k, "b": b.k, "none": b.xs is None} for a, b in rn.left_join(B, B, lambda a, b: a.k == b.k + 1)]


@rn.view
def instead(B: Bag[Box]):
    """NULL as a bag without rows, or as another one, which may be NULL itself."""
    return [
        {"k": b.k, "or": b.xs or [], "none": rn.coalesce(b.items, []),
         "made": rn.coalesce(list(b.xs or []), b.xs),
         "own": rn.coalesce(b.items, None, [{"n": b.k, "tags": [str(i.n) for i in b.items or []]}]),
         "items": [{"n": i.n, "tags": rn.coalesce(i.tags, [str(x) for x in b.xs])} for i in b.items or []],
         "last": [rn.coalesce(i.tags, j.tags) for i in b.items for j in b.items if i.n < j.n]}
        for b in B
    ]  # fmt: skip


VIEWS = (inside, grouped, over, beside, instead)
NONE = {"k": 1, "xs": None, "items": None}
SOME = {"k": 2, "xs": [], "items": [{"n": 1, "tags": None}, {"n": 2, "tags": ["a"]}]}
EMPTY = {"k": 3, "xs": [1], "items": []}


def as_python(b: dict[str, Any]) -> dict[str, Any]:
    """What ``instead`` has of ``b`` by Python itself, which has ``or`` and ``is None``."""
    items, xs = b["items"] or [], b["xs"] or []
    return {
        "k": b["k"], "or": xs, "none": items, "made": xs,
        "own": [{"n": b["k"], "tags": []}] if b["items"] is None else items,
        "items": [{"n": i["n"], "tags": [str(x) for x in xs] if i["tags"] is None else i["tags"]} for i in items],
        "last": [j["tags"] if i["tags"] is None else i["tags"] for i in items for j in items if i["n"] < j["n"]],
    }  # fmt: skip


def test_instead_of_none() -> None:
    rows = [NONE, SOME, EMPTY, {**NONE, "xs": [5], "k": 4}, {**SOME, "xs": [7], "k": 5}]
    assert instead(rows) == [as_python(b) for b in rows]
    assert rn.coalesce(None, [1]) == [1]
    assert rn.coalesce([], [1]) == []


def kept(db: rn.Database) -> None:
    """Bags become NULL and come back; each view is what it is of the rows, whenever it was made."""
    db.load("B", [NONE])
    for view in VIEWS[::2]:
        db.create(view)
    with db.batch() as b:
        b.insert("B", [SOME, EMPTY])
    for view in VIEWS[1::2]:
        db.create(view)
    steps: list[list[dict[str, Any]]] = [
        [{**NONE, "xs": [5]}, {**EMPTY, "items": None}],
        [{**NONE, "items": []}, {**SOME, "items": [{"n": 1, "tags": []}]}],
        [NONE, SOME, EMPTY],
    ]
    now = {row["k"]: row for row in (NONE, SOME, EMPTY)}
    for step in steps:
        with db.batch(policy="incremental") as b:
            b.upsert("B", step)
        now |= {row["k"]: row for row in step}
        for view in VIEWS:
            assert db.view(view.name).rows() == view([*now.values()]), view.name
    assert db.verify(deep=True).ok


@pytest.mark.parametrize("immutable", [(), ("xs", "items")])
def test_here(folder, immutable: tuple[str, ...]) -> None:
    with rn.open(folder / "state", engine="local") as db:
        db.relation("B", Box, key="k", immutable=immutable)
        kept(db)


def test_on_spark(folder, spark: SparkSession) -> None:
    with rn.open(folder / "state", spark=spark, engine="spark") as db:
        db.relation("B", Box, key="k")
        kept(db)
        found = {row["k"]: row["none"] for row in db.view("inside").nested().collect()}
        assert found == {1: True, 2: False, 3: False}


def test_in_text(folder) -> None:
    text = """
    relation B : Bag(⟨k: long, xs: Bag(long)?, items: Bag(⟨n: long, tags: Bag(string)?⟩)?⟩) key k
    view none = [ {k: b.k, none: b.xs is null, n: count(1 | i in b.items, i.tags is not null)} | b in B ]
    """
    program = rn.parse(text, "boxes")
    with rn.open(folder / "state", engine="local") as db:
        db.relation(program.relation("B"))
        db.load("B", [NONE, SOME, EMPTY])
        rows = db.create(program.view("none")).rows()
    wanted = [(1, True, 0), (2, False, 1), (3, False, 0)]
    assert rows == [dict(zip(("k", "none", "n"), row, strict=True)) for row in wanted]
    body = program.view("none").query.body
    (again,) = rn.parse(f"{text.partition('view')[0]} view again = {show(body)}", "again").views
    assert again.query.body == body and "is null" in show(body)


def test_other_questions_are_refused() -> None:
    """A bag that a view makes is never NULL, and no function of values takes one."""
    with pytest.raises(errors.TypeMismatch, match=r"`x\.xs is None` of a field"):

        @rn.view
        def made(B: Bag[Box]):
            more = [x + 1 for b in B for x in b.xs]
            return [{"k": b.k} for b in B if more is None]

    with pytest.raises(errors.TypeMismatch, match="base values only"):

        @rn.view
        def both(B: Bag[Box]):
            return [{"k": str(b.xs)} for b in B]


@rn.view
def of_none(B: Bag[Box]):
    """Rows of a bag where it is NULL: none, whatever is folded of them."""
    return [
        {
            "k": b.k,
            "n": len([x for x in b.xs if b.xs is None]),
            "sum": sum(x for x in b.xs if b.xs is None),
            "any": any(x > 1 for x in b.xs if b.xs is None),
            "set": {x for x in b.xs if b.xs is None},
            "groups": [k for k, _ in rn.group_by([i.n for i in b.items if b.items is None], lambda n: n)],
            "either": len(b.xs if b.xs is None else [1]),
        }
        for b in B
    ]


def test_a_bag_that_is_null_has_no_rows_to_fold(folder) -> None:
    none = {"n": 0, "sum": None, "any": False, "set": [], "groups": []}
    with rn.open(folder / "state", engine="local") as db:
        db.relation("B", Box, key="k")
        db.create(of_none)
        with db.batch(policy="strict") as b:
            b.insert("B", [Box(1, None, None), Box(2, [3], [Item(1, None)])])
        wanted = [{"k": 1, **none, "either": 0}, {"k": 2, **none, "either": 1}]
        assert db.view("of_none").rows() == of_none(db.relation("B").rows()) == wanted
        assert db.verify(deep=True).ok


@rn.record
class Player:
    id: int


@rn.record
class Score:
    player: int
    n: int


@rn.view
def by_best(P: Bag[Player], S: Bag[Score]) -> list[Any]:
    """Groups by a total that may be NULL, of rows with bags, of which two totals are asked in an inner bag: the place
    of one is a label in a label, and its key is NULL there."""
    best = [
        {
            "id": p.id,
            "best": max((s.n for s in S if s.player == p.id), default=None),
            "all": [s.n for s in S if s.player == p.id],
        }
        for p in P
    ]
    return [
        {"best": best, "ids": [x["id"] for x in xs if len(xs) < sum(len(y["all"]) for y in xs)]}
        for best, xs in rn.group_by(best, lambda x: x["best"])
    ]


@pytest.mark.filterwarnings("ignore:view by_best is kept fresh")
def test_a_label_in_a_label_may_have_a_key_of_null(tmp_path: Path) -> None:
    players, scores = [{"id": i} for i in range(6)], [{"player": i % 3, "n": i % 2} for i in range(9)]
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("P", Player, key="id")
        db.relation("S", Score)
        db.load("P", players)
        db.load("S", scores)
        db.create(by_best)
        for player, n in ((4, 1), (4, 1), (5, 0), (3, 1)):
            assert db.view("by_best").rows() == by_best(players, scores)
            scores.append({"player": player, "n": n})
            with db.batch() as b:
                b.insert("S", scores[-1:])
        assert db.view("by_best").rows() == by_best(players, scores) and db.verify().ok
