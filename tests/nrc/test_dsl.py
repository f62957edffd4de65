"""The Python surface: each supported form, by its term or by its rows; scoping; and agreement with plain Python."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.written import module

from ripplenest.nrc import types as t
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.surface.python import Bag, Decimal, Int, record, record_type, view
from ripplenest.nrc.syntax import (
    Call,
    Empty,
    Flatten,
    For,
    Let,
    LetVar,
    Lit,
    Neg,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes


@record
class Movie:
    name: str
    gen: str | None
    dir: str | None


@record
class Order:
    n: int
    items: Bag[str]


@record
class Customer:
    name: str
    small: Int
    day: dt.date
    price: Decimal[10, 2]
    rate: float
    orders: Bag[Order]
    tags: Bag[str] | None


MOVIE, STR = record_type(Movie), t.STRING
M = Rel("M", MOVIE)
DRIVE, SKYFALL = Movie("Drive", "Drama", "Refn"), Movie("Skyfall", "Action", "Mendes")
RUSH = Movie("Rush", "Action", None)
ANN = {
    "name": "Ann", "small": 1, "day": dt.date(2020, 2, 29), "price": decimal.Decimal("1.50"), "rate": 0.5,
    "orders": [{"n": 1, "items": ["a", "a", "b"]}, {"n": 20, "items": []}], "tags": ["x"],
}  # fmt: skip
BOB = {**ANN, "name": "bob ", "small": 7, "orders": [], "tags": None}

# ---------------------------------------------------------------- terms


def field(var: str, *names: str) -> Any:
    elem: Any = Var(var)
    for name in names:
        elem = Proj(elem, name)
    return elem


def test_related_is_the_paper_s_term() -> None:
    @view
    def related(M: Bag[Movie]):  # type: ignore[no-untyped-def]
        """A docstring."""
        # a comment
        return [
            {"name": m.name,
             "related": [m2.name for m2 in M
                         if m2.name != m.name and (m2.gen == m.gen or m2.dir == m.dir)]}
            for m in M
        ]  # fmt: skip

    eq = [Call("eq", (field("m2", f), field("m", f))) for f in ("gen", "dir")]
    cond = Call("and", (Call("ne", (field("m2", "name"), field("m", "name"))), Call("or", tuple(eq))))
    inner = For("m2", M, For("_", Pred(cond), Sng(field("m2", "name"))))
    head = Sng(Tuple((("name", field("m", "name")), ("related", Var("b")))))
    assert related.query.body == For("m", M, For("b", SngBag("related.related", inner), head))
    assert related.query.relations == (("M", MOVIE),)
    assert (related.name, str(related.row)) == ("related", "⟨name: string, related: Bag(string)⟩")
    rows = related([DRIVE, SKYFALL, RUSH])
    assert rows == [
        {"name": "Drive", "related": []},
        {"name": "Rush", "related": ["Skyfall"]},
        {"name": "Skyfall", "related": ["Rush"]},
    ]


def body(function: Callable[..., object]) -> Any:
    made = view(function)
    check(made.query.body)
    return made.query.body


def test_terms_of_bag_operators() -> None:
    def sums(A: Bag[str], B: Bag[str]):  # type: ignore[no-untyped-def]
        return A + B - A + -B

    a, b = Rel("A", STR), Rel("B", STR)
    assert body(sums) == Plus(Plus(Plus(a, b), Neg(a)), Neg(b))

    def pairs(A: Bag[str], B: Bag[str]):  # type: ignore[no-untyped-def]
        return [x + y for x, y in A * B]

    assert body(pairs) == For("row", Product(a, b), Sng(Call("concat", (field("row", "_1"), field("row", "_2")))))

    def conditional(A: Bag[str], N: Bag[Movie]):  # type: ignore[no-untyped-def]
        return [x for n in N for x in (A if n.gen == "x" else [])]

    test = Call("eq", (field("n", "gen"), Lit("x", STR)))
    otherwise = Call("not", (Call("is_true", (test,)),))
    source = Plus(For("_", Pred(test), a), For("_1", Pred(otherwise), Empty(STR)))
    assert body(conditional) == For("n", Rel("N", MOVIE), For("x", source, Sng(Var("x"))))


def test_terms_of_inner_bags_and_let() -> None:
    def inner(C: Bag[Order]):  # type: ignore[no-untyped-def]
        names = [i for c in C for i in c.items]
        return [[n] for n in names]

    items = Flatten(Sng(field("c", "items")))
    bound = For("c", Rel("C", record_type(Order)), For("i", items, Sng(Var("i"))))
    head = SngBag("inner.item", Sng(Var("n")))
    assert body(inner) == Let("names", bound, For("n", LetVar("names"), head))


def test_an_int_literal_is_a_long_or_an_int_beside_an_int() -> None:
    def literals(C: Bag[Customer]):  # type: ignore[no-untyped-def]
        return [{"a": 1, "b": -2, "c": c.small + 1} for c in C if c.small > 0]

    assert {n.type for n in nodes(body(literals)) if isinstance(n, Lit) and n.value == 1} == {t.LONG, t.INT}
    assert str(view(literals).row) == "⟨a: long, b: long, c: int⟩"


def test_sites_and_binders_are_named_apart() -> None:
    def again(N: Bag[str]):  # type: ignore[no-untyped-def]
        row = {"x": list(N)}
        names: Bag[str] = []
        both = [
            {"a": row, "b": list(N), "b2": [m for m in N if m > ""], "d": {"b": [m for m in N if m > ""]}} for n in N
        ]
        return both + [{"a": row, "b": names, "b2": N, "d": {"b": [n]}} for n in N]  # fmt: skip

    found = list(nodes(body(again)))
    sites = [n.site for n in found if isinstance(n, SngBag)]
    binders = [n.var for n in found if isinstance(n, For)]
    assert len(set(sites)) == len(sites) and len(set(binders)) == len(binders)
    assert {"again.b", "again.b2", "again.d.b"} <= set(sites)


# ---------------------------------------------------------------- values

TEMPLATE = """\
from ripplenest.nrc.surface.python import *
import collections
import datetime
import datetime as dt
import decimal
import math
import types
from test_dsl_data import Customer, Movie, Order

