"""Sections of the text: the query, what it is shredded into, how that changes, and how labels are kept."""

from collections.abc import Iterator, Sequence

from ripplenest.cost.domains import show_tcost
from ripplenest.delta.program import MapKind
from ripplenest.explanation.context import InnerBag
from ripplenest.explanation.facts import Change, Facts, Flat
from ripplenest.explanation.lines import Line, below, equation, laid_out, note, steps_of, when, wrapped
from ripplenest.nrc.printing.pretty import LABEL, show_site
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part, path
from ripplenest.nrc.syntax import DictLit

RULES = {
    "key-bound": "the values of a label are columns of what its bag is made of, so the dictionary is a plain table.",
    "domain": "the labels in use are kept in a table of their own, and the dictionary has rows for exactly these.",
}


def typed(f: Facts, width: int) -> Iterator[Line]:
    """The nested term, C[[.]] of it and the bound on its running time."""
    nested = f.judgement.nested
    yield from equation(f.view, f.typed, width)
    yield from wrapped("", "  cost ", str(nested), width)
    text = f"{steps_of(show_tcost(nested))}, up to a constant factor"
    yield from wrapped("", "  about " if f.averaged else "  at most ", text, width, " ")
    if f.averaged:
        shown = ", ".join(map(part, f.averaged))
        yield from note(f"no bound: inner bags of {shown} are taken to have their average size.", width)
    if len(f.stages.program.parts) > len(f.query.relations):
        yield from note("|R.b| is the rows of the largest inner bag of R.b, ‖R.b‖ the rows of all of them.", width)


def shredded(f: Facts, width: int) -> Iterator[Line]:
    """h^F and h^Γ with their degrees and normal forms, and the context tree."""
    yield from note("⟨ι[s], v, …⟩ is a label: the inner bag of site s for the values v, …", width)
    yield from note("[(ι[s]; v, …) ↦ e] is a dictionary: such a label stands for the bag e.", width)
    if any(isinstance(flat.term, DictLit) and flat.term.var != LABEL for flat in f.flats):
        yield from note("[k@(ι[s]; v, …) ↦ e] is the same, and calls the label k.", width)
    yield from note("The degree is the number of deltas until only changes are read.", width)
    for flat in f.flats:
        yield from equation(flat.name, flat.term, width)
        yield from _normal_form(flat, width)
    if f.bags:
        yield "", ""
        yield from note("Which dictionary defines the labels of which inner bag:", width)
        yield "", f"  {f.view}"
        yield from (("", f"  {line}") for line in _tree(f.bags))


def _normal_form(flat: Flat, width: int) -> Iterator[Line]:
    if flat.normal is None:
        yield "access", f"    degree {flat.degree}, a sum of comprehensions already"
        return
    yield "access", f"    degree {flat.degree}, as a sum of comprehensions:"
    yield from below(laid_out(flat.normal, width - 8), 8)


def _tree(bags: Sequence[InnerBag]) -> Iterator[str]:
    for i, bag in enumerate(bags):
        last = i == len(bags) - 1
        yield f"{'└─' if last else '├─'} {bag.path} ↦ {bag.dictionary}"
        yield from (("   " if last else "│  ") + line for line in _tree(bag.inner))


def deltas(f: Facts, width: int) -> Iterator[Line]:
    """δ of each query for each part, with the degree before and after; of higher orders the degrees."""
    groups = [*f.stages.program.of_kind(MapKind.GROUP), *f.stages.program.of_kind(MapKind.ORDERED)]
    for name in f.changing:
        changes = [c for c in f.deltas if c.part == name]
        folded = any(name in m.reads for m in groups)
        other = " but what is folded or kept in order" if folded else ""
        but = "" if changes else f": nothing changes{other}"
        yield "heading", f"  when {part(name)} changes by {when(name)}{but}"
        for c in changes:
            yield from equation(c.left, c.term, width, 4)
            yield from wrapped("access", "      degree ", f"{c.before} → {c.after}: {_what_it_reads(c)}", width, " ")
    higher = [flat for flat in f.flats if flat.degree > 1]
    if higher:
        yield "heading", "  higher orders, for changes of all parts"
    for flat in higher:
        degrees = " → ".join(map(str, range(flat.degree, -1, -1)))
        yield from wrapped("", f"    {flat.name}: ", f"degrees {degrees}, {_last_order(flat)}", width, " ")


def _what_it_reads(c: Change) -> str:
    return f"still reads {', '.join(map(part, c.reads))}" if c.reads else "reads only the change"


def _last_order(flat: Flat) -> str:
    return f"so {flat.degree} orders of deltas, the last of which reads changes only"


def labels(f: Facts, width: int) -> Iterator[Line]:
    """Each site, key-bound or with a domain, and why."""
    if not f.sites:
        yield "", "  none: the view makes no inner bags"
    for s in f.sites:
        params = ", ".join(path(p) for p, _ in s.definition.site.params) or "no values"
        yield from wrapped("heading", f"  {show_site(s.definition.site.name)} with ", f"{params}: {s.rule}", width)
        yield from wrapped("", "    because ", printable(s.why), width, " ")
    for rule in sorted({s.rule for s in f.sites}):
        yield from note(f"{rule}: {RULES[rule]}", width)
