"""An engine whose tasks leave what they make in files, played in this process: it joins as this process does, and what
is made is in files or here, as it comes."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
from attrs import field, frozen

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.plan.planned import PlannedMap, Target
from ripplenest.run.handing import Handing
from ripplenest.run.joiner import Joined, PythonJoiner, Task
from ripplenest.run.step import Stepped
from ripplenest.state.tasks import mapped
from ripplenest.store.files import Filed, Files
from ripplenest.store.ranges import Unwritten, written
from ripplenest.store.ref import Segments
from ripplenest.store.segments import Segment
from ripplenest.store.specs import TableSpec
from ripplenest.store.store import Store
from ripplenest.tasks.handed import Surroundings, surroundings
from ripplenest.tasks.joins import summed, summing
from ripplenest.tasks.lookups import looked_up
from ripplenest.tasks.steps import Steps
from support.choices import Choices
from support.sharing import Attempts, Partitions

LITTLE = 1 << 13  # bytes of memory of a task: some rows at a time
NO_ROWS = Partitions(pa.schema([]), [])


@frozen
class Filing:
    """Plays Spark beside a ``store``, as ``c`` says; what it met is counted in ``met``."""

    store: Store
    c: Choices
    files: Files
    met: Counter[str] = field(factory=Counter)

    @classmethod
    def beside(cls, store: Store, folder: Path, c: Choices, held: ExitStack) -> "Filing":
        return cls(store, c, Files(folder, store.snapshot(), store.reserved, held))

    @property
    def handing(self) -> Handing:
        """What its tasks may read."""
        return Handing(self.files.stored, self.files.tables.size, Room(LITTLE))

    @property
    def here(self) -> Surroundings:
        return surroundings(str(self.store.path), str(self.files.staging.folder), LITTLE)

    @property
    def jobs(self) -> Attempts:
        return Attempts(NO_ROWS, self.c)

    def filed(self, spec: TableSpec, rows: Rows) -> Rows:
        """``rows`` in files, as tasks would have left them; here where they have no columns."""
        return self._summed(spec, self._runs(spec, rows)) if spec.types else rows

    def _runs(self, spec: TableSpec, rows: Rows) -> Segments:
        """As many tasks would have left them."""
        table, runs = rows.arrow(), list[Segment]()
        at = self.c.number(len(table) + 1)
        for own in (table.slice(0, at), table.slice(at)):
            some = Rows(rows.types, table=own).consolidated()
            if len(some):
                draft = Unwritten(some, spec.indexes[:1], self.files.next)
                self.files.take(1)
                runs += written([draft], self.here.disk, self.here.room, lasts=False)
        return tuple(runs)

    def _summed(self, spec: TableSpec, runs: Segments) -> Rows:
        found = summed({spec.name: spec}, {spec.name: runs}, self.jobs, self.here, self.files)
        return found[spec.name] if found else mapped(spec, self.files.staging, runs).consolidated()

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        """See ``Joiner``."""
        self.met["read where they are"] += any(isinstance(r, Filed) and r.of is None for t in tasks for r in t.inputs)
        self.met["with a change"] += any(is_now(r) for t in tasks for r in t.inputs)
        found = PythonJoiner().join([t for t in tasks if not t.looked], targets)
        specs, looked = {t.name: summing(t, self.files) for t in targets}, [t for t in tasks if t.looked]
        runs, read = looked_up(looked, specs, self.jobs, self.here) if looked else ({}, 0)
        self.met["looked up"] += any(map(len, runs.values()))
        self.met["support"] += any(isinstance(r, Filed) and r.seen.support for t in tasks for r in t.inputs)
        self.met["support looked up"] += any(isinstance(r, Filed) and r.seen.support for t in looked for r in t.inputs)
        self.met["places"] += any(m is not None for t in looked for m in t.totals)
        self.met["columns"] += any(isinstance(r, Filed) and r.seen.columns is not None for t in tasks for r in t.inputs)
        left = {t.name: self._left(specs[t.name], found[t.name], runs.get(t.name, ())) for t in targets}
        return Joined(left, 1, read)

    def _left(self, spec: TableSpec, rows: Rows, looked: Segments) -> Rows:
        if looked:
            return self._summed(spec, (*looked, *self._runs(spec, rows)))
        return self.filed(spec, rows) if len(rows) and self.c.number(5) else rows

    def stepped(self, m: PlannedMap, made: Filed) -> Stepped | None:
        """See ``Stepper``."""
        found = Steps(self.jobs, self.here, self.files).stepped(m, made)
        if found is not None:
            self.met[m.kind.value] += 1
            self.met["first rows"] += m.ranked is not None
            self.met["one key"] += not m.own_key
            self.met["merged"] += found.jobs > 1
            self.met["several ranges"] += isinstance(found.seen, Filed) and len(found.seen.segments) > 1
        return found


def is_now(rows: Rows) -> bool:
    """Whether they are stored rows with a change."""
    if not isinstance(rows, Filed) or rows.segments:
        return False
    return any("staging" in s.blob.file for s in rows.ref.segments)


@frozen
class Played:
    """The engine beside the files of each commit; what it met in all of them is counted in ``met``."""

    store: Store
    c: Choices
    met: Counter[str] = field(factory=Counter)

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        """See ``Joiner``: what is in no files."""
        return PythonJoiner().join(tasks, targets)

    def writing(self, files: Files) -> Filing:
        """See ``Writing``."""
        return Filing(self.store, self.c, files, self.met)
