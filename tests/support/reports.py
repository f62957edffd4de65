"""The figures of a long run, as a small file that RELIABILITY.md quotes; and its seed.

A long run draws other cases each time. Its seed is printed when it fails; with RIPPLENEST_SEED it is the same again.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom

from attrs import define, field

REPORTS = Path(__file__).parents[1] / "reports"
SEED = "RIPPLENEST_SEED"


def report(name: str, **figures: object) -> None:
    """Write ``figures`` (numbers, text, lists, maps) as ``tests/reports/{name}.json``, in the place of the last run."""
    REPORTS.mkdir(exist_ok=True)
    text = json.dumps({"date": datetime.now(UTC).date().isoformat(), **figures}, indent=2, ensure_ascii=False)
    (REPORTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


@define
class Run:
    """A long run: its seed, and what it counts. A run that counts nothing, or nothing of some kind, has failed."""

    seed: int
    counts: Counter[str] = field(factory=Counter)

    def count(self, what: str, n: int = 1) -> None:
        self.counts[what] += n


def fresh_seed() -> int:
    """A seed that nobody chose, or the one to replay."""
    return int(os.environ.get(SEED) or SystemRandom().randrange(2**32))


@contextmanager
def reported(name: str, what: str, *expected: str) -> Iterator[Run]:
    """Run the block; write ``tests/reports/<name>.json`` when all went well and all that was ``expected`` was met."""
    run, started = Run(fresh_seed()), time.monotonic()
    try:
        yield run
        missing = [kind for kind in expected if not run.counts[kind]]
        assert run.counts and not missing, f"a run that disrupted nothing: {missing} of {dict(run.counts)}"
    except BaseException:
        print(f"\n{name}: {dict(run.counts)} so far; to replay: {SEED}={run.seed} pytest -m long -k <this test>")
        raise
    report(name, what=what, seed=run.seed, seconds=round(time.monotonic() - started, 1), **run.counts)
