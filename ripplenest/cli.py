"""The command line tool ``ripplenest``: ``demo``, ``explain``, ``check``, ``show``, ``changes``, ``verify``.

Exit codes: 0 for well; 1 when the demo or ``verify`` finds a difference, or ``check`` an error of a view; 2 for another
error of ours, of a Python file or of the command line, which is on stderr; 141 when the reader of stdout has gone. With
``--json``, stdout has one JSON object and nothing else.
"""

import ast
import importlib.metadata
import importlib.util
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from html import escape
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

import ripplenest as rn
from ripplenest.demo import main as film_demo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PIPE_CLOSED = 141  # what a shell says of a program that SIGPIPE ended


class Group(TyperGroup):
    """Errors of ours are messages, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of ours ends it with exit code 2, a closed pipe quietly."""
        try:
            return self._run(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
            raise typer.Exit(PIPE_CLOSED) from None

    def _run(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except rn.RipplenestError as error:
            raise _ended(_message(error)) from error
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # pydantic's word, of typers that use it
            raise
        finally:
            sys.stdout.flush()


class Screen(Console):
    """A terminal that leaves a closed pipe to the group; rich itself would end with exit code 1."""

    def on_broken_pipe(self) -> NoReturn:
        """Called by rich."""
        raise BrokenPipeError


app = typer.Typer(
    cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Nested views on Spark that are kept fresh in the size of the change.",
)  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FILE = "FILE[:VIEW]"
File = Annotated[str, typer.Argument(metavar=FILE, help="A .nrc file, or a Python file, which is run.")]
State = Annotated[Path, typer.Argument(help="A state directory.", exists=True, file_okay=False)]
Counts = list[str] | None
Maps = Literal["none", "first", "full", "cost"]
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
    out = Console(file=io.StringIO()) if as_json else Screen()
    result = film_demo.run(out, Console(stderr=True), explain_all, state)
    if as_json:
        _print_json(result.to_dict())
    raise typer.Exit(0 if result.equal else 1)


@app.command()
def explain(
    file: Annotated[str, typer.Argument(metavar=FILE, help="As for check, or a state directory.")],
    as_json: Json = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw the trigger program, for Mermaid.")] = False,
    as_graphviz: Annotated[bool, typer.Option("--graphviz", help="Draw it for Graphviz.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print a page of HTML.")] = False,
    with_spark: Annotated[bool, typer.Option("--spark", help="Add the plan that Spark would run.")] = False,
    sizes: Annotated[Counts, typer.Option(metavar="PART=ROWS", help="Rows of a relation or stored part.")] = None,
    delta: Annotated[Counts, typer.Option(metavar="PART=ROWS", help="Rows of it that a batch changes.")] = None,
    materialize: Annotated[Maps | None, typer.Option(help="Which maps are kept beside a view.")] = None,
) -> None:
    """Print what the compiler makes of views: queries, deltas, costs and verdicts, maps, trigger program."""
    if as_json + as_mermaid + as_graphviz + as_html + (with_spark and not as_json) > 1:
        raise typer.BadParameter("one form at a time", param_hint="--json, --mermaid, --graphviz, --html")
    found = _explanations(file, _counts(sizes, "--sizes"), _counts(delta, "--delta"), materialize)
    if as_json:
        _print_json({"views": [e.json() | ({"spark_plan": e.spark_plan()} if with_spark else {}) for e in found]})
    elif as_html:
        print(_page(found))
    elif as_mermaid or as_graphviz:
        print("\n".join(e.mermaid() if as_mermaid else e.graphviz() for e in found), end="")
    else:
        for e in found:
            e.print(Screen())
            if with_spark:
                print(f"\nSpark's plans, for a batch that changes every part\n{e.spark_plan()}")


def _explanations(
    target: str, sizes: dict[str, int], delta: dict[str, int], materialize: Maps | None
) -> list[rn.Explanation]:
    """Of the views of a file, or of those that a state keeps, which has sizes and maps of its own."""
    path, name = _split(target)
    if not path.is_dir():
        return [rn.explain(view, sizes, delta, materialize or "cost") for view in _views(path, name)]
    if sizes or materialize:
        what = "a state has sizes and maps of its own: leave them out; --delta may be given"
        raise typer.BadParameter(what, param_hint="--sizes, --materialize")
    with _open(path) as db:
        return [db.view(view).explain(delta) for view in ([name] if name else db.views)]


def _page(found: list[rn.Explanation]) -> str:
    """A whole page of HTML around the elements that explanations are in a notebook."""
    title = escape(", ".join(e.json()["view"] for e in found))
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


@app.command()
def check(file: File, as_json: Json = False) -> None:
    """Compile the views of a file, and print the type of each or what is wrong with it."""
    found = _all_checked(*_split(file))
    if as_json:
        _print_json({"views": found})
    else:
        for view in found:
            print(": ".join(part for part in view.values() if part is not None))
    raise typer.Exit(1 if any("error" in view for view in found) else 0)


Checked = dict[str, str | None]


def _all_checked(path: Path, name: str) -> list[Checked]:
    """By view, its type or error. An error met while the file is read is the only one: it ends the reading."""
    try:
        return [_checked(view) for view in _views(path, name)]
    except rn.RipplenestError as error:
        wrong = _text_view_at(path, error.where) if path.suffix == ".nrc" else _python_view_of(path, error)
        return [{"view": wrong, "error": _message(error)}]


def _checked(view: rn.View | rn.TextView) -> Checked:
    try:
        return {"view": view.name, "type": rn.explain(view).json()["type"]}
    except rn.RipplenestError as error:
        return {"view": view.name, "error": _message(error)}


def _text_view_at(path: Path, where: str) -> str | None:
    """The view whose declaration begins last before ``where`` (file:line:column); None if that is no view's."""
    place = re.search(r":(\d+):(\d+)$", where)
    if place is None:
        return None
    last = None
    for n, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").split("\n"), 1):
        head = re.match(r"\s*(view|relation|record)\s+(`[^`]*`|[^\s=:]+)", line)
        if head and (n, head.start(1) + 1) < (int(place[1]), int(place[2])):
            last = head
    return last[2].strip("`") if last and last[1] == "view" else None


def _python_view_of(path: Path, error: rn.RipplenestError) -> str | None:
    """The function whose decorator raised ``error``, if one did."""
    lines = [frame.lineno for frame in _frames(path, error)][-1:]
    functions = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.FunctionDef))
    return next((f.name for f in functions if any(d.lineno in lines for d in f.decorator_list)), None)


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
        print(f"{name}: {len(rows)} changed row{'s' * (len(rows) != 1)}")
        for row in rows:
            print(f"  {_json(row)}")


