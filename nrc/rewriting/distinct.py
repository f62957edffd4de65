"""What is distinct, or grouped, up to a value is asked of all that is distinct, or of all groups.

    for s in γ_α(x ∈ (for b in R where c and t ≤ v union sng(h)); k; f) union e′
        ⟶  for s in γ_α(x ∈ (for b in R where c union sng(h)); k; f) union for _ in p(s.k ≤ v) union e′
    for s in γ_α(x ∈ (for b in R where c and t ≤ v union sng(h)); k) union e′
        ⟶  for s in γ_α(x ∈ (for b in R where c union sng(⟨row: h, by: t⟩)); k(x.row); first: min(x.by)) union
               for _ in p(s.first ≤ v) union e′

of a t that is one of the keys k, and of another one, where nothing is folded: some of its rows are up to v if the first
one is. So with <, with max and ≥, and with several such keys. v is of the rows around, of which several have the same
c: ``1 + len({b.v for b in E if b.game == a.game and b.v > a.v})``, the place of a that ties share, and
``len({b.user for b in E if b.day <= a.day})``, how many there were so far. Groups would be kept for each v, as many as
the square of a game, and all of them read when one comes; now those of a game are kept once, and what is counted of
them is a window (``ripplenest/plan/windows.py``).

    for s in γ_α(x ∈ (for b in R where c and (t, r) ≤ (v, w) union sng(h)); k) union e′
        ⟶  for s in γ_α(x ∈ (for b in R where c union sng(h)); k) union
               for y in τ_β(1; x ∈ (for b in R where c and k = s.k union sng(⟨t, r⟩)); t, r) union
               for _ in p((y.t, y.r) ≤ (v, w)) union e′

So it is with values that are compared in turn (``in_turn.py``): then the first row of each group says it.

Law: ⟦distinct e⟧ = ⟦e⟧.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import evolve, frozen

from ripplenest.nrc.functions.folds import result_type
from ripplenest.nrc.paths import reads_whole
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.ends import put
from ripplenest.nrc.rewriting.in_turn import in_turn
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import is_total, where
from ripplenest.nrc.rewriting.presence import Fresh, is_certain, is_known
from ripplenest.nrc.rewriting.sharing import bags_of, compared_with, equated, is_shared, own_rows, rows_of, without
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Order, Proj, Top, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Type, places
from ripplenest.nrc.walk import Names, free_names, free_vars, nodes, replace_elem

ROW, BY, FIRST = "row", "by", "first"


def distinct(e: Expr, keys: Keys, unions: bool = False) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not any(isinstance(n, Group) and n.keys for n in nodes(e)):
        return e
    return passed(e, lambda apart: _inside(apart, Around(keys, unions=unions), Fresh(*free_names(apart))))


def _inside(e: Expr, around: Around, fresh: Fresh) -> Expr:
    match e:
        case For(s, Group(_, _, _, (_, *_)) as g, body) if (rows := _rows(g, around)) is not None:
            e = rows.asked(s, g, body, around) or rows.asked_in_turn(s, g, body, around, fresh) or e
    return rebuilt(e, around, lambda c, here: _inside(c, here, fresh))


@frozen
class _Asked:
    """A ``condition`` that compares a ``value`` of rows, ``fn``, with an ``other`` of the rows around them."""

    condition: Call
    fn: str
    value: Elem
    other: Elem


@frozen
class _Rows:
    """The rows ``own`` that are grouped, each as a ``head``; ``across`` are the conditions on them and on rows around
    them, and ``bags`` those of rows around that they are of. All always have a value, by the ``types`` of both."""

    own: AbstractSet[str]
    head: Elem
    across: Sequence[Elem]
    bags: Sequence[Elem]
    types: Mapping[str, Type]

    def asked(self, s: str, g: Group, body: Expr, around: Around) -> Expr | None:
        """``g``, whose rows are ``s`` in ``body``, of all rows, of which then is asked what was asked of these; None
        where several rows around do not share them."""
        compares = [c for c in self.across if isinstance(c, Call) and c.fn in SWAPPED]
        every = [_Asked(c, *found) for c in compares if (found := compared_with(c, self.own)) is not None]
        above = {a: self._of_keys(a, s, g) for a in every}
        others = [a for a in every if free_vars(above[a]) & self.own]
        moved = [a for a in every if a not in others]
        first = others[0] if len(others) == 1 and self._is_first(others[0], s, g, body) else None
        asked = moved if first is None else every
        conditions = [c for c in self.across if c not in [a.condition for a in asked]]
        equal = [*self.bags, *(equated(c, self.own) for c in conditions)]
        if not asked or not all(is_shared(equal, a.other, around) for a in asked):
            return None
        dropped, conditions = [a.condition for a in asked], [above[a] for a in moved]
        if first is None:
            return For(s, evolve(g, of=without(g.of, dropped, (), self.head)), where(conditions, body))
        fold = self._fold(first, g)
        conditions.append(put(first.condition, first.value, Proj(Var(s), fold.name)))
        row = Tuple(((ROW, self.head), (BY, first.value)))
        own = {g.var: Proj(Var(g.var), ROW)}
        keys = tuple((name, replace_elem(t, own)) for name, t in g.keys or ())
        of = evolve(g, of=without(g.of, dropped, (), row), keys=keys, folds=(fold,))
        return For(s, of, where(conditions, body))

    def asked_in_turn(self, s: str, g: Group, body: Expr, around: Around, fresh: Fresh) -> Expr | None:
        """The same of values that are compared in turn, by the first row of each group; None where they are not."""
        every = [(c, found) for c in self.across if (t := in_turn(c)) is not None and (found := t.of(self.own))]
        if len(every) != 1 or g.folds or not all(map(self._is_ordered, every[0][1].values)):
            return None
        (c, asked), names = every[0], places(len(every[0][1].values))
        equal = [*self.bags, *(equated(t, self.own) for t in self.across if t != c)]
        if not all(is_shared(equal, other, around) for other in asked.others):
            return None
        x, first = fresh.variables.fresh(g.var), fresh.variables.fresh(s)
        alike = [Call("same", (replace_elem(t, {g.var: self.head}), Proj(Var(s), name))) for name, t in g.keys or ()]
        row = Tuple(tuple(zip(names, asked.values, strict=True)))
        order = tuple(Order(Proj(Var(x), name), descending=asked.fn in ("gt", "ge")) for name in names)
        said: Elem = c
        for name, value in zip(names, asked.values, strict=True):
            said = put(said, value, Proj(Var(first), name))
        top = Top(fresh.sites.fresh(g.site), x, without(g.of, [c], alike, row), order, 1)
        of = evolve(g, of=without(g.of, [c], (), self.head))
        return For(s, of, For(first, top, where([said], body)))

    def _is_ordered(self, value: Elem) -> bool:
        """Whether it always has a value, or is NULL, which comes last and is compared with nothing."""
        return isinstance(elem_type(value, self.types), Base) and is_total(value, self.types)

    def _of_keys(self, a: _Asked, s: str, g: Group) -> Elem:
        """What is asked, of the keys of the row ``s``."""
        asked: Elem = a.condition
        for name, t in g.keys or ():
            asked = put(asked, simplify_elem(replace_elem(t, {g.var: self.head})), Proj(Var(s), name))
        return asked

    def _is_first(self, a: _Asked, s: str, g: Group, body: Expr) -> bool:
        """Whether the first value of a group says that some are asked for."""
        return not g.folds and isinstance(elem_type(a.value, self.types), Base) and not reads_whole(body, s)

    def _fold(self, a: _Asked, g: Group) -> Fold:
        """The first value, or the last one."""
        fn, t = "min" if a.fn in ("lt", "le") else "max", elem_type(a.value, self.types)
        assert isinstance(t, Base)
        name = Names(frozenset(name for name, _ in g.keys or ())).fresh(FIRST)
        return Fold(name, fn, (Proj(Var(g.var), BY),), result_type(fn, [t]))


def _rows(g: Group, around: Around) -> _Rows | None:
    """The rows of ``g``, if they are those of relations and inner bags, and nothing that is asked of them can fail."""
    inner, conditions, head = rows_of(g.of, around, frozenset(), totals=True)
    own = own_rows(inner, around)
    if head is None or not own:
        return None
    made = (*(t for _, t in g.keys or ()), *(a for f in g.folds for a in f.args))
    read = (head, *(replace_elem(t, {g.var: head}) for t in made))
    if not all(is_known(t, inner) and is_total(t, inner.types) for t in read):
        return None
    if not all(is_certain(c, inner) for c in conditions):
        return None
    across = [c for c in conditions if free_vars(c) & own and free_vars(c) - own]
    return _Rows(own, head, across, bags_of(own, inner), inner.types)
