"""Whether all is well: ``verify`` compares what is stored, ``doctor`` looks at the machine and the folder as well."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ripplenest.cli.findings import Finding
from ripplenest.cli.folder import of_folder
from ripplenest.cli.machine import of_machine
from ripplenest.cli.output import Json, counted, print_json, print_table
from ripplenest.cli.states import Catalogue, EngineOption, Memory, State, open_state

_STATE = "A state directory, which is looked at, too."


def verify(
    state: State,
    deep: Annotated[bool, typer.Option("--deep", help="Evaluate views on the nested relations, too; slow.")] = False,
    view: Annotated[list[str] | None, typer.Option(help="Evaluate this one alone; may be repeated.")] = None,
    engine: EngineOption = "auto",
    memory: Memory = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Check that all that is stored is what it should be, and say what differs.

    Stored bytes are those that were written, relations are consistent, and each map is what its definition gives.
    """
    with open_state(state, catalogue, engine, memory=memory) as db:
        files = db.check_files()
        found = db.verify(view or deep)
    if as_json:
        print_json({**found.to_dict(), "digests": files})
    else:
        print(f"{files:,} segments and indexes read, digests are right\n{found}")
    raise typer.Exit(0 if found.ok else 1)


def doctor(
    state: Annotated[Path | None, typer.Argument(help=_STATE, exists=True, file_okay=False, readable=False)] = None,
    spark: Annotated[bool, typer.Option("--spark", help="Start a Spark session, too; some seconds.")] = False,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Look for what could keep Ripplenest from working here, and say what to do about it.

    Java, Spark and packages; of a state its folder, its catalogue and every stored byte. Nothing is changed.
    """
    found = [*of_machine(spark), *(of_folder(state, catalogue) if state else ())]
    ok = all(finding.state != "wrong" for finding in found)
    if as_json:
        print_json({"ok": ok, "findings": [finding.to_dict() for finding in found]})
    else:
        print_table((f.state, f.what, f.text) for f in found)
        print(f"\n{_summary(found)}")
    raise typer.Exit(0 if ok else 1)


def _summary(found: Sequence[Finding]) -> str:
    wrong, warned = (sum(f.state == state for f in found) for state in ("wrong", "warning"))
    said = [*([f"{wrong} wrong"] if wrong else ()), *([counted(warned, "warning")] if warned else ())]
    return ", ".join(said) or "all is well"
