"""The state directory: what is in it, and where its catalogue is."""

import json
from pathlib import Path
from secrets import token_hex

from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store.backend import FILE, IDENTITY, Backend, Postgres, Sqlite
from ripplenest.store.disk import Disk

SEGMENTS = "segments"
MARKER = "catalogue.json"  # says that the catalogue is elsewhere, and what it calls this state
OURS = (SEGMENTS, FILE, f"{FILE}-journal", MARKER)


def backend_of(folder: Path, disk: Disk, url: str | None) -> Backend:
    """The catalogue of the state in ``folder``, which is made when there is none.

    Raises StateError for a folder of something else, or for a state whose catalogue is not where ``url`` says.
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
    disk.put(MARKER, json.dumps({"catalogue": "postgresql", "id": fresh.identity}).encode())
    found = _identity(folder, disk)  # somebody else may have been faster
    if found is None:
        raise StateError("the marker of the state is gone", where=str(folder / MARKER), wanted="an id")
    return found


def _checked(folder: Path, disk: Disk, url: str | None) -> str | None:
    """What the state is called when its catalogue is elsewhere. The folder exists afterwards."""
    disk.create()
    found = {name for name in disk.list() if not name.startswith(f"{MARKER}.")}
    if FILE not in found and MARKER not in found and found - {*OURS}:
        wanted = f"a folder with {FILE}, or an empty one"
        raise StateError("not a state directory", where=str(folder), wanted=wanted, got=min(found - {*OURS}))
    if FILE in found and url is not None:
        raise StateError("the catalogue of this state is in its folder", where=str(folder), wanted="no URL")
    if MARKER in found and url is None:
        what, possible = "the catalogue of this state is elsewhere", ["catalogue=URL", "--catalogue URL"]
        raise StateError(what, where=str(folder), wanted="the URL of a PostgreSQL database", possible=possible)
    return _identity(folder, disk)


def _identity(folder: Path, disk: Disk) -> str | None:
    data = disk.read_bytes(MARKER)
    if data is None:
        return None
    try:
        found = json.loads(data)["id"]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str) or not IDENTITY.fullmatch(found):
        raise CorruptState("the marker of the state has changed", where=str(folder / MARKER), wanted="an id", got=found)
    return found