LIMIT = 5
NAMES = ("Ann", "Cid")
NAN = float("nan")
RATES = {"Ann": 1.5, "Cid": 2}
PRICES = {"Ann": decimal.Decimal("1.25"), "Cid": decimal.Decimal(12), "Bob": 3}
TERM = dt.timedelta(weeks=4)
CODES = {1: "one", 2: "two"}
NULLS = {None: "null", "Ann": "a"}
KEY = "limits"
NOTHING = {}
FIXED = types.MappingProxyType({"Ann": 5})
MAKES = collections.defaultdict(lambda: 0, {"a": 1})
NESTED = {"limits": (3, {"top": 9})}

NONE = None
OTHERS = [{"top": 12, "xs": ["a"]}, {"top": 3, "xs": ["b", "c"]}]

class Config:
    prefix = "A"

def only(c, name=None):
    if name is None:
        return c.name
    return c.name + "!" if c.name == name else "other"

def shout(text, mark="!"):
    \"\"\"A helper with a let before its return.\"\"\"
    loud = text.upper()
    return loud + mark

def items_of(c):
    found = [i for o in c.orders for i in o.items]
    return found

def pack(c):
    xs = [o.n for o in c.orders]
    return {"xs": xs, "twice": xs + xs}

def keep(rows, test):
    return [r for r in rows if test(r)]

def is_ann(c):
    return c.name == "Ann"

@view
def names(C: Bag[Customer]):
    x = [c.name for c in C]
    return x

@view
def it(C: Bag[Customer]):
    return EXPR
