"""What says which rows of a generator are read: equations of its columns with what is known before.

    r.a = x.b and x.b = y.c  ⟹  r.a = y.c

So ``r`` can be looked up by ``y`` before ``x`` is read. That pays where ``y`` says more of ``r`` than this, and more
than it says of ``x``: of the orders of a customer those that came after a certain one are found by the customer and by
that one, and no other is read.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from attrs import frozen

from ripplenest.nrc.syntax import Call, Elem


@frozen
class Equation:
    """``var.column`` equals a value that reads ``others``; ``usable``: it is a column, of the value's own type.

    ``partner``: the generator and column that the value is, when it is one. ``constant``: it is the same in every
    batch. ``condition`` is what says so, which is none of the product where it is ``implied`` by several.
    """

    var: str
    column: str
    others: frozenset[str]
    usable: bool
    condition: Elem
    partner: tuple[str, str] | None = None
    constant: bool = False
    implied: bool = False


def implied(pairs: Sequence[Call]) -> Iterator[Call]:
    """The equalities of columns that follow from several ``pairs`` that are equal, each from one of its sides.

    Law: one is true wherever all of these are. NULL is a value like others where it is for all of them.
    """
    import networkx as nx  # noqa: PLC0415 - where programs are made, and not where rows of them are read

    graph: nx.Graph[Elem] = nx.Graph()
    for t in pairs:
        graph.add_edge(*t.args)
    for group in nx.connected_components(graph):
        safe = all(t.fn == "same" for t in pairs if t.args[0] in group)
        ordered = [t for t in graph if t in group]
        for a, b in combinations(ordered, 2):
            if not graph.has_edge(a, b):
                yield Call("same" if safe else "eq", (a, b))


def follows(t: Elem, pairs: Sequence[Call]) -> bool:
    """Whether ``t`` is true wherever all of the ``pairs`` are equal, and is none of them."""
    match t:
        case Call("eq" | "same", sides):
            found = (known.fn for known in implied(pairs) if {*known.args} == {*sides})
            return any(fn == "eq" or t.fn == "same" for fn in found)
    return False


def by_column(found: Iterable[Equation]) -> tuple[Equation, ...]:
    """The first equation of each column."""
    return tuple({e.column: e for e in reversed(tuple(found))}.values())[::-1]


def keys(group: Sequence[str], usable: Sequence[Equation]) -> tuple[Equation, ...]:
    """What ``group`` gives keys for, one equation a column: those of the one that gives most alone, then of others,
    then what is implied."""
    said = [e for e in usable if not e.implied]
    alone = [by_column(e for e in said if e.others == {v}) for v in group]
    most = max(alone, key=len, default=())
    others = sorted((e for e in usable if e.others and e.others <= {*group}), key=lambda e: len(e.others))
    return (*most, *(e for e in by_column(others) if all(e.column != known.column for known in most)))


def told(found: Iterable[Equation]) -> int:
    """How many of them conditions say."""
    return sum(not e.implied for e in found)
