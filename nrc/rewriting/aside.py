"""Rows that a clock finds between two of their values are set aside before something of them is computed that can fail.

    for x in e … for _ in p(a ≤ c ∧ c < b) union t
        ⟶  for g in γ_α(v ∈ (for x in e … for _ in p(a ≤ c ∧ c < b) union sng⟨x̄⟩); v; n: count()) union
              for _ in w(g.n) union t[x̄ := g.v]

where t can fail, as ``s.seats * p.quota`` does where it is too great, and x̄ are the columns that it reads. What is
valid is told by what has begun and what has ended (``valid.py``), also of rows that are not; so nothing of these may
fail, and of all rows on one side of the clock it would be asked again whenever the clock moves. So it is where a group
computes it of its rows: of these go the fields that it reads. Rows around e are left out, as what is valid is the same
for all of them: what compares with them is asked of g, and of a clock around e its row is read again. The bag of a row
around e is set aside as it is.

Law: ⟦aside e⟧ = ⟦e⟧, and one has a value where the other has.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.nrc.paths import map_columns, root
from ripplenest.nrc.rewriting.keyed import Around, Keys, Told, asked_of_each, computing, passed
from ripplenest.nrc.rewriting.normal import asked, is_sure, where
from ripplenest.nrc.rewriting.presence import Fresh
from ripplenest.nrc.rewriting.valid import between
from ripplenest.nrc.syntax import Elem, Expr, Flatten, Fold, For, Group, Lit, Pred, Proj, Rel, Sng, Tuple, Var, Weigh
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import LONG, Base
from ripplenest.nrc.walk import free_lets, free_names, free_vars, nodes, rebuild, replace

ROW, TIMES = "v", "n"
Step = tuple[str, Expr] | Elem  # a generator, or a condition


def aside(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys or is_sure(e):
        return e
    return passed(e, lambda e: _Aside(Fresh(*free_names(e))).inside(e, Around(keys)))


@frozen
class _Aside:
    """One term, whose names are taken; ``fresh`` ones are others."""

    fresh: Fresh

    def inside(self, e: Expr, around: Around) -> Expr:
        """``e`` where it stands."""
        if isinstance(e, Group) and not is_sure(e) and (narrow := _of_fields(e)) is not None:
            found = computing(narrow, around, self.inside)
            return computing(e, around, self.inside) if found is narrow else found
        if isinstance(e, For) and (rows := self._set_aside(e, around, around, [])) is not None:
            return rows
        return computing(e, around, self.inside)

    def _set_aside(self, e: Expr, outside: Around, around: Around, before: Sequence[Step]) -> Expr | None:
        """``e`` behind the steps ``before`` it; None where nothing of it is valid."""
        match e:
            case For(x, Pred(), body) if x not in free_vars(body):  # else nothing is ``asked`` before the rest
                conditions, rest = asked(e)
                here = reduce(lambda known, c: known.below("_", Pred(c)), conditions, around)
                every = [*before, *conditions]
                fails = around.fails or not all(map(is_sure, (rest, *conditions)))
                if fails and (found := between(conditions, here)) is not None:
                    ends = [c for c in conditions if c not in found[1]]
                    return self._behind(every, ends, rest, outside, here)
                return self._set_aside(rest, outside, here, every)
            case For(var, source, body):
                return self._set_aside(body, outside, around.below(var, source), [*before, (var, source)])
        return None

    def _behind(
        self, steps: Sequence[Step], ends: Sequence[Elem], e: Expr, outside: Around, around: Around
    ) -> Expr | None:
        """``e`` behind the rows of ``steps``, which have ``ends``; None where these are of rows around them, where it
        reads the clock, or more than columns of rows and totals."""
        own = frozenset(step[0] for step in steps if isinstance(step, tuple))
        inside, later = _parted(steps, own, outside)
        clocks, e = _clocks(inside, own, outside), where(later, e)
        read = free_vars(e) & own
        is_own = all(c in inside and free_vars(c) & own for c in ends)
        if clocks is None or not is_own or read & around.told(frozenset()).keys() or not read <= around.types.keys():
            return None
        g, columns = self.fresh.variables.fresh("g"), dict[Elem, Elem]()
        below = _put(e, read, around, columns, g)
        types = [elem_type(t, around.types) for t in columns]
        if not columns or not all(isinstance(t, Base) for t in types):
            return None
        x, row = self.fresh.variables.fresh("v"), Tuple(tuple((f"c{i}", t) for i, t in enumerate(columns)))
        count = (Fold(TIMES, "count", (), LONG),)
        rows = self._with_clocks(_rows(inside, Sng(row)), clocks)
        valid = Group(self.fresh.sites.fresh("valid"), x, rows, ((ROW, Var(x)),), count)
        return For(g, valid, For("_", Weigh(Proj(Var(g), TIMES)), below))

    def _with_clocks(self, e: Expr, clocks: Mapping[str, tuple[Expr, Told]]) -> Expr:
        """``e`` with rows of its own for those around it that constants tell."""
        for k, (source, told) in clocks.items():
            name = self.fresh.variables.fresh(k)
            e = For(name, source, where(told.of(name), replace(e, {k: Var(name)})))
        return e


def _of_fields(g: Group) -> Group | None:
    """A group of those fields of stored rows alone that it reads; None where it reads whole rows, or is of others."""
    read = [t for term in asked_of_each(g) for t in nodes(term)]
    paths = [t for t in read if isinstance(t, Proj) and t.of == Var(g.var)]
    of = _narrow(g.of, [*dict.fromkeys(t.field for t in paths)])
    return None if of is None or sum(t == Var(g.var) for t in read) > len(paths) else evolve(g, of=of)


def _narrow(e: Expr, fields: Sequence[str]) -> Expr | None:
    match e:
        case For(var, source, body):
            below = _narrow(body, fields)
            return None if below is None else For(var, source, below)
        case Sng(Var(x)):
            return Sng(Tuple(tuple((f, Proj(Var(x), f)) for f in fields)) if fields else Lit(1, LONG))
    return None


def _parted(steps: Sequence[Step], own: frozenset[str], outside: Around) -> tuple[list[Step], list[Elem]]:
    """The steps that read no row around them but such as constants tell, and the conditions that read others, or can
    fail: one that is false decides, whichever are asked before."""
    known = own | outside.told(frozenset()).keys()
    later = [c for c in steps if not isinstance(c, tuple) and not (free_vars(c) <= known and is_sure(c))]
    return [s for s in steps if isinstance(s, tuple) or s not in later], later


def _clocks(steps: Sequence[Step], own: frozenset[str], outside: Around) -> dict[str, tuple[Expr, Told]] | None:
    """The rows around that ``steps`` read, with what tells them; None where they read more."""
    read = frozenset[str]().union(*map(_read, steps)) - own
    told = outside.told(frozenset())
    if any(k not in told or told[k].beside or not isinstance(outside.rows[k].source, Rel) for k in read):
        return None
    if any(free_lets(s[1]) for s in steps if isinstance(s, tuple)):
        return None
    return {k: (outside.rows[k].source, told[k]) for k in sorted(read)}


def _read(step: Step) -> frozenset[str]:
    """The rows that ``step`` reads, but for one around it whose inner bag it is."""
    match step:
        case (_, Flatten(Sng(path))) if root(path) is not None:
            return frozenset()
        case (_, source):
            return free_vars(source)
        case _:
            return free_vars(step)


def _put(e: Expr, read: frozenset[str], around: Around, columns: dict[Elem, Elem], g: str) -> Expr:
    """``e`` with the columns of the row ``g`` for those of the variables that are ``read``, which are noted."""

    def column(t: Elem) -> Elem:
        return columns.setdefault(t, Proj(Proj(Var(g), ROW), f"c{len(columns)}"))

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, lambda t: map_columns(t, read, around.types, column), lambda d: d)

    return expr(e)


def _rows(steps: Sequence[Step], e: Expr) -> Expr:
    for step in reversed(steps):
        e = For(*step, e) if isinstance(step, tuple) else where([step], e)
    return e
