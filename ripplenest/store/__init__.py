"""The state on disk: weighted rows in immutable segments, and a catalogue that says which of them make up a version.

A commit writes at most two files, fsyncs them and their folder, and then commits one transaction of the catalogue that
names them: the only moment of visibility. ``store.py`` begins with the theory of operation; this is who does what:

   store.py      opening a state                       snapshot.py   one version: scan, probe, first, delta
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
   making.py     the rows and indexes of a segment     ordered.py    indexes by which rows are read in order
   first.py      the first rows of keys                arranging.py  making these indexes

Each name is imported when it is first used: tasks of Spark read and write segments without a catalogue.
"""

from pkgutil import resolve_name  # noqa: TID251 - of names in the table below
from typing import TYPE_CHECKING

__all__ = ["Applied", "Change", "Disk", "Snapshot", "Store", "TableSpec"]

if TYPE_CHECKING:
    from ripplenest.store.disk import Disk
    from ripplenest.store.snapshot import Snapshot
    from ripplenest.store.specs import Applied, Change, TableSpec
    from ripplenest.store.store import Store
else:
    _HOMES = {  # the imports above as data
        "Applied": "ripplenest.store.specs:Applied",
        "Change": "ripplenest.store.specs:Change",
        "Disk": "ripplenest.store.disk:Disk",
        "Snapshot": "ripplenest.store.snapshot:Snapshot",
        "Store": "ripplenest.store.store:Store",
        "TableSpec": "ripplenest.store.specs:TableSpec",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = resolve_name(_HOMES[name])
        return found
