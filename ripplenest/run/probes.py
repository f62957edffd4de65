"""What is read of the tables before a batch: what lookups of one round ask for, and whole tables."""

from collections.abc import Sequence
from functools import partial

from attrs import frozen

from ripplenest.data.index import Places
from ripplenest.data.order import Within
from ripplenest.data.rows import Rows
from ripplenest.plan.planned import Plan
from ripplenest.run.known import Known
from ripplenest.run.passing import visible
from ripplenest.run.rounds import Looked, Lookup, by_kind, counts_of, sharing
from ripplenest.version.version import Tables


@frozen
class Probes:
    """Tables as statements see them. How many stored rows each read had goes to ``read``; who asks what is ``known`` is
    given the same rows."""

    plan: Plan
    reader: Tables
    read: list[int]
    known: Known

    def answers(self, asked: Sequence[Lookup]) -> list[object]:
        """What lookups of one round find: one probe for those of one kind, but for what the same keys found before."""
        found: dict[int, object] = {}
        for places in by_kind(asked):
            own = [asked[i] for i in places]
            found.update(zip(places, self._counted(own) if own[0].counted else self._looked_up(own), strict=True))
        return [found[i] for i in range(len(asked))]

    def scanned(self, table: str, keys: Rows) -> Looked:
        """All of a table, for whoever asks for ``keys`` of no columns."""
        read = lambda: Looked(self._seen(table, self.reader.scan(table)), keys)  # noqa: E731
        return self.known.once(("scanned", table, id(keys)), keys, read, lasts=True)

    def within(self, table: str, *asked: Within) -> Looked | None:
        """The rows between values; None where the table is stored in no such order, as in states of before."""
        rows = self.reader.within(table, *asked)
        return None if rows is None else Looked(self._seen(table, rows), asked[0].keys)

    def visible(self, table: str, rows: Rows) -> Rows:
        """What statements see of stored rows of a table."""
        return visible(self.plan.shown.get(table), rows)

    def _counted(self, asked: Sequence[Lookup]) -> list[Places]:
        return counts_of(asked, partial(self.reader.many, asked[0].table, asked[0].columns))

    def _looked_up(self, asked: Sequence[Lookup]) -> list[Looked]:
        for keys, some in sharing([a for a in asked if a.name not in self.known]):
            looked = self._probed(some[0], keys)
            for a in some:
                self.known.keep(a.name, a.keys, looked, lasts=True)
        return [self.known.found(a.name) for a in asked]

    def _probed(self, a: Lookup, keys: Rows) -> Looked:
        return Looked(self._seen(a.table, self.reader.probe(a.table, a.columns, keys)), keys)

    def _seen(self, table: str, rows: Rows) -> Rows:
        self.read.append(len(rows))
        return self.visible(table, rows)
