"""The state directory: what is in it, and where its catalogue is.

A catalogue that is elsewhere leaves a marker, which says what the database calls this state. Its name appears whole
and durable before anything is made in the database, and the folder of segments after everything is: a folder with
segments has a catalogue, so that one which is not found is lost or in another database, and never made anew.
"""

import contextlib
import json
from pathlib import Path
from secrets import token_hex

from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store.database.backend import FILE, IDENTITY, Backend, Postgres, Sqlite
from ripplenest.store.disk import SEGMENTS, Disk
from ripplenest.store.staging import FOLDER as STAGING

MARKER = "catalogue.json"
OURS = (SEGMENTS, STAGING, FILE, f"{FILE}-journal", MARKER)


def is_state(folder: Path) -> bool:
    """Whether ``folder`` says where its catalogue is: then to open it makes no state."""
    return (folder / FILE).exists() or (folder / MARKER).exists()


def backend_of(folder: Path, disk: Disk, url: str | None) -> Backend:
    """The catalogue of the state in ``folder``, which is made when there is none.

    Raises StateError for a folder of something else, or for a state whose catalogue is not where ``url`` says, and
    CorruptState for a marker that has changed or is missing.
    """
    known = _checked(folder, disk, url)
    if url is None:
        made: Backend = Sqlite(folder)
    else:
        made = Postgres(url, known or _mark(folder, disk, url))
    _checked(folder, disk, url)  # again: somebody else may have begun the other kind meanwhile
    return made


def _mark(folder: Path, disk: Disk, url: str) -> str:
    """Put the marker, once the database has been reached; what it says."""
    fresh = Postgres(url, token_hex(16))
    fresh.reach()
    try:
        disk.put(MARKER, json.dumps({"catalogue": "postgresql", "id": fresh.identity}).encode())
    except StateError as e:
        if not isinstance(e.__cause__, FileNotFoundError):  # somebody else was faster, and has tidied up
            raise
    found = _identity(folder, disk)
    if found is None:
        raise StateError("the marker of the state is gone", where=str(folder / MARKER), wanted="an id")
    return found


def _checked(folder: Path, disk: Disk, url: str | None) -> str | None:
    """What the state is called when its catalogue is elsewhere. The folder exists afterwards."""
    disk.create()
    names = disk.list(folders=True)
    unfinished = {name for name in names if name.startswith(f"{MARKER}.")}  # markers of processes that died, or work
    found = names - unfinished
    if FILE not in found and MARKER not in found and found - {*OURS}:
        wanted = f"a folder with {FILE}, or an empty one"
        raise StateError("not a state directory", where=str(folder), wanted=wanted, got=min(found - {*OURS}))
    _check_place(folder, found, url)
    if url is None and SEGMENTS in found and FILE not in found:
        what = "it is missing, but there are segments: the catalogue has changed"
        raise CorruptState(what, where=str(folder / FILE), wanted="the catalogue of them", got="nothing")
    known = _identity(folder, disk)
    if known is None and url is not None and SEGMENTS in found:
        raise CorruptState("the marker of the state is missing", where=str(folder / MARKER), wanted="an id")
    if known is not None:
        with contextlib.suppress(StateError):  # not ours to remove: they do no harm
            for name in unfinished:
                disk.remove(name)
    return known


def _check_place(folder: Path, found: set[str], url: str | None) -> None:
    """Raises StateError when the catalogue is not where ``url`` says."""
    if FILE in found and MARKER in found:
        what, possible = "the state has two catalogues", [f"without {FILE}", f"without {MARKER}"]
        raise StateError(what, where=str(folder), wanted="one of them", possible=possible)
    if FILE in found and url is not None:
        raise StateError("the catalogue of this state is in its folder", where=str(folder), wanted="no URL")
    if MARKER in found and url is None:
        what, possible = "the catalogue of this state is elsewhere", ["catalogue=URL", "--catalogue URL"]
        raise StateError(what, where=str(folder), wanted="the URL of a PostgreSQL database", possible=possible)


def _identity(folder: Path, disk: Disk) -> str | None:
    data = disk.read_bytes(MARKER)
    if data is None:
        return None
    try:
        found = json.loads(data)["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str) or not IDENTITY.fullmatch(found):
        raise CorruptState("the marker of the state has changed", where=str(folder / MARKER), wanted="an id")
    return found
