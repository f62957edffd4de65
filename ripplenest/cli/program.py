"""Python files with views: run as Python runs a script, and for ``check`` read on after a view that is wrong."""

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import SOURCE_SUFFIXES, SourceFileLoader  # noqa: TID251 - it runs the user's own file, as python FILE does
from operator import itemgetter
from pathlib import Path
from types import CodeType, ModuleType

import typer
from attrs import frozen

import ripplenest as rn
from ripplenest.cli.output import ended, escaped

FILE = "FILE[:VIEW]"
MAIN = 'if __name__ == "__main__":'
GUARD = "__ripplenest_guard__"  # what the definition of a view is put under so that the file is read on


@frozen
class Wrong:
    """A view that cannot be read; without a name, what is wrong with the rest of its file."""

    name: str | None
    error: rn.RipplenestError


class Failed(Exception):
    """A file that raised what is no error of ours, or that Python cannot read; the message is for people."""


def run(path: Path) -> "list[rn.View]":
    """The views of a file. Raises the error of the first that is wrong; ends with exit code 2 when the file fails."""
    module = _module(path, guarded=False)
    try:
        _execute(path, module)
    except Failed as error:
        raise ended(str(error)) from error
    return [view for view in vars(module).values() if isinstance(view, rn.View)]


def run_on(path: Path) -> "list[rn.View | Wrong]":
    """The views of a file in its order, with those that are wrong.

    A wrong view is not there for what follows. When that fails for it, the reading ends.
    """
    module = _module(path, guarded=True)
    wrong: list[tuple[int, rn.View | Wrong]] = []

    @contextmanager
    def guard(name: str) -> Iterator[None]:
        try:
            yield
        except rn.RipplenestError as error:
            wrong.append((len(vars(module)), Wrong(name, error)))

    setattr(module, GUARD, guard)
    try:
        _execute(path, module)
    except rn.RipplenestError as error:
        wrong.append((len(vars(module)), Wrong(_view_of(path, error), error)))
    except Failed as error:
        if not wrong:
            raise ended(str(error)) from error
    found = wrong + [(i, view) for i, view in enumerate(vars(module).values()) if isinstance(view, rn.View)]
    return [view for _, view in sorted(found, key=itemgetter(0))]


class _Loader(SourceFileLoader):
    """Reads no compiled file and leaves none. ``guarded``: an error of ours does not end the reading when it comes from
    a decorator at the top of the file."""

    def __init__(self, name: str, path: str, guarded: bool) -> None:
        super().__init__(name, path)
        self._guarded = guarded

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - it has one module
        data = self.get_data(self.path)
        return self.source_to_code(_guarded(ast.parse(data, self.path)) if self._guarded else data, self.path)


def _guarded(tree: ast.Module) -> ast.Module:
    """Each decorated function under ``with GUARD(name):``, in its own place, so that lines stay what they are."""
    for i, statement in enumerate(tree.body):
        if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
            guard = ast.Call(ast.Name(GUARD, ast.Load()), [ast.Constant(statement.name)], [])
            tree.body[i] = ast.copy_location(ast.With([ast.withitem(guard)], [statement]), statement)
    return ast.fix_missing_locations(tree)


def _module(path: Path, guarded: bool) -> ModuleType:
    """A module that has not run yet."""
    if path.suffix not in SOURCE_SUFFIXES:
        raise typer.BadParameter(f"{path} is neither a .nrc nor a Python file", param_hint=FILE)
    name, file = f"_ripplenest_views_{path.stem}", str(path.resolve())
    loader = _Loader(name, file, guarded)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)  # noqa: TID251 - the file of the command
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    return module


def _execute(path: Path, module: ModuleType) -> None:
    """Run a file with its folder first among those that imports come from; what it prints is not what a command prints,
    and goes to stderr. Raises errors of ours, and Failed."""
    sys.path.insert(0, str(path.resolve().parent))
    assert isinstance(module.__loader__, _Loader)
    try:
        with redirect_stdout(sys.stderr):
            module.__loader__.exec_module(module)
    except rn.RipplenestError:
        raise
    except (Exception, SystemExit) as error:  # a program of somebody else's may raise anything, and may end
        raise Failed(escaped(_mistake(path, error))) from error


def _view_of(path: Path, error: rn.RipplenestError) -> str | None:
    """The function whose decorator raised ``error``, if one did."""
    lines = [frame.lineno for frame in _frames(path, error)][-1:]
    functions = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.FunctionDef))
    return next((f.name for f in functions if any(d.lineno in lines for d in f.decorator_list)), None)


def _mistake(path: Path, error: BaseException) -> str:
    """Where a Python file is wrong, how, and its line: the last that ran, or the one that cannot be read."""
    match _frames(path, error), error:
        case [*_, frame], _:
            what = f"{path}:{frame.lineno}: the file raised {type(error).__name__}: {error}".rstrip(": ")
            ends = f"; what runs and ends stands under {MAIN}" if isinstance(error, SystemExit) else ""
            return f"{what}{ends}\n    {frame.line}"
        case _, SyntaxError(lineno=int() as line):
            _, *shown, _ = "".join(traceback.format_exception_only(error)).splitlines()
            what = f"{path}:{line}:{error.offset or 1}: Python cannot read this file: {error.msg}"
            return "\n".join((what, *shown))
    return f"{path}: Python cannot read this file: {error}"


def _frames(path: Path, error: BaseException) -> list[traceback.FrameSummary]:
    """Those of the file itself, outermost first; none when it did not run."""
    return [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path.resolve())]
