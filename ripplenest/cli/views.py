"""Views in files, before there is a state: ``demo``, ``check`` and ``explain``, which takes a state as well."""

import io
from collections.abc import Collection
from html import escape
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

import ripplenest as rn
from ripplenest.cli.files import split, views, views_and_wrong
from ripplenest.cli.output import Json, message, print_json, printable
from ripplenest.cli.program import FILE, Wrong
from ripplenest.cli.states import Catalogue, open_state

File = Annotated[str, typer.Argument(metavar=FILE, help="A .nrc file, or a Python file, which is run.")]
Counts = list[str] | None
Checked = dict[str, str | None]
Maps = Literal["none", "first", "full", "cost"]


def demo(
    as_json: Json = False,
    explain_all: Annotated[bool, typer.Option("--explain", help="Print the whole explanation of each view.")] = False,
    state: Annotated[Path | None, typer.Option(help="Keep the state in this folder, which must be new.")] = None,
) -> None:
    """Keep two nested views over films fresh, here and on Spark, and compare each batch with recomputations."""
    if state is not None and state.exists():
        raise typer.BadParameter(f"{state} exists already", param_hint="--state")
    out = Console(file=io.StringIO()) if as_json else Console()
    from ripplenest.demo import main as film_demo  # noqa: PLC0415 - it declares views, which other commands need not

    result = film_demo.run(out, Console(stderr=True), explain_all, state)
    if as_json:
        print_json(result.to_dict())
    raise typer.Exit(0 if result.equal else 1)


def check(file: File, as_json: Json = False) -> None:
    """Compile the views of a file, and print the type of each or what is wrong with it."""
    every = views_and_wrong(*split(file))
    wrong = {view.name for view in every if isinstance(view, Wrong)}
    found = _told_once([_checked(view, wrong) for view in every])
    if as_json:
        print_json({"views": found})
    else:
        for view in found:
            name, *said = view.values()
            print(": ".join(part for part in (name and printable(name), *said) if part is not None))
    raise typer.Exit(1 if any("error" in view for view in found) else 0)


def _told_once(found: list[Checked]) -> list[Checked]:
    """Without what is wrong with the rest of a file when that is what is wrong with a view."""
    of_views = {view.get("error") for view in found if view["view"] is not None}
    return [view for view in found if view["view"] is not None or view["error"] not in of_views]


def _checked(view: "rn.View | rn.TextView | Wrong", wrong: Collection[str | None]) -> Checked:
    """By view, its type or error."""
    if isinstance(view, Wrong):
        return {"view": view.name, "error": _said(view.error, wrong)}
    try:
        return {"view": view.name, "type": rn.explain(view).json()["type"]}
    except rn.RipplenestError as error:
        return {"view": view.name, "error": _said(error, wrong)}


def _said(error: rn.RipplenestError, wrong: Collection[str | None]) -> str:
    """An error; of what needs a view that is ``wrong``, and so is not there, that alone."""
    of_names = ("there is no such name", f"there is no {error.got!r} here")
    if isinstance(error, rn.errors.UnknownName) and error.what in of_names and error.got in wrong:
        error.what, error.got, error.possible = f"it needs {error.got}, which is wrong", None, None
    return message(error)


def explain(
    file: Annotated[str, typer.Argument(metavar=FILE, help="As for check, or a state directory.")],
    as_json: Json = False,
    in_short: Annotated[bool, typer.Option("--summary", help="Print what views read and cost, and no stages.")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw the trigger program, for Mermaid.")] = False,
    as_graphviz: Annotated[bool, typer.Option("--graphviz", help="Draw it for Graphviz.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print a page of HTML.")] = False,
    with_spark: Annotated[bool, typer.Option("--spark", help="Add the plan that Spark would run.")] = False,
    sizes: Annotated[Counts, typer.Option(metavar="PART=ROWS", help="Rows of a relation or stored part.")] = None,
    delta: Annotated[Counts, typer.Option(metavar="PART=ROWS", help="Rows of it that a batch changes.")] = None,
    materialize: Annotated[Maps | None, typer.Option(help="Which maps are kept beside a view.")] = None,
    catalogue: Catalogue = None,
) -> None:
    """Print what the compiler makes of views.

    Queries, deltas, costs and verdicts, maps, trigger program.
    """
    if as_json + in_short + as_mermaid + as_graphviz + as_html + (with_spark and not as_json) > 1:
        raise typer.BadParameter("one form at a time", param_hint="--json, --summary, --mermaid, --graphviz, --html")
    path, name = split(file)
    rows, changed = _counts(sizes, "--sizes"), _counts(delta, "--delta")
    if path.is_dir():
        found = _kept(path, name, catalogue, rows or materialize, changed)
    elif catalogue:
        raise typer.BadParameter(f"{path} is no state directory", param_hint="--catalogue")
    else:
        found = [rn.explain(view, rows, changed, materialize or "cost") for view in views(path, name)]
    if as_json:
        print_json({"views": [e.json() | ({"spark_plan": e.spark_plan()} if with_spark else {}) for e in found]})
    elif in_short:
        print("\n".join(e.summary for e in found), end="")
    elif as_html:
        print(_page(found))
    elif as_mermaid or as_graphviz:
        print("\n".join(e.mermaid() if as_mermaid else e.graphviz() for e in found), end="")
    else:
        _print_all(found, with_spark)


def _print_all(found: "list[rn.Explanation]", with_spark: bool) -> None:
    for e in found:
        e.print()
        if with_spark:
            print(f"\nSpark's plans, for a batch that changes every part\n{e.spark_plan()}")


def _kept(
    state: Path, name: str, catalogue: str | None, given: object, changed: dict[str, int]
) -> "list[rn.Explanation]":
    """Of the views that a state keeps, which has sizes and maps of its own."""
    if given:
        what = "a state has sizes and maps of its own: leave them out; --delta may be given"
        raise typer.BadParameter(what, param_hint="--sizes, --materialize")
    with open_state(state, catalogue) as db:
        return [db.view(view).explain(changed) for view in ([name] if name else db.views)]


def _page(found: "list[rn.Explanation]") -> str:
    """A whole page of HTML around the elements that explanations are in a notebook."""
    title = escape(printable(", ".join(e.json()["view"] for e in found)))
    head = f'<head><meta charset="utf-8"><title>{title}</title></head>'
    body = "\n".join(e._repr_html_() for e in found)
    return f'<!doctype html>\n<html lang="en">\n{head}\n<body>\n{body}\n</body>\n</html>'


def _counts(given: list[str] | None, option: str) -> dict[str, int]:
    """``PART=ROWS`` as part and rows; typer.BadParameter for anything else."""
    found = {}
    for text in given or ():
        name, _, rows = text.rpartition("=")
        try:
            found[name] = int(rows)
        except ValueError:
            raise typer.BadParameter(f"{text} is not PART=ROWS", param_hint=option) from None
    return found
