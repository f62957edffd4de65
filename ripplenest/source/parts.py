"""What one task of Spark reads."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from ripplenest.reading.structs import under
from ripplenest.source.pinned import Piece, Pinned


class Part(InputPartition):
    """A piece, and the names and types that Spark was told."""

    def __init__(self, found: Pinned, piece: Piece, schema: pa.Schema) -> None:
        super().__init__(None)
        self.found, self.piece, self.schema = found, piece, schema


def parts(found: Pinned, schema: pa.Schema) -> Sequence[InputPartition]:
    """One for each piece."""
    return [Part(found, piece, schema) for piece in found.pieces()]


def read(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The rows of a part. Where there are no parts, Spark reads a partition of its own."""
    if not isinstance(partition, Part):
        return iter(())
    return (under(batch, partition.schema) for batch in partition.found.batches(partition.piece))
