"""Sections of the text: the maps, and the program that keeps them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import assert_never

from ripplenest.cost.verdict import Finding, Verdict
from ripplenest.delta.materialize import Choice
from ripplenest.delta.program import Map, MapKind
from ripplenest.explanation.facts import Facts
from ripplenest.explanation.lines import Line, Style, below, equation, laid_out, note, steps_of, when, wrapped
from ripplenest.explanation.reads import Access, column_types, key_names, shown_row
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part, path
from ripplenest.plan.running import Running

LEFT_OUT = 4  # maps that are not kept, of which the text shows this many


def maps(f: Facts, width: int) -> Iterator[Line]:
    """Each map with its columns, access keys and definition, access keys of the input, and maps that are not kept."""
    for _, m, _ in f.steps:
        yield from wrapped("heading", f"  {part(m.name)}: ", _stands_for(m, f.view), width, " ")
        found = (f"{name} {t}" for name, t in column_types(shown_row(m)))
        yield from wrapped("", "    columns ", ", ".join(found) or "none", width)
        yield from _keys(f, m.name, width)
        if m.kind is MapKind.AUXILIARY:
            read_by = "; ".join(f"{part(s.map)} when {part(s.part)} changes" for s in f.readers(m.name))
            yield from wrapped("", "    because ", printable(m.why), width, " ")
            yield from wrapped("", "    read by ", read_by, width, " ")
        if m.trees:
            ways = "; or of ".join(" and ".join(map(part, split)) for split in m.splits)
            where = "where that joins much less than the definition"
            yield from wrapped("", "    built of ", f"{ways}; {where}", width, " ")
        if m.kind is not MapKind.FLAT:  # the normal form of the flat query is a stage of its own
            yield from equation("definition", m.term, width, 4)
    for name in f.stages.program.parts:
        if name in f.access_keys or name in f.ranges:
            yield from wrapped("heading", f"  {part(name)}: ", "a stored part of the input", width, " ")
            yield from _keys(f, name, width)
    yield from _left_out(f, width)


def _keys(f: Facts, name: str, width: int) -> Iterator[Line]:
    found = (*f.access_keys.get(name, ()), *(key_names(*own) for own in f.ranges.get(name, ())))
    keys = [f"({', '.join(key)})" if len(key) != 1 else key[0] for key in found]
    if keys:
        yield from wrapped("access", "    looked up by ", "; or ".join(keys), width, " ")


def _stands_for(m: Map, view: str) -> str:
    site = path(m.at or m.site.name) if m.site else ""
    match m.kind:
        case MapKind.FLAT:
            return f"{view}^F, the flat part"
        case MapKind.DICTIONARY:
            return f"{view}^Γ[{site}], rows under their labels"
        case MapKind.DOMAIN:
            return f"the labels of ι[{site}] in use, each with a count"
        case MapKind.AUXILIARY:
            what = "a part of deltas, kept so that statements need not join it"
            return f"{what}: {m.sums}" if m.summed else what
        case MapKind.GROUP:
            return f"what the rows of {site} come to, by place and key"
        case MapKind.ORDERED:
            return f"all rows of {site}, in order by place"
        case MapKind.TOP:
            return f"the first rows of {site}, by place"
        case MapKind.JOINED:
            return "rows of several sources together, as windows and places ask for them"
        case _:
            assert_never(m.kind)


def _left_out(f: Facts, width: int) -> Iterator[Line]:
    if f.left_out:
        yield "heading", "  not kept, although deltas join it"
    if f.left_out and f.chosen and f.chosen != f.sizes:
        rows = ", ".join(f"{part(name)} {n:,}" for name, n in sorted(f.chosen.items()))
        yield from wrapped("", "    estimated of what its tables may grow to: ", rows, width, " ")
    for choice in f.left_out[:LEFT_OUT]:
        yield from below(laid_out(choice.candidate.map.term, width - 4), 4)
        yield from wrapped("", "      because ", f"{printable(choice.why)}{_joined_when(choice)}", width, " ")
    more = len(f.left_out) - LEFT_OUT
    if more > 0:
        yield from note(f"and {more} more in the JSON", width, 4)


def _joined_when(choice: Choice) -> str:
    parts = dict.fromkeys(part(use.part) for use in choice.candidate.uses)
    return f"; joined when {', '.join(parts)} changes"


# ---------------------------------------------------------------- the program


def statements(f: Facts, width: int) -> Iterator[Line]:
    """Each statement, in order: what it adds, how it reads its sources, and its verdict."""
    yield from _reading(f, width)
    for step, found in groupby(f.steps, key=lambda step: step[0]):
        yield "heading", f"  step {step}"
        for _, m, own in found:
            for s in own:
                yield "heading", f"    on {when(s.part)}: {part(m.name)} +="
                yield from below(laid_out(s.term, width - 8), 8)
                verdict = f.verdicts[m.name, s.part]
                for join, others in zip(f.joins(m, s), f.others(m, s), strict=True):
                    slow = not verdict.incremental and any(a.how == "scan" for a in join)
                    style: Style = "warning" if slow else "access"
                    yield from wrapped(style, "      reads ", ", then ".join(map(str, join)), width, " ")
                    for other in others:
                        yield from wrapped(style, "        or ", _less_first(other), width, " ")
                for way in f.ways(m, s):
                    read, less = ", then ".join(map(str, way)), f"if {when(s.part)} adds up to much less there"
                    yield from wrapped("access", "      or reads ", f"{read}: {less}", width, " ")
                if told := f.told(m, s):
                    yield from wrapped("access", "      or reads ", _told(told), width, " ")
                yield from _verdict(verdict, f.findings(m, s), width, "about" if f.averaged else "at most")


def _told(some: Sequence[Running]) -> str:
    near = "before" if some[0].is_upper else "behind"
    rows = f"the rows of {' and '.join(dict.fromkeys(part(r.of) for r in some))} between the two"
    return f"the place {near} each one, what that comes to, and {rows}: where keys find very many"


def _less_first(order: Sequence[Access]) -> str:
    return f"{', then '.join(map(str, order))}: for rows that find less so at first"


def _reading(f: Facts, width: int) -> Iterator[Line]:
    """How the sources of statements are to be read."""
    program = f.stages.program
    yield from note("R is read as it is before the batch, R⁺ as it is after it, ΔR is the change between.", width)
    if len(program.turns) > 1:
        yield from wrapped("dim", "  Changes take turns: ", ", then ".join(map(part, program.turns)), width, " ", 4)
    if program.of_kind(MapKind.DOMAIN):
        yield from note("A domain is read as a set; its Δ is the labels that come into use or go out of it.", width)
    if program.of_kind(MapKind.AUXILIARY):
        how = "A map M/… is read with what the turns before the statement's did to it, M/…⁺ also with its own turn's."
        yield from note(how, width)


def _verdict(v: Verdict, findings: Sequence[Finding], width: int, bound: str) -> Iterator[Line]:
    before, after = v.steps
    how: Style = "access" if v.incremental else "warning"
    word = "incremental" if v.incremental else "not incremental"
    lost = "" if v.incremental else ", most of them for rows that conditions throw away"
    text = f"{bound} {steps_of(after)} instead of {steps_of(before)}{lost}"
    yield from wrapped(how, f"      {word}: ", text, width, " ")
    for finding in findings:
        if not finding.blocks:
            yield from wrapped("dim", "      note: ", printable(f"{finding.node}: {finding.reason}"), width, " ")


def dependencies(f: Facts, width: int) -> Iterator[Line]:
    """What each map is made of, and what else its statements read."""
    for i, m, _ in f.steps:
        also = ", ".join(map(part, f.also_read(m)))
        reads = (", ".join(map(part, m.reads)) or "nothing") + (f"; its statements also read {also}" if also else "")
        yield from wrapped("", f"  step {i}: {part(m.name)} ← ", reads, width)


def fingerprint(f: Facts, width: int) -> Iterator[Line]:  # noqa: ARG001
    """That of the program."""
    yield "dim", f"  {f.stages.program.fingerprint}"


def work(f: Facts, width: int) -> Iterator[Line]:
    """What the view costs in its database: batches with all views that they keep fresh."""
    changed = ", ".join(f"{part(p)} {n:,}" for p, n in f.assumed_changes.items())
    yield from wrapped("dim", "  A batch changes, for all views of the database: ", changed or "nothing", width)
    engines = {"local": "in this process", "spark": "on Spark"}
    for p in f.pieces:
        yield from wrapped("", f"  {p.work}, {p.how}: ", f"{engines[p.engine]}: {p.why}", width, " ")
