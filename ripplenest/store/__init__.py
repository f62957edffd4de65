"""The state on disk: weighted rows in immutable segments, and a catalogue that says which of them make up a version."""

from ripplenest.store.disk import Disk
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Applied, Change, TableSpec
from ripplenest.store.store import Store

__all__ = ["Applied", "Change", "Disk", "Snapshot", "Store", "TableSpec"]
