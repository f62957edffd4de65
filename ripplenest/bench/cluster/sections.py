"""What is shown of a run on Spark, as tables."""

from collections.abc import Sequence

from ripplenest.bench.asked import shown
from ripplenest.bench.cluster.goals import PHASES, judged
from ripplenest.bench.cluster.results import Engine, OnSpark, Ours, Scale
from ripplenest.bench.sections import Cells, Section, goals, ms, short


def sections(run: OnSpark) -> list[Section]:
    """All of a run, the goals first."""
    found = [goals(judged(run)), _batches(run.scales), _whole(run.scales), _memory(run.scales)]
    if run.refused:
        found.append(Section("Refused", ("what", "why"), tuple((r.what, r.why) for r in run.refused), right=2))
    return [*found, _setting(run)]


def _batches(scales: Sequence[Scale]) -> Section:
    head = (
        "items", "rows inserted", "engine", "done on", "verdict", "ms", "least to most", "jobs", "floor", "Spark again",
    )  # fmt: skip
    rows = tuple(_batch(s, b) for s in scales for b in s.ours.batches)
    notes = (
        "Medians. The floor is a job of Spark that reads the rows and hands them on, and a durable file of them; Spark "
        "again is Spark computing all nested rows from cached input, to nowhere, and how many times ours that is.",
    )
    return Section("Batches", head, rows, notes, right=5)


def _batch(s: Scale, b: Engine) -> Cells:
    again = s.theirs.cached
    against = "" if again is None else f"{ms(again.median)} ({short(again.median / b.batch.median)}x)"
    between = f"{ms(b.batch.least)} to {ms(b.batch.most)}"
    floor = ms(s.ours.floors[b.rows].median)
    how = (f"{s.items:,}", shown(b.rows), b.name, b.did, b.verdict)
    return (*how, ms(b.batch.median), between, str(b.jobs), floor, against)


def _whole(scales: Sequence[Scale]) -> Section:
    head = (
        "scale", "rows", "load s", "Spark sorts s", "create s", "Spark computes s", "write nested s", "Spark nests s",
        "state MB",
    )  # fmt: skip
    rows = tuple(
        (
            f"{s.scale:g}", f"{s.ours.rows:,}", short(s.ours.load), short(s.theirs.sorted), short(s.ours.create),
            short(s.theirs.computed), short(s.ours.write), short(s.theirs.nested), short(s.ours.state_bytes / 1e6),
        )
        for s in scales
    )  # fmt: skip
    notes = (
        "Spark writes the relations sorted by key, computes the nested rows from Parquet and writes them, and nests "
        "them from the view's flat part and dictionaries as Parquet.",
    )
    return Section("Load, create, write", head, rows, notes)


def _memory(scales: Sequence[Scale]) -> Section:
    rows = tuple((f"{s.scale:g}", *(_megabytes(s.ours, p) for p in PHASES)) for s in scales)
    notes = (
        "MB that the driver's Python process held at most, and in brackets what of it was left afterwards without "
        "pages of files, which the system takes back when it needs them; its tasks and the JVM are processes of their "
        "own. Batches are those of 1k rows on Spark.",
    )
    return Section("Memory of the driver", ("scale", *PHASES), rows, notes)


def _megabytes(ours: Ours, phase: str) -> str:
    own = ours.own[phase]
    return short(ours.peaks[phase] / 1e6) + ("" if own is None else f" ({short(own / 1e6)})")


def _setting(run: OnSpark) -> Section:
    rows = (
        ("command", run.command), ("date", run.date), ("seed", str(run.seed)), ("machine", run.machine),
        ("memory of the JVM", run.memory), *run.versions.items(),
    )  # fmt: skip
    return Section("The run", ("what", ""), rows, right=2)
