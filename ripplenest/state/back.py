"""What a rollback undoes, as far as the catalogue knows: which tables, and how much of them.

Bags that are arrays get the arrays that they had. Those that were arrays then, and are rows by now, get the rows that
the arrays stood for.
"""

from collections.abc import Collection, Mapping
from functools import cached_property

from attrs import frozen

from ripplenest.run.policy import Decision
from ripplenest.state.declared import Declared
from ripplenest.state.tasks import ALONE, Back
from ripplenest.store.snapshot import Snapshot
from ripplenest.version.folding import Unfolding


@frozen(slots=False)
class Undoing:
    """A rollback of ``version`` to version ``to``."""

    declared: Declared
    version: Unfolding
    to: int

    @cached_property
    def sizes(self) -> dict[str, int]:
        """By part, for at least how many entries its rows change; an array counts as one. Raises StateError for tables
        that had other columns."""
        tables = self.version.tables
        assert isinstance(tables, Snapshot)
        names = [*self.relations, *(fold.table for fold in self.declared.folds)]
        entries = {
            name: sum(s.rows for ref in tables.difference(name, self.to) for s in ref.segments)
            for name in names
            if name in tables.tables
        }
        found = {part: entries[part] for part in self.relations}
        for fold in self.declared.folds:
            for part in fold.parts if entries.get(fold.table) else ():
                found[part] += entries[fold.table]
        return {part: size for part, size in found.items() if size}

    def most(self, decision: Decision) -> float:
        """Rows of work where maps are recomputed, or where more goes back than passes the driver; else 0."""
        rows = sum(self.sizes.values())
        return decision.rows + rows if decision.how == "full" or rows > ALONE else 0.0

    @property
    def back(self) -> Back:
        """The same, as tasks do it."""
        known = self.version.tables
        assert isinstance(known, Snapshot)
        folded, tables = self.declared.folded, known.tables
        stored = (*self.relations, *(fold.table for fold in folded if fold.table in tables))
        unfolded = tuple(fold for fold in self.declared.folds if fold not in folded and fold.table in tables)
        return Back(self.version, self.to, stored, unfolded)

    def parts(self, changed: Mapping[str, object] | Collection[str]) -> set[str]:
        """The parts of relations that change with these tables."""
        inside = {part for fold in self.declared.folded if fold.table in changed for part in fold.parts}
        return {part for part in self.relations if part in changed} | inside

    @property
    def relations(self) -> list[str]:
        """The parts of all relations."""
        return [part for r in self.declared.relations.values() for part in r.parts]


