"""A view or relation at one version, as another process reads it: piece by piece, each on its own.

A piece is a range of the hashes that rows are clustered by. Rows of different pieces differ, so each piece is summed,
and nested, where it is read: dictionaries are probed by the labels of its rows. Nothing passes the process that asked.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.columns import base_types
from ripplenest.data.level_values import nested_type
from ripplenest.data.rows import MULTIPLICITY, Rows, ours
from ripplenest.nrc.errors import UnknownName
from ripplenest.reading.arrow import NestedColumns
from ripplenest.reading.shown import entries_batch, flat_batch, signed_batch
from ripplenest.reading.touched import touched
from ripplenest.schema.shape import OutputShape
from ripplenest.state.state import Shown
from ripplenest.store.detached import Detached
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.ref import TableRef, ranges
from ripplenest.store.snapshot import Snapshot
from ripplenest.version.folding import Fold, Unfolding

Layout = Literal["nested", "flat", "dictionary"]
TASK = 1 << 18  # entries that a piece has, about
WINDOW = 1 << 16  # entries that are in memory at once, about; nested rows with all that they hold


@frozen
class Piece:
    """The rows of ``table`` whose hashes are low ≤ h < high."""

    table: str
    low: int
    high: int


@frozen(slots=False)
class Pinned:
    """What is read: ``layout`` of ``shape``, of the dictionary of ``site`` where that is the layout; nested rows with
    their multiplicity where they are ``signed``, which other layouts have anyway."""

    tables: Detached
    shape: OutputShape
    folds: tuple[Fold, ...] = ()
    layout: Layout = "nested"
    site: str = ""
    signed: bool = False

    @property
    def table(self) -> str:
        """Whose rows are divided into pieces."""
        return self.shape.dictionary(self.site).table if self.layout == "dictionary" else self.shape.flat.table

    @property
    def version(self) -> Unfolding:
        return Unfolding(self.tables, self.folds)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the layout; of changes, with their multiplicity. Nothing is read for it."""
        if self._changes:
            return signed_batch(self.shape, pa.array([], nested_type(self.shape.row)), np.zeros(0, np.int64)).schema
        layout = self.shape.dictionary(self.site).stored if self.layout == "dictionary" else self.shape.flat.row
        empty = evolve(self, tables=self.tables.emptied, folds=())
        return empty._show()(Rows.empty(base_types(layout))).schema

    def pieces(self, task: int = TASK) -> list[Piece]:
        """All rows, about ``task`` entries at a time. Rows that stand in arrays are pieces of their own: a label's are
        in its array, or stored, and never both."""
        if self._together:
            return [Piece(self.table, 0, RANGE)]
        read = [self.table] if self._fold is None else [self.table, self._fold.table]
        found = [(table, self._refs[table].size * self._held) for table in read]
        return [Piece(t, *r) for t, n in found if n for r in ranges(0, RANGE, 1 if self._whole else -(-n // task))]

    def batches(self, piece: Piece, window: int = WINDOW) -> Iterator[pa.RecordBatch]:
        """The rows of a piece. Raises CorruptState, and EvaluationError for nested rows that are there less than 0
        times."""
        if self._together:
            yield from self._changed()
            return
        ref, fold, show = self._refs[piece.table], self._fold, self._show()
        for rows in ref.windows(self.tables.reader, piece.low, piece.high, max(window // self._held, 1)):
            stored = fold is None or piece.table == self.table
            yield show(rows if stored or fold is None else fold.rows(rows, [self.table])[self.table].consolidated())

    @property
    def _held(self) -> int:
        """How many entries a row of the layout is: a nested one is all that it holds."""
        if self.layout != "nested":
            return 1
        held = sum(self.tables.size(d.table) for d in self.shape.dictionaries)
        return 1 + held // max(self.tables.size(self.table), 1)

    @property
    def _whole(self) -> bool:
        """Whether nesting reads a dictionary whole, because it cannot be probed: that is not done more than once."""
        keys = self.tables.access_keys
        held = [d for d in self.shape.dictionaries if self.tables.size(d.table)]
        return self.layout == "nested" and any(d.label_columns not in keys[d.table] for d in held)

    @property
    def _changes(self) -> bool:
        """Whether nested rows are read that changed: they are found from all that changed, together."""
        return self.layout == "nested" and self.tables.since is not None

    @property
    def _together(self) -> bool:
        """Whether all is one piece: nested rows that changed, and changes of a bag that was unfolded, perhaps, whose
        arrays went while their rows came."""
        return self.tables.since is not None and (self._changes or self._fold is not None)

    def _changed(self) -> Iterator[pa.RecordBatch]:
        assert self.tables.since is not None
        if self._changes:
            yield signed_batch(self.shape, *touched(self.shape, self.version, self.tables.since).changed())
        else:
            yield self._show()(self.version.delta(self.table, self.tables.since).consolidated())

    @property
    def _refs(self) -> Mapping[str, TableRef]:
        return self.tables.refs if self.tables.since is None else self.tables.deltas

    @property
    def _fold(self) -> Fold | None:
        return next((fold for fold in self.folds if self.table in fold.parts), None)

    def _show(self) -> Callable[[Rows], pa.RecordBatch]:
        """What is shown of rows of ``table``."""
        match self.layout:
            case "nested":
                nester = NestedColumns(self.shape, self.version, self.tables.access_keys)
                return (lambda rows: _counted(nester.nested(rows))) if self.signed else nester.nested
            case "flat":
                return partial(flat_batch, self.shape.flat.row)
            case "dictionary":
                return partial(entries_batch, self.shape.dictionary(self.site))


def pinned(
    shown: Shown, folder: str, layout: Layout, site: str = "", since: int | None = None, signed: bool = False
) -> Pinned:
    """``layout`` of what is ``shown``, or with ``since`` what changed of it after that version. Raises UnknownName for
    a site that it has not, and StateError where there were other tables at ``since``."""
    tables, shape = shown.tables, shown.shape
    if layout == "dictionary" and site not in shape.sites:
        raise UnknownName("there is no such dictionary", where=shape.name, got=site, possible=shape.sites)
    snapshot = tables.tables
    assert isinstance(snapshot, Snapshot)
    folds = tuple(fold for fold in tables.folds if any(table in fold.parts for table in shape.tables))
    read = [*shape.tables, *(fold.table for fold in folds)]
    refs = {name: snapshot.table(name) for name in read}
    deltas = {} if since is None else {name: snapshot.changed(name, since) for name in read}
    return Pinned(Detached(folder, snapshot.version, refs, since, deltas), shape, folds, layout, site, signed)


def _counted(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Nested rows with their multiplicity: they come as often as they are there."""
    return batch.append_column(ours(MULTIPLICITY, batch.schema.names), pa.array(np.ones(batch.num_rows, np.int64)))
