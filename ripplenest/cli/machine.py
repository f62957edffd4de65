"""The machine as ``doctor`` sees it: Python, packages, Java, Spark, umask.

What may be broken is asked in processes of its own: a package that does not load, or a JVM that hangs, is then a line
of the report. They all start at once.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

import ripplenest as rn
from ripplenest.cli.findings import Finding, ok, wrong

ASK_SECONDS = 120
LINES = 12  # of what a process said before it failed
_SESSION = """
import sys, tempfile, time
import ripplenest as rn
start = time.monotonic()
try:
    with tempfile.TemporaryDirectory() as folder, rn.open(folder, engine="spark") as db:
        db.spark.range(1).count()
        print(f"Spark {db.spark.version} started and answered in {time.monotonic() - start:.1f} s")
except rn.RipplenestError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
_IMPORT = "import {0}; print({0}.__version__)"
# What is asked, as arguments of Python.
ASKED: Mapping[str, tuple[str, ...]] = {
    "java": ("-m", "ripplenest.spark.java"),
    "pyspark": ("-c", _IMPORT.format("pyspark")),
    "deltalake": ("-c", _IMPORT.format("deltalake")),
    "psycopg": ("-c", _IMPORT.format("psycopg")),
    "session": ("-c", _SESSION),
}
ADVICE = {
    "java": "install Java 17 or newer, or: pip install 'ripplenest[java]'",
    "session": "mend what is said here of java and pyspark",
}
EXTRAS = {"deltalake": "to publish Delta tables", "psycopg": "for a catalogue in PostgreSQL"}


def of_machine(spark: bool) -> list[Finding]:
    """What every state needs; with ``spark``, a session is started."""
    left_out = {package for package in EXTRAS if _missing(package)} | (set() if spark else {"session"})
    asked = {what: _start(*args) for what, args in ASKED.items() if what not in left_out}
    without = [ok(package, f"not installed, and needed only {EXTRAS[package]}") for package in EXTRAS.keys() & left_out]
    return [*_versions(), *(_answer(what, process) for what, process in asked.items()), *without, _umask()]


def _missing(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return True
    return False


def _versions() -> Iterator[Finding]:
    yield ok("ripplenest", rn.__version__)
    yield ok("python", f"{platform.python_version()}, {sys.executable}")
    yield _judged("pyarrow", importlib.metadata.version("pyarrow"))


def _judged(package: str, version: str) -> Finding:
    """Whether ``version`` is one that we ask for; what cannot be compared is fine."""
    wanted = _wanted(package)
    for sign, bound in re.findall(r"(>=|<)([\d.]+)", wanted):
        if (_numbers(version) >= _numbers(bound)) != (sign == ">="):
            return wrong(package, f"{version}, and not {wanted}", f"pip install '{wanted}'")
    return ok(package, version)


def _wanted(package: str) -> str:
    """What we require of it, such as ``pyspark<5,>=4.1``."""
    required = (line.partition(";")[0].strip() for line in importlib.metadata.requires("ripplenest") or ())
    return next((r for r in required if re.match(rf"{package}\b", r)), package)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _start(*args: str) -> subprocess.Popen[str]:
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    command = [sys.executable, "-P", *args]
    return subprocess.Popen(  # noqa: S603 - this Python with arguments of ours
        command, stdin=nothing, stdout=pipe, stderr=pipe, text=True, errors="replace"
    )


def _answer(what: str, process: subprocess.Popen[str]) -> Finding:
    advice = ADVICE.get(what, f"pip install --force-reinstall '{_wanted(what)}'")
    try:
        answer, said = process.communicate(timeout=ASK_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return wrong(what, f"no answer within {ASK_SECONDS} s", advice)
    if process.returncode:
        return wrong(what, _end_of(said) or f"the process ended with status {process.returncode}", advice)
    return ok(what, answer.strip()) if what in ADVICE else _judged(what, answer.strip())


def _end_of(said: str) -> str:
    """What a process said last, without a traceback."""
    lines = said.strip().splitlines()
    return "\n".join(lines[-1:] if "Traceback (most recent call last):" in lines else lines[-LINES:])


def _umask() -> Finding:
    mask = os.umask(0o077)
    os.umask(mask)
    if mask & 0o700:
        return wrong("umask", f"{mask:03o} takes rights away from the owner of new files", "umask 077")
    return ok("umask", f"{mask:03o}; the files of a state are for their owner alone whatever it is")
