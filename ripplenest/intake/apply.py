"""Operations to signed rows of stored tables: by columns where they are many, row by row where not.

Nothing is stored here. Both ways are checked against the state and the operations before (``columns.py``,
``session.py``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from ripplenest.data.naming import Numbers
from ripplenest.data.rows import Rows
from ripplenest.intake.addressed import run
from ripplenest.intake.alike import grouped
from ripplenest.intake.columns import ColumnChanges, Culprit
from ripplenest.intake.lasting import check_update
from ripplenest.intake.operations import Operation, Set
from ripplenest.intake.session import Session
from ripplenest.schema.relation import Relation
from ripplenest.store.specs import Columns
from ripplenest.version.lookups import Lookups
from ripplenest.version.overlay import Overlay
from ripplenest.version.version import AccessKeys

FEW = 32  # rows of an operation, on average, below which Python is faster than the fixed cost of columns


@frozen
class Outcome:
    """What operations do: signed rows by part, how many stored rows were read, and access keys that were missed. By
    table so many of the rows that were read are ``cancelled`` by others."""

    changes: dict[str, Rows]
    read: int
    missed: Mapping[str, tuple[Columns, ...]]
    cancelled: Mapping[str, int]

    @classmethod
    def of(cls, changes: dict[str, Rows], looked: Iterable[Lookups]) -> "Outcome":
        """No two of those who ``looked`` read the same table."""
        every = list(looked)
        missed = {table: keys for found in every for table, keys in found.missed.items()}
        cancelled = {table: rows for found in every for table, rows in found.cancelled.items()}
        return cls(changes, sum(found.read for found in every), missed, cancelled)


def carry_out(
    relations: Mapping[str, Relation],
    overlay: Callable[[], Overlay],
    anew: Callable[[], Numbers],
    operations: Sequence[tuple[Operation, str]],
) -> Outcome:
    """What the operations of a batch do, each named by the text beside it. ``anew`` gives the numbers of the version
    that it makes. Raises a DataError that names the row.

    All operations on one relation are done in one way, because they see each other, and none of the others. Where they
    are not tiny it is by columns; where one of these cannot be done, all are run row by row, to say which row it was.
    """
    tables, numbers = overlay(), anew()
    session = Session(relations, tables, numbers)
    many = _by_columns(relations, tables, operations)
    changed: dict[str, Rows] = {}
    looked: list[Lookups] = []
    try:
        for name in many:
            changes = ColumnChanges(relations[name], tables.before, numbers)
            run(changes, [o for o, _ in operations if o.relation == name])
            found = changes.changes()
            check_update(changes, found)
            changed |= found
            looked.append(changes.lookups)
        for o, where in operations:
            if o.relation not in many:
                session.run(o, where)
    except Culprit:
        changed, looked, session = {}, [], Session(relations, overlay(), anew())
        for o, where in operations:
            session.run(o, where)
    return Outcome.of({**session.changes(), **changed}, [session.overlay.lookups, *looked])


def _by_columns(
    relations: Mapping[str, Relation], tables: Overlay, operations: Sequence[tuple[Operation, str]]
) -> list[str]:
    """The relations whose operations are worked on by columns."""
    found = []
    for name in dict.fromkeys(o.relation for o, _ in operations):
        own = [o for o, _ in operations if o.relation == name]
        if sum(map(_size, own)) >= FEW * sum(1 for _ in grouped(own)) and is_found(relations[name], tables.access_keys):
            found.append(name)
    return found


def _size(o: Operation) -> int:
    """The rows of an operation, those in inner bags too."""
    return 1 if isinstance(o, Set) else o.rows.total


def is_found(r: Relation, known: AccessKeys) -> bool:
    """Whether rows of all parts have columns, and are found by them without reading all of them."""
    wanted = [(part.name, part.lookup) for part in r.parts.values()]
    wanted += [(name, part.label) for name, part in r.parts.items() if part.inner]
    wanted += [(holder.part.name, holder.found_by) for holder in r.holders.values()]
    return all(columns in known.get(name, ()) for name, columns in wanted)
