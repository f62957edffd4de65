"""What needs a process of its own: the memory of a load, and a state that is opened.

    python -P -m ripplenest.bench.child load FOLDER SCALE SEED
    python -P -m ripplenest.bench.child open FOLDER SCALE SEED

Each prints one JSON object.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ripplenest.bench.changes import Change, Items, Write
from ripplenest.bench.data import ITEMS, Data
from ripplenest.bench.process import answered
from ripplenest.bench.subject import apply, load, opened
from ripplenest.bench.timing import peak_bytes, timed
from ripplenest.bench.workloads import F2

What = Literal["load", "open"]


def ask(what: What, folder: Path, data: Data) -> dict[str, Any]:
    """What such a process says. Raises ProcessFailed."""
    return answered(__name__, what, folder, data.scale, data.seed)


def load_alone(folder: Path, data: Data) -> dict[str, Any]:
    """Load the relations of F2, the items from a reader that never has them all."""
    items = pa.RecordBatchReader.from_batches(ITEMS, data.item_batches())
    with opened(folder) as db:
        tables = {"C": data.customers, "O": data.orders, "L": items}
        _, seconds = timed(lambda: load(db, F2, tables))
        rows = sum(db.relation(name).size for name in tables)
    return {"rows": rows, "seconds": seconds, "peak_bytes": peak_bytes()}


def open_again(folder: Path, data: Data) -> dict[str, Any]:
    """Open a state of F2 and apply one row, in a process that has imported all that it needs and read nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        _open_and_apply(Path(scratch) / "state", Data(0.0, data.seed), new=True)
    _, seconds = timed(lambda: _open_and_apply(folder, data))
    return {"seconds": seconds}


def _open_and_apply(folder: Path, data: Data, new: bool = False) -> None:
    with opened(folder) as db:
        if new:
            load(db, F2, F2.tables(data))
            db.create(F2.view)
        rows = Items(data, made=db.version * 10**9).fresh(1)  # no other batch made this line
        apply(db, Change("insert", 1, (Write("insert", "L", rows),)))


def main(what: str, folder: str, scale: str, seed: str) -> None:
    work = {"load": load_alone, "open": open_again}[what]
    print(json.dumps(work(Path(folder), Data(float(scale), int(seed)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
