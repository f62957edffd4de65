"""A table for people: one set of cells, as plain text, in a terminal and in a notebook.

Cells are any text of users. Each form escapes what it must: no name or value commands a terminal, begins a line of its
own or is HTML.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

from attrs import frozen
from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ripplenest.nrc.printing.printable import printable

GAP = "  "


@frozen
class Sheet:
    """Lines ``above``, named columns with rows of as many cells, lines ``below``; columns ``right`` are numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    right: tuple[int, ...] = ()

    def text(self) -> str:
        """Plain text, as wide as it is, without blanks at the ends of lines. Nothing depends on where it is printed."""
        cells = [_safe(row) for row in (self.head, *self.rows)]
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        table = [self._line(row, widths) for row in cells] if self.rows else []
        return "\n".join([*_safe(self.above), *table, *_safe(self.below)])

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        padded = []
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(cell))
            padded.append(blanks + cell if i in self.right else cell + blanks)
        return GAP.join(padded).rstrip()

    def rich(self) -> Group:
        """For a terminal: as wide as it has room, long cells are folded."""
        table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
        for i, name in enumerate(_safe(self.head)):
            table.add_column(Text(name), justify="right" if i in self.right else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, _safe(row)))
        tables = [table] if self.rows else []
        return Group(*map(Text, _safe(self.above)), *tables, *map(Text, _safe(self.below)))

    def html(self) -> str:
        """One element, with nothing that runs or is loaded."""
        head = _cells("th", self.head, self.right)
        body = "".join(f"<tr>{_cells('td', row, self.right)}</tr>" for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        return f"<div>{_lines(self.above)}{table}{_lines(self.below)}</div>"


class Tabular(ABC):
    """What is shown as a table: ``str()`` is plain text, ``print()`` for a terminal; itself in a notebook."""

    __slots__ = ()

    @abstractmethod
    def sheet(self) -> Sheet:
        """The table, as its cells."""

    def __str__(self) -> str:
        return self.sheet().text()

    def __rich__(self) -> Group:
        return self.sheet().rich()

    def print(self, console: Console | None = None) -> None:
        """Prints to ``console``, by default the terminal."""
        (console or Console()).print(self)

    def _repr_html_(self) -> str:
        return self.sheet().html()


def _safe(texts: Iterable[str]) -> list[str]:
    return [printable(text) for text in texts]


def _cells(tag: str, row: Sequence[str], right: Sequence[int]) -> str:
    sides = ("right" if i in right else "left" for i in range(len(row)))
    cells = zip(map(_html, row), sides, strict=True)
    return "".join(f'<{tag} style="text-align:{side}">{cell}</{tag}>' for cell, side in cells)


def _lines(lines: Iterable[str]) -> str:
    shown = "\n".join(map(_html, lines))
    return f"<pre>{shown}</pre>" if shown else ""


def _html(text: str) -> str:
    return escape(printable(text))
