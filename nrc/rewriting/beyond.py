"""Whether some row is beyond a value is asked of the row that is furthest.

    for s in φ_α(x ∈ e; f: any(v > c)) union C[for _ in p(s.f) union e′]
        ⟶  for s in φ_α(x ∈ e; f: max(v)) union C[for _ in p(s.f > c) union e′]
    … p(not s.f) …  ⟶  … (p(s.f is NULL) ⊎ p(s.f ≤ c) ⊎ p(c is NULL ∧ s.f is not NULL)) …
    … s.f, as a value …  ⟶  … coalesce(s.f > c, false) …

where v is of rows of e, which is found by equalities or is the same for all rows, and c of the rows around it, of which
several have the same e: ``not any(b.at > a.at for b in E if b.user == a.user)``, the last event of each user. φ would
be asked for each c, and so for all rows around it whenever a row of e changes; the greatest of e is one value for all
of them, and as it moves only those become others that lie between its old value and its new one. So it is with ``min``,
with ``all`` of the opposite, and with ``count()`` that is asked whether it is 0. That b is another row than a,
``b.id != a.id``, is said by v > c if both are the same value of rows of one relation.

    any(c ≤ v < d)  ⟶  max(v) of those where v < d, which is asked whether it is ≥ c

``any(a.at - 60 <= b.at < a.at for b in E if b.user == a.user)``, whether another one came shortly before: the rows
between both would be read and counted for each row around them. The furthest of those before it is the next one, which
is kept as what is behind an edge (``delta/groups/nearest.py``).

    any(v > c ∧ k < d)  ⟶  max(v) of those where k < d, which is asked whether it is > c

``all(b.v < a.v for b in E if b.user == a.user and b.at < a.at)``, whether it is above all before it: of two columns one
is the order, and the greatest so far by the other is told by that of the row before (``run/running.py``).

Law: ⟦beyond e⟧ = ⟦e⟧.
"""

from collections.abc import Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.nrc.rewriting.furthest import Furthest, ways
from ripplenest.nrc.rewriting.keyed import Around, Keys, rebuilt
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts
from ripplenest.nrc.rewriting.presence import Fresh, asks_for_some, says, where_asked
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Group, Lit, Plus, Pred, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, may_be_null
from ripplenest.nrc.walk import free_vars, rebuild, rebuild_elem


def beyond(e: Expr, keys: Keys, unions: bool = False) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    return where_asked(e, Around(keys, unions=unions), _inside)


def _inside(e: Expr, around: Around, fresh: Fresh) -> Expr:
    match e:
        case For(s, Group() as g, body) if asks_for_some(g) and (found := ways(g, around)):
            names, name = [fresh.variables.fresh(s) for _ in found], g.folds[0].name
            sites = (g.site, *(fresh.sites.fresh(g.site) for _ in found[1:]))
            told = [_Way(Proj(Var(n), name), way, around) for n, way in zip(names, found, strict=True)]
            below = _Told(Proj(Var(s), name), g.folds[0].fn, told).expr(body)
            if s not in free_vars(below):
                for n, site, way in reversed([*zip(names, sites, found, strict=True)]):
                    below = For(n, evolve(way.group(g), site=site), below)
                return _inside(below, around, fresh)
    return rebuilt(e, around, lambda c, here: _inside(c, here, fresh))


@frozen
class _Told:
    """The ``answer`` of a fold ``fn``, as what is said of the furthest rows of each of its ``ways``."""

    answer: Elem
    fn: str
    ways: Sequence["_Way"]

    def expr(self, e: Expr) -> Expr:
        """``e``, whose conditions and values ask for the answer."""
        match e:
            case For(var, Pred(cond), body) if var not in free_vars(body):
                below = self.expr(body)
                for c in reversed([*conjuncts(cond)]):
                    below = For("_", self._condition(c), below)
                return below
            case _:
                return rebuild(e, self.expr, self._value, lambda d: d)

    def _condition(self, c: Elem) -> Expr:
        match says(c, self.answer, self.fn):
            case None:
                return Pred(self._value(c))
            case True:
                return self._some(self.ways)
            case False:
                return reduce(lambda a, b: For("_", a, b), [way.none for way in self.ways])

    def _some(self, ways: Sequence["_Way"]) -> Expr:
        """p(a ∨ b) as p(a) ⊎ p(a is not true ∧ b)"""
        first, *others = ways
        some = Pred(first.said[0])
        return Plus(some, For("_", first.none, self._some(others))) if others else some

    def _value(self, t: Elem) -> Elem:
        some = reduce(lambda a, b: Call("or", (a, b)), [way.some for way in self.ways])
        match says(t, self.answer, self.fn):
            case None:
                return rebuild_elem(t, self._value)
            case True:
                return some
            case False:
                return Call("not", (some,))


@frozen
class _Way:
    """What the ``value`` of the ``furthest`` row is said to be, or not, and what is ``around``."""

    value: Elem
    furthest: Furthest
    around: Around

    @property
    def said(self) -> tuple[Call, Call]:
        return self.furthest.compared(self.value)

    @property
    def some(self) -> Elem:
        """As a value."""
        return Call("coalesce", (self.said[0], Lit(False, BOOL)))

    @property
    def none(self) -> Expr:
        """The greatest is not beyond, or there is none, or nothing is beyond NULL."""
        is_null = Call("is_null", (self.value,))
        found: Expr = Plus(Pred(is_null), Pred(self.said[1]))
        said = self.furthest.said
        others = [t for t in said.others if may_be_null(elem_type(t, self.around.types))]
        if not others:
            return found
        # Of two values the others are columns, and what is made of them need not be NULL where one is.
        unknown = Call("is_null", (others[0] if said.behind is None else self.said[0],))
        return Plus(found, Pred(conjunction((unknown, Call("not", (is_null,))))))
