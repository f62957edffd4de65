"""What changed between versions: delta segments by table, each range of versions read and checked once.

A version seals its changes in all tables together, so they are read together. A table that is asked for costs its own
segments then, and n tables over v versions n · v segments and one transaction.
"""

from threading import Lock

from cachetools import LRUCache

from ripplenest.store.database.catalogue import Catalogue
from ripplenest.store.database.chain import Live

RANGES = 2  # ranges that are remembered: whoever compares versions asks for all tables of one


class Changelog:
    """The changes up to version ``upto``; ``known`` are those of its last version, where they are at hand."""

    def __init__(self, catalogue: Catalogue, upto: int, known: Live | None = None) -> None:
        self._catalogue, self._upto = catalogue, upto
        self._ranges: LRUCache[int, Live] = LRUCache(RANGES)
        self._lock = Lock()
        if known is not None:
            self._ranges[upto - 1] = known

    def since(self, version: int) -> Live:
        """By table id, the delta segments born in (version, upto], oldest first. Raises StateError when some are no
        longer kept, CorruptState when they are not those that the versions have sealed."""
        with self._lock:
            found: Live | None = self._ranges.get(version)
            if found is None:
                with self._catalogue.transaction() as c:
                    found = self._catalogue.deltas(c, version, self._upto)
                self._ranges[version] = found
            return found
