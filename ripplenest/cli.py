"""The command line tool ``ripplenest``: ``demo``, ``explain``, ``check``, ``show``, ``changes``.

Exit codes: 0 for well; 1 when the demo finds a difference, or ``check`` an error; 2 for an error of ours or of the
command line, which is on stderr. With ``--json``, stdout has one JSON object and nothing else.
"""

import importlib.metadata
import importlib.util
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

import ripplenest as rn
from ripplenest.demo import main as film_demo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Group(TyperGroup):
    """Errors of ours are messages, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of ours ends it with exit code 2."""
        try:
            return super().invoke(ctx)
        except rn.RipplenestError as error:
            print(_message(error), file=sys.stderr)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Nested views on Spark that are kept fresh in the size of the change.",
)  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
File = Annotated[str, typer.Argument(metavar="FILE[:VIEW]", help="A Python file with views. It is run.")]
State = Annotated[Path, typer.Argument(help="A state directory.", exists=True, file_okay=False)]
ViewName = Annotated[str, typer.Argument(metavar="VIEW", help="The name of a view.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(importlib.metadata.version("ripplenest"))
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """What comes before a command."""


@app.command()
def demo(
    as_json: Json = False,
    explain_all: Annotated[bool, typer.Option("--explain", help="Print the whole explanation of each view.")] = False,
    state: Annotated[Path | None, typer.Option(help="Keep the state in this folder, which must be new.")] = None,
) -> None:
    """Keep two nested views over films fresh, and compare each batch with recomputation by Spark."""
    if state is not None and state.exists():
        raise typer.BadParameter(f"{state} exists already", param_hint="--state")
    out = Console(file=io.StringIO()) if as_json else Console()
    result = film_demo.run(out, Console(stderr=True), explain_all, state)
    if as_json:
        _print_json(result.to_dict())
    raise typer.Exit(0 if result.equal else 1)


@app.command()
def explain(file: File, as_json: Json = False) -> None:
    """Print what the compiler makes of the views of a file: queries, deltas, maps, trigger program."""
    explanations = [rn.explain(view) for view in _views(file)]
    if as_json:
        _print_json({"views": [e.json() for e in explanations]})
        return
    for explanation in explanations:
        explanation.print()


@app.command()
def check(file: File, as_json: Json = False) -> None:
    """Compile the views of a file, and print the type of each or what is wrong with it."""
    found = [_checked(view) for view in _views(file)]
    if as_json:
        _print_json({"views": found})
    else:
        for view in found:
            print(f"{view['view']}: {view['type']}" if "type" in view else f"{view['view']}: {view['error']}")
    raise typer.Exit(1 if any("error" in view for view in found) else 0)


@app.command()
def show(state: State, view: ViewName, as_json: Json = False) -> None:
    """Print the rows of a view, nested, one JSON object per line."""
    with _open(state) as db:
        rows, version = db.view(view).rows(), db.version
    if as_json:
        _print_json({"view": view, "version": version, "rows": rows})
        return
    for row in rows:
        print(_json(row))


@app.command()
def changes(
    state: State,
    view: ViewName,
    since: Annotated[int, typer.Option(help="The version after which changes are wanted.", min=0)],
    as_json: Json = False,
) -> None:
    """Print what changed in a view: signed rows of its flat part, and of each dictionary under their labels."""
    with _open(state) as db:
        found = db.view(view).changes(since=since)
        tables = {"flat": _rows(found.flat)}
        dictionaries = {site: _rows(rows) for site, rows in found.dictionaries.items()}
    if as_json:
        _print_json({"view": view, "since": since, "version": found.version, **tables, "dictionaries": dictionaries})
        return
    for name, rows in {**tables, **dictionaries}.items():
        print(f"{name}: {len(rows)} changed rows")
        for row in rows:
            print(f"  {_json(row)}")


# ---------------------------------------------------------------- views in a file


def _views(target: str) -> list[rn.View]:
    """The views of ``FILE`` or the one of ``FILE:VIEW``; typer.BadParameter when there is none."""
    file, _, name = (target, "", "") if Path(target).exists() else target.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {target}", param_hint="FILE[:VIEW]")
    views = {view.name: view for view in vars(_module(path)).values() if isinstance(view, rn.View)}
    if name:
        views = {n: view for n, view in views.items() if n == name}
    if not views:
        raise typer.BadParameter(f"{path} has no view {name}".rstrip(), param_hint="FILE[:VIEW]")
    return list(views.values())


def _module(path: Path) -> ModuleType:
    """The file as a module, run as Python runs a script: with its folder first among those that imports come from."""
    name = f"_ripplenest_views_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise typer.BadParameter(f"{path} is not a Python file", param_hint="FILE[:VIEW]")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _checked(view: rn.View) -> dict[str, str]:
    try:
        return {"view": view.name, "type": rn.explain(view).json()["type"]}
    except rn.RipplenestError as error:
        return {"view": view.name, "error": _message(error)}


# ---------------------------------------------------------------- state and output


def _open(state: Path) -> rn.Database:
    """An existing state; looking at a folder must not make one of it."""
    if not any(state.iterdir()):
        raise typer.BadParameter(f"{state} is empty", param_hint="STATE")
    return rn.open(state)


def _rows(df: "DataFrame") -> list[Mapping[str, Any]]:
    return [row.asDict(recursive=True) for row in df.collect()]


def _message(error: rn.RipplenestError) -> str:
    return f"{type(error).__name__}: {error}"


def _print_json(value: object) -> None:
    print(_json(value))


def _json(value: object) -> str:
    """JSON; what it has no form for (dates, decimals, bytes) is a string."""
    return json.dumps(value, ensure_ascii=False, default=str)
