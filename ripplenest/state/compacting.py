"""Compaction: what is large is merged by tasks where Spark is asked for, and all else by the store.

Tasks merge the segments of a table by ranges of hashes, which readers and writers need not know of: a commit then names
what they wrote in the place of what they read, on top of whatever version there is by then that has the latter still.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from attrs import frozen

from ripplenest.errors import NotKept, Stale
from ripplenest.run.engines import Engines
from ripplenest.state.state import State
from ripplenest.state.tasks import ALONE, Builds
from ripplenest.store.merging import due
from ripplenest.store.ref import Segments, sorted_runs
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Change, Written
from ripplenest.store.staging import Staging
from ripplenest.store.upkeep import COMPACTED

LARGE = 5 * ALONE  # rows of a merge that take this process a second
TRIES = 8  # how often what tasks wrote is named on top of a newer version


@frozen
class Compacting:
    """Compaction of one state; ``builds`` are there where there is Spark."""

    state: State
    engines: Engines
    builds: Callable[[], Builds] | None

    def compact(self, everything: bool) -> int:
        """Merge segments until no tier asks for it, or each table into one sorted run; the rows that were rewritten."""
        store, rewritten = self.state.store, self.state.store.rewritten
        if self.builds is None or self.engines.wanted != "spark":
            return store.compact(everything)
        while self._merged(self.builds, everything) or store.merge(everything):
            pass
        return store.rewritten - rewritten

    def _merged(self, builds: Callable[[], Builds], everything: bool) -> bool:
        """Let tasks merge once what is large; whether there is any, for which Spark starts."""
        store, snapshot = self.state.store, self._snapshot()
        tables = _large(snapshot, everything)
        if not tables:
            return False
        with suppress(NotKept), Staging.begin(store.path) as staging:
            self._commit(builds().merge(snapshot, tables, staging, store.reserved()), snapshot, tables)
        return True

    def _commit(self, written: Written, snapshot: Snapshot, tables: Mapping[str, Segments]) -> None:
        """Name what tasks wrote, unless somebody merged some of the same meanwhile."""
        gone = {table: frozenset(s.id for s in segments) for table, segments in tables.items()}
        change = Change(written=written, replaced=gone, note=COMPACTED)
        for _ in range(TRIES):
            if not all(_has(snapshot, table, ids) for table, ids in gone.items()):
                return
            with suppress(Stale):
                self.state.store.commit(change, snapshot.version)
                return
            snapshot = self._snapshot()

    def _snapshot(self) -> Snapshot:
        found = self.state.snapshot().tables
        assert isinstance(found, Snapshot)
        return found


def _large(snapshot: Snapshot, everything: bool) -> dict[str, Segments]:
    """By table the segments that are to be merged next, where these are many rows."""
    found = {}
    for table in snapshot.tables:
        runs = sorted_runs(snapshot.table(table).segments)
        sizes = [sum(s.rows for s in run) for run in runs]
        places = list(range(len(runs))) if everything and len(runs) > 1 else due(sizes, None)
        if sum(sizes[i] for i in places) > LARGE:
            found[table] = tuple(s for i in places for s in runs[i])
    return found


def _has(snapshot: Snapshot, table: str, ids: frozenset[int]) -> bool:
    return table in snapshot.tables and ids <= {s.id for s in snapshot.table(table).segments}
