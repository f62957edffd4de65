"""The step of first rows so far: what it changes is what building all of them again would, over any history."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.programs import Memory
from support.sizes import many

from ripplenest.data.order import By, Ordering, first_of
from ripplenest.data.rows import Row, Rows
from ripplenest.delta.program import MapKind
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import BOOL, LONG, STRING, Base, nullable
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.ranking import Nearest, Ranked
from ripplenest.run import so_far, sought, stretches

COUNTS: Counter[str] = Counter()
REST = (Base("double", True), nullable(STRING), LONG)  # the last one compares with edges
Bag = Counter[Row]


def ranking(c: Choices) -> Ranked:
    """Places have a group, an edge, and perhaps what it is computed of; or two edges, and what they are computed of."""
    keys, descending = c.pick((2, 2, 3, 4, 4)), c.one_in(2)
    by = tuple(By(keys + i, c.one_in(2), c.one_in(3)) for i in c.pick(((0,), (1, 0), (0, 2))))
    near = Nearest("Dom", c.one_in(2), 1, By(keys + 2, descending), c.one_in(2) if keys > 3 else None)
    return Ranked("O", Ordering(tuple(range(keys)), by), 1 + c.number(4), keys, (), None, near)


def types_of(r: Ranked) -> tuple[Base, ...]:
    return (*(nullable(LONG) for _ in range(r.keys)), *REST)


def rows_of(types: tuple[Base, ...], bag: Bag) -> Rows:
    return Rows.of_pairs(types, bag.items()).consolidated()


def made(r: Ranked, places: Bag, rows: Bag) -> Rows:
    """As statements make them: anything in the columns of the other kind."""
    found = [((*place, 0.0, "", 0, True), n) for place, n in places.items()]
    found += [((row[0], *[0] * (r.keys - 1), *row[1:], False), n) for row, n in rows.items()]
    return Rows.of_pairs((*types_of(r), BOOL), found)


def expected(r: Ranked, places: Bag, rows: Bag) -> Bag:
    """Each row beside each place that it is up to, and of these the first ones."""
    beside: Bag = Counter()
    for place, row in ((p, row) for p in +places for row in +rows if row[0] == p[0] and p[1] is not None):
        if is_within(r, place, row[-1]):
            beside[*place, *row[1:]] += rows[row]
    return Counter(first_of(rows_of(types_of(r), beside), r.order, r.limit).counts())


def is_within(r: Ranked, place: Row, k: int) -> bool:
    sign = 1 if r.compared.descending else -1
    up = sign * (place[1] - k)
    if up < 0 or (up == 0 and r.nearest.open):
        return False
    if r.nearest.until is None:
        return True
    down = None if place[2] is None else sign * (k - place[2])
    return down is not None and (down > 0 or (down == 0 and not r.nearest.until))


def changes(c: Choices, places: Bag, rows: Bag, r: Ranked, span: int) -> tuple[Bag, Bag]:
    """Signed places, each of which is there once or not at all, and signed rows."""
    came, changed = Counter[Row](), Counter[Row]()
    for _ in range(c.pick((0, 1, 3, 12))):
        held = [p for p in +places if p not in came]
        place = c.pick(held) if held and c.one_in(2) else new_place(c, r, span)
        if place not in came:
            came[place] = -1 if places[place] else 1
    for _ in range(c.pick((0, 1, 3, 12))):
        held = [row for row in +rows if rows[row] + changed[row] > 0]
        if held and not c.one_in(3):
            row = c.pick(held)
            changed[row] -= 1 + c.number(rows[row] + changed[row])
        else:
            changed[new_row(c, span)] += c.pick((1, 1, 2, 6))
    return came, Counter({row: n for row, n in changed.items() if n})


def new_row(c: Choices, span: int) -> Row:
    value = c.pick((None, float("nan"), -0.5, *map(float, range(9))))
    return c.pick((0, 1, None)), value, c.pick((None, "a", "b")), c.number(span)


def new_place(c: Choices, r: Ranked, span: int) -> Row:
    edge, group = None if c.one_in(12) else c.number(span), c.pick((0, 1, None))
    if r.nearest.until is None:
        return (group, edge, *(c.number(2) for _ in range(r.keys - 2)))
    if edge is None:
        return group, *c.pick(((None, None), (3, None), (None, 3))), 0
    sign, width = 1 if r.compared.descending else -1, r.limit * span // 12
    return group, min(edge, span - 2), max(edge - sign * width, 1), edge  # which may be all there is of their type


@pytest.mark.xdist_group("so far")
@law(examples=many(140, 4000), tries=200)
def test_the_step_is_building_again(c: Choices) -> None:
    r, span = ranking(c), c.pick((3, 12, 60))
    m = PlannedMap("T", MapKind.TOP, types_of(r), (), (), (*types_of(r), BOOL), ranked=r, keys=r.keys)
    places = Counter({new_place(c, r, span): 1 for _ in range(c.number(60))})
    rows = Counter(new_row(c, span) for _ in range(c.number(60)))
    answer = expected(r, places, rows)
    built = so_far.built(r, made(r, places, rows), m.types).consolidated()
    assert built.counts() == rows_of(m.types, answer).counts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "FIRST", 1 + c.number(4))
        patch.setattr(sought, "ROWS", c.number(3))
        for _ in range(3):
            tables = {"T": rows_of(m.types, answer), "Dom": rows_of(m.types[: r.keys], places)}
            tables["O"] = rows_of((m.types[0], *REST), rows)
            came, changed = changes(c, places, rows, r, span)
            found = so_far.moved(m, r, made(r, came, changed), Memory(tables, {"T": (m.own_key,)}))
            places, rows = +Counter({p: places[p] + came[p] for p in {*places, *came}}), rows.copy()
            rows.update(changed)
            before, answer = answer, expected(r, places, rows)
            assert rows_of(m.types, before).plus(found.change).counts() == rows_of(m.types, answer).counts()
            COUNTS["changed"] += before != answer
            COUNTS["several"] += r.limit > 1 and before != answer
            COUNTS["open" if r.nearest.open else "closed"] += before != answer
            COUNTS["up" if r.compared.descending else "down"] += before != answer
            COUNTS["computed"] += r.keys == 3 and before != answer
            COUNTS["between"] += r.nearest.until is not None and before != answer


def test_rows_that_are_not_there_are_no_first_rows() -> None:
    """A row goes that the place has, and more often than it does."""
    r = Ranked("O", Ordering((0, 1), (By(2),)), 2, 2, (), None, Nearest("Dom", False, 1, By(4, True)))
    m = PlannedMap("T", MapKind.TOP, types_of(r), (), (), (*types_of(r), BOOL), ranked=r, keys=r.keys)
    row = (0, 1.0, "a", 3)
    tables = {"T": rows_of(m.types, Counter({(0, 5, *row[1:]): 1})), "Dom": rows_of(m.types[:2], Counter([(0, 5)]))}
    tables["O"] = rows_of((m.types[0], *REST), Counter([row]))
    with pytest.raises(LawBroken, match="less than 0 times"):
        so_far.moved(m, r, made(r, Counter(), Counter({row: -2})), Memory(tables, {"T": (m.own_key,)}))


@pytest.mark.xdist_group("so far")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    kinds = ("changed", "several", "open", "closed", "up", "down", "computed", "between")
    assert all(COUNTS[what] > many(30, 1000) for what in kinds), COUNTS
