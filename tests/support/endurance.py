"""Batch after batch on a state whose size does not change: what a process and a state take up, and the time it takes.

    scripts/endurance.py python 1000 2000

prints the figures after 1,000 and after 2,000 batches as JSON. It is a process of its own, in which nothing else grows.
"""

import gc
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from attrs import field, frozen

from ripplenest import Database
from ripplenest.api.batch import Batch
from ripplenest.store.database.tables import BATCHES, SEGMENT_INDEXES, SEGMENTS, VERSIONS
from support.shop import customer, item, liked, movie, opened, order, parts
from support.states import MEMORY

CUSTOMERS, FILMS = 50, 20
VIEWS = (parts, liked)


def filled(folder: Path, engine: str, retain: int | None) -> Database:
    """The shop with two nested views, the second over both relations."""
    db = opened(folder, engine=engine, retain=retain)
    db.load("C", [_customer(key) for key in range(CUSTOMERS)])
    db.load("M", [movie(f"film {n}", f"name {n}") for n in range(FILMS)])
    for view in VIEWS:
        db.create(view)
    return db


def _customer(key: int) -> dict[str, Any]:
    return customer(key, f"name {key % 10}", [order(11, item(1), item(2, 1, ("a",))), order(12, item(3))])


def change(b: Batch, n: int) -> None:
    """Batch ``n``, counted from 1: a customer and a film come, those of the batch before go, and so does an item deep
    inside another customer."""
    box = b.at("C", custkey=n % CUSTOMERS).orders.at(orderkey=11).items
    box.delete([item(1)])
    box.insert([item(1, 3)])
    back = b.at("C", custkey=(n - 1) % CUSTOMERS).orders.at(orderkey=11).items
    b.insert("C", [_customer(CUSTOMERS + n % 2)])
    b.insert("M", [movie("new", f"name {n % 10}")])
    if n > 1:
        back.delete([item(1, 3)])
        back.insert([item(1)])
        b.delete("C", [_customer(CUSTOMERS + (n - 1) % 2)])
        b.delete("M", [movie("new", f"name {(n - 1) % 10}")])


