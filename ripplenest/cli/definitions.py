"""What is kept: views that wait to be rebuilt, and views and relations that go."""

from typing import Annotated

import typer

from ripplenest.cli.codes import changing
from ripplenest.cli.output import Json, print_json, print_table, printable
from ripplenest.cli.states import Catalogue, EngineOption, Memory, Name, State, handle, open_state
from ripplenest.cli.versions import Yes, ask

View = Annotated[str | None, typer.Argument(metavar="VIEW", help="One of them; all without.")]


def rebuild(
    state: State,
    view: View = None,
    engine: EngineOption = "auto",
    memory: Memory = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Keep views fresh again that wait for it, each in one commit.

    A view waits when another release of the compiler made its maps: it is readable as it was then, and batches leave it
    alone. Small ones are rebuilt when a program opens the state.
    """
    with open_state(state, catalogue, engine, memory=memory) as db:
        why = db.waiting
        with changing("views that were rebuilt until then stay so; the others are as they were"):
            done = db.rebuild(view)
        version = db.version
    if as_json:
        print_json({"version": version, "rebuilt": list(done)})
    elif done:
        print_table([(printable(name), printable(why[name])) for name in done], ("rebuilt", "why it waited"))
    else:
        print("no view waits")


def drop(
    state: State,
    name: Name,
    yes: Yes = False,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Keep a view no longer, or a relation with all its rows.

    Older versions have it as long as they are kept. What is read by a view, or published, is not dropped.
    """
    with open_state(state, catalogue) as db:
        kind, _ = handle(db, name)
        if not yes:
            ask(f"Drop the {kind} {printable(name)}?")
        with changing("nothing was changed"):
            version = db.drop(name)
    if as_json:
        print_json({"version": version, "dropped": name})
    else:
        how = f"show --as-of {version - 1}" if kind == "view" else "for programs that declare it again as it was"
        print(f"version {version}: {printable(name)} is dropped; version {version - 1} has it, {how}")
