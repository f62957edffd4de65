"""That nothing came after a row and before a value says that the row is the latest one before it.

    for s in φ_α(x ∈ e; f: any(a < v ≤ c)) union C[for _ in p(not s.f) union e′]
        ⟶  for s in φ_α(x ∈ (for x in e where v ≤ c); f: max(v)) union C[for _ in p(s.f = a) union e′]

where the rows around are known to have a ≤ c, and a is the v of one of e, as conditions around it say: ``o.at >= s.at
and not any(s.at < z.at <= o.at for z in starts)`` of an s that is one of the starts, the orders of a visit that began
last. So with < and ``min``, and with all that asks whether a row is there. What is asked reads two rows, and would be
kept for each pair of them, or looked for among all s before an o; the latest start before an o is one value for each o
(``delta/groups/nearest.py``), by which the others find it.

Values may be several that are compared in turn, as tuples are (``in_turn.py``): ``not any((s.at, s.id) < (z.at, z.id)
<= (o.at, o.id) ...)``; then what is latest is the first row of an order, τ_α(1; x ∈ …; v desc), with the values of a.

What e equates with the row of a is said of that of c, if these are equal there, so that c alone tells which rows it is.

Law: ⟦latest e⟧ = ⟦e⟧.
"""

from collections.abc import Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.nrc.rewriting.between import among, between, of_c
from ripplenest.nrc.rewriting.keyed import Around, Keys, rebuilt
from ripplenest.nrc.rewriting.normal import asked, conjunction, conjuncts, where
from ripplenest.nrc.rewriting.presence import (
    Fresh,
    asks_for_some,
    is_certain,
    opened,
    says,
    wanted,
    where_asked,
)
from ripplenest.nrc.rewriting.sharing import own_rows, rows_of
from ripplenest.nrc.rewriting.sooner import sooner
from ripplenest.nrc.rewriting.until import is_next, until
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Pred, Proj, Top, Var
from ripplenest.nrc.types import BOOL, places
from ripplenest.nrc.walk import free_vars, nodes, rebuild, rebuild_elem


def latest(e: Expr, keys: Keys, unions: bool = False) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    return where_asked(e, Around(keys, unions=unions), _inside, lambda t: asks_for_some(t) or is_next(t))


def _inside(e: Expr, around: Around, fresh: Fresh) -> Expr:
    match e:
        case For(s, Group() as g, body) if asks_for_some(g) and (found := _latest(g, around)) is not None:
            fold, n = g.folds[0], fresh.variables.fresh(s)
            told = _told(body, Proj(Var(s), fold.name), fold.fn, found.equal(Var(n)))
            if s not in free_vars(told):
                e = For(n, found.first, told)
        case For(_, Pred()) if (held := _held(e, around, fresh)) is not None:
            return held
        case Group(site, _, _, None, (Fold(_, "any", (_,)) as fold,)) if (rows := _of_some(e)) is not None:
            inside = _inside(rows, around, fresh)
            return e if inside is rows else Group(site, "_", inside, None, (evolve(fold, args=()),))
    return rebuilt(e, around, lambda c, here: _inside(c, here, fresh))


def _held(e: Expr, around: Around, fresh: Fresh) -> Expr | None:
    """``e``, whose conditions say of a value that it is before the next one of some rows, with the latest of them."""
    conditions, rest = asked(e)
    for said in conditions if around.totals else ():
        others = [c for c in conditions if c is not said]
        here = reduce(lambda known, c: known.below("_", Pred(c)), others, around)
        for way in until(said, here):
            site = fresh.sites.fresh(way.some.site)
            if (found := _latest(evolve(way.some, site=site), here)) is not None:
                n = fresh.variables.fresh("n")
                equal = [Call("eq", pair) for pair in found.equal(Var(n))]
                below = _inside(rest, here.below(n, found.first), fresh)
                return where(others, For(n, found.first, where([*equal, *way.kept], below)))
    return None


def _of_some(g: Group) -> Expr | None:
    """The rows of which ``g`` asks whether there are some, where these ask for others: their own conditions come before
    that, so that it is known of which rows it is asked."""
    if not any(asks_for_some(n) for n in nodes(g.of)):
        return None
    rows = opened(g)
    return None if rows is None else sooner(rows)


@frozen
class _Latest:
    """The ``first`` values before c, and those ``a`` which they are if none is later."""

    first: Group | Top
    a: tuple[Elem, ...]

    def equal(self, row: Elem) -> Sequence[tuple[Elem, Elem]]:
        """What of the ``row`` that has them has to be equal to what."""
        if isinstance(self.first, Group):
            return [(Proj(row, self.first.folds[0].name), self.a[0])]
        return [(Proj(row, name), value) for name, value in zip(places(len(self.a)), self.a, strict=True)]


def _latest(g: Group, around: Around) -> _Latest | None:
    """The latest values before c, in place of ``g``, and the a that they are if none is later."""
    inner, conditions, head = rows_of(g.of, around, frozenset(), totals=True)
    more = None if head is None else wanted(g, head, inner)
    own = own_rows(inner, around)
    if more is None or not own:
        return None
    every = [*conditions, *more]
    if not all(is_certain(c, inner) for c in every):
        return None
    for way in between(every, inner, own):
        others = [c for c in every if c not in (way.later, way.before)]
        rows = among(way, others, around)
        said = None if rows is None else of_c(way, others, rows, around)
        if said is not None:
            return _Latest(way.first(g, every, [*said, way.before]), way.a)
    return None


def _told(e: Expr, answer: Elem, fn: str, sides: Sequence[tuple[Elem, Elem]]) -> Expr:
    """``e``, which asks for the ``answer`` of a fold ``fn``, as what asks whether all two ``sides`` are equal. What is
    folded is always there, which its type does not say."""
    equal = [Call("eq", pair) for pair in sides]
    differ: Elem = reduce(lambda a, b: Call("or", (a, b)), [Call("ne", pair) for pair in sides])
    is_equal = Call("coalesce", (conjunction(equal), Lit(False, BOOL)))

    def conditions(t: Elem) -> Sequence[Elem]:
        is_there = says(t, answer, fn)
        return [value(t)] if is_there is None else [differ] if is_there else equal

    def value(t: Elem) -> Elem:
        is_there = says(t, answer, fn)
        if is_there is None:
            return rebuild_elem(t, value)
        return Call("not", (is_equal,)) if is_there else is_equal

    def below(e: Expr) -> Expr:
        match e:
            case For(var, Pred(cond), body) if var not in free_vars(body):
                return where([t for c in conjuncts(cond) for t in conditions(c)], below(body))
        return rebuild(e, below, value, lambda d: d)

    return below(e)
