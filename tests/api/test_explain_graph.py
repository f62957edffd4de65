"""The trigger program drawn for Mermaid and Graphviz, and the page for notebooks: the same facts, and names of users
that are never taken for anything else."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from support.examples import QUERIES, nf2
from support.shop import VIEWS

from ripplenest.explanation import Explanation, explain
from ripplenest.explanation.graph import dot_text, graph, mermaid_text
from ripplenest.nrc.surface.python import View
from ripplenest.nrc.syntax import For, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import STRING, Record

# What these programs need of the languages: quoted strings only, so that a name that breaks out is a syntax error.
DOT = Lark(r"""
    start: "digraph" STRING "{" statement* "}"
    statement: ID ("->" ID)? attributes? ";" | ID "=" ID ";"
    attributes: "[" [attribute ("," attribute)*] "]"
    attribute: ID "=" (ID | STRING)
    ID: /[A-Za-z_][A-Za-z_0-9]*/
    STRING: /"(?:[^"\\\n<>]|\\.)*"/
    %ignore /\s+/
""")  # fmt: skip
MERMAID = Lark(r"""
    start: "flowchart LR\n" line*
    line: "  " ID (shape | " -->" [label] " " ID) "\n"
    shape: "[(" STRING ")]" | "[" STRING "]" | "[[" STRING "]]" | "(" STRING ")" | "{{" STRING "}}"
    label: "|" STRING "|"
    ID: /n[0-9]+/
    STRING: /"(?:[^"`%&;<>\n#]|#[0-9]+;|<br\/>)*"/
""")  # fmt: skip
HOSTILE = ['"; drop', 'a"b', "a\nb", "</div><script>x</script>", "\\", "\\N\\", "a\\", "%%{init}%%", "`x`", "#34;",
           "&lt;&#34;", "]) --> n0", "end", "|", "\u202e\x1b[2J", "<br/>", "-->", "{{x}}"]  # fmt: skip


def hostile(name: str) -> Explanation:
    """A nested view of which every name is ``name``."""
    r = Rel(name, Record(((name, STRING),)))
    inner = SngBag(f"{name}s", For("y", r, Sng(Proj(Var("y"), name))))
    body = For("x", r, For("b", inner, Sng(Tuple(((name, Var("b")), ("u", Proj(Var("x"), name)))))))
    return explain(Query(f"{name}v", body, ((name, r.row),)))


@pytest.mark.parametrize("drawn", [*VIEWS, nf2], ids=lambda v: v.name)
def test_the_graph_is_that_of_the_program(drawn: View) -> None:
    """All parts and maps, and an edge for whatever a definition or a statement reads, with what for."""
    explanation = explain(drawn, materialize="full")
    program, found = explanation.facts.stages.program, graph(explanation.facts)
    named = {n.id: n.lines[0] for n in found.nodes}
    assert set(named.values()) == {name if "/" not in name or name[:2] != "M/" else named_as(name, named)
                                   for name in program.reading}  # fmt: skip
    assert len(found.edges) == sum(len({*read}) for read in program.reading.values())
    assert all(e.lines and re.match("on Δ", line) for e in found.edges for line in e.lines)
    DOT.parse(explanation.graphviz())
    MERMAID.parse(explanation.mermaid())


def named_as(name: str, named: dict[str, str]) -> str:
    """The name of an auxiliary map as it is printed, which may be in backticks."""
    return next(shown for shown in named.values() if shown.strip("`") == name)


def test_an_edge_says_when_and_how() -> None:
    explanation = explain(QUERIES["three-way join"], materialize="none")
    (program,) = re.findall(r'n1 -> n3 \[label="(.*)"\]', explanation.graphviz())
    assert program == r"on ΔR, by a\non ΔS\non ΔT, by b"
    assert 'n1 -->|"on ΔR, by a<br/>on ΔS<br/>on ΔT, by b"| n3' in explanation.mermaid()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_only_names(name: str) -> None:
    explanation = hostile(name)
    dot, mermaid = explanation.graphviz(), explanation.mermaid()
    DOT.parse(dot)
    MERMAID.parse(mermaid)
    assert all(line.isprintable() for line in (dot + mermaid).splitlines())
    assert len(mermaid.splitlines()) == 1 + 3 + 2
    page = Page(explanation._repr_html_())
    assert page.tags <= {"div", "pre", "span", "details", "summary"}
    assert page.attributes <= {"style", "open"}
    assert page.text.count("^F") >= 2


@settings(max_examples=200)
@given(st.text())
def test_any_text_is_one_string_of_each_language(text: str) -> None:
    shown = "".join(c if c.isprintable() else "?" for c in text)
    DOT.parse(f'digraph "{dot_text(shown)}" {{}}')
    MERMAID.parse(f'flowchart LR\n  n0["{mermaid_text(shown)}"]\n')


class Page(HTMLParser):
    """What a browser takes a page for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_every_section_of_the_text() -> None:
    explanation = explain(nf2)
    page = Page(explanation._repr_html_())
    lines = [line for line in explanation.text.splitlines() if line]
    assert [line for line in lines if line not in page.text] == []
    assert explanation.mermaid() in page.text
    assert "http" not in explanation._repr_html_()
