"""The demo from beginning to end."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import frozen
from rich.console import Console

from ripplenest.demo import screen
from ripplenest.demo.batches import KINDS
from ripplenest.demo.runner import WATCHED, Built, Databases, Outcome, Runner
from ripplenest.examples import films


@frozen
class Result:
    """The views after the load, and the batches."""

    built: tuple[Built, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def equal(self) -> bool:
        """Whether every comparison found the view and its recomputation equal."""
        return all(b.equal for b in self.built) and all(o.equal for o in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """{"views": names, "batches": [{"seq", "kind", ...}]}."""
        return {"views": [b.view for b in self.built], "batches": [o.to_dict() for o in self.outcomes]}


def run(out: Console, log: Console, explain: bool = False, state: Path | None = None) -> Result:
    """Run the demo; ``out`` shows it, ``log`` tells of progress where ``out`` is no terminal.

    The state of this process is in ``state`` and stays there, or in a folder that is removed, as that of Spark is.
    """
    progress = screen.Progress(out, log)
    rows = films.read_films()
    out.print(screen.introduction(len(rows)))
    for watched in WATCHED:
        for part in screen.view(out, watched.view, explain):
            out.print(part)
    with tempfile.TemporaryDirectory(prefix="ripplenest-demo-") as folder, ExitStack() as stack:
        scratch = Path(folder)
        dbs = Databases.open(scratch / "local" if state is None else state, scratch, stack)
        progress.line("\nStarting Spark")
        dbs.kept["spark"].spark.range(1).count()
        result = _all(Runner.of(dbs, rows), out, progress)
    out.print(screen.summary(result.outcomes))
    return result


def _all(runner: Runner, out: Console, progress: screen.Progress) -> Result:
    with progress("Loading the films"):
        runner.load()
    built = []
    for watched in WATCHED:
        with progress(f"Building {watched.view.name} and recomputing it"):
            built.append(runner.build(watched))
    out.print(screen.loaded(len(runner.loaded), built))
    with progress("Warming up"):
        runner.warm_up()
    outcomes: list[Outcome] = []
    with screen.board(progress, outcomes, len(KINDS)) as board:
        for seq, step in enumerate(runner.steps(), start=1):
            board.show(f"{step.kind}: {step.what}")
            outcomes.append(runner.run(seq, step))
        board.show(None)
    return Result(tuple(built), tuple(outcomes))
