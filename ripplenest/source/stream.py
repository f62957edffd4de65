"""``spark.readStream.format("ripplenest")``: the changes of a view or relation, batch by batch.

An offset is a version, of a state that says which it is. A micro-batch is what changed between two of them, with
``_multiplicity``: below 0 for rows that went. Versions never change, so a micro-batch that is read again has the same
rows, and a sink that keeps its own promises has each change once.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ripplenest.nrc.errors import StateError, WrongValue
from ripplenest.source.asked import WHERE, Asked
from ripplenest.source.parts import parts, read

Offset = dict[str, Any]


class Stream(DataSourceStreamReader):
    """What changes of what was asked for. Raises WrongValue where nothing says from when on."""

    def __init__(self, asked: Asked, schema: pa.Schema) -> None:
        if asked.since is None or asked.as_of is not None:
            wanted, got = "the option since, and no asOf", "asOf" if asked.as_of is not None else "neither"
            possible = ["since=start for all that is there to begin with", "since=12 for what changed after version 12"]
            raise WrongValue("from when on", where=f"{WHERE}: since", wanted=wanted, got=got, possible=possible)
        self.asked, self.schema = asked, schema

    def initialOffset(self) -> Offset:
        """The version of ``since``."""
        with self.asked.store() as store:
            return {"state": store.identity, "version": self.asked.since}

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:  # noqa: ARG002 - all there is
        """The newest version."""
        with self.asked.store() as store:
            return {"state": store.identity, "version": store.version}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The parts of what changed from ``start`` to ``end``. Raises StateError for offsets of another state, and for
        versions that are no longer kept."""
        now = self.latestOffset()["state"]
        if other := {start["state"], end["state"]} - {now}:
            raise StateError("a checkpoint of another state", where=self.asked.path, wanted=now, got=other.pop())
        if start["version"] == end["version"]:
            return []
        return parts(evolve(self.asked, as_of=end["version"], since=start["version"]).pinned(), self.schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition)
