"""The first rows of keys behind edges, of which a key may have many: what sorting finds, in all segments of a table and
in a change on top."""

import tempfile
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve
from support.choices import Choices
from support.laws import law
from support.ordering import KINDS, compared, first_copies, key_of, ordering, row_of, shown
from support.sizes import many
from support.states import MEMORY

from ripplenest.data.order import LEAST, MOST, By, Edges, Firsts, Ordering, Within, prefixes
from ripplenest.data.rows import Row, Rows, arrow_type
from ripplenest.nrc.bags import MAX_MULTIPLICITY
from ripplenest.nrc.types import LONG, STRING, Base
from ripplenest.store import Change, Store, TableSpec
from ripplenest.store.index.fronts import NEAR

COUNTS: Counter[str] = Counter()
Types = tuple[Base, ...]


def changed(c: Choices, counts: Counter[Row], types: Types) -> Counter[Row]:
    """Rows come, and go."""
    found: Counter[Row] = Counter()
    for _ in range(c.pick((1, 8, 30))):
        row = c.pick(sorted(counts, key=repr)) if counts and c.number(2) else row_of(c, types, 4)
        found[row] += c.pick((1, 2)) if c.number(3) else -min(counts[row] + found[row], c.pick((1, 3)))
    return Counter({row: n for row, n in found.items() if n})


def rows_of(counts: Counter[Row], types: Types) -> Rows:
    return Rows.of_pairs(types, counts.items()).consolidated()


def wanted(counts: Counter[Row], o: Ordering, key: Row, edge: object, is_open: bool, limit: int) -> dict[Row, int]:
    first = o.by[0]
    own = {
        row: n
        for row, n in counts.items()
        if n and repr(tuple(row[i] for i in o.key)) == repr(key)
        and row[first.column] is not None
        and compared(row[first.column], edge, first) > -(not is_open)
    }
    return first_copies(own, o, lambda _: limit)


@law(examples=many(40, 600))
def test_they_are_the_first_of_those_behind(c: Choices) -> None:
    types = tuple(c.pick(KINDS) for _ in range(2 + c.number(3)))
    o = ordering(c, len(types))
    o = o if o.by else evolve(o, by=(By(0, c.one_in(2)),))
    o = evolve(o, by=(evolve(o.by[0], nulls_first=False), *o.by[1:]))  # of NULL nothing is behind
    counts: Counter[Row] = Counter()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(TableSpec("t", types, (), (o,)),)), 0)
        for _ in range(c.number(5)):
            delta = changed(c, counts, types)
            counts.update(delta)
            store.commit(Change({"t": rows_of(delta, types)}), store.version)
        plus = changed(c, counts, types) if c.number(2) else Counter()
        counts.update(plus)
        there = [row for row in sorted(counts, key=repr) if row[o.by[0].column] is not None]
        asked = [(tuple(c.pick(there)[i] for i in o.key), c.pick(there)[o.by[0].column]) for _ in range(c.number(12))
                 if there]  # fmt: skip
        limits, is_open = [c.pick((0, 1, 2, 3, MAX_MULTIPLICITY)) for _ in asked], c.number(2) == 1
        keys = Rows.of_pairs(tuple(types[i] for i in o.key), [(key, 1) for key, _ in asked])
        values = pa.array([edge for _, edge in asked], arrow_type(types[o.by[0].column]))
        given = Firsts(o, keys, np.array(limits, np.int64), plus=rows_of(plus, types), edges=Edges(values, is_open))
        found = store.snapshot().first("t", given)
    whose: dict[int, dict[Row, int]] = {}
    for (row, n), i in zip(found.rows.pairs(), found.of.tolist(), strict=True):
        whose.setdefault(i, {})[row] = n
    for i, ((key, edge), limit) in enumerate(zip(asked, limits, strict=True)):
        expected = without_null(wanted(counts, o, key, edge, is_open, limit), o)
        assert [*shown(without_null(whose.get(i, {}), o)).items()] == [*shown(expected).items()]
        COUNTS["found"] += bool(expected)
        COUNTS["again"] += key in [k for k, _ in asked[:i]]
        COUNTS["on the edge"] += any(compared(row[o.by[0].column], edge, o.by[0]) == 0 for row in expected)
        COUNTS["in part"] += any(n < counts[row] for row, n in expected.items())
        COUNTS["in the change"] += any(row in plus for row in expected)


def without_null(rows: dict[Row, int], o: Ordering) -> dict[Row, int]:
    return {row: n for row, n in rows.items() if row[o.by[0].column] is not None}


@law(examples=many(30, 400))
def test_what_is_between_is_found(c: Choices) -> None:
    """Of values that share a prefix, too, and not much beside it."""
    o, types = Ordering((0,), (By(1),)), (LONG, c.pick((STRING, LONG, STRING)))

    def value() -> object:
        n = c.number(200)
        return f"2024-01-{n:03}" if types[1] == STRING else n

    counts, deltas = Counter[Row](), []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(TableSpec("t", types, (), (o,)),)), 0)
        for _ in range(1 + c.number(3)):
            delta = Counter((c.number(2), value()) for _ in range(c.pick((3, 200))))
            counts.update(delta)
            deltas.append(delta)
            store.commit(Change({"t": rows_of(delta, types)}), store.version)
        asked = [(c.number(3), *(None if c.one_in(4) else v for v in sorted((value(), value())))) for _ in range(2)]
        low, high = (pa.array([a[i] for a in asked], arrow_type(types[1])) for i in (1, 2))
        ends = [np.where(v.is_null(), n, prefixes(v, By(0))) for v, n in ((low, LEAST), (high, MOST))]
        keys = Rows.of_pairs(types[:1], [((key,), 1) for key, *_ in asked])
        found = store.snapshot().within("t", Within(o, keys, *ends, between=(low, high)))
    assert found is not None
    own = [r for r in counts if any(r[0] == k and is_between(r[1], a, b) for k, a, b in asked)]
    there = found.counts()
    assert {r: counts[r] for r in own} == {r: there[r] for r in own}
    COUNTS["beside"] += len(own) + 40 < len(counts)
    entries = sum(r in own for delta in deltas for r in delta)
    assert len(found) <= entries + len(asked) * len(deltas) * 2 * NEAR


