"""Nested rows as columns are the bags that they came as: values, lists, Arrow; so are the parts that they become."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve, frozen
from support.choices import Choices
from support.laws import law
from support.schemas import Schema, random_bag, random_schema
from support.sizes import many

from ripplenest.data import content
from ripplenest.data.columns import from_leaves
from ripplenest.data.content import SEEDS, Content, level_digest
from ripplenest.data.level_values import nested_type, of_values, values_of
from ripplenest.data.levels import Level, Printed
from ripplenest.data.naming import row_numbers
from ripplenest.data.rows import Rows
from ripplenest.intake.given import Given
from ripplenest.intake.held import Held, Kept, paired
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.plain import from_arrow, from_python
from ripplenest.intake.shredding import Anew, Parts, Shredder
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.types import (
    BOOL,
    DOUBLE,
    EXISTS,
    LONG,
    STRING,
    Bag,
    Base,
    Record,
    Type,
    has_columns,
    is_flat,
    nullable,
)
from ripplenest.nrc.values import NAN
from ripplenest.schema.relation import Relation
from ripplenest.shred.values import nest

COUNTS: Counter[str] = Counter()


@frozen
class Case:
    """Rows of one relation of a schema."""

    schema: Schema
    row: Type
    values: tuple[Value, ...]
    others: BagValue


def random_case(c: Choices) -> Case:
    schema = random_schema(c)
    name, row = schema.relations[0]
    assert name == "R"
    bag = random_bag(c, row, 4)
    others = random_bag(c, row, 4) if c.one_in(3) else bag + random_bag(c, row, 1)
    return Case(schema, row, occurrences(bag), others)


def occurrences(bag: BagValue) -> tuple[Value, ...]:
    return tuple(value for value, n in bag for _ in range(n))


def plain(value: Value, t: Type) -> Any:
    """As users write it."""
    match t:
        case Record() if t.is_optional:
            return plain(value[1:], t.there) if field_of(value, EXISTS) else None  # type: ignore[index]
        case Record(fields):
            return {name: plain(field_of(value, name), inner) for name, inner in fields}
        case Bag(row):
            return None if value is None else [plain(v, row) for v in occurrences(value)]  # type: ignore[arg-type]
        case _:
            return value


def arrow(values: Sequence[Value], t: Type) -> pa.Table:
    rows = pa.array([plain(v, t) for v in values], nested_type(t))
    if has_columns(t):
        return (
            pa.Table.from_struct_array(pa.chunked_array([rows[:1], rows[1:]]))
            if len(rows)
            else pa.table({name: pa.array([], nested_type(inner)) for name, inner in t.fields})
        )
    return pa.table({"value": rows})


def digest(level: Level) -> str:
    ordered = Printed(level).ordered()
    return level_digest(lambda: [ordered])


@law(random_case, examples=many(90, 150))
def test_levels_are_the_bags_that_they_came_as(case: Case) -> None:
    """From values, lists and Arrow; their digest says whether two bags are equal, in whatever order."""
    t, bag = case.row, BagValue.of(case.values)
    level = of_values(case.values, t)
    assert values_of(level, t) == list(case.values)
    assert level.total == Given(t, values=case.values).total
    lists, table = from_python([plain(v, t) for v in case.values], t), from_arrow(arrow(case.values, t), t)
    assert lists is not None and table is not None
    shuffled = list(case.values)
    Random(1).shuffle(shuffled)
    same = [level, lists, table, of_values(shuffled, t), lists.take(np.arange(len(lists))[::-1])]
    for other in same:
        assert BagValue.of(values_of(other, t)) == bag
        assert BagValue.of(occurrences_of(Printed(other).ordered(), t)) == bag
    assert len({digest(other) for other in same}) == 1 == len({Content.of(other) for other in same})
    other = of_values(occurrences(case.others), t)
    assert (digest(other) == digest(level)) == (case.others == bag) == (Content.of(other) == Content.of(level))
    COUNTS["equal" if case.others == bag else "different"] += 1
    COUNTS["nested"] += not is_flat(t)


def occurrences_of(level: Level, t: Type) -> list[Value]:
    weights = [1] * len(level) if level.weights is None else level.weights.tolist()
    return [v for v, n in zip(values_of(level, t), weights, strict=True) for _ in range(n)]


NEAR: list[list[Any]] = [
    [
        [[1], [2, 3]],
        [[1, 2], [3]],
        [[1, 2, 3], []],
        [[], [1, 2, 3]][:1],
        [[1, 2, 3], None],
        [[1, 1, 2, 3]],
        [[1], [2], [3]],
    ],
    [[[1, 1]], [[1]], [[1], [1]], [[1, 1], []], [[1, 1], None]],
    [[None], [[]], [[], None], [None, None], [[], []]],
]


@pytest.mark.parametrize("near", NEAR)
def test_bags_that_are_nearly_equal_have_other_digests(near: list[list[Any]]) -> None:
    t = Record((("x", Bag(LONG, True)), ("y", LONG)))
    found = [digest(read_rows([{"x": x, "y": 1} for x in rows], t, "rows").level) for rows in near]
    assert len(set(found)) == len(near)
    contents = [Content.of(read_rows([{"x": x, "y": 1} for x in rows], t, "rows").level) for rows in near]
    for i in range(len(SEEDS)):  # by each of its sums, which know nothing of each other
        assert len({c.sums[i] for c in contents}) == len(near)
    assert all(len(set(c.sums)) == len(SEEDS) for c in contents)


@law(random_case, examples=60)
def test_contents_are_added_up(case: Case) -> None:
    """Content.of(a ⊎ b) = Content.of(a).plus(Content.of(b)), wherever the rows are cut."""
    level = of_values((*case.values, *occurrences(case.others)), case.row)
    cut = len(level) // 3
    parts = [level.take(np.arange(cut)), level.take(np.arange(cut, len(level)))]
    assert Content.of(parts[1]).plus(Content.of(parts[0])) == Content.of(level)
    assert Content.of(level).rows == len(level) and Content().plus(Content.of(level)) == Content.of(level)


PAIRS = [("a", "b"), (Decimal(2**64), Decimal(2**65)), (0.5, None), ("t" * 4096, "t" * 4097)]


@pytest.mark.parametrize("swapped", PAIRS)
def test_values_that_change_rows_have_another_content(swapped: tuple[object, object]) -> None:
    """The same values in each column, in other rows; and sums are those of columns, however many texts there are."""
    a, b = swapped
    table = pa.table({"x": pa.array([a, b]), "n": pa.array([1, 2])})
    turned = pa.table({"x": pa.array([b, a]), "n": pa.array([1, 2])})
    one, other = (Content.of(Level(2, [c.combine_chunks() for c in t.columns])) for t in (table, turned))
    assert all(x != y for x, y in zip(one.sums, other.sums, strict=True))
    many = Level(40, [pa.array([a] * 40), pa.array(range(40))])
    singly = [Content.of(many.take(np.array([i]))) for i in range(40)]
    assert reduce(Content.plus, singly) == Content.of(many)


@law(random_case, examples=60)
def test_equal_rows_have_equal_prints(case: Case) -> None:
    values = (*case.values, *occurrences(case.others))
    prints = Printed(of_values(values, case.row)).prints.tolist()
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert (prints[i] == prints[j]) == ((a,) == (b,))  # in tuples the one NaN equals itself


# ---------------------------------------------------------------- parts


def relation(case: Case) -> Relation:
    declared = Relation("R", case.row, keys=case.schema.keys)
    return evolve(declared, keys=tuple(k for k in case.schema.keys if k[0] in declared.parts and k[0] != "R"))


def nested(r: Relation, parts: Parts) -> BagValue:
    """The bag that rows of parts stand for."""

    def resolve(label: LabelValue) -> BagValue:
        part = r.parts[label.site]
        rows = ((from_leaves(row, part.stored), n) for row, n in parts[label.site].pairs() if label.site in parts)
        found = [(field_of(v, "row"), n) for v, n in rows if v[0][1] == label]  # type: ignore[index]
        return BagValue.weighted(found)

    def known(label: LabelValue) -> BagValue:
        return resolve(label) if label.site in parts else BagValue()

    flat = r.parts["R"]
    return nest(BagValue.weighted((from_leaves(row, flat.stored), n) for row, n in parts["R"].pairs()), r.row, known)


@law(random_case, examples=120)
def test_parts_are_the_level_that_they_came_of(case: Case) -> None:
    """Nested again they are the same bag; what is held keeps its labels, and has the same prints."""
    r = relation(case)
    part, level = r.parts["R"], Given(r.row, values=case.values).ordered
    if not part.types or not distinct(r, case.values):
        return
    first = Shredder(r, Anew(row_numbers(1))).shredded(part, (), level)
    bag = BagValue.of(case.values)
    assert nested(r, first) == bag
    held = Held(r, {name: rows.consolidated() for name, rows in first.items()})
    if part.held and held.rows["R"].heaviest() == 1:  # a row may be there twice whose bags are all NULL
        assert len(held.input(part)) == len(level)
        mine, theirs = paired(Printed(level).prints, held.prints(part))
        assert len(mine) == len(theirs) == len(level)
        again = Shredder(r, Kept(held, None, row_numbers(2))).shredded(part, (), level)
        assert {n: x.counts() for n, x in again.items()} == {n: x.counts() for n, x in first.items()}
        COUNTS["kept"] += 1
        half = held.only(part, np.arange(len(level) // 2))
        assert nested(r, half.rows) == BagValue.of(occurrences(nested(r, {**first, "R": half.rows["R"]})))


def distinct(r: Relation, values: Sequence[Value]) -> bool:
    """Whether keys of inner rows, which schemas give to rows at random, are keys in these."""
    names = dict(r.keys)

    def holds(value: Value, t: Type, path: str) -> bool:
        match t:
            case Record(fields):
                return all(holds(field_of(value, n), inner, f"{path}.{n}") for n, inner in fields)
            case Bag(row) if value is not None:
                rows = occurrences(value)  # type: ignore[arg-type]
                own = names.get(path, ())
                seen = {tuple(field_of(v, n) for n in own) for v in rows}
                inner = f"{path}.[]" if isinstance(row, Bag) else path
                return (not own or len(seen) == len(rows)) and all(holds(v, row, inner) for v in rows)
            case _:
                return True

    return all(holds(v, r.row, "R.[]" if isinstance(r.row, Bag) else "R") for v in values)


FLAT = (nullable(LONG), DOUBLE, STRING, Base("decimal", True, 38, 2), BOOL, Base("date", True))
TEXTS, DECIMALS = ("", "a", "a" * 70), (None, Decimal("1.25"), Decimal(10) ** 35)
VALUES = ((None, 0, -1), (0.0, NAN, 1.5), TEXTS, DECIMALS, (True, False), (None, date(2024, 2, 29)))


def test_rows_that_are_there_very_often_have_one_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together more often than 64 bits count, wherever they are cut."""
    rows = Rows.of_pairs((LONG,), [((i,), 2**62) for i in range(5)])
    whole = Content.of_rows(rows)
    monkeypatch.setattr(content, "PIECE", 1)
    assert Content.of_rows(rows) == whole


