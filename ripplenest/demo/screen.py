"""What the demo shows: the views and what the compiler makes of them, progress, and the table of batches."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from attrs import frozen
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment, Segments
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import ripplenest as rn
from ripplenest.demo.runner import ENGINES, Built, Outcome

SHOWN = ("2. ", "3. ")  # the sections of an explanation that are short: shredded queries and deltas


@frozen
class Progress:
    """Says what is going on: in a terminal while it lasts, otherwise a line on stderr; ``line`` always a line."""

    console: Console
    log: Console

    def __call__(self, what: str) -> AbstractContextManager[object]:
        """A context that lasts as long as the work."""
        if self.console.is_terminal:
            return self.console.status(f"{what} ...")
        self.line(what)
        return nullcontext()

    def line(self, what: str) -> None:
        """For work that writes to the terminal itself."""
        to = self.console if self.console.is_terminal else self.log
        to.print(f"{what} ...", highlight=False, markup=False, soft_wrap=True)


@contextmanager
def board(progress: Progress, outcomes: Sequence[Outcome], total: int) -> Iterator["Board"]:
    """The table of batches: growing in a terminal, printed at the end otherwise."""
    with Live(console=progress.console, refresh_per_second=8) as live:
        yield Board(live, progress, outcomes, total)


@frozen
class Board:
    """A table on the screen, with a line below it for the batch that runs."""

    live: Live
    progress: Progress
    outcomes: Sequence[Outcome]
    total: int

    def show(self, running: str | None) -> None:
        """Draw what there is; ``running`` is what happens now, None at the end."""
        table = batches(self.outcomes)
        line = f"batch {len(self.outcomes) + 1} of {self.total}, {running}"
        if running is None:
            self.live.update(table)
        elif self.progress.console.is_terminal:
            self.live.update(Group(table, Spinner("dots", Text(f"{line} ..."))))
        else:
            self.progress(line)


def introduction(films: int) -> RenderableType:
    """What is about to happen."""
    return Text.assemble(
        (f"Ripplenest: two nested views over {films:,} films, kept fresh here and on Spark\n", "bold"),
        "Each view is a Python comprehension. It is compiled to flat tables and a program of joins, which a batch of "
        "changes runs: in this process, and on Spark. After each batch, plain PySpark recomputes the view from all of "
        "the input, and this process does by its own joins: all must be equal.",
    )


def view(console: Console, it: rn.View, full: bool) -> Iterator[RenderableType]:
    """A view: what it is, its source, and what the compiler makes of it."""
    yield Text()
    yield Rule(Text(it.name, style="bold"), align="left")
    yield Text((it.__doc__ or "").strip())
    yield Padding(Syntax(source(it), "python", theme="ansi_dark", background_color="default", word_wrap=True), (0, 2))
    explanation = rn.explain(it)
    if full:
        yield explanation
        return
    yield Padding(_sections(console, explanation), (0, 2))
    yield Padding(_program(explanation), (0, 2))


def source(it: rn.View) -> str:
    """The view as it is written, without its docstring."""
    lines = textwrap.dedent("".join(it.source.lines)).splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith('"""'))


def _sections(console: Console, explanation: rn.Explanation) -> Segments:
    """The short sections of an explanation, as they are."""
    width = console.width - 4
    shown, lines = False, []
    for line in console.render_lines(explanation, console.options.update(width=width), pad=False):
        text = "".join(segment.text for segment in line)
        if text[:1].isdigit():
            shown = text.startswith(SHOWN)
        if shown:
            lines += [*_without_number(line), Segment.line()]
    return Segments(lines)


def _without_number(line: list[Segment]) -> list[Segment]:
    """A heading without its number: the sections around it are left out."""
    first, *rest = line or [Segment("")]
    return [Segment(re.sub(r"^\d+\. ", "", first.text), first.style), *rest]


