"""The graph of a trigger program as text for Mermaid and Graphviz.

A node is a stored part or a map. An edge leads from what is read to the map that reads it, and says when it is read
and how. Names are of users: neither language may take any of it for more than a name, nor a page that shows the text.
"""

from collections.abc import Callable, Iterator
from typing import assert_never

from attrs import frozen

from ripplenest.delta.program import MapKind
from ripplenest.explanation.facts import Facts
from ripplenest.explanation.reads import Access, key_names
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.syntax import At

Kind = MapKind | None  # None: a stored part

# What can stand in a Mermaid string: no quote or backtick, no # or & of a character code, no %% of a directive, no <.
SAFE = frozenset(" .,/()[]=+-_⁺")
NEW_LINE = r"\n"  # in labels of the DOT language


@frozen
class Node:
    """``id`` is ours, ``lines`` are what it says."""

    id: str
    kind: Kind
    lines: tuple[str, ...]


@frozen
class Edge:
    """From what is read to what reads it, by the ids of nodes."""

    read: str
    map: str
    lines: tuple[str, ...]


@frozen
class Graph:
    """A drawing of a trigger program."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph(f: Facts) -> Graph:
    """The parts and maps of ``TriggerProgram.reading``, in the order in which they run."""
    program = f.stages.program
    order = {name: i for i, name in enumerate((*program.parts, *(m.name for _, m, _ in f.steps)))}
    kinds = {m.name: m.kind for m in program.maps}
    nodes = tuple(Node(f"n{i}", kinds.get(name), _lines(name, kinds.get(name))) for name, i in order.items())
    edges = sorted((order[a], order[b], a, b) for b, read in program.reading.items() for a in read)
    return Graph(
        program.view,
        nodes,
        tuple(Edge(f"n{i}", f"n{j}", tuple(dict.fromkeys(_uses(f, a, b)))) for i, j, a, b in edges),
    )


def _lines(name: str, kind: Kind) -> tuple[str, ...]:
    return part(name), "input" if kind is None else kind.value


def _uses(f: Facts, read: str, map_name: str) -> Iterator[str]:
    """When and how the statements of a map read ``read``."""
    m = f.stages.program.by_name[map_name]
    for s in f.stages.program.statements_of(map_name):
        for a in (a for join in f.joins(m, s) for a in join if a.table == read):
            yield _use(a, s.part)


def _use(a: Access, changed: str) -> str:
    when = f"on {At.DELTA.show(part(changed))}"
    match a.how:
        case "change":
            return when
        case "probe":
            return f"{when}, by {', '.join(key_names(a.columns, a.range))}"
        case "scan":
            return f"{when}, all of it"
        case _:
            assert_never(a.how)


# ---------------------------------------------------------------- Mermaid


def mermaid(g: Graph) -> str:
    """A flowchart from left to right."""
    lines = ["flowchart LR"]
    for n in g.nodes:
        opening, closing = _mermaid_shape(n.kind)
        lines.append(f'  {n.id}{opening}"{_joined(n.lines, mermaid_text, "<br/>")}"{closing}')
    for e in g.edges:
        label = f'|"{_joined(e.lines, mermaid_text, "<br/>")}"|' if e.lines else ""
        lines.append(f"  {e.read} -->{label} {e.map}")
    return "\n".join(lines) + "\n"


def _mermaid_shape(kind: Kind) -> tuple[str, str]:
    match kind:
        case None:
            return "[(", ")]"
        case MapKind.FLAT:
            return "[", "]"
        case MapKind.DICTIONARY:
            return "[[", "]]"
        case MapKind.DOMAIN:
            return "(", ")"
        case MapKind.AUXILIARY:
            return "{{", "}}"
        case MapKind.GROUP:
            return "[/", "/]"
        case MapKind.ORDERED:
            return "[\\", "\\]"
        case MapKind.TOP:
            return "[/", "\\]"
        case MapKind.JOINED:
            return ">", "]"
        case _:
            assert_never(kind)


def mermaid_text(text: str) -> str:
    """``text`` inside a quoted string: what is not plainly text becomes its character code."""
    return "".join(c if c.isalnum() or c in SAFE else f"#{ord(c)};" for c in text)


# ---------------------------------------------------------------- Graphviz


def graphviz(g: Graph) -> str:
    """A digraph of the DOT language, from left to right."""
    lines = [f'digraph "{dot_text(part(g.name))}" {{', "  rankdir=LR;", "  node [fontname=monospace];"]
    lines += [f"  {n.id} [label={_dot_label(n.lines)}, shape={_dot_shape(n.kind)}];" for n in g.nodes]
    lines += [f"  {e.read} -> {e.map} [label={_dot_label(e.lines)}];" for e in g.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _dot_shape(kind: Kind) -> str:
    match kind:
        case None:
            return "cylinder"
        case MapKind.FLAT:
            return "box"
        case MapKind.DICTIONARY:
            return "box3d"
        case MapKind.DOMAIN:
            return "ellipse"
        case MapKind.AUXILIARY:
            return "hexagon"
        case MapKind.GROUP:
            return "doubleoctagon"
        case MapKind.ORDERED:
            return "invtrapezium"
        case MapKind.TOP:
            return "trapezium"
        case MapKind.JOINED:
            return "house"
        case _:
            assert_never(kind)


# A backslash begins an escape of labels (\N is the node's name), and & a character code.
_DOT = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;", "<": "&lt;", ">": "&gt;"})


def dot_text(text: str) -> str:
    """``text`` inside a quoted string of the DOT language."""
    return text.translate(_DOT)


def _dot_label(lines: tuple[str, ...]) -> str:
    return f'"{_joined(lines, dot_text, NEW_LINE)}"'


def _joined(lines: tuple[str, ...], text: Callable[[str], str], separator: str) -> str:
    return separator.join(map(text, lines))
