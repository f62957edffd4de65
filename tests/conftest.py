"""What all tests share: one Spark session for the whole run, and hypothesis without deadlines.

The first example of a property pays for imports and for Spark's start, so that a deadline would fail it at random.
"""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from ripplenest.spark.session import local_session

settings.register_profile("ripplenest", deadline=None)
settings.load_profile("ripplenest")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = local_session("ripplenest-tests")
    yield session
    session.stop()
