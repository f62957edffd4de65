"""Ripplenest as the driver of Spark, in a process of its own, whose memory is measured.

    python -P -m ripplenest.bench.cluster.ours FOLDER SCALE SEED ROUNDS

reads the relations as Parquet in FOLDER, makes a state beside them, writes the view nested and in parts, and prints one
JSON object. Batches insert rows, which go again; each engine has a process of its own meaning of the same state.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import asdict
from pyspark.sql import SparkSession

import ripplenest as rn
from ripplenest.bench.changes import Items, Write
from ripplenest.bench.cluster.results import FEW, Engine, Ours
from ripplenest.bench.data import Data
from ripplenest.bench.floor import floor
from ripplenest.bench.subject import declare
from ripplenest.bench.timing import Timing, own_bytes, peak_bytes, timed
from ripplenest.bench.workloads import F2
from ripplenest.spark.session import local_session

EngineName = Literal["spark", "local", "auto"]
AT_LAST = 10**12  # lines of items that no other batch makes begin here
LARGE_ROUNDS = 3  # of batches that take seconds
SHARES = (100, 10)  # one row of so many changes in a large one
FORGET_PEAK = Path("/proc/self/clear_refs")


def measure(spark: SparkSession, folder: Path, data: Data, rounds: int) -> Ours:
    """All of it. The view is left in ``folder``: ``nested``, and the parts of it."""
    peaks: dict[str, int] = {}
    own: dict[str, int | None] = {}

    def step(name: str, work: Callable[[], object]) -> float:
        with suppress(OSError):  # the most that was held until now is forgotten, where the system can
            FORGET_PEAK.write_text("5")
        _, seconds = timed(work)
        peaks[name], own[name] = peak_bytes(), own_bytes()
        return seconds

    state = folder / "state"
    with rn.open(state, engine="spark", spark=spark) as db:
        declare(db, F2.relations)
        frames = {r.name: spark.read.parquet(str(folder / r.name)) for r in F2.relations}
        loading = step("load", lambda: [db.load(name, frame) for name, frame in frames.items()])
        creating = step("create", lambda: db.create(F2.view))
        rows = sum(db.relation(r.name).size for r in F2.relations)
        size = db.usage.bytes
        writing = step("write", lambda: _write(db, folder / "nested"))
        _write_parts(db, folder)
    items = Items(data, made=rows)
    step("batches", lambda: _few(spark, state, items, rounds))
    batches = tuple(_batches(spark, state, data, items, rounds))
    _leave_changed(spark, folder, data)
    floors = {n: _floors(spark, folder, data, n, rounds) for n in _sizes(data)}
    return Ours(rows, loading, creating, writing, size, peaks, own, batches, floors)


def _write(db: rn.Database, path: Path) -> None:
    db.view(F2.view.name).nested().write.parquet(str(path))


def _write_parts(db: rn.Database, folder: Path) -> None:
    view = db.view(F2.view.name)
    view.flat().write.parquet(str(folder / "flat"))
    for site, frame in view.dictionaries().items():
        frame.write.parquet(str(folder / f"dictionary-{site.rpartition('.')[2]}"))


def _leave_changed(spark: SparkSession, folder: Path, data: Data) -> None:
    """A batch that stays, its rows as Parquet, and the view after it."""
    rows = Items(data, made=AT_LAST).fresh(min(FEW, data.order_count))
    with rn.open(folder / "state", engine="spark", spark=spark) as db:
        with db.batch(policy="incremental") as b:
            b.insert("L", rows)
        _write(db, folder / "nested-after")
    (folder / "more").mkdir()
    pq.write_table(rows, folder / "more" / "rows.parquet")


def _sizes(data: Data) -> list[int]:
    """Rows of the batches: few, and shares of the items, about."""
    items = data.order_count * 4
    return sorted({n for n in (FEW, *(items // share for share in SHARES)) if n <= items // min(SHARES)})


def _batches(spark: SparkSession, state: Path, data: Data, items: Items, rounds: int) -> Iterator[Engine]:
    """The engines in turns on each size, so that none always finds what others left in the state; the first batch of
    each turn is not counted."""
    for n in _sizes(data):
        found: dict[EngineName, list[tuple[rn.Report, float]]] = {name: [] for name in get_args(EngineName)}
        for _ in range(rounds if n <= FEW else LARGE_ROUNDS):
            for name, batches in found.items():
                policy: Literal["incremental", "auto"] = "auto" if name == "auto" else "incremental"
                with rn.open(state, engine=name, spark=spark) as db:
                    _there_and_back(db, items.fresh(n), policy)
                    batches.append(_there_and_back(db, items.fresh(n), policy))
        yield from (_engine(name, n, batches) for name, batches in found.items())
    both: tuple[EngineName, ...] = ("local", "spark")
    for name in both:
        with rn.open(state, engine=name, spark=spark) as db:
            yield _engine(name, n, [_there_and_back(db, items.fresh(n), "full")])


def _few(spark: SparkSession, state: Path, items: Items, rounds: int) -> None:
    """Small batches on Spark alone, whose memory is measured."""
    with rn.open(state, engine="spark", spark=spark) as db:
        for _ in range(rounds):
            _there_and_back(db, items.fresh(FEW), "incremental")


def _there_and_back(
    db: rn.Database, rows: pa.Table, policy: Literal["incremental", "auto", "full"]
) -> tuple[rn.Report, float]:
    started = time.perf_counter()
    with db.batch(policy=policy) as b:
        b.insert("L", rows)
    seconds = time.perf_counter() - started
    with db.batch() as back:
        back.delete("L", rows)
    return b.report, seconds


def _engine(name: str, rows: int, found: Sequence[tuple[rn.Report, float]]) -> Engine:
    last, _ = found[-1]
    times = Timing.of([seconds for _, seconds in found])
    return Engine(name, rows, last.engine, last.verdict, times, last.jobs, last.rows_read)


def _floors(spark: SparkSession, folder: Path, data: Data, rows: int, rounds: int) -> Timing:
    """The least that a job of Spark takes that reads the rows and hands them on, and a durable file of them."""
    table = Items(data, made=0).fresh(rows)

    def once() -> float:
        read, seconds = timed(lambda: spark.createDataFrame(table).coalesce(1).toArrow())
        gc.collect()  # the plan, which has all rows: what was asked of Java are cycles
        return seconds + floor(folder, [Write("insert", "L", read)])

    return Timing.of([once() for _ in range(rounds + 1)][1:])


def main(folder: str, scale: str, seed: str, rounds: str) -> None:
    spark = local_session("ripplenest-bench")
    found: Mapping[str, Any] = asdict(measure(spark, Path(folder), Data(float(scale), int(seed)), int(rounds)))
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
