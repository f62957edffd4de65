"""The least that anybody does who keeps a view durably: each changed row is written twice as Arrow, once as it came and
once for the view, into a file each, and the files and their folder are synced."""

import os
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa

from ripplenest.bench.changes import Write

_numbers = count()


def floor(folder: Path, writes: Sequence[Write]) -> float:
    """The seconds of it. The files are removed again."""
    tables = [write.rows for write in writes] * 2
    paths = [folder / f"floor-{next(_numbers)}.arrow" for _ in tables]
    started = time.perf_counter()
    for path, table in zip(paths, tables, strict=True):
        with path.open("wb") as file:
            with pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)
            file.flush()
            os.fsync(file.fileno())
    there = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
    seconds = time.perf_counter() - started
    for path in paths:
        path.unlink()
    return seconds
