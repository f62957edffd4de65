"""What the formats cost that segments could have: write, size, scan a column, probe keys. Prints a table of medians.

    python scripts/segment_formats.py [rows]

Rows are ordered by key. Arrow is probed as the store does it (search in the mapped column, take rows), Parquet by
a filter that is pushed down to its row groups.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

RUNS = 7


def median(run: Callable[[], object]) -> float:
    """Milliseconds, after a warm-up."""
    run()
    found = []
    for _ in range(RUNS):
        started = time.perf_counter()
        run()
        found.append((time.perf_counter() - started) * 1e3)
    return statistics.median(found)


def sample(rows: int) -> pa.Table:
    chance = np.random.default_rng(1)
    keys = np.sort(chance.integers(0, rows, rows))
    names = pa.array([f"name {k % 1000}" for k in keys])
    return pa.table({"c0": keys, "c1": names, "c2": chance.random(rows), "w": np.ones(rows, np.int64)})


def arrow(path: Path, table: pa.Table, compression: str | None) -> tuple[Callable[..., object], ...]:
    def write() -> None:
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table.combine_chunks())

    def read() -> pa.Table:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()

    def probe(keys: np.ndarray) -> pa.Table:
        found = read()
        return found.take(pa.array(np.searchsorted(found["c0"].chunk(0).to_numpy(), keys)))

    return write, lambda: read()["c2"].chunk(0).to_numpy().sum(), probe


def parquet(path: Path, table: pa.Table) -> tuple[Callable[..., object], ...]:
    def probe(keys: np.ndarray) -> pa.Table:
        return ds.dataset(str(path)).to_table(filter=ds.field("c0").isin(pa.array(keys)))

    scan = pq.read_table
    return lambda: pq.write_table(table, path, row_group_size=2**16), lambda: scan(path)["c2"].to_numpy().sum(), probe


def main(rows: int) -> None:
    table = sample(rows)
    keys = {n: np.sort(np.random.default_rng(n).choice(table["c0"].to_numpy(), n)) for n in (100, 10_000)}
    print(f"{rows:,} rows, medians of {RUNS} in ms\nformat            write  MB    scan   100 keys  10k keys")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        formats = {f"arrow {c or 'plain'}": arrow(path, table, c) for c in (None, "lz4", "zstd")}
        for name, (write, scan, probe) in {**formats, "parquet snappy": parquet(path, table)}.items():
            wrote, size = median(write), os.path.getsize(path) / 1e6
            probes = [median(lambda k=k, p=probe: p(k)) for k in keys.values()]
            print(f"{name:15} {wrote:7.0f} {size:4.0f} {median(scan):7.1f} {probes[0]:9.1f} {probes[1]:9.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
