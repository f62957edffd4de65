"""A row that moves by itself is read once for each row that is compared with it.

    for k in K where k.id = 1 union … p(x.a ≤ k.at) … p(y.b ≤ k.at) …
        ⟶  for k in K where k.id = 1 union … p(x.a ≤ k.at) … for l in K where l.id = 1 union p(y.b ≤ l.at) …

where constants tell k, as of a clock, so that l is the same row, and of k is read only what it is compared with. When k
moves, the rows x between the old value and the new one come or go with all y as they were, and then the rows y with
all x as they are. Of both at once no order tells which they are: all rows were read that one end says.

Law: ⟦apiece e⟧ = ⟦e⟧, where keys are unique.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from ripplenest.nrc.rewriting.keyed import Around, Keys, Told, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjuncts, where
from ripplenest.nrc.syntax import Elem, Expr, For, Pred, Rel, Var
from ripplenest.nrc.walk import Names, free_names, free_vars, replace_elem


def apiece(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    return passed(e, lambda e: _inside(e, Around(keys), free_names(e)[0])) if keys else e


def _inside(e: Expr, around: Around, names: Names) -> Expr:
    match e:
        case For(k, Rel() as rel, body):
            below = around.below(k, rel)
            inner = _inside(body, below, names)
            told = _told(k, inner, below)
            found = inner if told is None else _Clock(k, rel, told, names).apart(inner)
            return e if found is body else For(k, rel, found)
    return rebuilt(e, around, lambda c, below: _inside(c, below, names))


def _told(k: str, e: Expr, around: Around) -> Told | None:
    """The constants that tell ``k`` in ``e``, and None where others do, or where more is read of it than conditions on
    single rows do."""
    compared = set[str]()
    while isinstance(e, For):
        if isinstance(e.source, Pred) and e.var not in free_vars(e.body):
            compared |= {x for c in conjuncts(e.source.cond) for x in _beside(k, c)}
        elif k in free_vars(e.source):
            return None
        around, e = around.below(e.var, e.source), e.body
    found = around.told(frozenset()).get(k)
    return found if k not in free_vars(e) and len(compared) > 1 else None


def _beside(k: str, cond: Elem) -> frozenset[str]:
    """The one row that a condition compares with ``k``; nothing for others."""
    free = free_vars(cond)
    return free - {k} if k in free and len(free) == 2 else frozenset()


@frozen
class _Clock:
    """The row ``k`` of ``rel``, which constants have ``told``, and what it is ``called`` where rows are compared with
    it, by row."""

    k: str
    rel: Rel
    told: Told
    names: Names
    called: Mapping[str, str] = {}

    def apart(self, e: Expr) -> Expr:
        """``e`` with one more generator before the first condition on each row but the first."""
        if not isinstance(e, For):
            return e
        if not isinstance(e.source, Pred):
            return For(e.var, e.source, self.apart(e.body))
        return self._asked([*conjuncts(e.source.cond)], e.body)

    def _asked(self, conditions: Sequence[Elem], body: Expr) -> Expr:
        if not conditions:
            return self.apart(body)
        c, *others = conditions
        own = next(iter(_beside(self.k, c)), None)
        if own is None or own in self.called:
            return self._where(c, self.called.get(own or "", self.k), self._asked(others, body))
        name = self.names.fresh(self.k) if self.called else self.k
        found = self._where(c, name, evolve(self, called={**self.called, own: name})._asked(others, body))
        return For(name, self.rel, where(self.told.of(name), found)) if self.called else found

    def _where(self, c: Elem, name: str, body: Expr) -> Expr:
        return where([replace_elem(c, {self.k: Var(name)})], body)
