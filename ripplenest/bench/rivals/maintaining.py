"""Rivals that maintain a view as rows come. They are no part of the turns, because they run until their input ends:
each is a program of its own, which is called

    python -P -m MODULE WORKLOAD FOLDER SCALE SEED ROUNDS ROWS...

It prints one JSON object, seconds of each batch by number of rows, and writes what its view is at the end to ``ANSWER``
in FOLDER. They are asked for inserts only, and what was inserted stays.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from attrs import frozen

from ripplenest.bench.changes import Rows, written
from ripplenest.bench.data import Data
from ripplenest.bench.process import answered
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.timing import Timing
from ripplenest.bench.workloads import WORKLOADS, Workload
from ripplenest.examples.same import differing

ANSWER = "answer.arrow"

Times = Mapping[int, Sequence[float]]  # seconds by rows of a batch
Run = Callable[[Workload, Path, Data, Sequence[int], int], tuple[Times, pa.Table]]


@frozen
class Maintainer:
    """The program of a rival, the workloads that it has, and the package that it needs."""

    module: str
    workloads: tuple[str, ...]
    package: str

    def maintained(
        self, workload: Workload, data: Data, sizes: Sequence[int], rounds: int, folder: Path
    ) -> tuple[dict[int, Timing], int]:
        """By size what an insert of so many rows took, and how many rows differ from what the view is at the end.

        Raises ProcessFailed.
        """
        found = answered(self.module, workload.name, folder, data.scale, data.seed, rounds, *sizes)
        times = {int(rows): Timing.of(seconds) for rows, seconds in found.items()}
        with pa.memory_map(str(folder / ANSWER)) as file:
            return times, differing(expected(workload, data, sizes, rounds), pa.ipc.open_file(file).read_all())


MAINTAINERS: Mapping[str, Maintainer] = {
    "streaming": Maintainer("ripplenest.bench.rivals.streaming", ("groupby",), "pyspark"),
    "pathway": Maintainer("ripplenest.bench.rivals.pathways", ("flat", "groupby"), "pathway"),
}


def inserts(workload: Workload, data: Data, sizes: Sequence[int], rounds: int) -> Iterator[tuple[bool, Rows]]:
    """The batches, and whether they count: the first round is to warm up."""
    changes = workload.changes(data)
    for done in range(rounds + 1):
        for rows in sizes:
            yield done > 0, changes.fresh(rows)


def expected(workload: Workload, data: Data, sizes: Sequence[int], rounds: int) -> pa.Table:
    """What the view is after these batches."""
    duck = Duck(workload.name)
    duck.load(workload.tables(data))
    for _, rows in inserts(workload, data, sizes, rounds):
        duck.apply(written("insert", rows))
    found = duck.nested()
    duck.close()
    return found


def run_as_program(run: Run, workload: str, folder: str, scale: str, seed: str, rounds: str, *sizes: str) -> None:
    """``run`` with the arguments of a command line, and what it finds as said above."""
    data, rows = Data(float(scale), int(seed)), [int(n) for n in sizes]
    times, answer = run(WORKLOADS[workload], Path(folder), data, rows, int(rounds))
    with pa.OSFile(str(Path(folder) / ANSWER), "wb") as file, pa.ipc.new_file(file, answer.schema) as out:
        out.write_table(answer)
    print(json.dumps(times))
