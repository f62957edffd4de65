"""The content of rows as a digest: the same for the same rows in any order, whatever they came as.

Batches are known by a sha256 of their rows in an order of their own. Rows that come to several processes are in no
order: those of a load, and of writes of very many rows, are known by a ``Content``, which can be added up.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from ripplenest.data.argsort import argsort
from ripplenest.data.hashing import U64, fingerprints, mixed, seeded
from ripplenest.data.levels import Level, bag_prints, weighted
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.nrc.types import Base

Arrays = Callable[[], Iterable[pa.Array]]  # the arrays of a column, as often as they are asked for; at least one
Pieces = Callable[[], Iterable[Level]]
SEEDS = (0, 0x5851F42D4C957F2D)
ALL = (1 << 64) - 1
PIECE = 1 << 18  # rows that are looked at at once


@frozen
class Content:
    """A bag of nested rows as numbers: how many rows there are, and for each of SEEDS the sum, modulo 2⁶⁴, of a number
    of each row.

    Law: Content.of(a ⊎ b) = Content.of(a).plus(Content.of(b)), whatever the order of rows and of what is in their bags.
    Other rows have another content, but for once in 2¹²⁸ times by chance. Who looks for two bags of one content on
    purpose may find them, and gains a load or a batch of his own that is taken for the other one.
    """

    rows: int = 0
    sums: tuple[int, ...] = (0,) * len(SEEDS)

    @classmethod
    def of(cls, level: Level) -> "Content":
        """That of the rows of a level."""
        found = (int(weighted(_numbers(level, seed), level.weights).sum()) for seed in SEEDS)
        return cls(int(level.counts.sum()), tuple(found))

    @classmethod
    def of_rows(cls, rows: Rows) -> "Content":
        """That of flat signed rows. Law: it is that of their sum, in whatever entries they come."""
        found = cls()
        for batch in rows.arrow().to_batches(max_chunksize=PIECE):
            *columns, weights = batch.columns
            signed, n = weights.to_numpy().view(np.uint64), batch.num_rows
            sums = (int((mixed(seeded(columns, seed), len(columns), n) * signed).sum()) for seed in SEEDS)
            found = found.plus(cls(int(signed.sum()), tuple(sums)))
        return cls(found.rows & ALL, found.sums)  # modulo 2⁶⁴, too, wherever the rows are cut

    def plus(self, other: "Content") -> "Content":
        return Content(self.rows + other.rows, tuple((a + b) & ALL for a, b in zip(self.sums, other.sums, strict=True)))

    @property
    def text(self) -> str:
        return " ".join([str(self.rows), *(f"{n:016x}" for n in self.sums)])


def _numbers(level: Level, seed: int) -> U64:
    """A number for each row, of its base columns and of the rows of its bags, whatever the order of these."""
    below = (bag_prints(b.counts, weighted(_numbers(b.rows, seed), b.rows.weights), b.present) for b in level.bags)
    own = [*seeded(level.columns, seed), *below]
    return mixed(own, len(own), level.size)


def content_digest(rows: Rows) -> str:
    """sha256 of canonical columns, in the order of their rows' fingerprints. Rows with one fingerprint are equal, or
    else their order could show: equal contents would then have two digests, but never two contents one."""
    table = rows.arrow()
    columns = [c.combine_chunks() for c in table.columns]
    order = None
    if table.num_rows > 1:
        order = pa.array(argsort(fingerprints(columns, table.num_rows)))
    found = hashlib.sha256(_head(table.num_rows, rows.types))
    for column in columns:  # one after the other, so that of a large load no second one stands in memory
        ordered = column if order is None else column.take(order)
        for part in _bits(lambda ordered=ordered: [ordered]):  # type: ignore[misc]
            found.update(part)
    return found.hexdigest()


def ordered_digest(types: tuple[Base, ...], pieces: Pieces) -> str:
    """``content_digest`` of the columns of levels without bags, which are in that order."""
    size = sum(piece.size for piece in pieces())
    found = hashlib.sha256(_head(size, types))
    columns: list[Arrays] = [lambda i=i: (p.columns[i] for p in pieces()) for i in range(len(types))]  # type: ignore[misc]
    for arrays in (*columns, lambda: (pa.array(np.ones(p.size, np.int64)) for p in pieces())):
        for part in _bits(arrays):
            found.update(part)
    return found.hexdigest()


def level_digest(pieces: Pieces) -> str:
    """sha256 of nested rows that are in an order of their own (``Printed.ordered``), of which the same is true. They
    come in one piece or in several, again for each column."""
    found = hashlib.sha256()
    for part in _level_bits(pieces):
        found.update(part)
    return found.hexdigest()


def _level_bits(pieces: Pieces) -> Iterator[bytes | memoryview]:
    """A level and those below it: how many rows and bags, what they are, and how many rows each bag has."""
    size, weighted = 0, False
    for piece in pieces():
        size, weighted = size + piece.size, weighted or piece.weights is not None
    types = [str(column.type) for column in piece.columns]
    yield f"{size} {types} {len(piece.bags)} {weighted}".encode()
    for i in range(len(types)):
        yield from _bits(lambda i=i: (p.columns[i] for p in pieces()))  # type: ignore[misc]
    if weighted:
        yield from (p.counts.astype("<i8").tobytes() for p in pieces())
    for i in range(len(piece.bags)):
        yield from (p.bags[i].counts.astype("<i8").tobytes() for p in pieces())
        yield from (b"" if (present := p.bags[i].present) is None else present.tobytes() for p in pieces())
        yield from _level_bits(lambda i=i: (p.bags[i].rows for p in pieces()))  # type: ignore[misc]


def _head(size: int, types: tuple[Base, ...]) -> bytes:
    return f"{size} {_shape(types)}".encode()


@lru_cache(maxsize=1024)
def _shape(types: tuple[Base, ...]) -> str:
    return str(list(map(str, arrow_schema(types).types)))


def _bits(arrays: Arrays) -> Iterator[bytes | memoryview]:
    """What a column holds as bytes: NULL or not, lengths of texts, values with 0 for NULL."""
    for column in arrays():
        yield _absent(column).tobytes()
        t = column.type
    if pa.types.is_string(t) or pa.types.is_binary(t):
        for place in (0, 1):  # all lengths, and then all texts
            yield from (_texts(column)[place] for column in arrays())
    else:
        yield from map(_values, arrays())


def _values(column: pa.Array) -> bytes | memoryview:
    t = column.type
    if pa.types.is_boolean(t):
        found: bytes = column.fill_null(False).to_numpy(zero_copy_only=False).tobytes()
        return found
    width, data = t.bit_width // 8, column.buffers()[1]
    size = len(column) * width
    values = np.frombuffer(data, np.uint8, size, column.offset * width) if data and size else np.zeros(size, np.uint8)
    if not column.null_count:
        return values.data
    return np.where(np.repeat(_absent(column), width), np.uint8(0), values).tobytes()


def _texts(column: pa.Array) -> tuple[bytes, bytes | memoryview]:
    """Lengths, and bytes one after another. What is NULL has none: such slots are left out first."""
    known = column.drop_null() if column.null_count else column
    _, offsets, data = known.buffers()
    if not len(known):
        return b"", b""
    ends = np.frombuffer(offsets, np.int32, len(known) + 1, known.offset * 4)
    return np.diff(ends).tobytes(), b"" if data is None else memoryview(data)[int(ends[0]) : int(ends[-1])]


def _absent(column: pa.Array) -> npt.NDArray[np.bool_]:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    found: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found
