"""What statements see of maps: a stored change becomes a visible change, by the rule of the map's kind.

A domain is stored as counts and read by its support: statements see each label with a count above 0 once, and it passes
on only the labels that appear or disappear. Rows that are kept in an order are seen as they are.
Law: visible(before ⊎ change) = visible(before) ⊎ visible_change(change).
"""

import numpy as np
import pyarrow as pa

from ripplenest.data import columnar
from ripplenest.data.columnar import places_in
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.data.seen import Seen
from ripplenest.plan.planned import PlannedMap
from ripplenest.run import answers, marginals
from ripplenest.run.sizes import are_few
from ripplenest.version.version import Tables


def seen_of(m: PlannedMap | None) -> Seen | None:
    """The same of any rows of a table, without looking at others; None of a sum map. Of a fold that has a row for every
    place it is what is stored: the answers of nothing are in no table."""
    if m is None or m.kind.is_plain:
        return Seen()
    if not m.kind.passes_on:
        return None if m.folding is not None else Seen()
    if m.answers is None:
        return Seen(support=True)
    return Seen(columns=len(m.answers.visible))


def visible(m: PlannedMap | None, rows: Rows) -> Rows:
    """What statements see of the stored ``rows`` of a table; of a part, and of most maps that pass nothing on, all."""
    if m is None or m.kind.is_plain:
        return rows
    if m.answers is not None:
        return answers.seen(m.answers, rows) if m.kind.passes_on else marginals.seen(m, rows)
    return support(rows) if m.kind.passes_on else rows


def support(rows: Rows) -> Rows:
    """Each row with a count above 0, once."""
    if are_few([rows]):
        return Rows.of_pairs(rows.types, ((row, 1) for row, n in rows.counts().items() if n > 0))
    return columnar.support(rows.consolidated())


def visible_change(m: PlannedMap, change: Rows, before: Rows) -> Rows:
    """How what is seen of ``m`` changes: +1 for rows whose count leaves 0, -1 for those whose count reaches it.

    ``before`` are the stored rows that ``change`` changes (``stored_before``). What is seen of a group is found with
    its change (``run/groups.py``).
    """
    if are_few([change, before]):
        held = before.counts()
        moved = ((row, (held.get(row, 0) + n > 0) - (held.get(row, 0) > 0)) for row, n in change.counts().items())
        return Rows.of_pairs(m.types, ((row, n) for row, n in moved if n)).consolidated()
    return _moved(m, change.consolidated(), before.consolidated())


def _moved(m: PlannedMap, change: Rows, before: Rows) -> Rows:
    """``visible_change`` of consolidated rows, by columns."""
    n = change.arrow().column(WEIGHT).to_numpy()
    held = np.zeros(len(n), np.int64)
    which, places = places_in(before, change)
    held[which] = before.arrow().column(WEIGHT).to_numpy()[places]
    # held + n > 0, whatever 64 bits make of the sum: ~held < n says that it is not below 0
    after = (~held < n) & (held + n != 0)
    moved = after.astype(np.int64) - (held > 0)
    changed = change.arrow().filter(pa.array(moved != 0))
    weights = pa.array(moved[moved != 0])
    return Rows.of_columns(m.types, [c.combine_chunks() for c in changed.columns[:-1]], weights).consolidated()


def stored_before(m: PlannedMap, change: Rows, tables: Tables) -> Rows:
    """The stored rows that ``change`` changes, as they were."""
    columns = tuple(range(len(m.types)))
    return tables.probe(m.name, columns, change) if columns else tables.scan(m.name)
