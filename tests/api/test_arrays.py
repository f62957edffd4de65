"""Inner bags that are kept as arrays: by columns they are what they are row by row, letter by letter."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest import Decimal as Dec
from ripplenest.data.rows import Rows
from ripplenest.version import arrays, folding, refolding


@rn.record
class Leaf:
    n: int
    f: float | None
    s: str | None
    b: bool | None
    x: bytes | None
    d: date | None
    t: datetime | None
    m: Dec[6, 2] | None  # type: ignore[valid-type]


@rn.record
class Where:
    town: str | None
    leaves: Bag[Leaf] | None


@rn.record
class Middle:
    k: int
    words: Bag[str | None]
    where: Where
    rest: Bag[Bag[int]]


@rn.record
class Top:
    key: int
    bag: Bag[Middle] | None
    plain: Bag[Leaf]


LEAVES = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.integers(-2, 2),
            "f": st.sampled_from((None, math.nan, -0.0, 0.0, -1.5, 2.0, 1e300, math.inf)),
            "s": st.sampled_from((None, "", "a", "é\n\"\\", "\U0001f642", "Z")),
            "b": st.sampled_from((None, True, False)),
            "x": st.sampled_from((None, b"", b"\xff\0")),
            "d": st.sampled_from((None, date(1, 1, 1), date(2024, 2, 29))),
            "t": st.sampled_from((None, datetime(2024, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, 0, 0, 0, 1, UTC))),
            "m": st.sampled_from((None, Decimal("-1.50"), Decimal("0.00"), Decimal("9999.99"))),
        }
    ),
    max_size=4,
)  # fmt: skip
MIDDLES = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.integers(-2, 1),
            "words": st.lists(st.sampled_from((None, "", "a", "b")), max_size=3),
            "where": st.fixed_dictionaries({"town": st.sampled_from((None, "x")), "leaves": st.none() | LEAVES}),
            "rest": st.lists(st.lists(st.integers(0, 1), max_size=2), max_size=1),
        }
    ),
    max_size=3,
)
TOPS = st.lists(
    st.fixed_dictionaries({"key": st.integers(-9, 9), "bag": st.none() | MIDDLES, "plain": LEAVES}),
    max_size=5,
    unique_by=lambda row: row["key"],
)
WAYS: list[dict[str, Any]] = [
    {"key": "key", "immutable": ("bag", "plain")},
    {"key": "key", "immutable": ("bag", "plain"), "keys": {"bag": "k"}},
    {"immutable": ("bag", "plain")},
    {"key": "key", "immutable": ("bag.where.leaves", "bag.words", "bag.rest")},
]
COUNTS = {"columns": 0}


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_arrays_by_columns_are_those_row_by_row(way: int) -> None:
    """Law: the same rows of arrays, with the same texts and numbers, of loads and of batches that insert, delete,
    upsert, also what is deep in rows that stay, and take keys; and what is read is what bags without arrays have."""
    for name in COUNTS:
        COUNTS[name] = 0
    life(way)
    assert COUNTS["columns"] > 2


def life(way: int) -> None:
    @settings(max_examples=many(6, 400), deadline=None)
    @given(TOPS, TOPS, st.sampled_from((0, 0, 3)))
    def ask(rows: list[Any], more: list[Any], few: int) -> None:
        known = {row["key"] for row in rows}
        more = [row for row in more if row["key"] not in known]
        for row in [*rows, *more] if "keys" in WAYS[way] else ():
            row["bag"] = row["bag"] and [*{middle["k"]: middle for middle in row["bag"]}.values()]
        by_columns, by_rows = (stored(WAYS[way], rows, more, n) for n in (few, 1 << 40))
        assert by_columns == by_rows
        assert by_columns[-1] == stored({**WAYS[way], "immutable": ()}, rows, more, 0)[-1]

    ask()


def other(middle: Any) -> Any:
    """Other bags in a row that is what it was."""
    return {**middle, "words": [*middle["words"], "c"], "rest": [], "where": {**middle["where"], "leaves": None}}


def stored(way: dict[str, Any], rows: list[Any], more: list[Any], few: int) -> list[Any]:
    """What is stored as arrays after a load, an insert, and a delete with an insert."""
    found: list[Any] = []

    def counted(*args: Any) -> Rows:
        made = plain(*args)
        COUNTS["columns"] += 1
        return made

    plain = refolding._all_arrays
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(arrays, "FEW", few)
        patch.setattr(folding, "FEW", few)
        patch.setattr(refolding, "_all_arrays", counted)
        with rn.open(folder + "/s", engine="local") as db:
            db.relation("T", Top, **way)

            def look() -> None:
                snapshot = db._store.snapshot()
                tables = [table for table in db._store.tables() if table.endswith("/arrays")]
                found.append({table: snapshot.scan(table).counts() for table in tables})

            db.load("T", rows)
            look()
            with db.batch() as b:
                b.insert("T", more)
            look()
            with db.batch() as b:
                b.delete("T", rows[:1])
                b.insert("T", [{**row, "key": 77, "plain": []} for row in rows[:1]])
            look()
            if "key" in way:
                changed = [{**row, "plain": [], "bag": row["bag"] and [*map(other, row["bag"])]} for row in more]
                with db.batch() as b:
                    b.upsert("T", changed)
                look()
                with db.batch() as b:
                    b.delete_key("T", [{"key": row["key"]} for row in rows[1:]])
                look()
            assert db.verify(deep=True).ok
            found.append(repr(db.relation("T").rows()))
    return found
