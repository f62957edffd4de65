"""The groups of a view as facts and as text: MRQL's split of a fold into what is merged and what is answered.

h is the homomorphism: a linear term, whose rows are merged by ⊎ under the lineage, which is the place of the group and
its keys. a are the answers, which are worked out of what h comes to for a place and a key.
"""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.delta.groups.pull import FOLDED
from ripplenest.delta.groups.strata import VALUES, Cut
from ripplenest.delta.program import Map, MapKind
from ripplenest.explanation.eliminations import Joined, eliminated, joined
from ripplenest.explanation.facts import Facts
from ripplenest.explanation.lines import Line, equation, wrapped
from ripplenest.explanation.ranking import ranked
from ripplenest.explanation.reads import column_names
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.printing.text import part, path
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Elem, Expr, Lit, Proj, Var
from ripplenest.nrc.types import Record
from ripplenest.nrc.walk import rebuild_elem
from ripplenest.plan.answers import of_nothing
from ripplenest.plan.groups import Accumulator, Folding, folding


@frozen
class GroupFact:
    """A group: its ``h``, the columns of its lineage, how each accumulator merges, and its answers by name; and what is
    ``shown`` of these, where that is not all of them as they are.

    ``nothing`` is what is shown of a place without rows, of a fold that has a row for every place. It stands
    ``at`` a site of the view.
    """

    name: str
    at: str
    h: Expr
    lineage: tuple[str, ...]
    merge: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]
    shown: tuple[tuple[str, str], ...]
    nothing: tuple[str, ...] | None
    why: str
    joins: tuple[Joined, ...]


def group_facts(f: Facts) -> tuple[GroupFact, ...]:
    """Every group, inner ones first."""
    found = (m for _, m, _ in f.steps if m.kind is MapKind.GROUP)
    return tuple(_fact(f, m, m.group) for m in found if m.group is not None)


def _fact(f: Facts, m: Map, cut: Cut) -> GroupFact:
    own = folding(cut)
    values = [[show_elem(v) for v in _values(c.head)] for c in m.products[:1]]
    args = values[0] if len(m.products) == 1 else [f"a{i}" for i in range(_many(cut))]
    merge = tuple(f"{_merged(a, own, args)}: +" for a in own.accumulators)
    answers = tuple((a.name, f"{a.fn}({' · '.join(args[i] for i in a.args)})") for a in cut.answers)
    shown = () if own.is_plain else tuple((name, show_elem(_named(t))) for name, t in cut.shown)
    nothing = None if own.nothing is None else tuple(show_elem(Lit(c.value, c.type)) for c in of_nothing(own))
    return GroupFact(
        m.name, m.at, m.term, column_names(m.row, tuple(range(own.keys))), merge, answers, shown, nothing, m.why,
        tuple(joined(f, m)),
    )


def _named(t: Elem) -> Elem:
    """``t`` with the names of answers for them."""
    return Var(t.field) if isinstance(t, Proj) and t.of == Var(FOLDED) else rebuild_elem(t, _named)


def _many(cut: Cut) -> int:
    row = cut.made.get("row")
    assert isinstance(row, Record)
    values = row.get(VALUES)
    assert isinstance(values, Record)
    return len(values.fields)


def _values(head: Elem) -> list[Elem]:
    """The arguments in a row ⟨label, row: ⟨k, v⟩⟩."""
    made = simplify_elem(Proj(Proj(head, "row"), VALUES))
    return [value for _, value in getattr(made, "fields", ())]


def _merged(a: Accumulator, f: Folding, args: list[str]) -> str:
    """What is added up."""
    found = [args[i - f.keys] for i in a.args]
    match a.of:
        case "rows":
            return f"rows with {', '.join(found)}" if found else "rows"
        case "true":
            return f"rows for which {' and '.join(found)}"
        case "sum" | "endless" | "real":
            return " · ".join(found)
        case "nan" | "inf" | "-inf":
            return f"rows with {found[0]} = {a.of}"


def grouped(f: Facts, width: int) -> Iterator[Line]:
    """What is folded, and what is kept in order."""
    yield from _folded(f, width)
    yield from ranked(f, width)


def _folded(f: Facts, width: int) -> Iterator[Line]:
    """Each group: h, its lineage, how it merges, a, and what reading it costs."""
    for g in group_facts(f):
        yield "heading", f"  {part(g.name)}, of {path(g.at)}"
        yield from equation("h", g.h, width, 4)
        yield from wrapped("", "    lineage ", f"({', '.join(g.lineage)})" if g.lineage else "none: all rows", width)
        yield from wrapped("", "    merge ⇑ ", ", ".join(g.merge), width)
        yield from wrapped("", "    a = ", ", ".join(f"{n}: {t}" for n, t in g.answers) or "the keys alone", width)
        if g.shown:
            yield from wrapped("", "    readers see ", ", ".join(f"{n}: {t}" for n, t in g.shown), width)
        if g.nothing is not None:
            yield from wrapped("", "    every place has a row; that of nothing is ", f"⟨{', '.join(g.nothing)}⟩", width)
        cost = "one stored row is read and replaced for each key that changes"
        yield from wrapped("access", "    ", cost, width, " ")
        for found in g.joins:
            yield from eliminated(found, width)
