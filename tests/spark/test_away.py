"""Sessions that users make: on a cluster of which a worker dies, and of Spark Connect.

The demo's batches are applied in each, by the programs of OPERATIONS.md, and every answer is compared: with this
process after each batch, with plain Spark at the end; and tasks read what is stored.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyspark
import pytest
from support.pages import programs

from ripplenest.demo.batches import KINDS
from ripplenest.spark.java import find_java, java_home

ROOT = Path(__file__).resolve().parents[2]
AWAY = ROOT / "tests" / "support" / "away.py"
SPARK = Path(pyspark.__file__).parent
WORKERS, KILLED = 2, 5
NEEDS = ("pandas", "grpc", "grpc_status", "zstandard")
CONNECT = Path(sys.prefix) / "connect"  # where make test-long puts them
Process = subprocess.Popen[str]


def environ() -> dict[str, str]:
    home = java_home(find_java())
    own = {} if home is None else {"JAVA_HOME": str(home)}
    return {
        **os.environ,
        **own,
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def listening(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def eventually(done: Any, what: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.1)


class Cluster:
    """Spark's own: a master, and workers of one core each, as processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self._master: Process | None = None
        self.workers: list[Process] = []

    def start(self) -> None:
        where = ["--host", "127.0.0.1", "--webui-port", "0"]
        self._master = self._run("master", "Master", *where, "--port", str(self.port))
        eventually(lambda: listening(self.port), "no master")
        for i in range(WORKERS):
            one = self._run(f"worker-{i}", "Worker", *where, "--cores", "1", "--memory", "1200m", self.url)
            self.workers.append(one)
        for i in range(WORKERS):
            eventually(lambda i=i: "Successfully registered" in self._log(f"worker-{i}"), f"no worker {i}")

    def kill(self, worker: int) -> None:
        """The worker and the executor that it started, at once."""
        os.killpg(self.workers[worker].pid, signal.SIGKILL)
        self.workers[worker].wait(30)

    def stop(self) -> None:
        for process in [*self.workers, self._master]:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)

    def _log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _run(self, name: str, kind: str, *words: str) -> Process:
        made = {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_WORKER_DIR": str(self._folder / name),
            "SPARK_LOCAL_DIRS": str(self._folder / name),
        }
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}", *words]
        with open(self._folder / f"{name}.log", "w") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**environ(), **made}, text=True,
                start_new_session=True,
            )  # fmt: skip


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    folder.mkdir()
    found = Cluster(folder)
    try:
        found.start()
        yield found
    finally:
        found.stop()


def catalogue(stack: ExitStack) -> str:
    """That of a database, where there is a server for tests; else a file in the folder."""
    try:
        from support.postgres import running  # noqa: PLC0415 - skips without psycopg

        return stack.enter_context(running()).create("away")
    except pytest.skip.Exception as skipped:
        warnings.warn(f"the catalogue is in a file: {skipped}", stacklevel=1)
        return ""


@contextmanager
def started(program: str, folder: Path, catalogue: str = "", packages: Sequence[Path] = ()) -> Iterator[Process]:
    command = [sys.executable, "-P", str(AWAY), str(folder), catalogue]
    with open(folder / "stderr", "w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            env={**environ(), "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "tests", *packages)))},
        )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(program)
    process.stdin.close()
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def lines(process: Process) -> Iterator[str]:
    assert process.stdout is not None
    yield from process.stdout


def check(said: list[str], folder: Path) -> dict[str, Any]:
    """What the program found: all is equal, each batch is one job."""
    assert said, (folder / "stderr").read_text()[-3000:]
    assert said[:-1] == [f"{i}\n" for i in range(1, len(KINDS) + 1)], (folder / "stderr").read_text()[-3000:]
    found: dict[str, Any] = json.loads(said[-1])
    assert found["differ"] == {"recomputed": [], "format": [], "nested": [], "frames": []}
    assert (found["batches"], found["engines"]) == (len(KINDS), ["spark"])
    assert set(found["jobs"]) == {1}
    return found


@pytest.mark.long
def test_a_cluster_of_which_a_worker_dies(tmp_path: Path) -> None:
    """While a batch runs: its task begins again elsewhere, and nobody notices."""
    (program,) = programs("A cluster")
    with ExitStack() as stack:
        found = stack.enter_context(cluster(tmp_path / "cluster"))
        url = catalogue(stack)
        own = program.replace("spark://host:7077", found.url)
        assert own != program
        process = stack.enter_context(started(own, tmp_path, url))
        said = []
        for line in lines(process):
            said.append(line)
            if line == f"{KILLED}\n":
                time.sleep(0.05)
                found.kill(0)
        check(said, tmp_path)
        assert found.workers[0].poll() is not None and found.workers[1].poll() is None
        assert "worker lost" in (tmp_path / "stderr").read_text()
        assert (tmp_path / "there" / "catalogue.json").exists() == bool(url)


@pytest.mark.long
def test_spark_connect(tmp_path: Path) -> None:
    """With a server that the client starts, and that another process could be."""
    packages = [] if all(map(find_spec, NEEDS)) else [CONNECT]
    if packages and not CONNECT.is_dir():
        pytest.skip("ripplenest[connect] is not installed, and not in .venv/connect: Spark Connect is NOT TESTED")
    (program,) = programs("Spark Connect")
    own = program.replace("sc://host:15002", "local[2]")
    assert own != program
    with started(own, tmp_path, packages=packages) as process:
        check([*lines(process)], tmp_path)
