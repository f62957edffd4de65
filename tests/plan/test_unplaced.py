"""Totals that are read before it is known of which place they are: where only stored ones can take part."""

import pytest

from ripplenest.nrc.rewriting.access import Join, joins
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Call, Elem, InL, Lit, OutL, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.types import BOOL, LONG, Label, Record, Site, nullable

SITE = Site("α", (("u.id", LONG),))
MAYBE = nullable(LONG)
ROW = Record((("sum", MAYBE), ("n", LONG)))
TOTAL = Total(
    "α",
    Record((("label", Label((SITE,))), ("row", ROW))),
    nothing=Tuple((("sum", Lit(None, MAYBE)), ("n", Lit(0, LONG)))),
)
NUMBERS = Record((("id", LONG), ("v", MAYBE)))
PLACE = Call("eq", (OutL(Proj(Var("s"), "label"), SITE, "u.id"), Proj(Var("u"), "id")))


def of(name: str) -> Elem:
    return Proj(Proj(Var("s"), "row"), name)


V = Proj(Var("v"), "v")


def order(*conditions: Elem) -> list[tuple[str, bool]]:
    """What is read, and whether by its place, when v changes: of rows u and their totals."""
    rows = (("v", Rel("V", NUMBERS, At.DELTA)), ("u", Rel("U", NUMBERS)), ("s", TOTAL))
    join = Join(Comprehension(rows, (PLACE, *conditions), Proj(Var("u"), "id")), {})
    return [(r.var, r.place is not None) for r in join.reads()]


BY_PLACE = [("v", False), ("u", False), ("s", True)]
IN_ORDER = [("v", False), ("s", False), ("u", False)]


def call(fn: str, *args: Elem) -> Elem:
    return Call(fn, args)


NOTHING_IS = call("is_null", of("sum"))
CASES = {
    "of nothing it is NULL": ((call("gt", of("sum"), V),), IN_ORDER),
    "from the other side": ((call("gt", V, of("sum")),), IN_ORDER),
    "of nothing there are 0": ((call("gt", of("n"), call("coalesce", V, Lit(1, LONG))),), BY_PLACE),
    "0, where there are none": ((call("gt", call("coalesce", of("sum"), Lit(0, LONG)), V),), BY_PLACE),
    "so many, and not 0": ((call("gt", of("n"), V), call("ne", of("n"), Lit(0, LONG))), IN_ORDER),
    "so many, and more than 3": ((call("gt", of("n"), V), call("gt", of("n"), Lit(3, LONG))), IN_ORDER),
    "so many, and less than 3": ((call("gt", of("n"), V), call("lt", of("n"), Lit(3, LONG))), BY_PLACE),
    "how many, of those with a sum": ((call("gt", of("n"), V), call("gt", of("sum"), Lit(1, LONG))), IN_ORDER),
    "how many, of those without one": ((call("gt", of("n"), V), NOTHING_IS), BY_PLACE),
    "nothing says where they are": ((call("ne", of("sum"), V),), BY_PLACE),
    "a condition on the row": ((call("gt", Proj(Var("u"), "v"), V),), BY_PLACE),
}


@pytest.mark.parametrize(("conditions", "wanted"), CASES.values(), ids=CASES)
def test_which_totals_are_read_in_order(conditions: tuple[Elem, ...], wanted: list[tuple[str, bool]]) -> None:
    assert order(*conditions) == wanted


U, W = Proj(Var("v"), "id"), Proj(Var("u"), "v")
SAME_ROW = call("eq", Proj(Var("u"), "id"), U)
OF_NONE = call("coalesce", of("sum"), W)
FOUND, PLACED = ({"label.α.u.id", "row.sum"}, {"id"}), ({"id"}, {"label.α.u.id"})


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (call("eq", of("sum"), V), [FOUND]),
        (call("same", V, of("sum")), [FOUND, PLACED]),  # what nothing answers, where v is NULL
        (call("eq", OF_NONE, V), [FOUND, ({"id", "v"}, {"label.α.u.id"})]),
        (call("eq", of("n"), V), [({"id"}, {"label.α.u.id", "row.n"})]),  # so many may be 0
        (call("eq", call("coalesce", of("sum"), Lit(0, LONG)), V), [FOUND, PLACED]),
    ],
)
def test_totals_are_found_by_what_they_answer(found: Elem, wanted: list[tuple[set[str], set[str]]]) -> None:
    """And by the place that other conditions imply, before the row of the place is read."""
    rows = (("v", Rel("V", NUMBERS, At.DELTA)), ("u", Rel("U", NUMBERS)), ("s", TOTAL))
    every = [*joins(Comprehension(rows, (PLACE, SAME_ROW, found), Proj(Var("u"), "id")))]
    assert [tuple({e.column for e in r.keys} for r in j.reads()[1:]) for j in every] == wanted


def test_a_place_that_is_known_is_asked_for() -> None:
    """Where the row itself changes, its total is looked up by its place, as ever."""
    rows = (("u", Rel("U", NUMBERS, At.DELTA)), ("v", Rel("V", NUMBERS)), ("s", TOTAL))
    join = Join(Comprehension(rows, (PLACE, call("gt", of("sum"), V)), Lit(True, BOOL)), {})
    (_, total, _) = join.reads()
    assert total.var == "s" and total.place == InL("α", (("u.id", Proj(Var("u"), "id")),))


def test_what_says_which_place_it_is_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places that may be NULL are told apart by no answer: nobody asks in which order each of them would be read."""
    site = Site("α", (("u.v", MAYBE),))
    row = Record((("label", Label((site,))), ("row", ROW)))
    totals = [(f"s{i}", Total(f"α{i}", row, nothing=TOTAL.nothing)) for i in range(5)]
    rows = (("v", Rel("V", NUMBERS, At.DELTA)), ("u", Rel("U", NUMBERS)), *totals)
    asked = [call("same", OutL(Proj(Var(var), "label"), site, "u.v"), W) for var, _ in totals]
    product, orders = Comprehension(rows, (SAME_ROW, *asked), Proj(Var("u"), "id")), []
    reads = Join.reads
    monkeypatch.setattr(Join, "reads", lambda *args: orders.append(args) or reads(*args))
    assert [j.product for j in joins(product)] == [product] and not orders
