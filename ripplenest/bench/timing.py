"""What is measured: seconds of work, medians of several, of works that take turns, too, and the most memory that a
process held."""

import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from attrs import frozen

T = TypeVar("T")
STATUS = Path("/proc/self/status")
WARM, MORE = 2, 3


@frozen
class Timing:
    """Seconds of something that was done ``rounds`` times: the median, the least and the most."""

    median: float
    least: float
    most: float
    rounds: int

    @staticmethod
    def of(seconds: Sequence[float]) -> "Timing":
        return Timing(statistics.median(seconds), min(seconds), max(seconds), len(seconds))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What ``work`` gives, and its seconds."""
    started = time.perf_counter()
    found = work()
    return found, time.perf_counter() - started


def in_turns(rounds: int, *works: Callable[[], float]) -> list[Timing]:
    """The seconds that each of ``works`` says, of so many turns of each. In a turn it is done WARM times, to find what
    it left itself, and then MORE times that count."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, seconds in zip(works, found, strict=True):
            seconds.extend([work() for _ in range(WARM + MORE)][WARM:])
    return [Timing.of(seconds) for seconds in found]


def peak_bytes() -> int:
    """The most resident memory that this process had, since its program started."""
    if STATUS.exists():  # getrusage counts what the process was before it became this program
        return _status("VmHWM")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def own_bytes() -> int | None:
    """The resident memory of this process that is not pages of files, which the system takes back when it needs them;
    None where it does not say."""
    return _status("RssAnon") if STATUS.exists() else None


def _status(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
