"""The optional packages that measuring needs, looked for before anything runs."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from ripplenest.errors import EnvironmentProblem

NEEDED = ("duckdb", "polars", "matplotlib")
VERSIONS = ("ripplenest", "pyarrow", "numpy", *NEEDED, "deltalake", "pyspark", "pathway")


def check_installed(packages: Iterable[str] = NEEDED) -> None:
    """Raises EnvironmentProblem when a package is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        possible = ["pip install 'ripplenest[bench]'"]
        what, got = "measuring needs packages that are not installed", f"no {', '.join(missing)}"
        raise EnvironmentProblem(what, where="bench", wanted=", ".join(NEEDED), got=got, possible=possible)


def versions() -> dict[str, str]:
    """Of what is installed and matters to the figures."""
    found = {name: _version(name) for name in VERSIONS}
    return {name: number for name, number in found.items() if number}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
