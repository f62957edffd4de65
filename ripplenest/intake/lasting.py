"""Definition 2 (nrc-ivm, appendix C.3) on what is about to be done by columns: as ``consistent.py``, which says more.

Rows that go were found to be there, so what is left to be looked at is labels: after the batch each that it touches is
held by one row, or else has no rows.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ripplenest.data.index import Columns, Keys, Places
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.intake.columns import ColumnChanges, Culprit, wanted_keys
from ripplenest.schema.relation import Holder, Part
from ripplenest.vector.binding import SAFE


def check_update(changes: ColumnChanges, changed: Mapping[str, Rows]) -> None:
    """Raises Culprit when ``changed``, which are the changes, are no consistent update."""
    r = changes.relation
    for name, holder in r.holders.items():
        if name in changed or holder.part.name in changed:
            part = r.parts[name]
            rows = changed.get(name, Rows.empty(part.types))
            _check(part, holder, rows, changed.get(holder.part.name, Rows.empty(holder.part.types)), changes)


def _check(part: Part, holder: Holder, rows: Rows, holders: Rows, changes: ColumnChanges) -> None:
    moved = _labels(holders, holder.columns)
    touched = Keys(part.label, _retyped(moved, part).plus(rows.select(part.label)))
    if not len(touched):
        return
    before = _held(_labels(changes.seen(holder.part), holder.columns), touched)
    if holder.part.name not in changes.relation.fixed:  # its rows may be arrays, which no label leads to
        unknown = pa.array(before == 0)
        asked = [column.filter(unknown) for column in touched.arrays]
        if len(asked[0]):
            found = changes.stored(holder.part, holder.found_by, wanted_keys(holder.part, holder.found_by, asked))
            before = before + _held(_labels(found, holder.columns), touched)
    after = before + _held(moved, touched)
    if ((after != 0) & (after != 1)).any():
        raise Culprit
    if after.all():
        return
    lost = [column.filter(pa.array(after == 0)) for column in touched.arrays]
    if not changes.held(part, part.label, wanted_keys(part, part.label, lost)).is_empty:
        raise Culprit


def _labels(rows: Rows, columns: Columns) -> Rows:
    """The labels in ``columns`` that are not NULL, as often as ``rows`` hold them."""
    labels = rows.select(columns)
    table = labels.arrow()
    return Rows(labels.types, table=table.filter(table.column(0).is_valid())) if table.column(0).null_count else labels


def _retyped(labels: Rows, part: Part) -> Rows:
    """The same as columns of the dictionary, where no label is NULL."""
    return Rows(tuple(part.types[c] for c in part.label), table=labels.arrow())


def _held(labels: Rows, touched: Keys) -> Places:
    """How often each of ``touched`` is among ``labels``. Raises Culprit for more than can be added up."""
    found = np.zeros(len(touched), np.int64)
    if labels.is_empty:
        return found
    if labels.heaviest() >= SAFE:
        raise Culprit
    which, places = touched.places(labels)
    np.add.at(found, places, labels.arrow().column(WEIGHT).to_numpy()[which])
    return found
