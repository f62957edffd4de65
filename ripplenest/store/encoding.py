"""The format of blobs: plain Arrow IPC files, which are used where they are mapped. Nothing else knows it.

It was chosen by measurement (``scripts/segment_formats.py``): of two million rows, 100 keys are found in less than a
millisecond, where compressed Arrow or Parquet must unpack what they read and take 13 to 70. It costs two to three
times their space.

Blobs are plain Arrow, mapped and searched where they lie. ``python scripts/segment_formats.py`` on two million rows:
100 keys are found in 0.6 ms, against 13 (Arrow with lz4), 43 (zstd) and 74 (Parquet with the keys pushed down); the
column is scanned in 1 ms against 13, 47 and 51. It takes two to three times the space.
"""

import pyarrow as pa

OPTIONS = pa.ipc.IpcWriteOptions()  # not from the environment, which Arrow would ask for each blob


def encode(table: pa.Table) -> pa.Buffer:
    """The bytes of a blob that holds ``table``."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue()


def decode(data: pa.Buffer) -> pa.Table:
    """The table in the bytes of a blob, not copied."""
    return pa.ipc.open_file(pa.BufferReader(data)).read_all()