@app.command()
def verify(
    state: State,
    deep: Annotated[bool, typer.Option("--deep", help="Evaluate views on the nested relations, too; slow.")] = False,
    engine: Annotated[Literal["python", "spark"], typer.Option(help="What computes the maps again.")] = "python",
    as_json: Json = False,
) -> None:
    """Check that relations are consistent, and that each map is what its definition gives; say what differs."""
    with _open(state, engine) as db:
        found = db.verify(deep)
    if as_json:
        _print_json(found.to_dict())
    else:
        print(found)
    raise typer.Exit(0 if found.ok else 1)


# ---------------------------------------------------------------- views in a file


def _split(target: str) -> tuple[Path, str]:
    """``PATH`` or ``PATH:VIEW`` as the path and the name of the view, which is "" for all of them."""
    whole = ":" not in target or Path(target).exists()
    path, _, name = (target, "", "") if whole else target.rpartition(":")
    if not path:
        raise typer.BadParameter(f"{target!r} has no name of a file", param_hint=FILE)
    return Path(path), name


def _views(path: Path, name: str) -> list[rn.View | rn.TextView]:
    """The views of a file, or the one called ``name``; typer.BadParameter when there is none."""
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder, and not a .nrc or Python file", param_hint=FILE)
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint=FILE)
    views: dict[str, rn.View | rn.TextView] = {view.name: view for view in _found(path)}
    if not views:
        raise typer.BadParameter(f"{path} has no views", param_hint=FILE)
    if name and name not in views:
        raise typer.BadParameter(f"{path} has no view {name}; it has {', '.join(views)}", param_hint=FILE)
    return [views[name]] if name else list(views.values())


def _found(path: Path) -> Iterable[rn.View | rn.TextView]:
    """All views of a file: what its name ends in says which language it is in."""
    if path.suffix == ".nrc":
        return rn.read(path).views
    return [view for view in vars(_module(path)).values() if isinstance(view, rn.View)]


def _module(path: Path) -> ModuleType:
    """The file as a module, run as Python runs a script: with its folder first among those that imports come from."""
    spec = importlib.util.spec_from_file_location(f"_ripplenest_views_{path.stem}", path.resolve())
    if spec is None or spec.loader is None:
        raise typer.BadParameter(f"{path} is neither a .nrc nor a Python file", param_hint=FILE)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return _loaded(spec)
    except rn.RipplenestError:
        raise
    except Exception as error:  # a program of somebody else's may raise anything
        raise _ended(_mistake(path, error)) from error


def _loaded(spec: ModuleSpec) -> ModuleType:
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _mistake(path: Path, error: Exception) -> str:
    """Where a Python file is wrong, how, and its line: the last that ran, or the one that cannot be read."""
    match _frames(path, error), error:
        case [*_, frame], _:
            what = f"{path}:{frame.lineno}: the file raised {type(error).__name__}: {error}".rstrip(": ")
            return f"{what}\n    {frame.line}"
        case _, SyntaxError(lineno=int() as line):
            _, *shown, _ = "".join(traceback.format_exception_only(error)).splitlines()
            what = f"{path}:{line}:{error.offset or 1}: Python cannot read this file: {error.msg}"
            return "\n".join((what, *shown))
    return f"{path}: Python cannot read this file: {error}"


def _frames(path: Path, error: Exception) -> list[traceback.FrameSummary]:
    """Those of the file itself, outermost first; none when it did not run."""
    return [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path.resolve())]


# ---------------------------------------------------------------- state and output


def _open(state: Path, engine: Literal["python", "spark"] = "spark") -> rn.Database:
    """An existing state; looking at a folder must not make one of it."""
    if not any(state.iterdir()):
        raise typer.BadParameter(f"{state} is empty", param_hint="STATE")
    return rn.open(state, engine=engine)


def _rows(df: "DataFrame") -> list[Mapping[str, Any]]:
    return [row.asDict(recursive=True) for row in df.collect()]


def _ended(message: str) -> typer.Exit:
    """Exit code 2, with ``message`` on stderr as it is: typer would wrap its lines, and move carets."""
    print(message, file=sys.stderr)
    return typer.Exit(2)


def _message(error: rn.RipplenestError) -> str:
    return f"{type(error).__name__}: {error}"


def _print_json(value: object) -> None:
    print(_json(value))


def _json(value: object) -> str:
    """JSON; what it has no form for (dates, decimals, bytes) is a string."""
    return json.dumps(value, ensure_ascii=False, default=str)
