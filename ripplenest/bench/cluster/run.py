"""A run on Spark: each scale in a folder of its own, and everything in processes of their own."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyspark

import ripplenest
from ripplenest.bench.cluster.results import Engine, OnSpark, Ours, Scale, Theirs
from ripplenest.bench.process import ProcessFailed, answered
from ripplenest.bench.results import Left
from ripplenest.bench.run import machine
from ripplenest.bench.timing import Timing
from ripplenest.spark.session import DRIVER_MEMORY

CACHED = 1.0  # the largest scale whose input Spark is asked to keep in memory
SUBJECT, OTHERS = "ripplenest.bench.cluster.ours", "ripplenest.bench.cluster.theirs"
Say = Callable[[str], None]


def run(scales: Sequence[float], seed: int, rounds: int, memory: str, command: str, say: Say) -> OnSpark:
    """Measure F2 at each of ``scales``, with so much ``memory`` for the JVM of ours and Spark's own; what failed or
    differed is refused, and the rest goes on."""
    found: list[Scale] = []
    refused: list[Left] = []
    for scale in sorted(scales):
        where = f"f2 on Spark at scale {scale:g}"
        say(where)
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                found.append(_scale(Path(folder), scale, seed, rounds, {**os.environ, DRIVER_MEMORY: memory}, say))
            except (ProcessFailed, _Differs) as error:
                refused.append(Left(where, str(error)))
    return OnSpark(
        command=command,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seed=seed,
        machine=machine(),
        memory=memory,
        versions={"ripplenest": ripplenest.__version__, "pyspark": pyspark.__version__},
        scales=tuple(found),
        refused=tuple(refused),
    )


class _Differs(Exception):
    """Our answer is not Spark's."""


def _scale(folder: Path, scale: float, seed: int, rounds: int, environ: Mapping[str, str], say: Say) -> Scale:
    what = (folder, scale, seed)
    ask = partial(answered, environ=environ)
    items = ask(OTHERS, "tables", *what)["items"]
    say("  ripplenest")
    ours = _ours(ask(SUBJECT, *what, rounds))
    say("  Spark")
    theirs = ask(OTHERS, "spark", *what)
    if rows := ask(OTHERS, "differing", *what)["rows"]:
        raise _Differs(f"{rows:,} rows differ from Spark's")
    cached = ask(OTHERS, "cached", *what) if scale <= CACHED else None
    return Scale(scale, items, ours, Theirs(**theirs, cached=None if cached is None else Timing(**cached)))


def _ours(found: dict[str, Any]) -> Ours:
    batches = tuple(Engine(**{**b, "batch": Timing(**b["batch"])}) for b in found["batches"])
    floors = {int(rows): Timing(**t) for rows, t in found["floors"].items()}
    return Ours(**{**found, "batches": batches, "floors": floors})