@law(examples=many(30, 400))
def test_of_several_orders_the_one_that_finds_fewest_is_read(c: Choices) -> None:
    """An order that the table does not have is none of them."""
    types, orders = (LONG, LONG, LONG), [Ordering((0,), (By(i),)) for i in (1, 2)]
    deltas: list[Counter[Row]] = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(TableSpec("t", types, (), tuple(orders)),)), 0)
        for _ in range(c.number(4)):
            delta = Counter((c.number(2), c.number(9), c.number(9)) for _ in range(c.pick((3, 30))))
            deltas.append(delta)
            store.commit(Change({"t": rows_of(delta, types)}), store.version)
        keys = Rows.of_pairs((LONG,), [((i,), 1) for i in range(1 + c.number(2))])
        every = [(o, [sorted((c.number(9), c.number(9))) for _ in range(len(keys))]) for o in orders]
        ways = [Within(o, keys, *(prefixes(pa.array(v), By(0)) for v in zip(*ends, strict=True))) for o, ends in every]
        unknown = Within(Ordering((1,), (By(0),)), keys, *np.array([[MOST] * len(keys), [LEAST] * len(keys)]))
        found = store.snapshot().within("t", *c.pick(((unknown, *ways), (*ways, unknown))))
        assert store.snapshot().within("t", unknown) is None
    assert found is not None

    def lying(o: Ordering, ends: list[list[int]]) -> list[tuple[Row, int]]:
        by = dict(zip((k for (k,) in keys.counts()), ends, strict=True))
        of = lambda r: by.get(r[0], (1, 0))  # noqa: E731
        return [(r, n) for delta in deltas for r, n in delta.items() if of(r)[0] <= r[o.by[0].column] <= of(r)[1]]

    own = sorted((lying(*way) for way in every), key=len)
    fewest = [Rows.of_pairs(types, entries).consolidated().counts() for entries in own if len(entries) == len(own[0])]
    assert found.counts() in fewest
    COUNTS["fewer"] += len(own[0]) < len(own[1])


def is_between(value: Any, low: Any, high: Any) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


@law(examples=many(60, 800))
def test_what_reaches_far_enough_is_found(c: Choices) -> None:
    """Of intervals those that overlap one: of each segment from the first on that reaches it, and none before."""
    maybe = Base("long", True)
    types, o = (LONG, maybe, maybe), Ordering((0,), (By(1),), until=2)
    deltas: list[Counter[Row]] = []

    def interval() -> tuple[int | None, int | None]:
        begin = c.number(200)
        end = begin + (300 if c.one_in(50) else c.number(8))
        return None if c.one_in(20) else begin, None if c.one_in(20) else end

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(TableSpec("t", types, (), (o,)),)), 0)
        for _ in range(1 + c.number(3)):
            deltas.append(Counter((c.number(2), *interval()) for _ in range(c.pick((3, 100)))))
            store.commit(Change({"t": rows_of(deltas[-1], types)}), store.version)
        asked = [(c.number(3), begin := c.number(220), begin + c.number(9)) for _ in range(1 + c.number(2))]
        begins, ends = (prefixes(pa.array([a[i] for a in asked]), By(0)) for i in (1, 2))
        keys = Rows.of_pairs((LONG,), [((key,), 1) for key, *_ in asked])
        found = store.snapshot().within("t", Within(o, keys, np.full(len(asked), LEAST), ends, until=begins))
    assert found is not None
    wanted: Counter[Row] = Counter()
    for delta in deltas:
        near = {row for k, begin, end in asked for row in reaching([r for r in delta if r[0] == k], begin, end)}
        wanted.update({row: delta[row] for row in near})
        COUNTS["passed over"] += len(near) < sum(r[0] in {k for k, *_ in asked} for r in delta) / 2
    assert found.counts() == wanted


def reaching(rows: list[Row], begin: int, end: int) -> list[Row]:
    """Those from the first on that ends at ``begin`` or later, up to what begins behind ``end``."""
    own = sorted((r for r in rows if r[1] is not None), key=lambda r: (r[1], r[2] is None, r[2]))
    first = next((i for i, r in enumerate(own) if r[2] is not None and r[2] >= begin), len(own))
    return [r for r in own[first:] if r[1] <= end]


def test_enough_was_met() -> None:
    what = ("found", "again", "on the edge", "in part", "in the change", "beside", "fewer", "passed over")
    assert min(COUNTS[name] for name in what) > 8, COUNTS


def test_backwards_is_the_other_way_round() -> None:
    o = Ordering((1,), (By(2, True, True),))
    assert o.backwards(4) == Ordering((1,), (By(2), By(0, True, True), By(3, True, True)))
    assert o.backwards(4).backwards(4).every(4)[:3] == o.every(4)[:3]
    assert key_of((1, 2, 3, 4), o) == "(2,)"
