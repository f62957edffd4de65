"""Operations to signed rows of stored tables: by columns where they are many and flat, row by row where not.

Nothing is stored here. Both ways are checked against the state and the operations before (``flat.py``,
``session.py``).
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from ripplenest.data.rows import Rows
from ripplenest.intake.flat import Culprit, FlatChanges
from ripplenest.intake.operations import Operation, Write
from ripplenest.intake.session import Session
from ripplenest.schema.relation import Relation
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Overlay

FEW = 32  # rows of an operation, on average, below which Python is faster than the fixed cost of columns


@frozen
class Outcome:
    """What operations do: signed rows by part, how many stored rows were read, and access keys that were missed."""

    changes: dict[str, Rows]
    read: int
    missed: Mapping[str, tuple[Columns, ...]]


def carry_out(
    relations: Mapping[str, Relation],
    overlay: Callable[[], Overlay],
    version: int,
    operations: Sequence[tuple[Operation, str]],
) -> Outcome:
    """What the operations of the batch that makes ``version`` do, each named by the text beside it. Raises a DataError
    that names the row.

    Relations without inner bags are worked on by columns, unless their operations are tiny; where one of these cannot
    be done, all are run row by row, to say which row it was.
    """
    tables = overlay()
    flats = {name: FlatChanges(relations[name], tables.before) for name in _by_columns(relations, tables, operations)}
    session = Session(relations, tables, version)
    try:
        for o, where in operations:
            if isinstance(o, Write) and o.relation in flats:
                flats[o.relation].run(o.verb, o.rows)
            else:
                session.run(o, where)
    except Culprit:
        flats, session = {}, Session(relations, overlay(), version)
        for o, where in operations:
            session.run(o, where)
    changed = {name: rows for name, flat in flats.items() if not (rows := flat.changes()).is_empty}
    read = session.overlay.read + sum(flat.read for flat in flats.values())
    return Outcome({**session.changes(), **changed}, read, session.overlay.missed)


def _by_columns(
    relations: Mapping[str, Relation], tables: Overlay, operations: Sequence[tuple[Operation, str]]
) -> list[str]:
    """The relations whose operations are all worked on by columns: they see each other, and none of the others."""
    sizes: dict[str, list[int]] = {}
    for o, _ in operations:
        if isinstance(o, Write) and o.rows.is_flat:
            sizes.setdefault(o.relation, []).append(len(o.rows))
    others = {o.relation for o, _ in operations if not isinstance(o, Write)}
    flat = [name for name in sizes if len(relations[name].parts) == 1 and name not in others]
    found = [name for name in flat if sum(sizes[name]) >= FEW * len(sizes[name])]
    return [n for n in found if relations[n].parts[n].lookup in tables.access_keys.get(n, ())]
