"""The Python of Spark's workers, which needs this package and what it is made with."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from ripplenest.errors import EnvironmentProblem

MISSING = re.compile(r"No module named '(ripplenest|pyarrow|numpy|attrs?)\b")


@contextmanager
def told_without_us() -> Iterator[None]:
    """Workers that do not have this package are told of as such. All else that Spark says stays what it is."""
    try:
        yield
    except PySparkException as error:
        missing = MISSING.search(str(error))
        if missing is None:
            raise
        raise EnvironmentProblem(
            "the workers of Spark do not have this package, or what it needs",
            where="spark",
            wanted="ripplenest in the Python of each worker",
            got=f"a Python without {missing[1]}",
            possible=[
                f"PYSPARK_PYTHON={sys.executable} in the environment before Spark starts, if that has it",
                "pip install ripplenest on each", "rows that are here: df.toArrow() to load, to_arrow() to read",
            ],
        ) from error
