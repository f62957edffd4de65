"""R10: what a file system refuses is a clear StateError, changes nothing, and leaves the store usable.

At every step (of ``support/crashes.py``) the error that Python would raise there, once or from then on; and real ones:
system calls that fail, a full disk, a limit on the size of files, a folder without write permission. After a failed
fsync nobody knows what is on the disk: the file is never synced again, and never named.
"""

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest
from support.crashes import Child, Tell, stepping, steps_of
from support.faults import Fault, Injected, injected
from support.reports import reported
from support.store_life import StoreLife
from support.traces import refused

from ripplenest.nrc.errors import CorruptState, StateError

CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)
FAST = 3  # steps of each kind
NOBODY = 65534


pytestmark = pytest.mark.usefixtures("quick")


def refuses(life: StoreLife, folder: Path, mend: Callable[[], None]) -> tuple[str, tuple[str, ...]]:
    """``life`` until something is refused, which is mended then; nothing has changed, and the same handle goes on.

    What was refused, empty when nothing was, and files that nothing named then.
    """
    said, handle, error = ["0 0"], None, ""
    try:
        handle = life.open(folder)
        life.go_on(handle, lambda line: said.append(str(line)))
    except StateError as e:
        assert not isinstance(e, CorruptState), e
        assert e.where and e.got, e
        error = str(e)
    mend()
    handle = life.open(folder) if handle is None else handle
    with handle:
        orphans = handle.usage().orphans
        if error:
            life.examine(handle, said)
            life.go_on(handle, lambda _: None)
        return error, orphans


def fail_at(step: int, code: int, lasting: bool, folder: Path) -> Fault:
    fault = Fault(step, code, lasting)
    with stepping(fault):
        error, orphans = refuses(StoreLife(), folder, fault.mend)
    StoreLife().complete(folder)
    assert fault.failed, step
    first = fault.failed[0]
    leaves = first == ("commit", "after") or any(what == "remove" for what, _ in fault.failed)
    assert leaves or not orphans, (first, orphans)
    assert error or first[0] == "remove", f"{first} was refused, and nobody said so"
    unsure = [name for what, name in fault.failed if what == "sync"]
    assert all(fault.synced.count(name) == 1 for name in unsure), f"synced again after a failure: {unsure}"
    assert not any((folder / "segments" / name).exists() for name in unsure), unsure
    return fault


def steps_in(memory: Path) -> list[str]:
    """What the steps are. A life takes two processes, but one of these, so that the same handle goes on."""
    life = StoreLife()

    def body(tell: Tell) -> None:
        with life.open(memory / "undisturbed") as handle:
            life.go_on(handle, tell)

    return [what for what, _ in steps_of(body)]


def test_a_refusal_at_some_steps(memory):
    """Some steps of each kind."""
    chance, steps, kinds = Random(10), steps_in(memory), list(product(CODES, (False, True)))
    assert {"create", "write", "sync", "names", "remove", "sql", "commit"} <= {*steps}
    for kind in dict.fromkeys(steps):
        places = [i for i, what in enumerate(steps, 1) if what == kind]
        for step in chance.sample(places, min(FAST, len(places))):
            code, lasting = kinds[step % len(kinds)]
            fault = fail_at(step, code, lasting, memory / str(step))
            assert fault.failed[0][0] == kind


@pytest.mark.long
def test_a_refusal_at_every_step(memory):
    with reported("faults", "an error at every step of a store's life", "faults fired", "steps") as run:
        run.count("steps", len(steps_in(memory)))
        for step, code, lasting in product(range(1, run.counts["steps"] + 1), CODES, (False, True)):
            fault = fail_at(step, code, lasting, memory / f"{step} {code} {lasting}")
            run.count("faults fired", len(fault.failed))
            run.count(f"first {errno.errorcode[code]}")


def test_a_file_whose_fsync_failed_is_never_synced_again(memory, monkeypatch):
    """Nobody knows what is on the disk then, and the next fsync may say that all is well."""
    synced: list[str] = []
    failing: list[int] = []
    sync = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        if len(synced) in failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    refuses(StoreLife(), memory / "undisturbed", lambda: None)
    packs = [i for i, path in enumerate(synced, 1) if path.endswith((".deltas", ".merges"))]
    assert len(packs) > 5
    for i in packs[::2]:
        synced, failing = [], [i]
        error, _ = refuses(StoreLife(), memory / str(i), lambda: None)
        assert "Input/output error" in error
        assert synced.count(synced[i - 1]) == 1 and not Path(synced[i - 1]).exists()
        StoreLife().complete(memory / str(i))


