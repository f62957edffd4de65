"""The format of blobs: messages of plain Arrow IPC, which are used where they are mapped. Nothing else knows it.

Blobs are plain Arrow, mapped and searched where they lie. ``python scripts/segment_formats.py`` on two million rows:
100 keys are found in 0.6 ms, against 13 (Arrow with lz4), 43 (zstd) and 74 (Parquet with the keys pushed down); the
column is scanned in 1 ms against 13, 47 and 51. It takes two to three times the space.

A blob is an Arrow IPC stream: one message with the schema, and one for each record batch, of which there is one unless
its texts are longer than 2 GB. What says where the columns are is read, and so checked, when a blob is opened; columns
are checked where they are touched. Blobs of format 4 are Arrow IPC files, and are checked as a whole.
"""

import io

import pyarrow as pa

from ripplenest.nrc.errors import CorruptState, of_memory
from ripplenest.store.blocks import Blocks

OPTIONS = pa.ipc.IpcWriteOptions()  # not from the environment, which Arrow would ask for each blob
OLDER = b"ARROW1"  # how a blob of format 4 begins
_PREFIX = 8  # bytes before a message: a mark, and the length of what follows before its body
END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream: a message of nothing
COPIED = 1 << 20  # bytes of a table that are copied into one buffer, which costs less than handing out many


def encode(table: pa.Table) -> list[bytes | pa.Buffer]:
    """The bytes of a blob that holds ``table``, in pieces; those of a large one are its own columns, not copied.

    Law: the pieces are those that a writer of streams writes. The messages of a small one are put together here: what
    a writer costs is most of what a few rows cost."""
    if table.get_total_buffer_size() <= COPIED or table.nbytes <= COPIED:  # the former costs next to nothing
        messages = (batch.serialize() for batch in table.to_batches())
        return [b"".join((table.schema.serialize(), *messages, END))]
    pieces = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(pieces, mode="w"), table.schema, options=OPTIONS) as writer:
        writer.write_table(table)
    return pieces.found


class _Pieces(io.RawIOBase):
    """A file to which Arrow hands the buffers of columns as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[bytes | pa.Buffer] = []
        self._size = 0

    def write(self, piece: bytes | pa.Buffer) -> int:
        self.found.append(piece)
        self._size += len(piece)
        return len(piece)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size


def decode(blocks: Blocks) -> pa.Table:
    """The table in the bytes of a blob, not copied; of its columns nothing is checked. Raises CorruptState."""
    data = blocks.data
    blocks.span(0, min(len(OLDER), data.size))
    if data.slice(0, min(len(OLDER), data.size)).to_pybytes() == OLDER:
        blocks.all()
        return pa.ipc.open_file(pa.BufferReader(data)).read_all()
    try:
        return _read(blocks)
    except (pa.ArrowException, OSError) as e:  # of bytes that are as they were written
        harm = CorruptState("a blob of another encoding", wanted="an Arrow IPC stream", got=type(e).__name__)
        raise of_memory(e) or harm from e


def _read(blocks: Blocks) -> pa.Table:
    data, at = blocks.data, 0
    schema: pa.Schema | None = None
    batches: list[pa.RecordBatch] = []
    while at < data.size:
        blocks.span(at, at + _PREFIX)
        size = int.from_bytes(data.slice(at + 4, 4).to_pybytes(), "little")
        if not size:  # the end of the stream
            break
        blocks.span(at, at + _PREFIX + size)
        message = pa.ipc.read_message(data.slice(at))
        at += _PREFIX + size + (0 if message.body is None else message.body.size)
        if schema is None:
            schema = pa.ipc.read_schema(message)
        else:
            batches.append(pa.ipc.read_record_batch(message, schema))
    return pa.Table.from_batches(batches, schema)
