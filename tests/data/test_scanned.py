"""A table that is read whole and looked up in memory, and what a batch that looks so into it costs."""

from collections import Counter
from pathlib import Path

import pytest
from support.choices import Choices
from support.laws import law
from support.shop import customer, opened, order

from ripplenest.data.rows import Row, Rows
from ripplenest.data.scanned import Scanned
from ripplenest.nrc.types import DOUBLE, LONG, STRING, nullable
from ripplenest.nrc.values import NAN

COUNTS: Counter[str] = Counter()
TYPES = (nullable(LONG), DOUBLE, STRING)


def one(c: Choices) -> Row:
    return c.pick((None, 0, 1, 2)), c.pick((0.0, NAN, 1.5)), c.pick(("", "a", "bé"))


@law(examples=60)
def test_it_is_probed_as_it_is_filtered(c: Choices) -> None:
    """Law: probe(columns, keys) = the rows whose columns are one of the keys; of no columns, all."""
    held = {one(c): c.pick((1, 2, -1)) for _ in range(c.number(20))}
    known = Scanned(Rows.of_counts(TYPES, held))
    for columns in ((0,), (2, 1), (0, 1, 2), (), (0,)):
        keys = {tuple(one(c)[i] for i in columns) for _ in range(1 + c.number(4))}
        wanted = {row: n for row, n in held.items() if tuple(row[i] for i in columns) in keys}
        assert known.probe(columns, keys).counts() == wanted
        COUNTS["found"] += 0 < len(wanted) < len(held)
        COUNTS["not a number"] += any(row[1] != row[1] for row in wanted)


def test_all_of_it_was_drawn() -> None:
    assert min(COUNTS["found"], COUNTS["not a number"]) > 20, COUNTS


def test_what_has_no_access_key_yet_is_read_as_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole table, once, and of it those rows become tuples that are asked for."""
    seen: list[int] = []
    counts = Rows.counts
    monkeypatch.setattr(Rows, "counts", lambda rows: seen.append(len(rows)) or counts(rows))
    with opened(tmp_path / "state") as db:
        db.load("C", [customer(i, str(i), [order(1), order(2)]) for i in range(200)])
        read = []
        for name in ("17", "18"):
            seen.clear()
            with db.batch() as b:
                b.at("C", name=name).orders.insert([order(3)])
            read.append(b.report.rows_read)
            assert max(seen) < 20
        assert read[0] == 200 and read[1] < 20