"""


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """A module with the view ``it``, whose result is the expression."""
    folder, count = tmp_path_factory.mktemp("views"), iter(range(10_000))
    sys.modules["test_dsl_data"] = sys.modules[__name__]

    def make(expr: str) -> Any:
        path: Path = folder / f"v{next(count)}.py"
        return module(path, TEMPLATE.replace("EXPR", expr))

    yield make
    del sys.modules["test_dsl_data"]


ROWS = [
    ("C", [ANN, BOB]),
    ("[c for c in C if c.small == 1]", [ANN]),
    ("[c.name for c in C for d in C]", ["Ann", "Ann", "bob ", "bob "]),
    ("[(c.name, o.n) for c in C for o in c.orders if o.n > 1 if o.n < 30]", [{"_1": "Ann", "_2": 20}]),
    ("[o.n for o in [p for c in C for p in c.orders]]", [1, 20]),
    ("[x for c in C for x in items_of(c)]", ["a", "a", "b"]),
    ("[x for xs in [[1, 2], [3]] for x in xs]", [1, 2, 3]),
    ("[{'n': c.name, 'bag': [c.name, 'z'], 'nested': {'t': c.tags}} for c in C]",
     [{"n": "Ann", "bag": ["Ann", "z"], "nested": {"t": ["x"]}},
      {"n": "bob ", "bag": ["bob ", "z"], "nested": {"t": None}}]),
    ("[{**o, 'n': 0, 'more': c['name']} for c in C for o in c.orders if o.n == 1]",
     [{"n": 0, "items": ["a", "a", "b"], "more": "Ann"}]),
    ("[r.b for c in C for r in [{'a': c.name, 'b': [c.small]}]]", [[1], [7]]),
    ("[*names(C), 'x']", ["Ann", "bob ", "x"]),
    ("flatten([c.orders for c in C]) - [o for c in C for o in c.orders if o.n == 1]", [{"n": 20, "items": []}]),
    ("[t for c in C for t in (c.tags if c.small == 1 else [c.name])]", ["bob ", "x"]),
    ("[{'t': c.tags if c.name != '' else c.tags} for c in C]", [{"t": None}, {"t": ["x"]}]),
    ("[{'t': c.tags if c.name != '' else [c.name]} for c in C]", [{"t": None}, {"t": ["x"]}]),
    ("[{'t': [] if c.small == 1 else c.tags} for c in C]", [{"t": None}, {"t": []}]),
    ("[({'k': 1, 'v': c.orders} if c.name == 'Ann' else {'k': 2, 'v': list(c.orders)})['k'] for c in C]", [1, 2]),
    ("[{'n': c.name} for c in C if c.small == 1] + [{'n': None if c.small > 1 else c.name} for c in C]",
     [{"n": None}, {"n": "Ann"}, {"n": "Ann"}]),
    # calls of views and helpers, with shadowed and repeated names
    ("[{'a': names(C), 'b': names([c])} for c in C if c.small == 7]", [{"a": ["Ann", "bob "], "b": ["bob "]}]),
    ("[(x, c.name) for c in C for x in names([d for d in C if d.name != c.name])]",
     [{"_1": "Ann", "_2": "bob "}, {"_1": "bob ", "_2": "Ann"}]),
    ("[{**pack(c), 'again': pack(c)} for c in C if is_ann(c)]",
     [{"xs": [1, 20], "twice": [1, 1, 20, 20], "again": {"xs": [1, 20], "twice": [1, 1, 20, 20]}}]),
    ("[n for c in C for n in pack(c)['xs']]", [1, 20]),
    ("[n for c in C for n in (pack(c) if c.small == 1 else pack(c))['twice'] if n > 1]", [20, 20]),
    ("[c.name for c in keep(C, is_ann)]", ["Ann"]),
    ("[shout(c.name) + shout(mark='?', text=c.name) for c in C]", ["ANN!ANN?", "BOB !BOB ?"]),
    ("[c for c in [c.name for c in C]]", ["Ann", "bob "]),
    # constants of the program, and what they decide
    ("[(n, c.small) for n in NAMES for c in C if c.name == n]", [{"_1": "Ann", "_2": 1}]),
    ("[a + b for a, b in [(1, 2), (3, 4)]] + [n for n in (5, 6)] + [i for i in range(7, 9)]", [3, 5, 6, 7, 7, 8]),
    ("[k for k in RATES] + [k + '!' for k in FIXED]", ["Ann", "Ann!", "Cid"]),
    ("[(x['top'], y) for x in OTHERS for y in x['xs'] if y < 'c']", [{"_1": 3, "_2": "b"}, {"_1": 12, "_2": "a"}]),
    ("[only(c, None) for c in C] + [only(c) for c in C] + [only(c, 'Ann') for c in C if NONE is None or c.name < NONE]",
     ["Ann", "Ann", "Ann!", "bob ", "bob ", "other"]),
    ("[c.name for c in C if NONE is not None and c.name == NONE] + ['a' if NONE is None else 'b' + NONE]", ["a"]),
    # x := e is known to what comes after it
    ("[n for c in C if (n := c.name.upper()) == 'ANN']", ["ANN"]),
    ("[n + m for c in C if (n := c.name) != '' and (m := n + '!') != n for o in c.orders if o.n > 1]", ["AnnAnn!"]),
    ("[{'a': (n := c.small) + n, 'b': [(m := n + o.n) * m for o in c.orders], 'c': n} for c in C if c.small == 1]",
     [{"a": 2, "b": [4, 441], "c": 1}]),
    ("[{'most': s, 'all': [o.n for o in xs]} for c in C if (xs := [o for o in c.orders if o.n > 1]) "
     "if (s := max(o.n for o in xs)) > 10]", [{"most": 20, "all": [20]}]),
    ("[(n := 'a' + n) + n for c in C if (n := c.name) == 'Ann']", ["aAnnaAnn"]),
    ("[c.name for c in C if 1 < (n := c.small) < 9 and n == 7]", ["bob "]),
    ("[[c.n for c in c.orders] for c in C]", [[], [1, 20]]),
]  # fmt: skip

SCALARS = [
    ("c.small + 1 - 2 * 3", [-4, 2]),
    ("c.small / 2", [0.5, 3.5]),
    ("c.small % 2", [1, 1]),
    ("-c.small", [-7, -1]),
    ("abs(-c.small)", [1, 7]),
    ("0 < c.small <= LIMIT", [False, True]),
    ("c.name == 'Ann' and not c.small > 3 or False", [False, True]),
    ("c.name in ('Ann', 'Cid')", [False, True]),
    ("c.name in NAMES", [False, True]),
    ("c.name not in {'Ann'}", [False, True]),
    ("c.small in ()", [False, False]),
    ("'n' in c.name", [False, True]),
    ("c.name in RATES", [False, True]),
    ("RATES.get(c.name, 0)", [0.0, 1.5]),
    ("RATES.get(c.name)", [None, 1.5]),
    ("PRICES.get(c.name, decimal.Decimal(2))", [decimal.Decimal("1.25"), decimal.Decimal("2.00")]),
    ("PRICES.get(c.name, 0)", [decimal.Decimal("0.00"), decimal.Decimal("1.25")]),
    ("PRICES.get(c.name)", [None, decimal.Decimal("1.25")]),
    ("CODES.get(c.small, c.name)", ["bob ", "one"]),
    ("CODES.get(c.small if c.small == 1 else None, 'none')", ["none", "one"]),
    ("NULLS.get(c.name if c.small == 1 else None)", ["a", "null"]),
    ("NESTED['limits'][1]['top'] + NESTED['limits'][0]", [12, 12]),
    ("NESTED[KEY][-2] + NESTED[KEY][0]", [6, 6]),
    ("c.name in NAMES[:1] and not c.name in NAMES[1:]", [False, True]),
    ("NOTHING.get(c.name, 3)", [3, 3]),
    ("FIXED.get(c.name, 0) + MAKES.get('b', 0) + MAKES['a']", [1, 6]),
    ("c.name.startswith(Config.prefix) or c.name.endswith(' ')", [True, True]),
    ("c.name.upper() + c.name.lower().strip(' ')", ["ANNann", "BOB bob"]),
    ("len(c.name)", [3, 4]),
    ("c.name.replace('n', c.name).replace('bo', '')", ["AAnnAnn", "b "]),
    ("f'{c.name}-{str(c.small)}!'", ["Ann-1!", "bob -7!"]),
    ("f'{c.small!s}'", ["1", "7"]),
    ("f''", ["", ""]),
    ("int(c.rate) + int(2.9)", [2, 2]),
    ("float(c.small)", [1.0, 7.0]),
    ("c.name if c.small == 1 else None", [None, "Ann"]),
    ("coalesce(c.name if c.small == 1 else None, 'none')", ["Ann", "none"]),
    ("(c.name if c.small == 1 else None) is None", [False, True]),
    ("(c.name if c.small == 1 else None) is not None", [False, True]),
    ("(c.name if c.small == 1 else None) == 'Ann'", [None, True]),
    ("1 if (c.name if c.small == 1 else None) == 'Ann' else 2", [1, 2]),
    ("not (c.name if c.small == 1 else None) == 'Ann'", [None, False]),
    ("c.day.year + c.day.month + c.day.day", [2051, 2051]),
    ("c.day == datetime.date(2020, 2, 29)", [True, True]),
    ("(c.day - datetime.date(2019, 3, 1)).days", [365, 365]),
    ("(dt.datetime(1950, 2, 3, 4).date() - c.day).days < -20000", [True, True]),
    ("c.day + dt.timedelta(days=1, weeks=-1)", [dt.date(2020, 2, 23)] * 2),
    ("dt.timedelta(c.small) + c.day", [dt.date(2020, 3, 1), dt.date(2020, 3, 7)]),
    ("c.day - dt.timedelta(weeks=c.small, days=-1)", [dt.date(2020, 1, 12), dt.date(2020, 2, 23)]),
    ("c.day - TERM", [dt.date(2020, 2, 1)] * 2),
    ("c.day - dt.timedelta(days=c.day.day - 1)", [dt.date(2020, 2, 1)] * 2),
    ("dt.datetime(2020, 1, 1) + dt.timedelta(minutes=c.small, seconds=-1.5)",
     [dt.datetime(2020, 1, 1, 0, n, 58, 500_000, dt.UTC) for n in (0, 6)]),
    ("dt.datetime(2020, 1, 1) - dt.timedelta(hours=c.small * 1_000_000)",
     [dt.datetime(2020, 1, 1, tzinfo=dt.UTC) - dt.timedelta(hours=n * 1_000_000) for n in (7, 1)]),
    ("dt.date(9999, 12, 31) + TERM < c.day or c.day > TERM + dt.date(9999, 12, 30) > c.day", [False] * 2),
    ("dt.datetime(2020, 1, 1) >= dt.datetime.max + TERM", [False] * 2),
    ("c.day + (c.day - dt.date(2020, 2, 28))", [dt.date(2020, 3, 1)] * 2),
    ("c.day + 2 * TERM + TERM / 4 - -TERM", [dt.date(2020, 5, 30)] * 2),
    ("c.day - c.small * TERM + dt.timedelta(1) * c.small", [dt.date(2019, 8, 24), dt.date(2020, 2, 2)]),
    ("(c.day - dt.date(2020, 1, 1) - TERM).days + (TERM + dt.timedelta(days=c.small)).days", [60, 66]),
    ("(c.day - dt.date(2020, 2, 28)).total_seconds()", [86400.0] * 2),
    ("c.day - dt.date(2020, 2, 1) <= TERM < c.day - dt.date(2020, 1, 1)", [True] * 2),
    ("c.day - dt.date(2020, 2, 28) < dt.timedelta(hours=25)", [True] * 2),
    ("-(c.day - dt.date(2020, 2, 28)) == dt.timedelta(days=-1)", [True] * 2),
    ("dt.datetime(2020, 1, 1) - dt.datetime(2019, 1, 1) > dt.timedelta(weeks=52) * 1.5", [False] * 2),
    ("(dt.datetime(2020, 1, 1) - dt.datetime(2019, 1, 1)) is None", [False] * 2),
    ("c.day + dt.timedelta(days=c.small if c.small == 1 else None)", [None, dt.date(2020, 3, 1)]),
    ("(dt.datetime(2020, 1, 1) - dt.datetime(2020, 1, 2, 0, 0, 0, 1)).total_seconds()", [-86400.000001] * 2),
    ("(c.day - (c.day if c.small == 1 else None)).days", [None, 0]),
    ("dt.datetime(1969, 12, 31, 23, 59, 58).second + dt.datetime(2020, 1, 2, 3, 4).minute", [62, 62]),
    ("dt.datetime(2021, 2, 3, 4).year + dt.datetime(2020, 1, 2, 3, 4).hour", [2024, 2024]),
    ("dt.datetime(1950, 2, 3, 4).date() == dt.date(1950, 2, 3)", [True, True]),
    ("c.day < dt.date(year=2020, month=3, day=1)", [True, True]),
    ("dt.datetime(2020, 1, 1)", [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 2),
    ("c.price == decimal.Decimal('1.50')", [True, True]),
    ("c.rate < math.pi", [True, True]),
    ("NAN == NAN", [True, True]),
    ("b'ab'", [b"ab"] * 2),
    ("-9223372036854775808", [-(2**63)] * 2),
    ("True if c.small > 2 else c.name == 'Ann'", [True, True]),
]


@pytest.mark.parametrize(("expr", "rows"), ROWS, ids=[e for e, _ in ROWS])
def test_bags(load: Callable[[str], Any], expr: str, rows: list[object]) -> None:
    it = load(expr).it
    check(it.query.body)
    assert it([ANN, BOB]) == rows


@pytest.mark.parametrize(("expr", "rows"), SCALARS, ids=[e for e, _ in SCALARS])
def test_scalars(load: Callable[[str], Any], expr: str, rows: list[object]) -> None:
    assert load(f"[{expr} for c in C]").it(C=[ANN, BOB]) == rows


BOUNDS = (None, *range(-4, 5))
SLICES = [(a, b) for a in BOUNDS for b in BOUNDS if not (b is not None and (a or 0) < 0 <= b)]


def test_parts_of_strings_are_pythons(load: Callable[[str], Any]) -> None:
    """Every pair of bounds that a view takes, on strings that are shorter and longer; a part always has a value."""
    parts = [f"c.name[{'' if a is None else a}:{'' if b is None else b}]" for a, b in SLICES]
    view = load("[{" + ", ".join(f"'p{i}': {part}" for i, part in enumerate(parts)) + "} for c in C]").it
    assert len(parts) == 80
    for name in ("", "a", "abc", "é🙂xyz"):
        (row,) = view(C=[{**ANN, "name": name}])
        assert list(row.values()) == [name[a:b] for a, b in SLICES]
    loop = view.query.body
    assert isinstance(loop, For) and isinstance(loop.source, Rel) and isinstance(loop.body, Sng)
    assert is_total(loop.body.elem, {loop.var: loop.source.row})


def test_a_dict_that_makes_what_it_has_not_stays_as_it_is(load: Callable[[str], Any]) -> None:
    module = load("[MAKES['a'] for c in C]")
    with pytest.raises(UnknownName, match="nothing there"):
        load("[MAKES['b'] for c in C]")
    assert module.MAKES == {"a": 1}


def test_a_set_of_constants_has_one_order() -> None:
    letters = set("hgfedcba")

    def chosen(N: Bag[str]):  # type: ignore[no-untyped-def]
        return [n for n in N if n in letters]

    assert [n.value for n in nodes(body(chosen)) if isinstance(n, Lit)] == list("abcdefgh")


def test_constants_are_canonical(load: Callable[[str], Any]) -> None:
    rows = load("[NAN for c in C] + [-0.0 for c in C]").it([ANN])
    assert math.copysign(1, rows[0]) == 1.0 and math.isnan(rows[1])
