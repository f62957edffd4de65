"""Which tables are read whole for a change, and which conditions do not look up rows of them (``words.py`` says why).

A column is looked up by an equality with a value of its own type that one table read before it has, or between two such
values. Everything else is a condition on rows that are already read. What is found without a value of the change, by
reading the table whole, or from one value on, or by constants that are no key, grows with the table. It is worth its
price only when each row of it is part of the result: when no condition at all is left that could drop one, ``≠`` and
``is not null`` no less than others, no other table is joined to it, and what is made of it is not kept for labels that
nobody holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import ceil

from attrs import frozen

from ripplenest.cost.called import Called
from ripplenest.cost.estimate import found_by_a_key
from ripplenest.cost.words import Obstacle, There, Words
from ripplenest.nrc.rewriting.access import Join, Read
from ripplenest.nrc.rewriting.bands import COMPARED, OPPOSITE, SWAPPED
from ripplenest.nrc.rewriting.equated import Equation, follows
from ripplenest.nrc.syntax import Call, Elem, Rel, Term, Var
from ripplenest.nrc.walk import children, nodes, replace_elem


@frozen
class Scan:
    """A table of which more is read when it grows: the generator as the view has it, what happens, and why rows of it
    can be read for nothing. ``there``: if nothing happens but that. ``absent``: of what one value for all rows that
    comes or goes is compared with."""

    rel: Rel
    node: str
    when: str
    what: str
    obstacles: tuple[Obstacle, ...]
    there: There | None = None
    absent: bool = False


def told_apart(every: Iterable[Join]) -> frozenset[Elem]:
    """The sides of comparisons that some of these joins ask for, and others for their opposite: rows of which they have
    a value are in one of the two. Variables are called like what they go through."""
    asked = {_of_parts(t, j) for j in every for t in j.product.conditions if isinstance(t, Call) and t.fn in SWAPPED}
    both = (t for t in asked if isinstance(t, Call) and Call(OPPOSITE[t.fn], t.args) in asked)
    return frozenset(side for t in both for side in t.args)


def _of_parts(t: Elem, j: Join) -> Elem:
    return replace_elem(t, {var: Var(rel.key) for var, rel in j.product.generators})


def _is_rest(t: Elem, j: Join, apart: Set[Elem]) -> bool:
    """Whether ``t`` asks for the rows that are not in joins of which each has what the other one has not."""
    return isinstance(t, Call) and t.fn == "is_null" and _of_parts(t.args[0], j) in apart


def scans(j: Join, called: Called, held: bool = True, apart: Set[Elem] = frozenset()) -> Iterator[Scan]:
    """The generators of ``j`` of which more is read when their tables grow. ``apart``: what the joins beside it tell.

    Law: where none of them has an obstacle, each row that is read of them is part of a row of the product, as long as
    nothing is read before some combination of changes and of what they look up fulfils its conditions. ``held``: each
    row of the product is part of the view.
    """
    order = j.reads()
    for r in order:
        if called.grows(r, j, order):
            words = Words(j, called, _region(order, r), r)
            found_by = {e.condition for e in r.keys} | {e.condition for o in order for e in _said(o)}
            asked = [t for t in j.product.conditions if j.sources(t) & words.region and t not in found_by]
            lost = [t for t in asked if not _is_rest(t, j, apart)]
            changed = [o for o in order if o.how == "change"]
            changes = dict.fromkeys(map(words.happens, changed))
            others = [o for o in order if called.grows(o, j, order) and o.var not in words.region]
            kept = map(words.kept, _kept(j, words.region, {o.var for o in changed if called.moves(o)}))
            beside = (*map(words.beside, others), *kept, *([] if held else [words.unheld()]))
            obstacles = (*map(words.obstacle, lost), *beside)
            there = words.there(*changed) if len(changed) == 1 else None
            yield Scan(r.rel, words.generator, f"when {' and '.join(changes)}", words.read, obstacles, there)
        elif r.grows and called.of_nothing(j) and not called.moves(r) and r.rel.name not in called.fixed:
            words = Words(j, called, _region(order, r), r)
            when = " and ".join(dict.fromkeys(map(words.happens, (o for o in order if o.how == "change"))))
            yield Scan(r.rel, words.generator, f"when {when}", words.read, (), absent=True)


def _kept(j: Join, region: Set[str], moving: Set[str]) -> list[Call]:
    """The comparisons of rows with values that move, as values of what is made, if nothing else of these is shown."""
    found = [
        t
        for part in (j.product.head, *j.product.times)
        for t in nodes(part)
        if isinstance(t, Call) and t.fn in COMPARED and j.sources(t) & region and j.sources(t) & moving
    ]
    read = (t for part in (j.product.head, *j.product.times) for t in _outside(part, found))
    return [] if any(j.sources(t) & moving for t in read) else found


def _outside(t: Term, found: Sequence[Elem]) -> Iterator[Elem]:
    """What stands beside the elements ``found``."""
    if t not in found:
        below = [*children(t)]
        yield from (n for c in below for n in _outside(c, found))
        if not below and isinstance(t, Var):
            yield t


def _said(r: Read) -> Iterator[Equation]:
    """What says for which place a fold is read that has a row for every place: it drops nothing."""
    return (e for e in r.keys if r.place is not None and e.column.partition(".")[0] == "label")


@frozen
class Fan:
    """A table that is looked up, where a key finds several rows and conditions drop some of them."""

    node: str
    what: str


def fans(j: Join, called: Called, rows: Mapping[str, float]) -> Iterator[Fan]:
    """The probes of ``j`` of which rows are dropped, with what one key finds by an estimate; ``rows`` as far as known.

    They are what a change costs, however few of them are in the result.
    """
    order = j.reads()
    looked_up = {e.condition: e for r in order for e in r.keys}
    pairs = [t for t, e in looked_up.items() if e.partner and isinstance(t, Call)]
    changes = [r for r in order if r.how == "change"]
    left = [t for t in j.product.conditions if t not in looked_up and t not in j.told and not follows(t, pairs)]
    for r in order:
        dropping = [t for t in left if r.var in j.sources(t)]
        known = r.rel.name in rows and r.how == "probe" and not called.finds_one(r) and not called.grows(r, j, order)
        if known and dropping and (found := ceil(found_by_a_key(j, r, rows))) > 1:
            words = Words(j, called, frozenset((r.var,)), r)
            yield Fan(words.generator, words.fan(found, changes, dropping))


def _region(order: tuple[Read, ...], scan: Read) -> frozenset[str]:
    """The scanned generator, and those whose keys come from it."""
    found = {scan.var}
    for r in order:
        if found & {*r.via}:
            found.add(r.var)
    return frozenset(found)
