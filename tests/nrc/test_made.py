"""Rows that a view makes as their classes do, and what functions say that they return."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from support.written import functions, is_refused

from ripplenest.errors import StateError
from ripplenest.nrc.errors import RipplenestError, TypeMismatch, Unsupported

HEAD = """
import datetime
from decimal import Decimal
from typing import Any
import attrs
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Item:
    sku: str
    qty: int
    price: rn.Decimal[10, 2]
    n: rn.Int

@rn.record
class R:
    id: int
    x: float
    note: str | None
    items: Bag[Item]

@rn.record
class Home:
    city: str
    n: float

@rn.record
class Line:
    sku: str
    amount: float
    price: rn.Decimal[12, 2] = Decimal("0.5")
    on: datetime.date = datetime.date(2024, 2, 29)

@rn.record
class Out:
    id: int
    x: float | None
    lines: list[Line] = []
    home: Home | None = None
    tags: list[str | None] = attrs.field(factory=list)
    of: Home = Home("a", 1.0)

@rn.record
class Row:
    id: int
    x: float | None
    home: Home | None
    tags: list[str]

@rn.record
class Late:
    id: int
    by: list[int] = attrs.field(factory=lambda: [1])

SOME, DAY = Decimal("1234567890.25"), datetime.date(2020, 1, 1)

@attrs.frozen
class Plain:
    id: int

def none() -> float | None:
    return None

def by_id(m: R) -> float | None:
    if m.id > 1:
        return None
    return m.x

def empty(m: R) -> "list[str]":
    return []

def unknown(m: R) -> "NowhereDefined":
    return m.id

def as_line(i: Item) -> Line:
    return Line(i.sku, i.qty)
"""
ROWS = [
    {"id": 1, "x": 0.5, "note": None, "items": [{"sku": "a", "qty": 2, "price": Decimal("1.50"), "n": 3}]},
    {"id": 2, "x": -1.0, "note": "b", "items": []},
]
OF = 'of=Home("b", m.id)'
LINE = "⟨sku: string, amount: double, price: decimal(12,2), on: date⟩"
HOME, LOOSE = "⟨city: string, n: double⟩", "⟨city: string?, n: double?⟩?"
# what a view says that it returns, what it returns for M: Bag[R], and the type of its rows
MADE = [
    ("list[Line]", "[Line(sku=i.sku, amount=i.qty) for m in M for i in m.items]", LINE),
    ("list[Line]", "[as_line(i) for m in M for i in m.items]", LINE),
    ("list[R]", "[R(m.id, m.x, m.note, m.items) for m in M]",
     "⟨id: long, x: double, note: string?, items: Bag(⟨sku: string, qty: long, price: decimal(10,2), n: int⟩)⟩"),
    ("list[Line]", "[Line(i.sku, i.n, i.price) for m in M for i in m.items]", LINE),
    ("list[Line]", '[Line(on=datetime.date(2020, 1, 1), price=3, amount=1, sku="s") for m in M]', LINE),
    ("list[Item]", "[Item(**i) for m in M for i in m.items]", "⟨sku: string, qty: long, price: decimal(10,2), n: int⟩"),
    ("list[Item]", '[Item("s", qty=i.n, price=Decimal("1.5"), n=7) for m in M for i in m.items]',
     "⟨sku: string, qty: long, price: decimal(10,2), n: int⟩"),
    ("Bag[Out]", f"[Out(m.id, None, [as_line(i) for i in m.items], {OF}) for m in M]",
     f"⟨id: long, x: double?, lines: Bag({LINE}), home: {LOOSE}, tags: Bag(string?), of: {HOME}⟩"),
    ("list[Out]", f'[Out(m.id, m.x, home=Home("c", m.id) if m.id > 1 else None, tags=[m.note], {OF}) for m in M]',
     f"⟨id: long, x: double, lines: Bag({LINE}), home: {LOOSE}, tags: Bag(string?), of: {HOME}⟩"),
    ("list[Row]", '[{"tags": [], "id": m.id, "x": None, "home": None} for m in M]',
     f"⟨tags: Bag(string), id: long, x: double?, home: {LOOSE}⟩"),
    ("list[Row]", '[{"id": m.id, "x": m.id, "home": Home("c", 1), "tags": []} for m in M]',
     f"⟨id: long, x: long, home: {HOME}?, tags: Bag(string)⟩"),
    ('"list[Row]"', "[]", f"⟨id: long, x: double?, home: {HOME}?, tags: Bag(string)⟩"),
    ("list[float | None]", "[None, None]", "double?"),
    ("list[list[int]]", "[[]]", "Bag(long)"),
    ("list[float]", "[m.id for m in M]", "long"),
    ("list[Any]", '[{"x": none(), "y": by_id(m), "t": empty(m)} for m in M]',
     "⟨x: double?, y: double?, t: Bag(string)⟩"),
    ("list[dict[str, Any]]", '[{"x": unknown(m)} for m in M]', "⟨x: long⟩"),
    ("list[NowhereDefined]", "[m.id for m in M]", "long"),
]  # fmt: skip
REFUSED: list[tuple[str, str, str, type[RipplenestError], str]] = [
    ("list[Any]", "[Line(sku='a') for m in M]", "Line(", Unsupported, "a new Line without amount"),
    ("list[Any]", "[Line('a', 1, no=2) for m in M]", "Line(", Unsupported, "Line has no such field"),
    ("list[Any]", "[Line('a', 1, 1, m.x, 2) for m in M]", "Line(", Unsupported, "a row of 4 fields made of 5 values"),
    ("list[Any]", "[Line('a', 1, sku='b') for m in M]", "Line(", Unsupported, "a record has each field once"),
    ("list[Any]", "[Line(*m.items) for m in M]", "Line(", Unsupported, "one argument after the other"),
    ("list[Any]", "[Line(m.note, 1) for m in M]", "Line(", TypeMismatch, "Line.sku is never NULL"),
    ("list[Any]", "[Line(m.id, 1) for m in M]", "Line(", TypeMismatch, "`str(x)`, `sku: int` in the class"),
    ("list[Any]", "[Line('a', 1, m.x) for m in M]", "Line(", TypeMismatch, "Line.price is of another type"),
    ("list[Any]", "[Item('a', 1, sum(i.price for i in m.items), 1) for m in M]", "Item(", TypeMismatch,
     "`rn.decimal(x, 10, 2)`"),
    ("list[Any]", "[Item('a', 1, 1, m.id) for m in M]", "Item(", TypeMismatch, "`n: int` in the class"),
    ("list[Any]", "[Item('a', 1, 1, 2147483648) for m in M]", "Item(", TypeMismatch, "wanted   int"),
    ("list[Any]", f"[Out(1, 1, lines=[{{'sku': 'a'}}], {OF}) for m in M]", "Out(", TypeMismatch, "got      Bag(⟨sku"),
    ("list[Any]", f"[Out(1, 1, [{{'sku': m.note, 'amount': 1.0, 'price': SOME, 'on': DAY}}], {OF}) for m in M]", "Out(",
     TypeMismatch, "Out.lines.sku is never NULL"),
    ("list[Any]", "[Out(1, 1) for m in M]", "Out(", Unsupported, "not a constant"),
    ("list[Any]", "[Late(1) for m in M]", "Late(", Unsupported, "worked out for each Late"),
    ("list[Any]", "[Plain(1) for m in M]", "Plain(", Unsupported, "`@rn.record` above the class"),
    ("list[Row]", '[{"id": m.id} for m in M]', "return", TypeMismatch, "the view returns other rows than it says"),
    ("list[float]", "[m.note for m in M]", "return", TypeMismatch, "wanted   double"),
    ("list[str]", "[m.note for m in M]", "return", TypeMismatch, "`rn.coalesce(x, ...)`, what stands for NULL"),
    ("R", "M", "return", TypeMismatch, "wanted   ⟨id: long"),
    ("list[Line]", "[{**as_line(i), 'price': i.qty, 'on': None} for m in M for i in m.items]", "return", TypeMismatch,
     "`rn.decimal(x, 12, 2)` of price"),
    ("list[Late]", "[{'id': m.id, 'by': [i.price for i in m.items]} for m in M]", "return", TypeMismatch,
     "got      by: decimal(10,2)"),
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module of a function for each expression."""
    every = [(says, e) for says, e, *_ in (*MADE, *REFUSED)]
    head, says = "from __future__ import annotations\n" + HEAD, "\n".join(says for says, _ in every)
    return functions(tmp_path_factory.mktemp("made") / "made.py", head, [e for _, e in every], says)


