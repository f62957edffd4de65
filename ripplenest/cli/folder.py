"""A state directory as ``doctor`` sees it: the folder from outside, then what can be said once the state is open."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import ripplenest as rn
from ripplenest.cli.findings import Finding, ok, warning, wrong
from ripplenest.cli.output import counted, printable, size
from ripplenest.cli.states import ELSEWHERE, HERE, SEGMENTS, no_state, open_and_said

LITTLE = 100_000_000  # bytes that a disk should have free however little a state takes up
SHOWN = 3  # names that are listed
RESTORE = "restore the whole folder from a backup; keep a copy of what is left of it"
LOST = "restore it from a backup; a state whose making was interrupted is finished by ripplenest.open"
ANOTHER = "name the folder of a state; ripplenest.open makes one"

Files = dict[Path, os.stat_result]


def of_folder(folder: Path, catalogue: str | None) -> Iterator[Finding]:
    """All about one state. A folder of something else stays as it is."""
    try:
        missing = no_state(folder)
        files = {} if missing else _files(folder)
    except OSError as error:
        yield wrong("state", f"{printable(str(error.filename))}: {error.strerror}", "become its owner, or get rights")
        return
    if missing:
        yield wrong("state", f"{printable(str(folder))} {missing}", LOST if "lost" in missing else ANOTHER)
        return
    yield _rights(folder)
    yield _modes(folder, files)
    yield from _strangers(folder, files)
    yield _space(folder, files)
    yield from _opened(folder, catalogue)


def _files(folder: Path) -> Files:
    """The folder and what is in it; links are not followed, but for the folder itself. Raises OSError."""
    found = {folder: folder.stat()}
    for path in sorted([*folder.iterdir(), *(folder / SEGMENTS).iterdir()]):
        with contextlib.suppress(FileNotFoundError):  # a writer at work has removed it
            found[path] = path.lstat()
    return found


def _rights(folder: Path) -> Finding:
    owner, me = folder.stat().st_uid, os.geteuid()
    needed = {folder: os.R_OK | os.W_OK | os.X_OK, folder / SEGMENTS: os.R_OK | os.W_OK | os.X_OK}
    needed |= {folder / name: os.R_OK | os.W_OK for name in (HERE, ELSEWHERE) if (folder / name).exists()}
    refused = [path for path, mode in needed.items() if not os.access(path, mode)]
    if refused:
        advice = f"work as user {owner}, on a file system that can be written"
        return wrong("rights", f"no right to read and write {_names(refused)}", advice)
    if owner != me:
        advice = f"work as user {owner}, who could not read files of another"
        return warning("rights", f"the folder belongs to user {owner}, and this is user {me}", advice)
    return ok("rights", "the folder can be read and written")


def _modes(folder: Path, files: Files) -> Finding:
    """Folders are to be 0700, files 0600; a link has no mode."""
    shared = [path for path, s in files.items() if not stat.S_ISLNK(s.st_mode) and stat.S_IMODE(s.st_mode) & 0o077]
    if not shared:
        return ok("modes", f"{len(files):,} files and folders, for their owner alone")
    return warning("modes", f"open to others: {_names(shared)}", f"chmod -R go= {printable(str(folder))}")


def _strangers(folder: Path, files: Files) -> Iterator[Finding]:
    known = {folder, *(folder / name for name in (HERE, f"{HERE}-journal", ELSEWHERE, SEGMENTS))}
    other = [path for path in files if path not in known and path.parent != folder / SEGMENTS]
    links = [path for path, s in files.items() if stat.S_ISLNK(s.st_mode) and path not in other]
    if other or links:
        yield warning("contents", f"not of the state: {_names([*other, *links])}", "keep it elsewhere")


def _space(folder: Path, files: Files) -> Finding:
    free, used = shutil.disk_usage(folder).free, sum(s.st_size for s in files.values())
    found = f"{size(free)} free on the disk, {size(used)} in the state"
    if free < max(LITTLE, used):
        return warning("space", found, "make room: to merge segments can take as much again as the state has")
    return ok("space", found)


def _opened(folder: Path, catalogue: str | None) -> Iterator[Finding]:
    """What the state says itself. To open it checks the catalogue: its format, its pages, that nothing is missing."""
    try:
        db, said = open_and_said(folder, catalogue)
    except rn.errors.CorruptState as error:
        yield wrong("catalogue", error, RESTORE)
        return
    except rn.RipplenestError as error:
        yield wrong("catalogue", error, "mend what it names")
        return
    with db:
        yield from (warning("published", text, "mend what it names; the next batch tries again") for text in said)
        yield from _stored(db)


def _stored(db: "rn.Database") -> Iterator[Finding]:
    try:
        versions, usage = len(db.history()), db.usage
        yield ok(
            "catalogue", f"{printable(db.where)}: of the right format, {counted(versions, 'version')} without a gap"
        )
        yield _orphans(usage.orphans)
    except rn.RipplenestError as error:
        yield wrong("catalogue", error, RESTORE)
    try:
        yield ok("segments", f"{db.check_files():,} segments and indexes, which have the digests that they should")
    except rn.RipplenestError as error:
        yield wrong("segments", error, RESTORE)


def _orphans(files: tuple[str, ...]) -> Finding:
    if not files:
        return ok("orphans", "no files that nothing names")
    found = f"{counted(len(files), 'file')} that nothing names, of a writer that died or is at work"
    return warning("orphans", found, "nothing: the next writer removes them, and so does ripplenest vacuum")


def _names(paths: Iterable[Path]) -> str:
    names = [printable(str(path)) for path in paths]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
