"""A whole run: each workload at each scale, the memory of a load, many views, a published table."""

import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from attrs import define, evolve, field

from ripplenest.bench.asked import REFERENCE, Asked
from ripplenest.bench.child import ask
from ripplenest.bench.data import CUSTOMERS, MOST, ORDERS, Data
from ripplenest.bench.goals import MEMORY_ROWS
from ripplenest.bench.growing import measure_growing
from ripplenest.bench.library import check_installed, versions
from ripplenest.bench.many import LARGEST, measure_many
from ripplenest.bench.measure import AFTER, Differs, batch_sizes, measure
from ripplenest.bench.process import ProcessFailed
from ripplenest.bench.published import measure_published
from ripplenest.bench.results import Growing, Left, Many, Measured, Memory, Point, Publication, Run
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.rivals.maintaining import MAINTAINERS, Maintainer
from ripplenest.bench.rivals.pole import Pole
from ripplenest.bench.rivals.rival import Reference, Rival
from ripplenest.bench.timing import Timing
from ripplenest.bench.workloads import WORKLOADS, Workload
from ripplenest.errors import RipplenestError

AT_ONE = CUSTOMERS + ORDERS + ORDERS * (1 + MOST) // 2  # rows of the relations of F2 at scale 1
MAINTAINED_ROUNDS = 3  # of rivals that maintain, whose time is no part of ours
CPUINFO = Path("/proc/cpuinfo")
Say = Callable[[str], None]


@define
class _Runner:
    asked: Asked
    say: Say
    measured: list[Measured] = field(factory=list)
    left_out: list[Left] = field(factory=list)
    refused: list[Left] = field(factory=list)

    def growing(self, workload: Workload) -> Iterator[Growing]:
        """A workload that is compared at two states of its own."""
        largest = min(max(self.asked.scales), 1.0)
        scales = [times * largest for times in workload.states or ()]
        if not scales:
            return
        small, large = (Data(scale, self.asked.seed) for scale in scales)
        what = f"{workload.name} at scales {small.scale:g} and {large.scale:g}, in turns"
        self.say(what)
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                yield measure_growing(workload, small, large, self.asked, Path(folder))
            except Differs as differs:
                self.refused.append(Left(what, str(differs)))

    def one(self, workload: Workload, scale: float) -> None:
        """A workload at a scale; an answer that differs is refused, and the rest goes on."""
        where = f"{workload.name} at scale {scale:g}"
        self.say(where)
        reference = Duck(workload.name)
        rivals, data = self.rivals(workload, reference, where), Data(scale, self.asked.seed)
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                found, wrong = measure(workload, data, self.asked, Path(folder), reference, rivals)
            except Differs as differs:
                self.refused.append(Left(where, str(differs)))
                return
            finally:
                for rival in {REFERENCE: reference, **rivals}.values():
                    rival.close()
        self.refused += [Left(f"{name}, {where}", why) for name, why in wrong.items()]
        for name in (name for name in MAINTAINERS if name in self.asked.rivals):
            found = self.maintained_by(name, workload, found, where)
        self.measured.append(found)

    def maintained_by(self, name: str, workload: Workload, found: Measured, where: str) -> Measured:
        """With what a rival takes that maintains the view, where it can."""
        what, maintainer = f"{name}, {where}", MAINTAINERS[name]
        if why := _without(maintainer, workload):
            self.left_out.append(Left(what, why))
            return found
        data = Data(found.scale, self.asked.seed)
        sizes, rounds = batch_sizes(workload, self.asked, data), min(self.asked.rounds, MAINTAINED_ROUNDS)
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                times, rows = maintainer.maintained(workload, data, sizes, rounds, Path(folder))
            except ProcessFailed as error:
                self.refused.append(Left(what, f"failed: {error}"))
                return found
        if rows:
            self.refused.append(Left(what, f"{rows:,} rows differ {AFTER}"))
            return found
        return evolve(found, points=tuple(_joined(p, name, times) for p in found.points))

    def rivals(self, workload: Workload, reference: Reference, where: str) -> dict[str, Rival]:
        """Those that are timed beside it and can answer it."""
        makers: dict[str, Callable[[], Rival]] = {
            REFERENCE: lambda: reference,
            "polars": partial(Pole, workload.name, workload.keys),
            "spark": partial(_sparks, workload),
        }
        found = {}
        for name, make in makers.items():
            try:
                if name in self.asked.rivals:
                    found[name] = make()
            except RipplenestError as error:  # no Java
                self.left_out.append(Left(f"{name}, {where}", str(error)))
        return found

    def memory(self) -> Memory | None:
        """Of ten million rows where the run is as large, and else of what its largest scale has."""
        largest = max(self.asked.scales)
        scale = MEMORY_ROWS / AT_ONE if largest >= 1 else largest
        self.say(f"the memory of a load of about {scale * AT_ONE:,.0f} rows")
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                return Memory(**ask("load", Path(folder) / "state", Data(scale, self.asked.seed)))
            except ProcessFailed as error:
                self.refused.append(Left("the memory of a load", f"failed: {error}"))
                return None

    def many(self) -> Many | None:
        scale = min(LARGEST, min(self.asked.scales) / 10)
        self.say(f"{self.asked.views} views of one shape")
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                return measure_many(self.asked.views, Data(scale, self.asked.seed), self.asked.rounds, Path(folder))
            except Differs as differs:
                self.refused.append(Left("many views", str(differs)))
                return None

    def published(self) -> Publication | None:
        """At the largest scale, up to 1."""
        scale = min(max(self.asked.scales), 1.0)
        what = f"publications at scale {scale:g}"
        if find_spec("deltalake") is None:
            self.left_out.append(Left(what, "deltalake is not installed: pip install 'ripplenest[delta]'"))
            return None
        self.say(what)
        with tempfile.TemporaryDirectory(prefix="ripplenest-bench-") as folder:
            try:
                return measure_published(Data(scale, self.asked.seed), self.asked.rounds, Path(folder))
            except Differs as differs:
                self.refused.append(Left(what, str(differs)))
                return None


