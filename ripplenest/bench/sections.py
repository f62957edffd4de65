"""What is shown of a run, as tables: for the screen, and in the words of Markdown for a file."""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from ripplenest.bench.asked import shown
from ripplenest.bench.crossings import crossing
from ripplenest.bench.goals import Judged, judged
from ripplenest.bench.goals_of_totals import judged as of_totals
from ripplenest.bench.results import FanOut, Followed, Growing, Grown, Measured, Point, Run
from ripplenest.bench.rivals.maintaining import MAINTAINERS
from ripplenest.bench.timing import Timing
from ripplenest.bench.workloads import WORKLOADS

Cells = tuple[str, ...]
READ_LATER = "Later prices (medians) also read what earlier ones left in segments that are not merged yet."


@frozen
class Section:
    """A table under a title; columns from the ``right``-th on are aligned to the right. Below it are ``notes``."""

    title: str
    head: Cells = ()
    rows: tuple[Cells, ...] = ()
    notes: tuple[str, ...] = ()
    right: int = 1

    def markdown(self) -> str:
        """As text of a Markdown file."""
        lines = [f"## {self.title}", ""]
        if self.rows:
            rule = ["---" if i < self.right else "---:" for i in range(len(self.head))]
            lines += [f"| {' | '.join(map(_escaped, row))} |" for row in (self.head, rule, *self.rows)]
            lines.append("")
        return "\n".join([*lines, *(f"{note}\n" for note in self.notes)])


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def sections(run: Run) -> list[Section]:
    """All of a run, the goals first."""
    found = [goals(judged(run)), goals(of_totals(run), "Goals of totals"), *map(_batches, run.measured)]
    found += [*_against_state(run), *_growing(run), *_fan_outs(run), *_drained(run)]
    return [*found, _whole(run.measured), _processes(run), *_published(run), *_missing(run), _setting(run)]


# ---------------------------------------------------------------- the goals


def goals(found: Sequence[Judged], title: str = "Goals") -> Section:
    """What a run says of its goals."""
    met, missed, asked = (sum(j.verdict in v for j in found) for v in (("met",), ("not met",), ("met", "not met")))
    note = f"{met} of the {asked} that this run can judge are met, {missed} are not."
    head = ("goal", "what", "bound", "found", "verdict")
    return Section(title, head, tuple(map(_goal, found)), (note,), right=2)


def _goal(j: Judged) -> Cells:
    g = j.goal
    bound = f"{'≥' if g.least else '≤'} {g.bound:g} {g.unit}".strip()
    return g.number, g.what, bound, "" if j.figure is None else f"{short(j.figure)} {g.unit}".strip(), j.verdict


# ---------------------------------------------------------------- batches


def _batches(m: Measured) -> Section:
    phases = list(dict.fromkeys(name for p in m.points for name in p.phases))
    rivals = list(dict.fromkeys(name for p in m.points for name in p.rivals))
    head = ("batch", "rows", "ms", "least to most", *phases, "floor", "rows read", *rivals)
    rows = tuple(_point(p, phases, rivals) for p in sorted(m.points, key=lambda p: (_first(m, p), p.rows)))
    said = [_crossing(m, name) for name in rivals]
    title = f"{m.workload} at scale {m.scale:g}: {WORKLOADS[m.workload].title}, {_counted(m)}"
    times = _range(p.batch.rounds for p in m.points)
    keep = " and ".join(name for name in rivals if name in MAINTAINERS)
    theirs = f"to compute the view again{keep and f' (of {keep}, to maintain it)'}"
    what = f"Milliseconds, medians of {times}; of rivals, {theirs}, and how many times ours that is."
    return Section(title, head, rows, (what, *said, *_own(m)))


def _range(numbers: Iterable[int]) -> str:
    found = sorted(numbers) or [0]
    least, most = found[0], found[-1]
    return str(most) if least == most else f"{least} to {most}"


def _first(m: Measured, p: Point) -> int:
    return [q.kind for q in m.points].index(p.kind)


def _point(p: Point, phases: Sequence[str], rivals: Sequence[str]) -> Cells:
    kind = p.kind if p.verdict == "incremental" else f"{p.kind} (recomputed)"
    times = [ms(p.phases[name]) if name in p.phases else "" for name in phases]
    others = [_against(p, p.rivals.get(name)) for name in rivals]
    between = f"{ms(p.batch.least)} to {ms(p.batch.most)}"
    least = p.floor.median if p.floor else None
    read = f"{p.rows_read:,}"
    return (_by(p.engine, kind), shown(p.rows), ms(p.batch.median), between, *times, ms(least), read, *others)


