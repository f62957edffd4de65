"""The nested rows that changed between two versions, as users read them."""

from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.canonical import arranged, summed
from ripplenest.data.index import Places
from ripplenest.reading.arrow import nested_whole
from ripplenest.reading.plain import listed
from ripplenest.reading.shown import signed_batch
from ripplenest.schema.shape import OutputShape
from ripplenest.version.version import Readable


@frozen(eq=False)
class Changed:
    """Nested ``values``, ``arranged`` and each once, and how often they came, below 0 for those that went."""

    shape: OutputShape
    values: pa.Array
    counts: Places

    @classmethod
    def between(cls, then: tuple[OutputShape, Readable], now: tuple[OutputShape, Readable]) -> "Changed":
        """The difference of two definitions of a view, both read whole; rows of the second are of the type of those of
        the first, or of a wider one. Raises EvaluationError for a row of a bag that is there less than 0 times."""
        (went, gone), (came, many) = nested_whole(*then), nested_whole(*now)
        values = pa.concat_arrays([went.cast(came.type), came])
        kept, change = summed(values, np.concatenate([-gone, many]))
        shape, _ = now
        return cls(shape, arranged(values.take(pa.array(kept)), shape.shown), change)

    def rows(self) -> tuple[list[Any], list[Any]]:
        """Those that went and those that came, as plain Python, in the order in which they are shown."""
        went, came = (np.maximum(counts, 0) for counts in (-self.counts, self.counts))
        return listed(self.values, went, self.shape), listed(self.values, came, self.shape)

    def batch(self) -> pa.RecordBatch:
        """The fields of the nested rows, and ``_multiplicity``."""
        return signed_batch(self.shape, self.values, self.counts)