@pytest.mark.parametrize(("n", "row"), [*enumerate(t for *_, t in MADE)], ids=[e for _, e, _ in MADE])
def test_rows_are_those_that_python_makes(made: Any, n: int, row: str) -> None:
    view = made.rn.view(getattr(made, f"f{n}"))
    assert str(view.row) == row
    if "**" not in MADE[n][1]:  # of a record, which Python itself does not spread
        found = [_plain(r) for r in getattr(made, f"f{n}")([_of(made, r) for r in ROWS])]
        assert sorted(map(repr, _sorted(view(ROWS)))) == sorted(map(repr, _sorted(found)))


def _of(made: Any, row: dict[str, Any]) -> Any:
    return made.R(**{**row, "items": [made.Item(**i) for i in row["items"]]})


def _plain(row: Any) -> Any:
    return attrs.asdict(row) if attrs.has(type(row)) else row


def _sorted(value: Any) -> Any:
    """Numbers as numbers of one kind, records by the names of fields."""
    match value:
        case dict():
            return {name: _sorted(_plain(value[name])) for name in sorted(value)}
        case list():
            return [_sorted(_plain(v)) for v in value]
        case int() | float() | Decimal():
            return float(value)
        case _:
            return value


def test_they_are_kept(made: Any, tmp_path: Path) -> None:
    """Also what they take for granted of their relation is found, whose rows could have other fields."""
    with made.rn.open(tmp_path, engine="local") as db:
        relation = db.relation("M", made.R, key="id")
        db.load("M", ROWS)
        views = [made.rn.view(getattr(made, f"f{n}")) for n in range(len(MADE))]
        handles = [db.create(view) for view in views]
        with db.batch() as b:
            b.upsert("M", [ROWS[1] | {"x": 7.0}])
            b.insert("M", [ROWS[0] | {"id": 3}])
        for view, handle in zip(views, handles, strict=True):
            assert sorted(map(repr, handle.rows())) == sorted(map(repr, view(relation.rows())))
        with pytest.raises(StateError, match="would mean something else where rows of M"):
            relation.add("items.more", int | None)


@pytest.mark.parametrize(("n", "place", "kind", "part"), [(n, *r[2:]) for n, r in enumerate(REFUSED)])
def test_what_is_no_such_row_is_refused_where_it_stands(
    made: Any, n: int, place: str, kind: type[RipplenestError], part: str
) -> None:
    is_refused(made, n + len(MADE), place, kind, part)
