"""The state on disk: weighted rows in immutable segments, and a catalogue that says which of them make up a version.

A commit writes at most two files, fsyncs them and their folder, and then commits one transaction of the catalogue that
names them: the only moment of visibility. ``store.py`` begins with the theory of operation; this is who does what:

   store.py      opening a state                       snapshot.py   one version: scan, probe, delta
   readable.py   every question about a state          changelog.py  what changed between versions
   writable.py   commits                               upkeep.py     compact, vacuum, check, what a state takes up
   commit.py     what a change makes of a version      segments.py   packs of blobs, and who reads of them
   merging.py    when segments become one              encoding.py   the format of a blob
   mapped.py     rows where they are mapped            blocks.py     digests by block, and what was checked
   indexes.py    indexes where they are mapped         prepared.py   statements as a driver takes them
   catalogue.py  writing versions, forgetting them     records.py    reading them, each row checked
   statements.py what both ask for every batch         backend.py    SQLite, PostgreSQL
   chain.py      the digests that tie rows together    tables.py     the tables of the catalogue
   folder.py     what is in a state directory          disk.py       every operation on a file, each a step to fail at
   layouts.py    tables whose columns change           place.py      where a state lives, and not its copies
"""

from ripplenest.store.disk import Disk
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Applied, Change, TableSpec
from ripplenest.store.store import Store

__all__ = ["Applied", "Change", "Disk", "Snapshot", "Store", "TableSpec"]