# ---------------------------------------------------------------- real ones


def told_by(folder: Path, body: Callable[[], str]) -> str:
    """What ``body`` says was refused, in a process of its own; ``folder`` is complete afterwards."""
    ended = Child(lambda tell: tell(body().replace("\n", " "))).end()
    StoreLife().complete(folder)
    return ended.said[-1]


def limited(folder: Path, size: int) -> str:
    """A life in which no file may be longer than ``size`` bytes, until something was refused."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    return refuses(StoreLife(), folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard)))[0]


@pytest.mark.parametrize("size", [0, 600, 2000, 30_000])
def test_files_that_may_not_grow(memory, size):
    error = told_by(memory / "state", lambda: limited(memory / "state", size))
    assert "File too large" in error or "SQLITE_IOERR" in error, error


def unprivileged(folder: Path, made: bool) -> str:
    """A life as another user, who may not make files, until something was refused: the state, or later segments."""
    if os.getuid() == 0:
        os.setuid(NOBODY)
    place = folder / "state/segments" if made else folder
    if made:
        StoreLife().open(folder / "state").close()
    place.chmod(0o500)
    return refuses(StoreLife(), folder / "state", lambda: place.chmod(0o700))[0]


@pytest.mark.parametrize("made", [False, True])
def test_folders_without_the_right_to_write(memory, made):
    folder = memory / "others"
    folder.mkdir()
    if os.getuid() == 0:
        memory.chmod(0o755)
        os.chown(folder, NOBODY, NOBODY)
    assert "Permission denied" in (error := told_by(folder / "state", lambda: unprivileged(folder, made))), error


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 400 kB."""
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(tmp_path)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as e:
        pytest.skip(f"a full disk needs the right to mount: {getattr(e, 'stderr', e)}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("free", [4096, 65_536, 131_072, 150_000])
def test_a_full_disk(small_disk, free):
    """The disk has ``free`` bytes left until something was refused."""
    filler = small_disk / "filler"
    filler.write_bytes(bytes(400_000 - free))
    error, _ = refuses(StoreLife(), small_disk / "state", filler.unlink)
    StoreLife().complete(small_disk / "state")
    assert "No space left" in error or "SQLITE_FULL" in error, error


CALLS = [("fsync", "EIO", 1), ("fdatasync", "EIO", 1), ("pwrite64", "ENOSPC", 5), ("pwrite64", "EIO", 5),
         ("write", "ENOSPC", 1), ("ftruncate", "EIO", 1), ("unlink", "EACCES", 1), ("mkdir", "EACCES", 1)]  # fmt: skip


def failing_call(folder: Path, call: str, code: str, at: int) -> Injected | None:
    """A life whose ``at``-th system call ``call`` fails; None when it makes fewer."""
    found = injected(lambda tell: tell(refuses(StoreLife(), folder, lambda: None)[0]), call, code, at)
    StoreLife().complete(folder)
    if found is not None:
        assert found.said[0] or quiet(call, found.path), (call, code, at, found)
    return found


def quiet(call: str, path: str) -> bool:
    """Failures that need not be heard of: a file that is not removed now is removed later, SQLite's syncs of the folder
    matter when its journal is new, and the pipe is the test's own."""
    return call == "unlink" or (call == "fdatasync" and path.endswith("/state")) or path.startswith("pipe:")


SOME = [("fsync", "EIO", 4), ("fdatasync", "EIO", 9), ("pwrite64", "ENOSPC", 60)]


@pytest.mark.parametrize(("call", "code", "at"), SOME)
def test_a_system_call_that_fails(memory, call, code, at):
    if why := refused():
        pytest.skip(why)
    assert failing_call(memory / "state", call, code, at)


@pytest.mark.long
def test_every_system_call_that_fails(memory):
    if why := refused():
        pytest.skip(why)
    with reported("faults-calls", "a system call of a store's life that fails", "faults fired", "refused") as run:
        for call, code, stride in CALLS:
            at, folder = 1 + run.seed % stride, memory / f"{call} {code}"
            while (found := failing_call(folder / str(at) / "state", call, code, at)) is not None:
                run.count("faults fired")
                run.count("refused", bool(found.said[0]))
                run.count(f"{call} {code}")
                at += stride
