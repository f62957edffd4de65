"""A program that is written again keeps its views where only what nobody sees is called otherwise, also after a field
was renamed; else it is told where the definition begins to differ."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.choices import Choices
from support.laws import law
from support.queries import random_query
from support.schemas import random_schema

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import ViewChanged
from ripplenest.nrc.surface.same import differing, same_view
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Lit, Query, Sng, Sorting, Tuple
from ripplenest.nrc.types import DOUBLE, LONG, Record
from ripplenest.nrc.walk import unique_binders


@rn.record
class Item:
    line: int
    part: str


@rn.record
class Order:
    id: int
    kind: int
    items: Bag[Item]


@rn.record
class Thing:
    line: int
    article: str


class Renamed:
    @rn.record
    class Order:
        id: int
        sort: int
        items: Bag[Thing]


def views(row: Any) -> list[rn.View]:
    """First rows with inner bags, which are told by their other fields, and all of a row."""

    @rn.view
    def first(R: Bag[row]) -> Any:
        return rn.top(2, R, key=lambda r: r.id)

    @rn.view
    def grouped(R: Bag[row]) -> Any:
        return [{"k": k, "best": sorted(rs, key=lambda r: r.id)[:1]} for k, rs in rn.group_by(R, lambda r: r.id % 2)]

    @rn.view
    def whole(R: Bag[row]) -> Any:
        return [{"k": r.id, "last": rn.top(1, r.items, key=lambda i: i.line)} for r in R]

    return [first, grouped, whole]


def opened(path: Path) -> rn.Database:
    db = rn.open(path, engine="local")
    db.relation("R", Order, key="id", keys={"items": "line"})
    db.load("R", [Order(i, i % 2, [Item(1, "x"), Item(2, "y")]) for i in range(4)])
    return db


def test_a_class_that_follows_a_rename_fits(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        for view in views(Order):
            db.create(view)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.relation("R").rename("kind", "sort")
            db.relation("R").rename("items.part", "article")
        version = db.version
        for view in views(Renamed.Order):
            db.create(view)
            rows = db.view(view.name).rows()
            assert rows == view(db.relation("R").rows()) and "kind" not in str(rows) and "part" not in str(rows)
        assert db.version == version and db.verify().ok
    with rn.open(tmp_path, engine="local") as db:
        for view in views(Renamed.Order):
            db.create(view)


def written(again: bool) -> rn.View:
    if again:

        @rn.view
        def kept(R: Bag[Order]) -> Any:
            return [
                {"id": r.id, "n": len([i for i in r.items if i.line > 1])} for r in R if r.kind > 0 or len(r.items) > 1
            ]

    else:

        @rn.view
        def kept(R: Bag[Order]) -> Any:
            return [
                {"id": x.id, "n": len([y for y in x.items if y.line > 1])} for x in R if x.kind > 0 or len(x.items) > 1
            ]

    return kept


def test_what_differs_is_told(tmp_path: Path) -> None:
    @rn.view
    def kept(R: Bag[Order]) -> Any:
        return [
            {"id": r.id, "n": len([i for i in r.items if i.line > 2])} for r in R if r.kind > 0 or len(r.items) > 1
        ]

    with opened(tmp_path) as db:
        db.create(written(again=False))
        version = db.version
        db.create(written(again=True))
        assert db.version == version
        with pytest.raises(ViewChanged) as caught:
            db.create(kept)
        (wanted,) = (line for line in str(caught.value).splitlines() if "wanted" in line)
        (got,) = (line for line in str(caught.value).splitlines() if line.strip().startswith("got"))
        assert ".line > 1" in wanted and ".line > 2" in got


TOLD = (
    "for k in group[g](t in top[s](2, y in (for r in R union sng(⟨row: ⟨{}: r.id, {}: r.kind⟩, o0: r.id⟩)) order y.{}) "
    "by row: t.{}) union {}"
)
SEEN = {
    "which order them": ("row.a", "row", "for r in R where r.id = k.row.a where r.kind = k.row.b union sng(⟨v: r.id⟩)"),
    "which are keys": ("o0", "row.a", "sng(⟨v: k.row⟩)"),
    "which are shown": ("o0", "row", "sng(k.row)"),
    "whose values are shown": ("o0", "row", "sng(⟨v: k.row.a⟩)"),
    "which are shown as they are": ("o0", "row", "sng(k)"),
}


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_records_that_somebody_sees_are_what_they_are_called(seen: tuple[str, str, str]) -> None:
    row = Record((("id", LONG), ("kind", LONG)))
    names = Environment({"R": row})
    one, other = (Query("V", parse_expr(TOLD.format(*ab, *seen), names), (("R", row),)) for ab in ("ab", "ba"))
    assert not same_view(one, other)


def test_how_rows_are_sorted_is_told() -> None:
    one = Query("V", Sng(Tuple((("n", Lit(1, LONG)),))), (), (), (Sorting(("n",), False, False),))
    assert differing(one, evolve(one, sorted=())) == ("sorted by n", "not sorted")


def test_constants_that_python_does_not_tell_apart_do() -> None:
    zeros = [Query("V", Sng(Lit(x, DOUBLE)), ()) for x in (0.0, -0.0, 0.0)]
    assert same_view(zeros[0], zeros[2]) and not same_view(*zeros[:2])


@law(examples=100)
def test_names_of_variables_do_not_make_another_view(c: Choices) -> None:
    schema = random_schema(c)
    one, other = (Query("V", random_query(c, schema), schema.relations) for _ in range(2))
    named = Query("V", unique_binders(one.body), schema.relations)
    assert same_view(one, named) and same_view(named, one)
    texts = differing(one, other)
    assert same_view(one, other) == (texts[0] == texts[1])
