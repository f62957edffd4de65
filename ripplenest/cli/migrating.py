"""States of older formats."""

from pathlib import Path
from typing import Annotated

import typer

import ripplenest as rn
from ripplenest.cli.output import Json, print_json, print_table, printable
from ripplenest.cli.states import Catalogue, url_of

Old = Annotated[Path, typer.Argument(metavar="OLD", help="A state of an older format.", exists=True, file_okay=False)]
New = Annotated[Path, typer.Argument(metavar="NEW", help="The folder of the new state, which is made.")]


def migrate(old: Old, new: New, as_json: Json = False, catalogue: Catalogue = None) -> None:
    """Make a state of this format out of one of an older, which stays as it is.

    Relations are copied with the rows of the newest version, views are built again, and batches stay known as applied.
    Older versions are not copied.
    """
    done = rn.migrate(old, new, url_of(old, catalogue))
    if as_json:
        found = {"version": done.version, "relations": done.relations, "views": list(done.views)}
        print_json({**found, "left_out": done.left_out, "batches": done.batches, "publications": done.publications})
        return
    print_table([(printable(name), f"{rows:,}") for name, rows in done.relations.items()], ("relation", "rows"))
    print(f"views: {', '.join(map(printable, done.views)) or 'none'}")
    for name, why in done.left_out.items():
        print(f"left out: view {printable(name)}: {printable(why)}")
    for path, view in done.publications.items():
        print(f"published no longer: view {printable(view)} at {printable(path)}; ripplenest adopt goes on")
    print(f"batches known as applied: {done.batches:,}")