def rows_after(n: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The customers and films after ``n`` ≥ 1 batches."""
    customers = [_customer(key) for key in (*range(CUSTOMERS), CUSTOMERS + n % 2)]
    items = customers[n % CUSTOMERS]["orders"][0]["items"]
    items[items.index(item(1))] = item(1, 3)
    return customers, [*(movie(f"film {i}", f"name {i}") for i in range(FILMS)), movie("new", f"name {n % 10}")]


@frozen
class Times:
    """The seconds that batches took: on the clock, and of this process, which do not count what others do meanwhile."""

    clock: list[float] = field(factory=list)
    process: list[float] = field(factory=list)

    def figures(self) -> dict[str, dict[str, float]]:
        """In milliseconds."""
        return {"milliseconds": _spread(self.clock), "milliseconds of the process": _spread(self.process)}


def _spread(seconds: list[float]) -> dict[str, float]:
    found = {"median": median(seconds), "p99": sorted(seconds)[len(seconds) * 99 // 100], "max": max(seconds)}
    return {name: round(1000 * value, 2) for name, value in found.items()}


def run(db: Database, batches: Iterable[int]) -> Times:
    """How long each took."""
    times = Times()
    for n in batches:
        clock, process = time.perf_counter(), time.process_time()
        with db.batch("s", n) as b:
            change(b, n)
        times.clock.append(time.perf_counter() - clock)
        times.process.append(time.process_time() - process)
    return times


# ---------------------------------------------------------------- what is taken up


def measured(db: Database) -> dict[str, int]:
    """What a state and this process take up at this moment."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    usage, status = db.usage, Path("/proc/self/status").read_text()
    with db._store._catalogue.transaction() as c:
        tables = (VERSIONS, BATCHES, SEGMENTS, SEGMENT_INDEXES)
        rows = {t.name: c.execute(sa.select(sa.func.count()).select_from(t)).scalar_one() for t in tables}
    return {
        "memory": _resident(),
        "own memory": 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": Path("/proc/self/maps").read_text().count("/segments/"),
        "deleted but mapped (bytes)": _held(),
        "files": usage.files,
        "bytes": usage.bytes,
        "live segments": usage.segments,
        "catalogue": (db._store.path / "catalogue.sqlite").stat().st_size,
        **{f"rows of {name}": n for name, n in rows.items()},
    }


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _held() -> int:
    """Bytes of files that are gone but for a mapping of this process."""
    found = re.findall(r"^(\w+)-(\w+) .*/segments/.* \(deleted\)$", Path("/proc/self/maps").read_text(), re.MULTILINE)
    return sum(int(end, 16) - int(start, 16) for start, end in found)


def on_spark() -> Callable[[Database], dict[str, Any]]:
    """What Spark takes up for a database: its heap after a collection, and what it could keep from batch to batch."""
    from ripplenest.spark import joiner  # noqa: PLC0415 - the other engine's process must not hold it

    last: list[Any] = []  # the frame of the last job

    def watched(plain: Callable[..., Any]) -> Callable[..., Any]:
        def frame(*args: Any) -> Any:
            last[:] = [plain(*args)]
            return last[0]

        return frame

    joiner.summed, joiner.together = watched(joiner.summed), watched(joiner.together)  # of many rows, and of few

    def also(db: Database) -> dict[str, Any]:
        plan = io.StringIO()
        with redirect_stdout(plan):
            last[0].explain(mode="extended")
        context = db.spark.sparkContext
        return {
            **_of_jvm(context._gateway.proc.pid),
            "plan (characters)": len(plan.getvalue()),
            "temporary views": len(db.spark.catalog.listTables()),
            "persistent": context._jsc.getPersistentRDDs().size(),
        }

    return also


def _of_jvm(pid: int) -> dict[str, int]:
    """Nothing without the JDK's tools."""
    jcmd = shutil.which("jcmd")
    if jcmd is None:
        return {}

    def ask(what: str) -> str:
        return subprocess.run([jcmd, str(pid), what], check=True, stdout=subprocess.PIPE, text=True).stdout

    for _ in range(10):  # Spark drops what belongs to a frame when it hears that this is gone, some collections later
        ask("GC.run")
        time.sleep(1)
    heap, classes = ask("GC.heap_info"), ask("VM.classloader_stats")
    loaded = re.search(r"^Total = \d+ +(\d+)", classes, re.MULTILINE)
    return {
        "heap": 1024 * sum(map(int, re.findall(r"total .*?used (\d+)K", heap))),  # whole, or by generation
        "classes": int(loaded[1]) if loaded else 0,
        "threads": len(os.listdir(f"/proc/{pid}/task")),
        "descriptors of the JVM": len(os.listdir(f"/proc/{pid}/fd")),
    }


def figures(
    engine: str, marks: list[int], retain: int | None = None, also: Callable[[Database], dict[str, Any]] = lambda _: {}
) -> dict[str, Any]:
    """After so many batches as ``marks`` say: what is taken up, and how long those since the mark before took."""
    after: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        db, done, started = filled(Path(folder), engine, retain), 0, time.monotonic()
        for mark in marks:
            times = run(db, range(done + 1, mark + 1))
            after[mark] = {**times.figures(), **measured(db), **also(db)}
            done = mark
        customers, films = rows_after(done)
        right = db.view("parts").rows() == parts(customers) and db.view("liked").rows() == liked(customers, films)
        db.close()
        ended = time.monotonic()
        opened(folder, engine=engine).close()
        opening = round(time.monotonic() - ended, 3)
    load = round(os.getloadavg()[0], 1)
    took = {"seconds": round(ended - started), "seconds to open it again": opening, "load": load}
    return {"engine": engine, "right": right, **took, "after": after}


def in_a_process_of_its_own(engine: str, marks: list[int]) -> dict[str, Any]:
    """The figures of ``scripts/endurance.py``."""
    script = Path(__file__).parents[2] / "scripts" / "endurance.py"
    command = [sys.executable, "-P", str(script), engine, *map(str, marks)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found
