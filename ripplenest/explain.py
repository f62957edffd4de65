"""``explain``: every stage of the compiler for one view, as text, in a terminal, and as plain data.

The stages come in the order of the pipeline (``delta.compile.compile_view``). All forms are made from the same facts,
so that none can say what another does not.
"""

from typing import Any, Protocol

from attr import asdict  # the asdict of attrs itself keeps tuples
from attrs import frozen
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ripplenest.delta.compile import compile_view
from ripplenest.delta.program import Map, Statement
from ripplenest.facts import Access, Facts, InnerBag, Site
from ripplenest.nrc.pretty import show, show_dict
from ripplenest.nrc.syntax import Query
from ripplenest.nrc.text import show_type
from ripplenest.nrc.types import Bag
from ripplenest.plan.columns import columns
from ripplenest.printout import printout

WIDTH = 100  # columns of the plain text
NARROW = 40  # terms are not laid out for less
STYLES = {"": "", "title": "bold", "heading": "bold cyan", "dim": "dim", "warning": "bold red", "access": "green"}
KEYWORDS = r"(?<![\w.])(for|in|union|where|and|or|not|let)(?= )"
VERSIONS = r"Δ[\w./\[\]]+|[\w./\[\]]+⁺"
Json = dict[str, Any]


class HasQuery(Protocol):
    """A view of a surface: something with a term."""

    @property
    def query(self) -> Query:
        """The view before compilation."""


@frozen(slots=False)
class Explanation:
    """The stages of one view: ``str()`` and ``text`` as plain text, ``print()`` for a terminal, ``json()`` as data."""

    facts: Facts

    @property
    def text(self) -> str:
        """All stages as plain text."""
        return "\n".join(line for _, line in printout(self.facts, WIDTH)) + "\n"

    def __str__(self) -> str:
        return self.text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The same text, coloured and laid out for the width of the terminal."""
        for style, line in printout(self.facts, max(NARROW, min(options.max_width, WIDTH))):
            yield _coloured(style, line)

    def print(self, console: Console | None = None) -> None:
        """Prints to ``console``, by default the terminal."""
        (console or Console()).print(self)

    def json(self) -> Json:
        """The same facts as plain data: strings, numbers, lists and dicts."""
        facts, stages = self.facts, self.facts.stages
        return {
            "view": facts.query.name,
            "type": show_type(Bag(stages.row)),
            "relations": {name: show_type(Bag(row)) for name, row in facts.query.relations},
            "query": show(stages.typed),
            "shredded": {
                "flat": show(stages.shredded.flat),
                "dictionaries": [_site(s) for s in facts.sites],
                "context": [_plain(b) for b in facts.bags],
            },
            "deltas": [{"part": c.part, "of": c.left, "term": show(c.term)} for c in facts.changes],
            "maps": [_map(m) for _, m, _ in facts.steps],
            "statements": [self._statement(i, m, s) for i, m, found in facts.steps for s in found],
            "dependencies": [{"step": i, "map": m.name, "reads": list(m.reads)} for i, m, _ in facts.steps],
            "warnings": list(facts.warnings),
            "fingerprint": stages.program.fingerprint,
        }

    def _statement(self, step: int, m: Map, s: Statement) -> Json:
        joins = [[_plain(a) for a in join] for join in self.facts.joins(m, s)]
        return {"step": step, "map": m.name, "part": s.part, "term": show(s.term), "joins": joins}


def explain(view: Query | HasQuery) -> Explanation:
    """What the compiler makes of ``view``. Raises a QueryError when it is not well typed."""
    query = view if isinstance(view, Query) else view.query
    return Explanation(Facts(query, compile_view(query)))


def _plain(fact: Access | InnerBag) -> Json:
    return asdict(fact, retain_collection_types=False)


def _site(s: Site) -> Json:
    site = s.definition.site
    return {
        "site": site.name,
        "parameters": {name: show_type(t) for name, t in site.params},
        "definition": show_dict(s.definition),
        "kept": s.rule,
        "why": s.why,
    }


def _map(m: Map) -> Json:
    found = [{"name": c.path, "type": str(c.type)} for c in columns(m.row)]
    return {"name": m.name, "kind": m.kind.value, "columns": found, "definition": show(m.term), "why": m.why}


def _coloured(style: str, line: str) -> Text:
    text = Text(line, style=STYLES[style], overflow="fold")
    if not style:
        text.highlight_regex(KEYWORDS, "magenta")
        text.highlight_regex(VERSIONS, "yellow")
    return text
