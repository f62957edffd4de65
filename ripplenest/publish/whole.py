"""All rows of a published table, some at a time, and in how many buckets they are.

The library that writes them reads them as a stream, so that they are never all in memory as Arrow. How many there are
is known before the first is made, and how large they are from the first of them.

Buckets go by bytes: a merge rewrites those of touched rows, so small ones pay for few touched rows, and each of them is
a file that is opened and written where nearly all are touched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import pyarrow as pa
from attrs import define, field, frozen

from ripplenest.publish.columns import bucketed

FEWEST, MOST = 6, 10  # bits of an id in the numbers of buckets
BYTES = 1 << 19  # of Arrow, about so many of which are in a bucket when a table is written whole


@frozen
class Whole:
    """So many ``rows``, and they as ``tables`` without the column ``id_bucket``, which are made when they are asked
    for."""

    rows: int
    tables: Iterator[pa.Table]


@define
class Stream:
    """The rows of ``whole`` in buckets, with the columns of ``schema``. The library tells only the text of what goes
    wrong while they are made, so that is kept."""

    whole: Whole
    schema: pa.Schema
    _fault: Exception | None = field(default=None, init=False)

    def reader(self) -> pa.RecordBatchReader:
        """To be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    @contextmanager
    def told(self) -> Iterator[None]:
        """What went wrong with the rows that the block wrote is raised as it was."""
        try:
            yield
        except Exception:
            if self._fault is not None:
                raise self._fault from None
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            tables = iter(self.whole.tables)
            first = next(tables, None)
            if first is not None:
                bits = bits_for(self.whole.rows, first)
                for table in chain((first,), tables):
                    yield from bucketed(table, bits).cast(self.schema).to_batches()
        except Exception as error:
            self._fault = error
            raise


def bits_for(rows: int, some: pa.Table) -> int:
    """How many bits of an id are in the numbers of the buckets of a table of ``rows`` rows that are like ``some``."""
    each = some.nbytes / max(some.num_rows, 1)
    return max(FEWEST, min(MOST, int(rows * each // BYTES).bit_length()))
