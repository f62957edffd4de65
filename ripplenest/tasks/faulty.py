"""What is wrong with stored rows that a task reads for Spark, which would tell it as its own: it is noted beside what
the tasks write, and the driver looks there."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import asdict
from pyspark.errors import PySparkException

from ripplenest.errors import CorruptState, EvaluationError
from ripplenest.intake.faults import Fault
from ripplenest.store.staging import Staging, file_name
from ripplenest.tasks.handed import Surroundings

ENDING = ".fault"


@contextmanager
def noted(here: Surroundings) -> Iterator[None]:
    """In a task: note what is wrong."""
    try:
        yield
    except (CorruptState, EvaluationError) as error:
        here.disk.write_bytes(f"{file_name()}{ENDING}", [json.dumps(asdict(Fault.of(error))).encode()])
        raise


@contextmanager
def raised(staging: Staging) -> Iterator[None]:
    """What tasks have noted, as an error of ours."""
    try:
        yield
    except PySparkException:
        for file in staging.folder.glob(f"*{ENDING}"):
            raise Fault.of_json(json.loads(file.read_bytes())).at(None) from None
        raise
