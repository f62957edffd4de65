"""R11: the driver of a real Spark session is killed at moments spread over a batch; the batch is in, or it is not.

The driver is a Python process and its JVM. Both are killed at once, or the JVM alone: then the batch is refused, and
the Python process goes on. The next driver sends the batch again, twice, and it is applied once.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.endurance import VIEWS, filled, rows_after
from support.reports import reported
from support.shop import opened

MOMENTS = 12
DRIVER = """
import json, sys
sys.path.insert(0, {tests!r})
from py4j.protocol import Py4JError
from support.endurance import run
from support.shop import opened
db = opened({folder!r}, engine="spark")
jvm = db.spark.sparkContext._gateway.proc.pid
seconds = run(db, {warm}).clock[-1]
print(json.dumps([jvm, seconds]), flush=True)
sys.stdin.readline()
try:
    run(db, [{batch}])
    said = "applied"
except (Py4JError, OSError) as e:
    said = "refused: " + type(e).__name__
print(json.dumps([said, db.version]), flush=True)
"""


def driver(folder: Path, scratch: Path, warm: list[int], batch: int) -> "subprocess.Popen[str]":
    """A process that applies the batches ``warm``, says what its JVM is and how long the last one took, waits for a
    line, and applies ``batch``."""
    code = DRIVER.format(tests=str(Path(__file__).parents[1]), folder=str(folder), warm=warm, batch=batch)
    environ = {**os.environ, "TMPDIR": str(scratch)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([sys.executable, "-P", "-c", code], start_new_session=True, env=environ, **pipes)


def check(folder: Path, empty: int, batch: int) -> bool:
    """Whether the state, which had version ``empty`` before all batches, holds ``batch``; all before it are there."""
    with opened(folder) as db:
        done = db.version - empty
        assert done in (batch - 1, batch)
        rows = dict(zip("CM", rows_after(done), strict=True))
        for view in VIEWS:
            assert db.view(view.name).rows() == view(**{r: rows[r] for r, _ in view.query.relations}), view.name
        assert db.verify().ok
    return done == batch


@pytest.mark.long
def test_a_driver_that_is_killed_loses_nothing(tmp_path):
    with reported("driver-killed", "the driver or the JVM of a batch killed", "lost", "refused") as run:
        chance, folder = random.Random(run.seed), tmp_path / "state"
        with filled(folder, "local", None) as db:
            empty = db.version
        for moment in range(MOMENTS):
            after = (moment + chance.random()) / MOMENTS
            applied, said = killed_at(tmp_path, 1 + 3 * moment, after, moment % 4 == 3, empty)
            run.count("applied" if applied else "lost")
            run.count(said)
        assert run.counts["lost"] >= MOMENTS // 2, "most were killed when the batch was done"


def killed_at(tmp_path, batch, after, only_jvm, empty):
    """A driver that sends some batches and is killed when it is that part of the last: whether it is applied, and what
    the driver said of it."""
    folder, last = tmp_path / "state", batch + 3
    warm = [batch, batch, batch + 1, batch + 2]  # the first was sent by the driver before
    process = driver(folder, tmp_path, warm, last)
    assert process.stdin is not None and process.stdout is not None
    jvm, seconds = json.loads(process.stdout.readline())
    process.stdin.write("now\n")
    process.stdin.flush()
    time.sleep(seconds * after)
    os.kill(jvm, signal.SIGKILL) if only_jvm else os.killpg(process.pid, signal.SIGKILL)
    said = process.stdout.read()
    process.wait(60)
    applied = check(folder, empty, last)
    if not said:
        assert not only_jvm
        return applied, "silent"
    outcome, version = json.loads(said)
    assert (outcome == "applied", version) == (applied, empty + last - (not applied))
    return applied, outcome.partition(":")[0]
