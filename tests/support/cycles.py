"""Views that close a cycle of three or four tables, and batches for tables where many rows have one value."""

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Lit, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, Base, Record
from support.choices import Choices
from support.related import path

ROW = Record((("a", LONG), ("b", Base("long", True)), ("c", LONG)))
NAMES = ("R", "S", "T")
HUB = 0  # a value that most rows have
HUGE = 2**63 - 1  # which no sum has a value with


def cycle(c: Choices, size: int) -> tuple[list[tuple[str, Rel]], list[Elem]]:
    """Generators whose b is the a of the next one, round; some with a chord, a constant, a sum of two of them."""
    generators = [(f"x{i}", Rel(c.pick(NAMES), ROW)) for i in range(size)]
    names = [var for var, _ in generators]
    conditions = [same(c, path(var, "b"), path(names[i - size + 1], "a")) for i, var in enumerate(names)]
    if c.one_in(3):  # one that hangs on the cycle, and is perhaps read before that is closed
        conditions += [same(c, path("y", "a"), path(names[0], "c")), Call("lt", (path(names[1], "c"), path("y", "b")))]
        generators.insert(c.number(2), ("y", Rel(c.pick(NAMES), ROW)))
    one, other, third = c.pick(names), c.pick(names), c.pick(names)
    more = (
        Call("eq", (path(one, "c"), Call("add_long", (path(other, "a"), path(third, "c"))))),
        same(c, path(one, "c"), path(other, "c")),
        Call("lt", (path(one, "c"), path(other, "b"))),
        Call("eq", (path(one, "c"), Lit(HUB, LONG))),
        same(c, path(third, "b"), path(third, "b")),  # which is not NULL, and says nothing of another table
    )
    return generators, [*conditions, *(t for i, t in enumerate(more) if c.one_in(2 + i))]


def same(c: Choices, a: Elem, b: Elem) -> Elem:
    return Call(c.pick(("eq", "eq", "same")), (a, b)[:: c.pick((1, -1))])


def body(generators: list[tuple[str, Rel]], conditions: list[Elem], head: Expr) -> Expr:
    found = head
    for condition in conditions:
        found = For("_", Pred(condition), found)
    for var, rel in reversed(generators):
        found = For(var, rel, found)
    return found


def random_view(c: Choices) -> Query:
    """Rows of a cycle; or by row of R, in an inner bag, those that close a cycle with it."""
    generators, conditions = cycle(c, 3 + c.one_in(3))
    (first, _), *others = generators
    if c.one_in(2):
        head = Sng(Tuple((("a", path(first, "a")), ("c", path(others[-1][0], "c")))))
        return Query("V", body(generators, conditions, head), tuple((name, ROW) for name in NAMES))
    inner = SngBag("ι", body(others, conditions, Sng(path(others[0][0], "b"))))
    made = Sng(Tuple((("a", Proj(Var(first), "a")), ("near", Var("bag")))))
    whole = For(first, Rel("R", ROW), For("bag", inner, made))
    return Query("V", whole, tuple((name, ROW) for name in NAMES))


def random_rows(c: Choices, most: int) -> BagValue:
    def value(huge: bool = False) -> int:
        return HUB if c.one_in(2) else HUGE if huge and c.one_in(4) else c.number(4)

    made = [(value(), None if c.one_in(9) else value(), value(huge=True)) for _ in range(c.number(most))]
    return BagValue.of(tuple(zip(ROW.names, row, strict=True)) for row in made)


def changes(c: Choices, held: dict[str, BagValue]) -> dict[str, BagValue]:
    """Rows that come, and some that go."""
    found = {}
    for name, bag in held.items():
        gone = BagValue({row: 1 for row, n in bag.counts.items() if n > 0 and c.one_in(5)})
        if c.number(3):
            found[name] = random_rows(c, 4) + -gone
    return found
