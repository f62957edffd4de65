"""``Explanation``: the stages of one view as text, in a terminal, in a notebook, as plain data and as a drawing.

All forms are made from the same facts, so that none can say what another does not.
"""

from typing import TYPE_CHECKING

from attrs import frozen
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ripplenest.explanation.data import Json, data
from ripplenest.explanation.facts import Facts
from ripplenest.explanation.graph import graph, graphviz, mermaid
from ripplenest.explanation.html import html
from ripplenest.explanation.lines import Style
from ripplenest.explanation.printout import printout, sections
from ripplenest.nrc.border import public

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDTH = 100  # columns of the plain text
NARROW = 40  # terms are not laid out for less
STYLES: dict[Style, str] = {
    "": "", "title": "bold", "heading": "bold cyan", "dim": "dim", "warning": "bold red", "access": "green",
}  # fmt: skip
KEYWORDS = r"(?<![\w.])(for|in|union|where|and|or|not|let)(?= )"
VERSIONS = r"Δ[\w./\[\]]+|[\w./\[\]]+⁺"


@frozen(slots=False, repr=False)
@public
class Explanation:
    """The stages of one view: ``str()`` and ``text`` as plain text, ``summary`` what it comes to, ``print()`` for a
    terminal, ``json()`` as data, ``mermaid()`` and ``graphviz()`` as a drawing of the trigger program, itself in a
    notebook."""

    facts: Facts

    @property
    def text(self) -> str:
        """All stages as plain text."""
        return "\n".join(line for _, line in printout(self.facts, WIDTH)) + "\n"

    @property
    def summary(self) -> str:
        """What the view reads, whether a batch costs what it changes, and what would mend it where it does not."""
        head, *_ = sections(self.facts, WIDTH)
        return "\n".join(line for _, line in head.lines) + "\n"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.summary}  print() shows all stages"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The same text, coloured and laid out for the width of the terminal."""
        for style, line in printout(self.facts, max(NARROW, min(options.max_width, WIDTH))):
            yield _coloured(style, line)

    def print(self, console: Console | None = None) -> None:
        """Prints to ``console``, by default the terminal."""
        (console or Console()).print(self)

    def _repr_html_(self) -> str:
        """The same text for a notebook: one element, with nothing that runs or is loaded."""
        return html(sections(self.facts, WIDTH), self.mermaid())

    def json(self) -> Json:
        """The same facts as plain data: strings, numbers, lists and dicts; with the terms of all orders of deltas."""
        return data(self.facts)

    def mermaid(self) -> str:
        """The trigger program as a flowchart in the language of Mermaid."""
        return mermaid(graph(self.facts))

    def graphviz(self) -> str:
        """The trigger program as a digraph in the DOT language of Graphviz."""
        return graphviz(graph(self.facts))

    def spark_plan(self, spark: "SparkSession | None" = None) -> str:
        """What Spark runs for a batch that changes every part a little, step by step: its physical plans.

        A local session is started when none is given. Nothing is computed; while the plans are made, two rules of the
        session's optimizer are off.
        """
        from ripplenest.spark.plans import plans  # noqa: PLC0415 - only the plan needs Spark
        from ripplenest.spark.session import local_session  # noqa: PLC0415

        return plans(spark or local_session(), self.facts.planned)


def _coloured(style: Style, line: str) -> Text:
    text = Text(line, style=STYLES[style], overflow="fold")
    if not style:
        text.highlight_regex(KEYWORDS, "magenta")
        text.highlight_regex(VERSIONS, "yellow")
    return text
