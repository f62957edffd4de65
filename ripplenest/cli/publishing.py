"""Published tables: ``publish`` writes what is missing, ``adopt`` takes tables over from a copy of the state."""

import os
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ripplenest.cli.codes import changing
from ripplenest.cli.output import Json, counted, print_json, printable
from ripplenest.cli.states import Catalogue, State, open_state

if TYPE_CHECKING:
    from ripplenest.publish import Published

View = Annotated[str, typer.Argument(metavar="VIEW", help="The name of a view.")]
At = Annotated[str, typer.Argument(metavar="PATH", help="Where it is published.")]
Layout = Literal["nested", "shredded"]
NOTHING = "nothing was changed"


def publish(state: State, as_json: Json = False, catalogue: Catalogue = None) -> None:
    """Publish what is missing: every published table shows the newest version afterwards."""
    with open_state(state, catalogue) as db:
        with changing(NOTHING):
            done = db.catch_up()
        _print(done, as_json)


def adopt(
    state: State,
    view: View,
    path: At,
    layout: Annotated[Layout | None, typer.Option(help="As it is published, unless given.")] = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Make a published table this state's, when a copy of the state wrote it last.

    A table belongs to one state. Afterwards it is the copy that is refused.
    """
    with open_state(state, catalogue) as db:
        with changing(NOTHING):
            places = (path, os.path.abspath(path))
            known = (t.layout for t in db.publications if t.view == view and t.path in places)
            chosen: Layout = next(known, "nested") if layout is None else layout
            done = db.publish(view, path, chosen, adopt=True)
        _print((done,), as_json)


def _print(done: "tuple[Published, ...]", as_json: bool) -> None:
    if as_json:
        print_json({"published": [{"view": p.view, "version": p.version, "written": p.written} for p in done]})
        return
    for p in done:
        print(f"{printable(p.view)}: version {p.version} is published, {counted(p.written, 'row')} written")
    if not done:
        print("nothing is published from this state")