def _by(engine: str, what: str) -> str:
    return what if engine == "local" else f"{what} (on Spark)"


def _against(p: Point, rival: Timing | None) -> str:
    return "" if rival is None else f"{ms(rival.median)} ({short(rival.median / p.batch.median)}x)"


def _crossing(m: Measured, rival: str) -> str:
    points = [p for p in m.of_kind("insert") if rival in p.rivals]
    rows = crossing([(p.rows, p.batch.median / p.rivals[rival].median) for p in points], 1.0)
    if rows is None:
        return f"Whether {rival} is faster for large batches cannot be told: ours do not grow faster than its own."
    if rows == 0:
        return f"{rival} is faster for every batch."
    beyond = " (beyond what was measured, along the last two batches)" if rows > points[-1].rows else ""
    return f"{rival} is faster from about {_share(rows, m)} on{beyond}."


def _own(m: Measured) -> Iterator[str]:
    if m.crossover is not None:
        for t in m.crossover.tried:
            took = f"{ms(t.incremental)} ms to maintain and {ms(t.full)} to recompute here"
            yield f"{_share(t.rows, m)} take {took} (policy full); policy auto: {t.auto}."
        rows = m.crossover.rows
        found = f"Recomputing pays from about {_share(rows, m)} on." if rows else "Recomputing pays for every batch."
        yield "Recomputing paid for none of these." if rows is None else found


def _share(rows: float, m: Measured) -> str:
    return f"{rows:,.0f} changed {_unit(m)} ({100 * rows / m.items:.0f} % of all)"


def _counted(m: Measured) -> str:
    return f"{m.items:,} {_unit(m)}"


def _unit(m: Measured) -> str:
    return WORKLOADS[m.workload].unit


# ---------------------------------------------------------------- the state


def _against_state(run: Run) -> Iterator[Section]:
    for workload in run.workloads():
        found = run.of(workload)
        if len(found) > 1:
            sizes = sorted({p.rows for m in found for p in m.of_kind("insert")})
            head = ("rows inserted", *map(_counted, found), "last against first")
            yield Section(f"{workload}: time against state", head, tuple(_row(found, n) for n in sizes), ("Ms.",))


def _row(found: Sequence[Measured], rows: int) -> Cells:
    times = [p.batch.median if p else None for p in (m.point("insert", rows) for m in found)]
    first, last = times[0], times[-1]
    ratio = f"{last / first:.2f}x" if first and last else ""
    return (shown(rows), *map(ms, times), ratio)


def _growing(run: Run) -> Iterator[Section]:
    rows = tuple(_grown(found, g) for found in run.growing for g in found.grown)
    if rows:
        head = ("workload", "rows inserted", "small state", "ms", "large state", "ms", "large against small")
        note = "Medians of batches that take turns, so that a moment in which the machine is slow meets both."
        yield Section("The same batches on a small state and on a large one", head, rows, (note,))


def _grown(found: Growing, g: Grown) -> Cells:
    small, large = (f"{items:,} {WORKLOADS[found.workload].unit}" for items in found.items)
    return found.workload, shown(g.rows), small, ms(g.small.median), large, ms(g.large.median), f"{g.ratio:.2f}x"


def _fan_outs(run: Run) -> Iterator[Section]:
    for m in run.measured:
        if m.fan_outs:
            rows = tuple(map(_fan_out, m.fan_outs))
            head = ("items of the part", "names that have it", "stored rows read", "read by later prices", "ms")
            title = f"{m.workload} at scale {m.scale:g}: the price of one part changes"
            yield Section(title, head, rows, (f"Names are the groups whose total changes. {READ_LATER}",), right=0)


def _fan_out(f: FanOut) -> Cells:
    return (*(f"{n:,}" for n in (f.items, f.names, f.rows_read, f.read_later)), ms(f.batch.median))


