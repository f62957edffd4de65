"""Lines of an explanation: styled text, broken where it may be broken."""

from collections.abc import Iterator
from typing import Literal

from ripplenest.nrc.printing.layout import layout, layout_dict
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.syntax import At, DictLit, Expr

Style = Literal["", "title", "heading", "dim", "warning", "access"]
Line = tuple[Style, str]


def equation(left: str, term: Expr | DictLit, width: int, indent: int = 2) -> Iterator[Line]:
    """``left = term``, the term below when it does not fit beside."""
    lines = laid_out(term, width - indent - 4)
    pad = " " * indent
    if len(lines) == 1 and len(pad + left + lines[0]) + 3 <= width:
        yield "", f"{pad}{left} = {lines[0]}"
        return
    yield "", f"{pad}{left} ="
    yield from below(lines, indent + 4)


def laid_out(term: Expr | DictLit, width: int) -> list[str]:
    """A term, or the definition of a dictionary, for ``width`` columns."""
    return layout_dict(term, width) if isinstance(term, DictLit) else layout(term, width)


def below(lines: list[str], indent: int) -> Iterator[Line]:
    """``lines``, indented."""
    yield from (("", " " * indent + line) for line in lines)


def note(text: str, width: int, indent: int = 2) -> Iterator[Line]:
    """What a reader needs to know to read on."""
    yield from wrapped("dim", " " * indent, text, width, " ", indent + 2)


def wrapped(
    style: Style, prefix: str, text: str, width: int, separator: str = ", ", indent: int = 12
) -> Iterator[Line]:
    """``prefix`` and ``text`` on as many lines as it takes, broken behind separators only."""
    line = prefix
    pad = " " * indent
    pieces = text.split(separator)
    for i, piece in enumerate(pieces):
        ended = piece + (separator if i < len(pieces) - 1 else "")
        if len((line + ended).rstrip()) > width and len(line) > indent:
            yield style, line.rstrip()
            line = pad
        line += ended
    yield style, line


def when(name: str) -> str:
    """The change of a part or map, as it is printed."""
    return At.DELTA.show(part(name))


def steps_of(tcost: str) -> str:
    """A number of steps, or an expression of sizes."""
    return f"{int(tcost):,} steps" if tcost.isdecimal() else f"{tcost} steps"
