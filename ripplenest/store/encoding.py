"""The format of blobs: plain Arrow IPC files, which are used where they are mapped. Nothing else knows it.

It was chosen by measurement (``scripts/segment_formats.py``): of two million rows, 100 keys are found in less than a
millisecond, where compressed Arrow or Parquet must unpack what they read and take 13 to 70. It costs two to three
times their space.
"""

import pyarrow as pa


def encode(table: pa.Table) -> pa.Buffer:
    """The bytes of a blob that holds ``table``."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def decode(data: pa.Buffer) -> pa.Table:
    """The table in the bytes of a blob, not copied."""
    return pa.ipc.open_file(pa.BufferReader(data)).read_all()
