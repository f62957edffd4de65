"""What statements see of maps that pass on: a stored change becomes a visible change, by the rule of the map's kind.

A domain is stored as counts and read by its support: statements see each label with a count above 0 once, and it passes
on only the labels that appear or disappear. Law: visible(before ⊎ change) = visible(before) ⊎ visible_change(change).
"""

from ripplenest.data.rows import Rows
from ripplenest.plan.planned import PlannedMap
from ripplenest.version.version import Tables


def visible(m: PlannedMap | None, rows: Rows) -> Rows:
    """What statements see of the stored ``rows`` of a table; of a part, and of a map that passes nothing on, all."""
    return support(rows) if m is not None and m.kind.passes_on else rows


def support(rows: Rows) -> Rows:
    """Each row with a count above 0, once."""
    return Rows.of_pairs(rows.types, ((row, 1) for row, n in rows.counts().items() if n > 0))


def visible_change(m: PlannedMap, change: Rows, before: Rows) -> Rows:
    """How what is seen of ``m`` changes: +1 for rows whose count leaves 0, -1 for those whose count reaches it.

    ``before`` are the stored rows that ``change`` changes (``stored_before``).
    """
    held = before.counts()
    moved = ((row, (held.get(row, 0) + n > 0) - (held.get(row, 0) > 0)) for row, n in change.counts().items())
    return Rows.of_pairs(m.types, ((row, n) for row, n in moved if n)).consolidated()


def stored_before(m: PlannedMap, change: Rows, tables: Tables) -> Rows:
    """The stored rows that ``change`` changes, as they were."""
    columns = tuple(range(len(m.types)))
    return tables.probe(m.name, columns, list(change.counts())) if columns else tables.scan(m.name)
