"""Deltalake, an optional library, imported when it is first needed."""

import re
from importlib import import_module
from typing import Any

from ripplenest.nrc.errors import EnvironmentProblem

OLDEST = (1, 6, 4)


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
