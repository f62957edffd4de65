"""Maps computed from scratch over the relations, and what that changes in them."""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import StateError
from ripplenest.run.propagate import Joiner, Levels, Propagation, Reader, build, check_counts


@frozen
class Loaded:
    """A version with signed rows on top that are not committed yet; read whole, as builds do."""

    before: Reader
    changes: Mapping[str, Rows]
    read: list[int] = field(factory=list)

    def scan(self, table: str) -> Rows:
        """Every row."""
        rows = self.before.scan(table)
        self.read.append(len(rows))
        return rows.plus(self.changes[table]) if table in self.changes else rows

    def probe(self, table: str, columns: tuple[int, ...], keys: Sequence[Row]) -> Rows:  # noqa: ARG002
        """Nothing is looked up where everything is read. Raises StateError."""
        raise StateError("a build reads whole tables", where=table)


def recomputed(plan: Levels, before: Reader, changes: Mapping[str, Rows], joiner: Joiner) -> Propagation:
    """The change of each map from what it holds to what its definition gives on the changed parts.

    Law: the same signed rows that ``propagate`` finds. Raises EvaluationError.
    """
    check_counts(before, changes)
    reader = Loaded(before, changes)
    fresh = build(plan, reader, joiner)
    found, read = {}, sum(reader.read)
    for name, rows in fresh.items():
        held = before.scan(name)
        read += len(held)
        found[name] = rows.plus(held.negated()).consolidated()
    return Propagation(found, read, len(plan.levels))