def test_rows_without_columns_have_contents_by_their_number() -> None:
    one, two = (Content.of_rows(Rows.of_pairs((), [((), n)])) for n in (1, 2))
    assert one != two == Content.of_rows(Rows.of_pairs((), [((), 3), ((), -1)]))


@law(examples=60)
def test_the_content_of_signed_rows_is_that_of_their_sum(c: Choices) -> None:
    """Law: Content.of_rows(a) = Content.of_rows(b) ⟺ a and b add up to the same, whatever entries they come in."""
    rows = [(tuple(map(c.pick, VALUES)), c.pick((1, 2, -1, -(2**40)))) for _ in range(c.number(12))]
    one = Rows.of_pairs(FLAT, rows)
    again = [pair for row, n in rows for pair in ((row, n + 5), (row, -5))][::-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "PIECE", c.pick((1, 3, 1 << 18)))
        assert Content.of_rows(Rows.of_pairs(FLAT, again)) == Content.of_rows(one)
        assert Content.of_rows(one.consolidated()) == Content.of_rows(one)
        turned, at = [row for row, _ in rows[:1]], c.number(len(FLAT))
        turned = [(*row[:at], c.pick(VALUES[at]), *row[at + 1 :]) for row in turned]
        found = Rows.of_pairs(FLAT, [*((row, rows[0][1]) for row in turned), *rows[1:]])
        is_same = found.plus(one.negated()).consolidated().is_empty
        assert (Content.of_rows(found) == Content.of_rows(one)) == is_same
        COUNTS["other contents"] += not is_same


def test_the_laws_covered() -> None:
    assert all(COUNTS[what] > 20 for what in ("equal", "different", "nested", "kept", "other contents")), COUNTS


@pytest.mark.parametrize(
    "lists",
    [
        pa.array([[1], None, [2, 3]], pa.list_(pa.int64())),
        pa.array([[9], [1], None, [2, 3], [7]], pa.large_list(pa.int64()))[1:4],
        pa.ListArray.from_arrays(
            pa.array([0, 1, 3, 5], pa.int32()), [1, 8, 8, 2, 3], mask=pa.array([False, True, False])
        ),
    ],
    ids=["list", "a slice", "with rows behind NULL"],
)  # fmt: skip
def test_lists_of_arrow(lists: pa.Array) -> None:
    t = Record((("x", Bag(LONG, True)),))
    given = read_rows(pa.table({"x": lists}), t, "rows")
    wanted = [((("x", None if x is None else BagValue.of(x)),)) for x in ([1], None, [2, 3])]
    assert list(given.values) == wanted and from_arrow(pa.table({"x": lists}), t) is not None