def _without(maintainer: Maintainer, workload: Workload) -> str:
    """Why it cannot be asked; "" when it can."""
    if workload.name not in maintainer.workloads:
        return f"it is asked for {', '.join(maintainer.workloads)} only"
    found = find_spec(maintainer.package)
    return "" if found else f"it is not installed: pip install 'ripplenest[{maintainer.package}]'"


def _joined(p: Point, name: str, times: Mapping[int, Timing]) -> Point:
    return evolve(p, rivals={**p.rivals, name: times[p.rows]}) if p.kind == "insert" else p


def _sparks(workload: Workload) -> Rival:
    from ripplenest.bench.rivals.sparks import Sparks  # noqa: PLC0415 - Spark is imported when it is asked for
    return Sparks(workload.name, workload.keys)


def run(asked: Asked, say: Say) -> Run:
    """Measure what is asked, smallest scales first; ``say`` hears of progress. Raises EnvironmentProblem for packages
    that are missing."""
    check_installed()
    runner = _Runner(asked, say)
    for scale in sorted(asked.scales):
        for name in asked.workloads:
            runner.one(WORKLOADS[name], scale)
    growing = [found for name in asked.workloads for found in runner.growing(WORKLOADS[name])]
    memory, many, published = runner.memory(), runner.many(), runner.published()
    return Run(
        command=asked.command,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seed=asked.seed,
        machine=machine(),
        versions=versions(),
        measured=tuple(runner.measured),
        memory=memory,
        many=many,
        left_out=tuple(runner.left_out),
        refused=tuple(runner.refused),
        published=published,
        growing=tuple(growing),
    )


def machine() -> str:
    """The processor, its cores, memory and system, and how many programs wanted to run in the last quarter of an hour:
    where that is more than one, others disturbed."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release()}"
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB, {system}, load {os.getloadavg()[2]:.1f}"


def _processor() -> str:
    with suppress(OSError):
        for line in CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(": ")[2]
    return platform.machine()
