"""An explanation for notebooks: plain HTML, sections that open and close, no scripts and nothing from elsewhere."""

from collections.abc import Iterable
from html import escape

from ripplenest.explanation.lines import Line, Style
from ripplenest.explanation.printout import Section

COLOURS: dict[Style, str] = {
    "": "",
    "title": "font-weight:bold",
    "heading": "font-weight:bold;color:#0b7285",
    "dim": "opacity:0.65",
    "warning": "font-weight:bold;color:#c92a2a",
    "access": "color:#2b8a3e",
}
OPEN = ("1. ", "2. ", "3. ")  # the sections that are open at first


def html(found: Iterable[Section], mermaid: str) -> str:
    """The sections, and the graph as the text of Mermaid."""
    made = [_pre(s.lines) if not s.title else _details(s.title, _pre(s.lines), s.title.startswith(OPEN)) for s in found]
    drawing = _details("Graph, in the language of Mermaid", f"<pre>{escape(mermaid)}</pre>", False)
    return f"<div>{''.join(made)}{drawing}</div>"


def _details(title: str, body: str, opened: bool) -> str:
    return f"<details{' open' * opened}><summary>{escape(title)}</summary>{body}</details>"


def _pre(lines: Iterable[Line]) -> str:
    return "<pre>" + "\n".join(_line(style, text) for style, text in lines) + "</pre>"


def _line(style: Style, text: str) -> str:
    colour = COLOURS[style]
    return f'<span style="{colour}">{escape(text)}</span>' if colour else escape(text)
