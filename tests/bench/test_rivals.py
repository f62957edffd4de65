"""Each rival's answer is what the view means, before a batch and after each kind of one."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ripplenest.bench.asked import WORKLOADS as ASKED
from ripplenest.bench.changes import Change
from ripplenest.bench.data import Data
from ripplenest.bench.rivals import duck, pole
from ripplenest.bench.rivals.rival import Rival
from ripplenest.bench.workloads import WORKLOADS, Workload
from ripplenest.examples.same import differing

DATA = Data(0.00003, 3)
EACH = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda w: w.name)


def test_every_workload_can_be_asked_for_and_answered() -> None:
    assert set(WORKLOADS) == set(ASKED) == set(duck.ANSWERS) == set(pole.ANSWERS)


def meaning(workload: Workload, tables: Mapping[str, pa.Table], like: pa.Schema) -> pa.Table:
    """What the reference meaning of the view gives, without any engine."""
    return pa.Table.from_pylist(workload.view(*(tables[r.name].to_pylist() for r in workload.relations)), like)


def changed(workload: Workload, tables: dict[str, pa.Table], change: Change) -> None:
    for write in change.writes:
        table, key = tables[write.relation], workload.keys[write.relation]
        if write.verb == "insert":
            tables[write.relation] = pa.concat_tables([table, write.rows.cast(table.schema)])
        else:
            gone = {tuple(row[k] for k in key) for row in write.rows.to_pylist()}
            stays = [tuple(row[k] for k in key) not in gone for row in table.to_pylist()]
            tables[write.relation] = table.filter(pa.array(stays))


def check(workload: Workload, rival: Rival, *sizes: int) -> None:
    """Every answer, of batches of these sizes."""
    tables: dict[str, Any] = dict(workload.tables(DATA))
    rival.load(tables)
    compare(workload, rival, tables)
    changes = workload.changes(DATA)
    for rows in sizes:
        for one in (changes.there, changes.back):
            for change in one(rows):
                rival.apply(change.writes)
                changed(workload, tables, change)
                compare(workload, rival, tables)
    rival.close()


def compare(workload: Workload, rival: Rival, tables: dict[str, Any]) -> None:
    rival.recompute()
    answer = rival.answer()
    expected = meaning(workload, tables, answer.schema)
    assert differing(expected, answer) == 0
    assert expected.num_rows >= 3


@EACH
def test_duckdb(workload: Workload) -> None:
    check(workload, duck.Duck(workload.name), 1, 20)


@EACH
def test_polars(workload: Workload) -> None:
    check(workload, pole.Pole(workload.name, workload.keys), 1, 20)


@EACH
def test_spark(workload: Workload, spark: SparkSession) -> None:
    from ripplenest.bench.rivals import sparks  # noqa: PLC0415

    assert spark and set(sparks.ANSWERS) == set(WORKLOADS)
    rival, tables = sparks.Sparks(workload.name, workload.keys), dict(workload.tables(DATA))
    rival.load(tables)
    for change in workload.changes(DATA).there(2):
        rival.apply(change.writes)
        changed(workload, tables, change)
    compare(workload, rival, tables)


@EACH
def test_what_duckdb_hands_out_at_once_is_what_it_keeps(workload: Workload) -> None:
    rival = duck.Duck(workload.name)
    rival.load(workload.tables(DATA))
    rival.recompute()
    assert differing(rival.answer(), rival.nested()) == 0
