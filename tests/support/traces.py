"""The system calls of a process as events on a disk (``power.py``), recorded with strace.

This sees all that reaches the disk, also what SQLite writes. A call that could change files in a way that the events
cannot say is an error, so that nothing is missed in silence.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from attrs import define, field

from support.crashes import Child, Tell
from support.events import Event, Link, Make, Remove, Rename, Said, Sync, Truncate, Write
from support.power import Image, Volume

STRACE = shutil.which("strace")
MODELLED = "openat,write,pwrite64,lseek,fsync,fdatasync,ftruncate,mkdir,unlink,rename,link"
OTHERS = (
    "open,creat,writev,pwritev,pwritev2,truncate,mkdirat,unlinkat,rmdir,renameat,renameat2,linkat,symlink,symlinkat,"
    "fallocate,sync_file_range,msync,mmap,copy_file_range,sendfile,splice,dup,dup2,dup3"
)
LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+|\?|0x\w+)(.*)")
ENDS = re.compile(r"\d+ +(\+\+\+|---) ")


@cache
def refused() -> str:
    """Why processes cannot be traced here; empty when they can."""
    if STRACE is None:
        return "strace is not installed"
    try:
        events_of(lambda tell: tell("x"), Path("/nowhere"))
    except Untraceable as e:
        return f"ptrace is refused: {e}"
    return ""


class Untraceable(Exception):
    """strace cannot attach to a process of ours."""


def events_of(body: Callable[[Tell], None], root: Path, start: Image | None = None) -> list[Event]:
    """Run ``body`` in a child; what it did below ``root``, which holds ``start`` before."""
    with tempfile.NamedTemporaryFile("r") as out:
        child = Child(body, held=True)
        how = ["-f", "-y", "-xx", "-s", "100000000", "-e", f"trace={MODELLED},{OTHERS}", "-o", out.name]
        tracer = subprocess.Popen([str(STRACE), *how, "-p", str(child.pid)], stderr=subprocess.PIPE, text=True)
        try:
            attached(tracer)
        finally:
            child.go()
            child.end()
            _, problem = tracer.communicate()
        assert tracer.returncode == 0, problem
        return list(Recorder(root, child.pipe, Volume(start)).events(out.read().splitlines()))


def attached(tracer: "subprocess.Popen[str]") -> None:
    """Wait until each call from now on is traced: that the system knows of a tracer is a moment before it."""
    assert tracer.stderr is not None
    said = ""
    for line in tracer.stderr:
        said += line
        if line.rstrip().endswith(" attached"):
            return
    raise Untraceable(said.strip())


@define
class Recorder:
    """Reads strace's lines; knows where in its file each descriptor is."""

    root: Path
    pipe: int
    volume: Volume
    at: dict[str, int] = field(factory=dict)  # by descriptor

    def events(self, lines: list[str]) -> Iterator[Event]:
        pids = set()
        for line in lines:
            if ENDS.match(line):
                continue
            match = LINE.fullmatch(line)
            assert match, f"not understood: {line[:200]}"
            pid, call, arguments, result, more = match.groups()
            pids.add(pid)
            assert len(pids) == 1, "a process with threads or children: the order of its calls is not known"
            if not result.startswith("-"):
                for event in self._event(call, arguments.split(", "), result, more):
                    self.volume.play(event)
                    yield event

    def _event(self, call: str, arguments: list[str], result: str, more: str) -> Iterator[Event]:
        if call == "write" and _described(arguments[0])[1] == f"pipe:[{self.pipe}]":
            yield from map(Said, _text(arguments[1]).decode().splitlines())
            return
        path = self._path(call, arguments)
        if path is None:
            return
        fd = _described(arguments[0])[0]
        match call:
            case "openat":
                yield from self._opened(path, arguments[2], result)
            case "write":
                data = _text(arguments[1])[: int(result)]
                yield Write(path, self.at[fd], data)
                self.at[fd] += len(data)
            case "pwrite64":
                yield Write(path, int(arguments[3]), _text(arguments[1])[: int(result)])
            case "lseek":
                self.at[fd] = int(result)
            case "fsync" | "fdatasync":
                yield Sync(path)
            case "ftruncate":
                yield Truncate(path, int(arguments[1]))
            case "mkdir":
                yield Make(path, folder=True)
            case "unlink":
                yield Remove(path)
            case "rename":
                new = self._relative(_text(arguments[1]).decode())
                assert new is not None, f"moved away: {path}"
                yield Rename(path, new)
            case "link":
                new = self._relative(_text(arguments[1]).decode())
                assert new is not None, f"linked away: {path}"
                yield Link(path, new)
            case "mmap" if "PROT_WRITE" not in arguments[2] or "MAP_SHARED" not in arguments[3]:
                pass
            case _:
                raise AssertionError(f"a call that is not modelled: {call}({', '.join(arguments)[:200]}) {more}")

    def _opened(self, path: str, flags: str, fd: str) -> Iterator[Event]:
        if "O_DIRECTORY" in flags:
            return
        if "O_CREAT" in flags and not self.volume.has(path):
            yield Make(path)
        elif "O_TRUNC" in flags:
            yield Truncate(path, 0)
        assert "O_APPEND" not in flags, "appending is not modelled"
        self.at[fd] = 0

    def _path(self, call: str, arguments: list[str]) -> str | None:
        """The path that a call is about, below the root; None when it is elsewhere, or a file that has no name."""
        if call == "mmap":
            return self._relative(_described(arguments[4])[1])
        if call == "openat":
            return self._relative(str(Path(_described(arguments[0])[1], _text(arguments[1]).decode())))
        if arguments[0].startswith('"'):
            return self._relative(_text(arguments[0]).decode())
        return None if arguments[0].endswith("(deleted)") else self._relative(_described(arguments[0])[1])

    def _relative(self, path: str) -> str | None:
        if path == str(self.root):
            return ""
        return path[len(str(self.root)) + 1 :] if path.startswith(f"{self.root}/") else None


def _described(argument: str) -> tuple[str, str]:
    """``3<path>`` taken apart."""
    fd, _, path = argument.removesuffix("(deleted)").removesuffix(">").partition("<")
    return fd, _hex(path).decode()


def _text(argument: str) -> bytes:
    assert argument.startswith('"') and argument.endswith('"'), f"cut short: {argument[:80]}"
    return _hex(argument[1:-1])


def _hex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