def _drained(run: Run) -> Iterator[Section]:
    found = [(m, m.drained) for m in run.measured if m.drained is not None]
    if found:
        head = ("workload", "scale", "groups", "of each the first", "batches", "ms", "last against first", "rows read")
        rows = tuple(
            (m.workload, f"{m.scale:g}", f"{d.groups:,}", str(d.limit), str(d.batches), ms(d.batch.median),
             f"{d.growth:.2f}x", f"{d.most_read:,}")
            for m, d in found
        )  # fmt: skip
        note = "Each batch takes the first row of the same groups. Rows read are the most of a batch."
        yield Section("First rows that go, batch after batch", head, rows, (note,))


def _whole(found: Sequence[Measured]) -> Section:
    head = (
        "workload", "scale", "rows", "load s", "µs each", "create s", "read s", "duckdb computes s", "duckdb reads s",
        "state MB", "against Arrow",
    )  # fmt: skip
    rows = tuple(
        (
            m.workload, f"{m.scale:g}", f"{m.rows:,}", f"{m.load:.2f}", short(m.load / m.rows * 1e6),
            _by(m.created_by, f"{m.create:.2f}"), f"{m.reading.ours:.3f}", f"{m.reading.computed:.3f}",
            f"{m.reading.kept:.3f}", f"{m.state_bytes / 1e6:.1f}", f"{m.state_bytes / m.input_bytes:.2f}x",
        )
        for m in found
    )  # fmt: skip
    notes = (
        "Rows are those of the relations, of inner bags, too; reading hands out all nested rows as Arrow, as DuckDB "
        "does when it computes them from its tables, or reads them from the table that it kept them in.",
    )
    return Section("Load, create, read, size", head, rows, notes)


def _processes(run: Run) -> Section:
    rows: list[Cells] = []
    for m in run.measured:
        if m.opening is not None:
            what = f"opening {m.workload} at scale {m.scale:g} ({m.state_bytes / 1e6:.0f} MB) and applying one row"
            rows.append((what, f"{ms(m.opening.median)} ms"))
    if run.memory is not None:
        peak = f"{run.memory.peak_bytes / 1e9:.2f} GB"
        rows.append((f"peak memory of a load of {run.memory.rows:,} flat rows", peak))
        rows.append(("seconds of that load, and of drawing its items", f"{run.memory.seconds:.1f} s"))
    if run.many is not None:
        n = run.many
        rows.append((f"a batch of {n.rows} rows over one view", f"{ms(n.one.median)} ms"))
        rows.append((f"the same over {n.views} views of its shape", f"{ms(n.all.median)} ms"))
        rows.append(("creating each of them", f"{ms(n.create_each)} ms"))
    return Section("Processes of their own, and many views", ("what", "found"), tuple(rows))


def _published(run: Run) -> Iterator[Section]:
    p = run.published
    if p is not None:
        head = ("what", "rows written", "commit ms", "publish ms", "least to most", "floor ms", "against the floor")
        whole = ("the first publication", f"{p.rows:,}", "", ms(p.whole), "", ms(p.floor), _times(p.whole, p.floor))
        title = f"A published table: {p.workload} at scale {p.scale:g}, {p.table_bytes / 1e6:.1f} MB"
        notes = (
            "Medians. A batch inserts items, and is published when it is committed. The floor is deltalake's own merge "
            "of the rows that were touched into the same table; at first, its writing of them.",
        )
        yield Section(title, head, (whole, *map(_followed, p.followed)), notes)


def _followed(f: Followed) -> Cells:
    publish, floor = f.publish.median, f.floor.median
    between = f"{ms(f.publish.least)} to {ms(f.publish.most)}"
    name = f"a batch of {shown(f.rows)}"
    return name, f"{f.touched:,}", ms(f.batch.median), ms(publish), between, ms(floor), _times(publish, floor)


def _times(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}x"


# ---------------------------------------------------------------- the run


def _missing(run: Run) -> Iterator[Section]:
    for title, found in (("Left out", run.left_out), ("Refused", run.refused)):
        if found:
            yield Section(title, ("what", "why"), tuple((one.what, one.why) for one in found), right=2)


def _setting(run: Run) -> Section:
    rows = (
        ("command", run.command), ("date", run.date), ("seed", str(run.seed)), ("machine", run.machine),
        *((name, version) for name, version in run.versions.items()),
    )  # fmt: skip
    return Section("The run", ("what", ""), rows, right=2)


def ms(seconds: float | None) -> str:
    """Milliseconds; nothing of nothing."""
    return "" if seconds is None else short(seconds * 1e3)


def short(number: float) -> str:
    """Three digits, or all before the point."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
