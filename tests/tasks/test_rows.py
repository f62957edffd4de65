"""Stored rows as DataFrames, in whatever session asks."""

from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.data.seen import Seen
from ripplenest.nrc.types import LONG, STRING
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.staging import Staging
from ripplenest.store.store import Store
from ripplenest.tasks import rows
from ripplenest.tasks.handed import surroundings

TYPES = (LONG, STRING)
PAIRS = {(i, f"t{i % 7}"): 1 + i % 3 for i in range(50)}


@pytest.mark.parametrize("columns", [((0,),), ()], ids=["in order", "whole"])
def test_a_table_is_read_in_the_session_that_asks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[tuple[int, ...], ...]
) -> None:
    """In the active one by a function, in others by a data source; a task for each range where rows have an order."""
    monkeypatch.setattr(rows, "TASK", 10)
    others = [spark.newSession(), spark.newSession()]
    with Store.open(tmp_path / "s") as store:
        for specs, first, end in (((TableSpec("T", TYPES, columns),), 0, 30), ((), 30, 50)):
            some = Rows.of_counts(TYPES, {row: n for row, n in PAIRS.items() if first <= row[0] < end})
            store.commit(Change({"T": some}, specs), store.version)
        ref = store.snapshot().table("T")
        with Staging.begin(tmp_path / "s") as staging:
            here = surroundings(str(tmp_path / "s" / "segments"), str(staging.folder), 1 << 30)
            for session, read in product((spark, *others), (rows.stored, rows.stored_by_source)):
                frame = read(session, here, ref, Seen())
                assert frame.sparkSession is session and frame.columns == ["c0", "c1", WEIGHT]
                found = frame.toArrow()
                assert sorted(zip(*(c.to_pylist() for c in found.columns), strict=True)) == sorted(
                    (*row, n) for row, n in PAIRS.items()
                )
