"""The text of an explanation: titled sections of styled lines, one section for each stage of the compiler."""

from collections.abc import Callable, Iterator

from attrs import frozen

from ripplenest.explanation.facts import Facts
from ripplenest.explanation.groups import grouped
from ripplenest.explanation.lines import Line, wrapped
from ripplenest.explanation.queries import deltas, labels, shredded, typed
from ripplenest.explanation.stored import dependencies, fingerprint, maps, statements, work
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part, show_type
from ripplenest.nrc.types import Bag
from ripplenest.shred.contexts import stored_parts


@frozen
class Section:
    """What is said of one stage; the section without a title is the head of it all."""

    title: str
    lines: tuple[Line, ...]


def sections(f: Facts, width: int) -> Iterator[Section]:
    """All stages for ``width`` columns; only names and constants that are longer than that go beyond."""
    yield Section("", tuple(_header(f, width)))
    stages = SECTIONS | OF_A_DATABASE if f.pieces else SECTIONS
    if not any(m.cut for m in f.stages.program.maps):
        stages = {title: found for title, found in stages.items() if found is not grouped}
    for number, (title, found) in enumerate(stages.items(), 1):
        yield Section(f"{number}. {title}", tuple(found(f, width)))


def printout(f: Facts, width: int) -> Iterator[Line]:
    """The sections as lines."""
    for section in sections(f, width):
        if section.title:
            yield "", ""
            yield from wrapped("title", "", section.title, width, " ", 3)
        yield from section.lines


def _header(f: Facts, width: int) -> Iterator[Line]:
    yield from wrapped("title", f"{f.view} : ", show_type(Bag(f.stages.row)), width)
    for name, row in f.query.relations:
        yield from wrapped("", f"  reads {part(name)} : ", show_type(Bag(row)), width)
        inner = ", ".join(part(p) for p in list(stored_parts(name, row))[1:])
        if inner:
            yield from wrapped("dim", "    its inner bags are stored as rows ⟨label, row⟩ in ", inner, width)
    for what, rows in (("stored rows: ", f.sizes), ("changed by a batch: ", f.assumed_changes)):
        if rows:
            yield from wrapped("", f"  {what}", ", ".join(f"{part(p)} {n:,}" for p, n in rows.items()), width)
    if not f.judgement.warnings:
        cheaper = all(t.verdict.is_cheaper for t in f.judgement.triggers)
        unless = "" if cheaper else " unless as much changes as there is"
        good = f"every trigger takes fewer steps than computing its map{unless}, and reads no rows for nothing"
        yield from wrapped("access", "  incremental: ", good, width, " ")
    for w in f.judgement.warnings:
        yield from wrapped("warning", "  not incremental: ", printable(f"{w.node}: {w.reason}"), width, " ")
        if w.advice:
            yield from wrapped("warning", "    to mend it: ", printable(w.advice), width, " ")


SECTIONS: dict[str, Callable[[Facts, int], Iterator[Line]]] = {
    "Query, type-checked and simplified, and its cost": typed,
    "Shredded queries: each inner bag becomes a label, and a dictionary says what it stands for": shredded,
    "Groups: what is folded or kept in order, in maps of their own": grouped,
    "Deltas: how each query changes when a part changes": deltas,
    "Labels: how each dictionary is kept": labels,
    "Maps: the tables that are stored": maps,
    "Trigger program: what a batch runs, in this order": statements,
    "Dependencies: what each map is computed from": dependencies,
    "Fingerprint: stored with the state, which no other definition can open": fingerprint,
}
OF_A_DATABASE: dict[str, Callable[[Facts, int], Iterator[Line]]] = {
    "Engines: where the work is done, and why there": work,
}
