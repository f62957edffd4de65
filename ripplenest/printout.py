"""The text of an explanation: a list of styled lines, one section for each stage of the compiler."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, assert_never

from ripplenest.delta.program import Map, MapKind
from ripplenest.facts import Facts, InnerBag
from ripplenest.nrc.layout import layout, layout_dict
from ripplenest.nrc.pretty import show_site
from ripplenest.nrc.syntax import At
from ripplenest.nrc.text import part, path, printable, show_type
from ripplenest.nrc.types import Bag
from ripplenest.plan.columns import columns
from ripplenest.shred.contexts import stored_parts

Style = Literal["", "title", "heading", "dim", "warning", "access"]
Line = tuple[Style, str]
Section = Callable[[Facts, int], Iterator[Line]]

RULES = {
    "key-bound": "the values of a label are columns of what its bag is made of, so the dictionary is a plain table.",
    "domain": "the labels in use are kept in a table of their own, and the dictionary has rows for exactly these.",
}


def printout(f: Facts, width: int) -> Iterator[Line]:
    """All stages as lines for ``width`` columns; only names and constants that are longer than that go beyond."""
    yield from _header(f, width)
    for number, (title, section) in enumerate(SECTIONS.items(), 1):
        yield "", ""
        yield from _wrapped("title", f"{number}. ", title, width, " ")
        yield from section(f, width)


def _header(f: Facts, width: int) -> Iterator[Line]:
    yield from _wrapped("title", f"{f.view} : ", show_type(Bag(f.stages.row)), width)
    for name, row in f.query.relations:
        yield from _wrapped("", f"  reads {part(name)} : ", show_type(Bag(row)), width)
        inner = ", ".join(part(p) for p in list(stored_parts(name, row))[1:])
        if inner:
            yield from _wrapped("dim", "    its inner bags are stored as rows ⟨label, row⟩ in ", inner, width)
    for warning in f.warnings:
        yield from _wrapped("warning", "  warning: ", warning, width, " ")


def _typed(f: Facts, width: int) -> Iterator[Line]:
    yield from _equation(f.view, layout(f.stages.typed, width - 6), width, 2)


def _shredded(f: Facts, width: int) -> Iterator[Line]:
    yield from _note("⟨ι[s], v, …⟩ is a label: the inner bag of site s for the values v, …", width)
    yield from _note("[(ι[s]; v, …) ↦ e] is a dictionary: such a label stands for the bag e.", width)
    yield from _equation(f"{f.view}^F", layout(f.stages.shredded.flat, width - 6), width, 2)
    for d in f.stages.sites:
        yield from _equation(f"{f.view}^Γ[{path(d.site.name)}]", layout_dict(d, width - 6), width, 2)
    if f.bags:
        yield "", ""
        yield from _note("Which dictionary defines the labels of which inner bag:", width)
        yield "", f"  {f.view}"
        yield from (("", f"  {line}") for line in _tree(f.bags))


def _tree(bags: Sequence[InnerBag]) -> Iterator[str]:
    for i, bag in enumerate(bags):
        last = i == len(bags) - 1
        yield f"{'└─' if last else '├─'} {bag.path} ↦ {bag.dictionary}"
        yield from (("   " if last else "│  ") + line for line in _tree(bag.inner))


def _deltas(f: Facts, width: int) -> Iterator[Line]:
    for name in f.stages.program.parts:
        changes = [c for c in f.changes if c.part == name]
        yield "heading", f"  when {part(name)} changes by {_change(name)}{'' if changes else ': nothing changes'}"
        for c in changes:
            yield from _equation(c.left, layout(c.term, width - 8), width, 4)


def _labels(f: Facts, width: int) -> Iterator[Line]:
    if not f.sites:
        yield "", "  none: the view makes no inner bags"
    for s in f.sites:
        params = ", ".join(path(p) for p, _ in s.definition.site.params) or "no values"
        yield from _wrapped("heading", f"  {show_site(s.definition.site.name)} with ", f"{params}: {s.rule}", width)
        yield from _wrapped("", "    because ", printable(s.why), width, " ")
    for rule in sorted({s.rule for s in f.sites}):
        yield from _note(f"{rule}: {RULES[rule]}", width)


def _maps(f: Facts, width: int) -> Iterator[Line]:
    for _, m, _ in f.steps:
        yield from _wrapped("heading", f"  {part(m.name)}: ", _stands_for(m, f.view), width, " ")
        found = ", ".join(f"{path(c.path)} {c.type}" for c in columns(m.row))
        yield from _wrapped("", "    columns ", found or "none", width)
        yield from _equation("definition", layout(m.term, width - 8), width, 4)


def _stands_for(m: Map, view: str) -> str:
    site = path(m.site.name) if m.site else ""
    match m.kind:
        case MapKind.FLAT:
            return f"{view}^F, the flat part"
        case MapKind.DICTIONARY:
            return f"{view}^Γ[{site}], rows under their labels"
        case MapKind.DOMAIN:
            return f"the labels of ι[{site}] in use, each with a count"
        case _:
            assert_never(m.kind)


def _statements(f: Facts, width: int) -> Iterator[Line]:
    yield from _note("R is read as it is before the batch, R⁺ as it is after it, ΔR is the change between.", width)
    if any(m.kind is MapKind.DOMAIN for m in f.stages.program.maps):
        yield from _note("A domain is read as a set; its Δ is the labels that come into use or go out of it.", width)
    step = 0
    for i, m, statements in f.steps:
        if i != step:
            yield "heading", f"  step {i}"
            step = i
        for s in statements:
            yield "heading", f"    on {_change(s.part)}: {part(m.name)} +="
            yield from (("", f"        {line}") for line in layout(s.term, width - 8))
            for join in f.joins(m, s):
                style: Style = "warning" if any(a.how == "scan" for a in join) else "access"
                yield from _wrapped(style, "      reads ", ", then ".join(map(str, join)), width, " ")


def _graph(f: Facts, width: int) -> Iterator[Line]:
    for i, m, _ in f.steps:
        yield from _wrapped("", f"  step {i}: {part(m.name)} ← ", ", ".join(map(part, m.reads)) or "nothing", width)


def _fingerprint(f: Facts, width: int) -> Iterator[Line]:  # noqa: ARG001
    yield "dim", f"  {f.stages.program.fingerprint}"


SECTIONS: dict[str, Section] = {
    "Query, type-checked and simplified": _typed,
    "Shredded queries: each inner bag becomes a label, and a dictionary says what it stands for": _shredded,
    "Deltas: how each query changes when a part changes": _deltas,
    "Labels: how each dictionary is kept": _labels,
    "Maps: the tables that are stored": _maps,
    "Trigger program: what a batch runs, in this order": _statements,
    "Dependencies: what each map is computed from": _graph,
    "Fingerprint: stored with the state, which no other definition can open": _fingerprint,
}


# ---------------------------------------------------------------- lines


def _equation(left: str, lines: list[str], width: int, indent: int) -> Iterator[Line]:
    """``left = term``, the term below when it does not fit beside."""
    pad = " " * indent
    if len(lines) == 1 and len(pad + left + lines[0]) + 3 <= width:
        yield "", f"{pad}{left} = {lines[0]}"
        return
    yield "", f"{pad}{left} ="
    yield from (("", f"{pad}    {line}") for line in lines)


def _note(text: str, width: int) -> Iterator[Line]:
    yield from _wrapped("dim", "  ", text, width, " ", 4)


def _wrapped(
    style: Style, prefix: str, text: str, width: int, separator: str = ", ", indent: int = 12
) -> Iterator[Line]:
    """``prefix`` and ``text`` on as many lines as it takes, broken behind separators only."""
    line = prefix
    below = " " * indent
    pieces = text.split(separator)
    for i, piece in enumerate(pieces):
        ended = piece + (separator if i < len(pieces) - 1 else "")
        if len((line + ended).rstrip()) > width and len(line) > indent:
            yield style, line.rstrip()
            line = below
        line += ended
    yield style, line


def _change(name: str) -> str:
    return At.DELTA.show(part(name))
