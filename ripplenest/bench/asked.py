"""What a run was asked to measure."""

import re
from collections.abc import Sequence

from attrs import frozen

WORKLOADS = (
    "f2", "nested", "flat", "nn2", "nf2", "groupby", "joingroup", "triangles", "top10", "most", "chain", "paths",
    "moments", "sessions", "gaps", "balances", "peaks",
)  # fmt: skip
ENGINES = ("local", "spark")
MEMORY = re.compile(r"[1-9]\d*[kmgt]", re.ASCII)
RIVALS = ("duckdb", "polars", "spark", "streaming", "pathway")
REFERENCE = "duckdb"  # whose answers ours are compared with, also where it is not timed
NUMBER = re.compile(r"(\d+)([kM]?)", re.ASCII)
TIMES = {"": 1, "k": 1_000, "M": 1_000_000}


@frozen
class Asked:
    """Each workload at each scale, with batches of so many ``rows``, or of those that it has of its own, which are not
    too large for the scale. A workload at a scale has so many ``rounds``, or as many as fit into ``seconds``, and at
    least one."""

    scales: tuple[float, ...]
    workloads: tuple[str, ...]
    rows: tuple[int, ...] | None
    rivals: tuple[str, ...]
    rounds: int
    seconds: float | None
    views: int
    seed: int
    command: str

    def seconds_at(self, scale: float) -> float:
        """For the rounds of a workload; those of large scales take longer."""
        return 10 + 600 * scale if self.seconds is None else self.seconds


def count(text: str) -> int:
    """``10``, ``10k`` or ``1M``. Raises ValueError."""
    found = NUMBER.fullmatch(text)
    if found is None or not int(found[1]):
        raise ValueError(f"{text!r} is no number of rows, such as 100 or 10k")
    return int(found[1]) * TIMES[found[2]]


def scale(text: str) -> float:
    """A positive number. Raises ValueError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found <= 1_000:
        raise ValueError(f"{text!r} is no scale, which is a number above 0 and at most 1,000")
    return found


def driver_memory(text: str) -> str:
    """As Spark's options have it. Raises ValueError."""
    if not MEMORY.fullmatch(text):
        raise ValueError(f"{text!r} is no memory of a JVM, such as 1g or 512m")
    return text


def name(text: str, known: Sequence[str]) -> str:
    """One of ``known``. Raises ValueError."""
    if text not in known:
        raise ValueError(f"there is no {text!r}; possible are {', '.join(known)}")
    return text


def shown(rows: int) -> str:
    """As ``count`` reads it."""
    for letter, times in (("M", TIMES["M"]), ("k", TIMES["k"])):
        if rows % times == 0:
            return f"{rows // times}{letter}"
    return str(rows)
