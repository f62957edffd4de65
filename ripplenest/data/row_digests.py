"""The digests of rows, as ``data/naming.digest`` has them of the values of a row, column by column."""

from collections.abc import Sequence
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.naming import DIGEST_BYTES, canonical_text
from ripplenest.data.rows import Rows, python_column
from ripplenest.nrc.types import Base

NULL = "null"
PIECE = 65_536  # rows whose texts are made at a time: Arrow has texts of up to 2 GB in one piece


def digests(rows: Rows) -> pa.Array:
    """For each row 32 hex digits. Law: they are ``digest(*row)``."""
    pieces = rows.arrow().to_batches(max_chunksize=PIECE)
    texts = (text for piece in pieces for text in _rows(rows.types, piece))
    return pa.array([blake2b(text, digest_size=DIGEST_BYTES).hexdigest() for text in texts], pa.string())


def _rows(types: Sequence[Base], piece: pa.RecordBatch) -> list[bytes]:
    return _joined([_texts(t, column) for t, column in zip(types, piece.columns, strict=False)], len(piece))


def _joined(columns: Sequence[pa.Array], rows: int) -> list[bytes]:
    """The texts of rows as JSON has lists."""
    if not columns:
        return [canonical_text(()).encode()] * rows
    together = pc.binary_join_element_wise(*columns, ",")
    found: list[bytes] = pc.binary_join_element_wise("[", together, "]", "").cast(pa.binary()).to_pylist()
    return found


def _texts(t: Base, values: pa.Array) -> pa.Array:
    """The canonical text of each value; of all but integers from the different ones."""
    if t.kind in ("int", "long"):
        return pc.fill_null(values.cast(pa.string()), NULL)
    coded = values.dictionary_encode()
    known = [canonical_text((v,))[1:-1] for v in python_column(t, pa.chunked_array([coded.dictionary]))]
    return pc.fill_null(pa.array(known, pa.string()).take(coded.indices), NULL)
