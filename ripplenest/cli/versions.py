"""The versions of a state: what made them, going back to one, and what they take up on disk."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.prompt import Confirm

from ripplenest.cli.codes import changing
from ripplenest.cli.output import Json, counted, print_json, print_table, printable, size
from ripplenest.cli.states import Catalogue, EngineOption, Memory, State, moment, open_state, version_at

if TYPE_CHECKING:
    from ripplenest.store.specs import Entry, Usage

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
To = Annotated[Any, typer.Argument(metavar="TO", parser=moment, help="A version, or a batch SOURCE:SEQ.")]


def history(
    state: State,
    limit: Annotated[int, typer.Option(min=1, help="How many versions.")] = 20,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Print the versions that are kept, newest first.

    With the time when each was made, what made it, and how many rows of relations and of stored tables it changed.
    """
    with open_state(state, catalogue) as db:
        entries = db.history(limit)
    if as_json:
        print_json({"versions": [_plain(entry) for entry in entries]})
        return
    sheet = entries.sheet()
    print_table([map(printable, row) for row in sheet.rows], sheet.head, sheet.right)


def _plain(e: "Entry") -> dict[str, object]:
    time = e.time.isoformat(timespec="microseconds")
    return {"version": e.version, "time": time, "what": e.what, "source": e.source, "seq": e.seq, "note": e.note}


def rollback(
    state: State,
    to: To,
    yes: Yes = False,
    engine: EngineOption = "auto",
    memory: Memory = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Go back to a version, or to what a batch made, as a new version.

    Nothing is forgotten, and this can be undone in the same way. Batches that are undone stay applied: their sources go
    on with the next seq.
    """
    with open_state(state, catalogue, engine, memory=memory) as db:
        before, version = db.version, version_at(db, to)
        if not yes:
            ask(f"Make version {before + 1}, with the rows of version {version}, out of version {before}?")
        with changing(f"nothing was changed: the state is at version {before}, or a later one of somebody else"):
            made = db.rollback(version)
    if as_json:
        print_json({"version": made, "to": version})
    else:
        print(f"version {made}: rows are those of version {version}")


def ask(question: str) -> None:
    """Go on or end with exit code 1. Raises typer.BadParameter where nobody can answer."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("needed where nobody can be asked", param_hint="--yes")
    if not Confirm.ask(question, console=Console(stderr=True), default=False):  # typer's own writes to stdout, too
        raise typer.Abort


def compact(
    state: State,
    everything: Annotated[bool, typer.Option("--all", help="Make one segment of each table.")] = False,
    memory: Memory = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Merge stored segments where there are many.

    Batches do most of it themselves. Readers go on meanwhile, writers take turns with it.
    """
    with open_state(state, catalogue, publishes=True, memory=memory) as db:
        before = db.usage
        with changing("rows are as they were; what was merged until then stays merged, and the rest can be done later"):
            rows = db.compact(everything)
            after = db.usage
            db.catch_up()
    if as_json:
        print_json({"rows": rows, "version": after.newest, "before": usage_json(before), "after": usage_json(after)})
        return
    print(f"{counted(rows, 'row')} rewritten, {before.segments:,} live segments before and {after.segments:,} after")
    if rows:
        sizes = f"{size(before.bytes)} before and {size(after.bytes)} after"
        print(f"{sizes}: the old ones stay as long as versions that need them are kept")


def vacuum(
    state: State,
    keep: Annotated[int | None, typer.Option(min=0, help="Versions to keep besides the newest.")] = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Forget old versions, and remove the files that only they needed.

    The newest stays, and as many before it as --keep says, or the state. Which batches were applied stays known.
    """
    left = "rows are as they were; versions may be forgotten, and the rest can be done again"
    with open_state(state, catalogue, publishes=True) as db, changing(left):
        swept = db.vacuum(keep)
        after = db.usage
        db.catch_up()
    if as_json:
        found = {"versions": swept.versions, "files": swept.files, "bytes": swept.bytes}
        print_json({**found, "after": usage_json(after)})
        return
    print(f"{counted(swept.versions, 'version')} forgotten: {kept(after)}")
    left = f"{counted(after.files, 'file')} left, {size(after.bytes)}"
    print(f"{counted(swept.files, 'file')} removed, {size(swept.bytes)}: {left}")


def kept(usage: "Usage") -> str:
    """Which versions can be read."""
    only = usage.oldest == usage.newest
    return f"{usage.newest} is kept" if only else f"{usage.oldest} to {usage.newest} are kept"


def usage_json(usage: "Usage") -> dict[str, object]:
    """As plain data."""
    names = ("oldest", "newest", "retain", "files", "bytes", "segments")
    return {**{name: getattr(usage, name) for name in names}, "orphans": list(usage.orphans)}
