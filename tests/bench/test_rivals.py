"""Each rival's answer is what the view means, before a batch and after each kind of one."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ripplenest.bench.asked import WORKLOADS as ASKED
from ripplenest.bench.changes import Change, Write
from ripplenest.bench.data import Data
from ripplenest.bench.rivals import duck, pathways, pole
from ripplenest.bench.rivals.maintaining import MAINTAINERS, expected
from ripplenest.bench.rivals.rival import Rival
from ripplenest.bench.workloads import GROUPBY, WORKLOADS, Workload
from ripplenest.examples.same import differing

DATA = Data(0.00001, 3)
EACH = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda w: w.name)
FEW = ("f2", "nn2", "top10")  # on Spark a workload takes a second
ON_SPARK = [w if name in FEW else pytest.param(w, marks=pytest.mark.long) for name, w in WORKLOADS.items()]


def test_every_workload_can_be_asked_for_and_answered() -> None:
    assert set(WORKLOADS) == set(ASKED) == set(duck.ANSWERS) == set(pole.ANSWERS)


Rows = list[dict[str, Any]]


def meaning(workload: Workload, tables: Mapping[str, pa.Table]) -> Rows:
    """What the reference meaning of the view gives, without any engine."""
    return workload.view(*(tables[r.name].to_pylist() for r in workload.relations))


@cache
def meanings(name: str, *sizes: int) -> list[tuple[tuple[Write, ...], Rows]]:
    """At first, and after each batch of these sizes: what it writes, and what the view is then."""
    workload = WORKLOADS[name]
    tables: dict[str, Any] = dict(workload.tables(DATA))
    found: list[tuple[tuple[Write, ...], Rows]] = [((), meaning(workload, tables))]
    changes = workload.changes(DATA)
    for rows in sizes:
        for one in (changes.there, changes.back):
            for change in one(rows):
                changed(workload, tables, change)
                found.append((change.writes, meaning(workload, tables)))
    return found


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
    rival.load(workload.tables(DATA))
    for writes, rows in meanings(workload.name, *sizes):
        rival.apply(writes)
        compare(rival, rows)
    rival.close()


def compare(rival: Rival, rows: Rows) -> None:
    rival.recompute()
    answer = rival.answer()
    assert differing(pa.Table.from_pylist(rows, answer.schema), answer) == 0
    assert len(rows) >= 3 or rows[0]["n"] >= 3  # triangles


@EACH
def test_duckdb(workload: Workload) -> None:
    check(workload, duck.Duck(workload.name), 1, 20)


@EACH
def test_polars(workload: Workload) -> None:
    check(workload, pole.Pole(workload.name, workload.keys), 1, 20)


@pytest.mark.parametrize("workload", ON_SPARK, ids=lambda w: w.name)
def test_spark(workload: Workload, spark: SparkSession) -> None:
    from ripplenest.bench.rivals import sparks  # noqa: PLC0415

    assert spark and set(sparks.ANSWERS) == set(WORKLOADS)
    rival, tables = sparks.Sparks(workload.name, workload.keys), dict(workload.tables(DATA))
    rival.load(tables)
    for change in workload.changes(DATA).there(2):
        rival.apply(change.writes)
        changed(workload, tables, change)
    compare(rival, meaning(workload, tables))


@EACH
def test_what_duckdb_hands_out_at_once_is_what_it_keeps(workload: Workload) -> None:
    rival = duck.Duck(workload.name)
    rival.load(workload.tables(DATA))
    rival.recompute()
    assert differing(rival.answer(), rival.nested()) == 0


@pytest.mark.long
def test_structured_streaming(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ripplenest.bench.rivals import streaming  # noqa: PLC0415

    monkeypatch.setattr(streaming, "WARM", 1)
    before = {key: spark.conf.get(key, None) for key in streaming.ROCKSDB}
    times, found = streaming.run(GROUPBY, folder, DATA, [1, 7], 1)
    for key, value in before.items():
        spark.conf.set(key, value) if value else spark.conf.unset(key)
    assert {rows: len(seconds) for rows, seconds in times.items()} == {1: 1, 7: 1}
    assert min(min(seconds) for seconds in times.values()) > 0
    assert differing(expected(GROUPBY, DATA, [1, 7], 1), found) == 0


def test_the_first_rows_of_a_stream_are_all_rows() -> None:
    from ripplenest.bench.rivals import streaming  # noqa: PLC0415

    for count in (2, 10, 12, 20_000):
        table = pa.table({"id": range(count)})
        first = streaming._first(table)
        assert pa.concat_tables(first).equals(table)
        assert len(first) == min(streaming.WARM, count - 1) + 1 and all(rows.num_rows for rows in first)


def test_who_maintains_a_view() -> None:
    assert all(set(m.workloads) <= set(WORKLOADS) for m in MAINTAINERS.values())
    assert list(pathways.PROGRAMS) == list(MAINTAINERS["pathway"].workloads)


def test_groups_have_come_out_when_all_rows_are_in_them() -> None:
    """Of Pathway, whose batches may come out in any order, what a group was before it is another."""
    arrived = pathways.Grouped()
    for x, mean, n, came, there in ((1, 2.0, 3, True, 3), (2, 1.0, 1, True, 4), (1, 2.5, 5, True, 6),
                                    (1, 2.0, 3, False, 6), (2, 1.0, 1, False, 6), (2, 3.0, 2, True, 7)):  # fmt: skip
        arrived.change({"x": x, "mean": mean, "n": n}, came)
        assert arrived.there == there
    arrived.wait(7)
    assert arrived.table().to_pylist() == [{"x": 1, "mean": 2.5}, {"x": 2, "mean": 3.0}]
