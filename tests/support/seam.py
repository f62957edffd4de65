"""The steps of a process at the ``Disk`` seam as events on a disk (``power.py``), where system calls cannot be traced.

Between two steps the folder is looked at: what is new there is what the step did. That a new folder is named durably,
and that a commit of SQLite is whole and durable, is taken for granted; a trace of system calls looks into both.
"""

from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from support.crashes import Tell, stepping
from support.events import Event, Make, Remove, Said, Stored, Sync, Write

DATABASE = ("catalogue.sqlite", "catalogue.sqlite-journal")


def seam_events(body: Callable[[Tell], None], root: Path) -> list[Event]:
    """Run ``body`` in this process; what it did below ``root``, which was empty."""
    watch = Watch(root)

    def tell(text: object) -> None:
        watch.step("said", str(text))

    with stepping(watch.step):
        body(tell)
    watch.step("end", "")
    return watch.events


@define
class Watch:
    """What was there at the last step."""

    root: Path
    events: list[Event] = field(factory=list)
    _there: dict[str, bytes | None] = field(factory=dict)
    _last: tuple[str, str] = ("start", "")

    def step(self, what: str, name: str) -> None:
        self._look()
        self._done(*self._last)
        self._last = (what, name)
        if what == "said":
            self.events.append(Said(name))

    def _look(self) -> None:
        """Events that explain how the folder is now."""
        now = {p.relative_to(self.root).as_posix(): p for p in sorted(self.root.rglob("*")) if p.name not in DATABASE}
        for path in self._there.keys() - now.keys():
            self.events.append(Remove(path))
            del self._there[path]
        for path, place in now.items():
            if path not in self._there:
                self.events.append(Make(path, place.is_dir()))
                self._there[path] = None if place.is_dir() else b""
            before = self._there[path]
            if before is not None and len(before) < place.stat().st_size:
                data = self._there[path] = place.read_bytes()
                self.events.append(Write(path, len(before), data[len(before) :]))

    def _done(self, what: str, name: str) -> None:
        """What the step did besides."""
        match what:
            case "folder":
                parents = Path(name).relative_to(self.root).parents
                self.events += [Sync("" if str(p) == "." else p.as_posix()) for p in reversed(parents)]
            case "sync":
                self.events += [Sync(path) for path in self._there if Path(path).name == name]
            case "names":
                self.events.append(Sync(Path(name).relative_to(self.root).as_posix()))
            case "commit":
                for file in self.root.rglob(DATABASE[0]):
                    stored = Stored(file.relative_to(self.root).as_posix(), file.read_bytes())
                    if not self.events or self.events[-1] != stored:
                        self.events.append(stored)
