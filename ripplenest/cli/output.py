"""What commands print: JSON, tables, amounts and messages, with whatever could command a terminal escaped."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

import ripplenest as rn

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
STYLES = {"ok": "green", "warning": "yellow", "wrong": "bold red"}
WIDEST = 1_000_000  # columns of what is no terminal: nothing is folded there


def ended(text: str, code: int = 2) -> typer.Exit:
    """An exit ``code`` of errors, with ``text`` on stderr as it is: typer would wrap its lines, and move carets."""
    print(text, file=sys.stderr)
    return typer.Exit(code)


def message(error: rn.RipplenestError) -> str:
    """The kind of error, and what it says; names in it are escaped already."""
    return f"{type(error).__name__}: {error}"


def print_json(value: object) -> None:
    """``value`` on one line."""
    print(json_text(value))


def json_text(value: object) -> str:
    """JSON; what it has no form for (dates, decimals, bytes, numbers that are not finite) is a string."""
    return printable(json.dumps(_finite(value), ensure_ascii=False, default=_text))


def _text(value: object) -> str:
    """Binary is text in JSON, as where it comes from; bytes that are none are escaped."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {k: _finite(v) for k, v in value.items()}
        case list() | tuple():
            return [_finite(v) for v in value]
    return value


def printable(text: str) -> str:
    """``text`` on one line, with what could command a terminal escaped as in JSON."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def escaped(text: str) -> str:
    """Several lines, each as ``printable``. A tab stays: it is in sources, and the caret below it counts on it."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def print_table(rows: Iterable[Iterable[object]], head: Sequence[str] = (), right: Iterable[int] = ()) -> None:
    """Columns side by side, those of ``right`` aligned to the right, for the width of a terminal or as wide as it is.

    Only the last column is folded. A cell that is one of STYLES is coloured on a terminal.
    """
    cells = [[escaped(str(cell)) for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(head), header_style="bold")
    last = max(map(len, [*cells, head])) - 1
    for i in range(last + 1):
        side = "right" if i in right else "left"
        table.add_column(head[i] if head else "", justify=side, no_wrap=i < last, overflow="fold")  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    print_fitted(table)


def print_fitted(table: Table) -> None:
    """``table``, without blanks at the ends of lines."""
    out = Console()
    if not out.is_terminal:
        needed = Measurement.get(out, out.options.update(max_width=WIDEST), table).maximum
        out = Console(width=needed)
    with out.capture() as shown:
        out.print(table)
    for line in shown.get().splitlines():
        print(line.rstrip())


def counted(n: int, what: str) -> str:
    """``1 row``, ``2 rows``, ``12,345 rows``."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def size(n: int) -> str:
    """Bytes for people."""
    return "1 byte" if n == 1 else decimal(n)


def utc(time: datetime) -> str:
    """To the second, without saying that it is UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
