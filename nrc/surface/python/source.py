"""The source of a view or helper function: its syntax tree, with true lines and columns, and the names around it."""

import ast
import builtins
import difflib
import inspect
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from types import CellType, CodeType, FunctionType
from typing import Self

from attrs import field, frozen

from ripplenest.nrc.errors import RipplenestError, Unsupported
from ripplenest.nrc.limits import check_source
from ripplenest.nrc.surface.readings import Bind, Known
from ripplenest.nrc.surface.records import NotDefinedYet, resolve
from ripplenest.nrc.surface.surroundings import Namespace, Surroundings
from ripplenest.nrc.types import Bag

Located = ast.expr | ast.stmt | ast.arg | ast.keyword


@frozen
class Source:
    """One function: ``tree`` counts lines from ``first``; ``lines[0]`` is that line."""

    function: Hashable = field(repr=False)
    code: CodeType = field(repr=False)
    globals: Namespace = field(repr=False)
    cells: tuple[CellType, ...] = field(repr=False)
    tree: ast.FunctionDef = field(repr=False)
    lines: tuple[str, ...] = field(repr=False)
    first: int
    around: Surroundings | None = field(repr=False)

    @property
    def file(self) -> str:
        return self.code.co_filename

    def where(self, node: Located) -> str:
        """``file:line:column``, both counted from 1, columns in characters."""
        return f"{self.file}:{self.first + node.lineno - 1}:{self._column(node.lineno, node.col_offset) + 1}"

    def caret(self, node: Located) -> tuple[str, str]:
        """The line of ``node``, and the part that is meant underlined; of several lines, the first."""
        line = self.lines[node.lineno - 1].rstrip("\r\n")
        start = self._column(node.lineno, node.col_offset)
        same_line = node.end_lineno == node.lineno and node.end_col_offset is not None
        end = self._column(node.lineno, node.end_col_offset or 0) if same_line else len(line.rstrip())
        indent = "".join(c if c == "\t" else " " for c in line[:start])
        cut = len(line) - len(line.lstrip())
        return f"    {line[cut:]}", f"    {indent[cut:]}{'^' * max(1, end - start)}"

    def decorate(self, error: RipplenestError, node: Located) -> None:
        """Says where ``error`` was found, unless a place further inside has said so already."""
        if not error.where:
            error.where = self.where(node)
            error.excerpt += self.caret(node)

    def resolve(self, name: str) -> object:
        """What a global, closure or built-in name stands for. Raises NotDefinedYet."""
        for scope in (self._closure(), self.globals, vars(builtins)):
            if name in scope:
                return scope[name]
        similar = difflib.get_close_matches(name, {**self.globals, **self._closure()}, 5)
        raise NotDefinedYet("there is no such name", got=name, possible=similar)

    def annotation(self, annotation: object, where: str) -> object:
        """An annotation with its strings looked up. Raises NotDefinedYet."""
        local = self.around.names() if self.around else {}
        return resolve(annotation, {**self.globals, **local, **self._closure()}, where)

    def _closure(self) -> Mapping[str, object]:
        cells = zip(self.code.co_freevars, self.cells, strict=True)
        return {name: cell.cell_contents for name, cell in cells if _filled(cell)}

    def _column(self, line: int, offset: int) -> int:
        """``offset`` in UTF-8 bytes, as the parser counts, in characters."""
        return len(self.lines[line - 1].encode("utf-8")[:offset].decode("utf-8", "ignore"))


class Definition(Known):
    """A view as its callers see it: a source, and parameters that are bags. What it returns is a bag, not the view."""

    @property
    @abstractmethod
    def source(self) -> Source: ...

    @abstractmethod
    def parameters(self) -> Mapping[str, Bag]:
        """The type of each parameter. Raises TypeMismatch, Unsupported or NotDefinedYet."""

    @property
    def called(self) -> str:
        return f"the view {self.source.tree.name}"

    @property
    def makes(self) -> tuple[str, ...]:
        tree = self.source.tree
        given = ", ".join(arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args))
        return (f"`{tree.name}({given})`, its rows",)

    def enclosed(self, binds: tuple[Bind, ...]) -> Self:  # noqa: ARG002
        """It reads its own parameters alone."""
        return self


def _filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # the name is assigned further down
        return False
    return True


def read_source(function: object, around: Surroundings | None) -> Source:
    """The source of ``function``. ``around``: where its annotations find local names.

    Raises Unsupported for what is not a ``def`` with a source (typed at a prompt, built by exec, edited since).
    """
    if not isinstance(function, FunctionType):
        raise Unsupported("not a function", got=type(function).__name__, possible=["a function written with def"])
    what = f"the source of {function.__qualname__} cannot be read"
    try:
        lines, first = inspect.getsourcelines(function.__code__)
    except (OSError, TypeError) as error:
        possible = ["a function in a file or a notebook cell"]
        raise Unsupported(what, where=function.__code__.co_filename, got=str(error), possible=possible) from error
    check_source("".join(lines))
    tree, cells = _tree(function, lines, what), function.__closure__ or ()
    return Source(function, function.__code__, function.__globals__, cells, tree, tuple(lines), first or 1, around)


def _tree(function: FunctionType, lines: list[str], what: str) -> ast.FunctionDef:
    """The definition alone. An indented one is parsed under an ``if`` of its own, so that columns stay true."""
    indented = lines[0][:1].isspace()
    try:
        tree = ast.parse(("if True:\n" if indented else "") + "".join(lines))
    except SyntaxError as error:
        raise Unsupported(what, where=function.__code__.co_filename, got=f"a syntax error: {error.msg}") from error
    body = tree.body
    if indented:
        ast.increment_lineno(tree, -1)
        assert isinstance(tree.body[0], ast.If)
        body = tree.body[0].body
    found = body[0] if body else None
    if isinstance(found, ast.FunctionDef) and _matches(found, function):
        return found
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    got = "a lambda" if function.__name__ == "<lambda>" else f"other text at its place ({type(found).__name__})"
    raise Unsupported(what, where=where, got=got, possible=["a function written with def, `def f(x): return ...`"])


def _matches(tree: ast.FunctionDef, function: FunctionType) -> bool:
    """False when the file was edited after it was imported."""
    code = function.__code__
    args = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    return tree.name == code.co_name and args == list(code.co_varnames[: len(args)])
