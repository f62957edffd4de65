"""Whether a trigger is efficiently incremental, and if not: which part of the query, why, and what would make it so.

``C[[δ(h)]] < C[[h]]`` (theorems 4 and 5) holds whenever updates are incremental, size(ΔR) < size(R). C charges a join
all combinations of its rows, in h and in δ(h) alike, so it does not see a second way to lose: a batch that has to read
a whole table only to drop most of its rows costs what the table does, however small the change. That happens where no
equality leads from the change to the table, which the order of reading of each product tells
(``nrc/rewriting/access.py``).

Law: where a verdict says incremental, the rows that a batch reads are bounded by the change, by how often the tables
have its keys, and by the rows that it makes or takes; a batch that makes and takes none reads what its keys find. Four
things are beyond it: rows that cancel (⊖, or a row that goes while an equal one comes) were read before they did, a
key that has no value is not looked up at all, what is read to apply the operations of a batch is not asked here, and
what lies beyond a value of the only row that constants find, or between the old value and the new one, is read of all
rows that are compared with it, also of those that no row of the view holds.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from ripplenest.cost.called import Called
from ripplenest.cost.domains import BagCost, at_most, less, show_tcost
from ripplenest.cost.estimate import MOST
from ripplenest.cost.interpret import Sizes, cost, dict_cost, lookup_key
from ripplenest.cost.lookups import Scan, fans, scans, told_apart
from ripplenest.cost.words import There
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.reserved import of_a_map
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.normal import Comprehension, definitions, normal
from ripplenest.nrc.syntax import At, DictExpr, DictLit, DictRel, Expr, For, Grouped, Rel
from ripplenest.nrc.types import Label, Type
from ripplenest.nrc.walk import nodes


@frozen
class Finding:
    """What a reader of a view should know of a trigger: ``node`` of the query, ``reason``, and ``advice``.

    ``blocks``: because of it the trigger is not efficiently incremental; else it is a note. ``there``: only when a row
    comes or goes is it not.
    """

    node: str
    reason: str
    advice: str = ""
    blocks: bool = True
    there: There | None = None

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}" + (f"\n  to mend it: {self.advice}" if self.advice else "")


@frozen
class Verdict:
    """C[[h]] and C[[δ(h)]] for a change of ``changed``, and all that was found."""

    changed: tuple[str, ...]
    before: BagCost
    after: BagCost
    findings: tuple[Finding, ...] = field(factory=tuple)

    @property
    def incremental(self) -> bool:
        return not any(f.blocks for f in self.findings)

    @property
    def is_cheaper(self) -> bool:
        """Whether C[[δ(h)]] < C[[h]] for these sizes."""
        return less(self.after, self.before)

    @property
    def steps(self) -> tuple[str, str]:
        """tcost of both, as expressions of the sizes."""
        return show_tcost(self.before), show_tcost(self.after)

    def __str__(self) -> str:
        word = "incremental" if self.incremental else "not incremental"
        below = less(self.after, self.before)
        sign = "<" if below else "≤" if at_most(self.after, self.before) else "≰"
        return "\n".join((f"{word}: C[[δ]] = {self.after} {sign} {self.before}", *map(str, self.findings)))


def verdict(
    h: Expr | DictExpr,
    change: Expr | DictExpr,
    sizes: Sizes,
    products: Sequence[Comprehension] | None = None,
    called: Called = Called(),  # noqa: B008 - frozen
    held: bool = True,
) -> Verdict:
    """The verdict on maintaining ``h`` by ``change``, its delta.

    ``sizes`` have every part and map that the two read (``cost/sizes.py``). ``products``: the normal form of
    ``change``, if it is at hand. ``called``: what messages call domains and auxiliary maps. ``held``: rows of ``h`` are
    rows of the view; a dictionary without a domain has others, too, and so has an auxiliary map.
    Raises UnknownName on a part without a size.
    """
    before, after = _cost(h, sizes), _cost(change, sizes)
    changed = {n.name: n for n in nodes(change) if isinstance(n, Rel | DictRel) and n.at is At.DELTA}
    found = dict.fromkeys(_updates(before, after, tuple(changed.values()), sizes))
    known = {key: min(size.count, MOST) for key, size in sizes.items() if isinstance(size.count, int)}
    called = evolve(called, variables=tuple(n.var for n in nodes(h) if isinstance(n, For)))
    every = [j for c, free in _products(change, products) for j in joins(c, free)]
    apart = told_apart(every)
    for j in every:
        found.update(dict.fromkeys(_scan(s, sizes) for s in scans(j, called, held, apart)))
        notes = (Finding(f.node, f.what, blocks=False) for f in fans(j, called, known))
        found.update(dict.fromkeys(notes))
    return Verdict(tuple(changed), before, after, tuple(sorted(found, key=lambda f: not f.blocks)))


def _cost(term: Expr | DictExpr, sizes: Sizes) -> BagCost:
    return dict_cost(term, sizes) if isinstance(term, DictExpr) else cost(term, sizes)


def _products(
    change: Expr | DictExpr, products: Sequence[Comprehension] | None
) -> Iterator[tuple[Comprehension, Mapping[str, Type]]]:
    """The products of a delta, each with its free variables: of a definition, its label."""
    if isinstance(change, DictExpr):
        for d in (d for parts in definitions(change).values() for d in parts if isinstance(d, DictLit)):
            free: dict[str, Type] = {d.var: Label((d.site,))}
            yield from ((c, free) for c in normal(d.body, free))
    else:
        yield from ((c, {}) for c in (normal(change) if products is None else products))


# ---------------------------------------------------------------- updates that are not incremental


def _updates(before: BagCost, after: BagCost, changed: Sequence[Rel | DictRel], sizes: Sizes) -> Iterator[Finding]:
    if less(after, before):
        return
    large = False
    for r in changed:
        key_of = lookup_key if isinstance(r, DictRel) else str
        old, new = sizes[key_of(r.name)], sizes[key_of(At.DELTA.show(r.name))]
        if not less(new, old):
            large = True
            if old.count == 1:
                continue  # the row of a clock: no batch is smaller, and what is read of others is asked below
            if of_a_map(r.name):  # no batch says how much of it changes, and estimates are of all that could
                what = f"as much of it changes as there is, by the estimate: {new} of {old}"
                yield Finding(At.DELTA.show(part(r.name)), what, blocks=False)
                continue
            yield Finding(
                At.DELTA.show(part(r.name)),
                f"the update is not incremental: it has the size {new}, and what it changes has {old}",
                f"change {part(r.name)} in smaller batches, or recompute the view when so much of it changes",
            )
    if not large and not at_most(after, before):  # equal costs: some ∅ was left in δ(h), see cost/interpret.py
        yield Finding("δ", f"it costs {after}, and recomputing {before}", "recompute the view for such a batch")


# ---------------------------------------------------------------- tables that are read whole


def _scan(s: Scan, sizes: Sizes) -> Finding:
    """What grows with a table is paid for by what changes in the view, unless some of it is read for nothing."""
    size = sizes.get(s.rel.key) or sizes.get(s.rel.name)
    is_named = not isinstance(s.rel, Grouped) or (size is not None and isinstance(size.count, int))
    what = f"{s.when}, {s.what}" + (f" (size {size.count})" if size and is_named else "")
    if not s.obstacles:
        paid = "what is compared with that has another answer" if s.absent else "each of its rows is part of the result"
        return Finding(s.node, f"{what}; {paid}", blocks=False)
    reasons = "; ".join(dict.fromkeys(o.why for o in s.obstacles))
    advice = "; or ".join(dict.fromkeys(part for o in s.obstacles for part in o.advice.split("; or ")))
    return Finding(s.node, f"{what}, and what does not fit is thrown away. {reasons}", advice, there=s.there)
