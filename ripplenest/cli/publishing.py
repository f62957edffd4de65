"""Published tables: ``publish`` writes what is missing, or a view from now on, ``unpublish`` no longer, and ``adopt``
takes tables over from a copy of the state."""

import os
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ripplenest.cli.codes import changing
from ripplenest.cli.output import Json, counted, print_json, printable
from ripplenest.cli.states import Catalogue, State, open_state

if TYPE_CHECKING:
    import ripplenest as rn
    from ripplenest.publish import Published

View = Annotated[str, typer.Argument(metavar="VIEW", help="The name of a view.")]
At = Annotated[str, typer.Argument(metavar="PATH", help="Where it is published.")]
AnyView = Annotated[str | None, typer.Argument(metavar="VIEW", help="A view to publish from now on.")]
AnyPlace = Annotated[str | None, typer.Argument(metavar="PATH", help="Where it is to be published.")]
Layout = Literal["nested", "shredded"]
AnyLayout = Annotated[Layout | None, typer.Option(help="As it is published; else nested.")]
Rebuild = Annotated[bool, typer.Option("--rebuild", help="Write the table whole, whatever it shows.")]
NOTHING = "nothing was changed"


def publish(
    state: State,
    view: AnyView = None,
    path: AnyPlace = None,
    layout: AnyLayout = None,
    rebuild: Rebuild = False,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Publish what is missing, or a view as a Delta table at a path, now and after every batch.

    Every published table shows the newest version afterwards.
    """
    if (view is None) != (path is None):
        raise typer.BadParameter("a view and a path, or neither", param_hint="VIEW PATH")
    if layout is not None and view is None:
        raise typer.BadParameter("of a view that is published at a path", param_hint="--layout")
    if rebuild and view is None:
        raise typer.BadParameter("of a view that is published at a path", param_hint="--rebuild")
    with open_state(state, catalogue) as db:
        with changing(NOTHING):
            if view is None or path is None:
                done = db.catch_up()
            else:
                first = db.publish(view, path, _layout(db, view, path, layout), rebuild=rebuild)
                done = (first, *(p for p in db.catch_up() if p.changed))  # it has nothing left to be caught up with
        _print(done, as_json)


def unpublish(
    state: State, view: View, path: At, as_json: Json = False, catalogue: Catalogue = None
) -> None:
    """Publish a view there no longer. The table stays as it is.

    What a copy of a state needs, when its batches are not for the tables of the first one.
    """
    with open_state(state, catalogue) as db, changing(NOTHING):
        db.unpublish(view, path)
        left = [{"view": p.view, "path": p.path, "layout": p.layout} for p in db.publications]
    if as_json:
        print_json({"unpublished": view, "publications": left})
    else:
        print(f"{printable(view)} is published there no longer; {counted(len(left), 'publication')} left")


def adopt(
    state: State,
    view: View,
    path: At,
    layout: AnyLayout = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Make a published table this state's, when a copy of the state wrote it last.

    A table belongs to one state. Afterwards it is the copy that is refused. Where there is no table, nothing is
    adopted: publish makes one.
    """
    with open_state(state, catalogue) as db:
        with changing(NOTHING):
            done = db.publish(view, path, _layout(db, view, path, layout), adopt=True)
        _print((done,), as_json)


def _layout(db: "rn.Database", view: str, path: str, asked: Layout | None) -> Layout:
    """The layout that is asked for, or that in which the view is published there already."""
    places = (path, os.path.abspath(path))
    known = (t.layout for t in db.publications if t.view == view and t.path in places)
    return next(known, "nested") if asked is None else asked


def _print(done: "tuple[Published, ...]", as_json: bool) -> None:
    if as_json:
        print_json({"published": [{"view": p.view, "version": p.version, "written": p.written} for p in done]})
        return
    for p in done:
        print(f"{printable(p.view)}: version {p.version} is published, {counted(p.written, 'row')} written")
    if not done:
        print("nothing is published from this state")
