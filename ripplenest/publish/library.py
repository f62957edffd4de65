"""Deltalake, an optional library, imported when it is first needed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module  # noqa: TID251 - of an optional package, by constants
from typing import Any

from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.errors import StateError

OLDEST = (1, 6, 4)
DECORATION = re.compile(r"\x1b\[[0-9;]*m|↳")  # of its messages
LONGEST = 300  # characters of a message that are shown


def deltalake() -> Any:
    """The module. Raises EnvironmentProblem when it is missing or too old."""
    wanted = "deltalake " + ".".join(map(str, OLDEST)) + " or later"
    possible = ["pip install 'ripplenest[delta]'"]
    try:
        found: Any = import_module("deltalake")
        import_module("deltalake.exceptions")
    except ModuleNotFoundError as error:
        what = "publishing needs deltalake"
        raise EnvironmentProblem(what, where="publish", wanted=wanted, got="none", possible=possible) from error
    numbers = re.findall(r"\d+", found.__version__)
    if tuple(map(int, numbers[:3])) < OLDEST:
        what = "this deltalake is too old"
        raise EnvironmentProblem(what, where="publish", wanted=wanted, got=found.__version__, possible=possible)
    return found


@contextmanager
def storage(where: str) -> Iterator[None]:
    """What deltalake says of tables and storage that it cannot use becomes a StateError."""
    try:
        yield
    except (deltalake().exceptions.DeltaError, OSError) as error:
        got = ascii(" ".join(DECORATION.sub("", str(error)).split())[:LONGEST])
        raise StateError("the Delta table cannot be read or written", where=where, got=got) from error