def _program(explanation: rn.Explanation) -> RenderableType:
    """The maps and statements in short: which table changes when which part does, in the order of the program."""
    facts = explanation.json()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("step", "map", "changes with"):
        table.add_column(heading, overflow="fold")
    for name in dict.fromkeys(s["map"] for s in facts["statements"]):
        found = [s for s in facts["statements"] if s["map"] == name]
        parts = (s["part"].removeprefix(f"{facts['view']}/") for s in found)
        short = name.removeprefix(f"{facts['view']}/")
        table.add_row(str(found[0]["step"]), Text(short), Text(", ".join(parts)))
    heading = f"Trigger program: {len(facts['maps'])} maps (stored tables), {len(facts['statements'])} statements"
    note = "D[...] is a dictionary, Dom[...] the labels in use. All of it: ripplenest demo --explain"
    return Group(Text(heading, style="bold cyan"), Padding(Group(table, Text(note, style="dim")), (0, 2)))


def loaded(films: int, found: Sequence[Built]) -> RenderableType:
    """The views after the load."""
    title = Text(f"\n{films:,} films are loaded, and the views are built by ordinary queries:", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("view")
    for heading in ("rows", "rows in\nits bags", "built\nhere", "built on\nSpark", "recomputed\nby Spark", "equal"):
        table.add_column(heading, justify="right")
    for b in found:
        spark = b.times["spark"]
        table.add_row(
            b.view, f"{b.rows:,}", f"{b.inner_rows:,}", seconds(b.times["local"].kept_s), seconds(spark.kept_s),
            seconds(spark.recompute_s), verdict(b.equal),
        )  # fmt: skip
    return Group(title, table)


def batches(outcomes: Sequence[Outcome]) -> Table:
    """The batches so far."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=False)
    table.add_column("#", justify="right")
    table.add_column("batch", ratio=1, min_width=20, max_width=70)
    every = (f"{what}\n{where}" for where in ("here", "Spark") for what in ("kept", "again"))
    for heading in ("rows\nin", "rows\nout", *every, "equal"):
        table.add_column(heading, justify="right", no_wrap=True)
    for o in outcomes:
        table.add_row(
            str(o.seq), Text.assemble((o.kind, "bold"), ": ", o.what), f"{o.rows_in:,}", f"{o.rows_out:,}",
            *(seconds(s) for engine in ENGINES for s in (o.times[engine].kept_s, o.times[engine].recompute_s)),
            verdict(o.equal),
        )  # fmt: skip
    return table


def summary(outcomes: Sequence[Outcome]) -> RenderableType:
    """What the table means."""
    good = sum(o.equal for o in outcomes)
    headline = (
        (f"All {good} batches are equal to Spark's own recomputation, on both engines.", "bold green")
        if good == len(outcomes)
        else (f"{len(outcomes) - good} of {len(outcomes)} batches are NOT equal to the recomputation.", "bold red")
    )
    here, spark = (
        (seconds(sum(o.times[e].kept_s for o in outcomes)), seconds(sum(o.times[e].recompute_s for o in outcomes)))
        for e in ENGINES
    )
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("rows in", "changed rows of the input; of a deep update, only those in the inner bag")
    table.add_row("rows out", "changed rows of the tables that the views are stored in")
    committed = "from the first change until the batch is committed to disk"
    table.add_row("kept", f"{committed}: {here[0]} in all here, {spark[0]} on Spark")
    table.add_row("again here", f"the same, where the views that read what changed are recomputed: {here[1]} in all")
    table.add_row("again Spark", f"plain PySpark recomputes these views, from and to memory: {spark[1]} in all")
    rest = "All were warmed up. The views: examples/films.py. Their recomputation by Spark: examples/recompute.py."
    return Group(Text(*headline), table, Text(rest))


def seconds(s: float) -> str:
    return f"{s:.2f} s"


def verdict(equal: bool) -> Text:
    return Text("yes", style="green") if equal else Text("NO", style="bold red")
