"""The first rows behind a value of their place: the row before another one, and as-of joins.

    τ_α(n; x ∈ (for b in R where c and k < v union sng(t)); k desc, o)  ⟶  T_α⟨Π,v⟩
    T_α⟨Π,v⟩ = first n of those of O_α⟨Π⟩ by k desc, o that are behind v          O_α = [(α,Π) ↦ for b in R where c …]

v is of what is around, and k what orders rows first; ≤ is an edge that rows may lie on, and > and ≥ are edges of rows
in ascending order. As a condition like others it would keep R once for each v: for each event of a user all that came
before it. Now O has the rows of a user once, whichever v is asked for. T has rows of the places that are asked for, and
hears of places that come and go, and of rows that do (``run/nearest.py``). A value that is computed stands in the label
beside the columns that it is of, T⟨Π,v(c),c⟩: what reads a row of T is looked up by columns. So T's term makes both:

    T = for y in O union sng⟨⟨Π(y),–,–⟩, y, false⟩ ⊎ for l in Dom_T union sng⟨⟨Π(l),v(l),c(l)⟩, –, true⟩

Where the value is of something else than what orders rows first, as it is of the greatest amount up to a day, rows have
that beside them, O = [Π ↦ for b in R where c union sng⟨t, k(b)⟩], and T is the first of those so far
(``so_far.py``), perhaps to a second value of what the first one is of, where they end. Then what else is asked of
rows are equalities alone: else O would have all of R for each place.

O has rows that no place asks for, so nothing in it may fail.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from attrs import evolve, frozen

from ripplenest.delta.around import Around
from ripplenest.delta.chain import Chain, chain
from ripplenest.delta.groups.so_far import MOST, MOST_BETWEEN, End, are_shared, ended
from ripplenest.nrc.paths import columns_read, map_columns
from ripplenest.nrc.rewriting.bands import compared
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.ends import edge, has_value
from ripplenest.nrc.rewriting.normal import conjuncts, is_total
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import Apply, Call, Elem, Expr, For, GroupRel, Order, Top, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Record, Type, nullable
from ripplenest.nrc.walk import free_lets, free_vars, replace_let


@frozen
class Until:
    """The parameter of a place at whose value its rows end, as ``Edge`` has it."""

    param: str
    open: bool
    value: Elem | None = None


@frozen
class Edge:
    """The parameter of a place behind whose value its rows are; whether it is ``open``, and none lie on it. ``value``:
    what it is, of the numbers of the parameters behind it, if it is computed of these. ``by``: what rows compare with
    it, if that is not what orders them first, in an order in which they are behind it; then they may end, too."""

    param: str
    open: bool
    value: Elem | None = None
    by: Order | None = None
    until: Until | None = None


@frozen
class Behind:
    """First rows of all, of which those behind a ``value`` of a ``type`` are wanted. It is of what is ``around``: of
    groups, too, which have one row each, and were beside the rows. They compare ``by`` something with it, if that is
    not what orders them first, and may come to an ``end``."""

    rows: Top
    value: Elem
    type: Base
    open: bool
    around: Around
    groups: tuple[tuple[str, Expr], ...]
    by: Order | None = None
    end: End | None = None

    @property
    def told_by(self) -> tuple[Elem, ...]:
        """The columns that values are computed of; none of those that are one themselves, by which rows are found."""
        values = (self.value,) if self.end is None else (self.value, self.end.value)
        return tuple(dict.fromkeys(c for t in values for c in self._read(t)))

    def _read(self, t: Elem) -> tuple[Elem, ...]:
        read = columns_read(t, free_vars(t), self.around.pi)
        return () if t in read else read

    def edge(self, param: str, until: str, by: Order | None) -> Edge:
        """That of the parameters that have the values, which rows compare ``by`` something with."""
        end = None if self.end is None else Until(until, self.end.open, self._computed(self.end.value))
        return Edge(param, self.open, self._computed(self.value), by, end)

    def _computed(self, t: Elem) -> Elem | None:
        """What it is of the numbers of ``told_by``; None of a column."""
        numbers = {c: Var(str(i)) for i, c in enumerate(self.told_by)}
        return map_columns(t, free_vars(t), self.around.pi, lambda column: numbers[column]) if self._read(t) else None

    def beside(self, e: Expr) -> Expr:
        """``e``, which reads the groups."""
        for var, group in reversed(self.groups):
            e = For(var, group, e)
        return e


def behind(t: Top, around: Around) -> Behind | None:
    """What ``t`` is the first rows of, if it is of those behind a value of what is around."""
    t = evolve(t, of=_opened(t.of, around))
    rows = chain(t.of, t.var)
    if not t.order or not _is_plain(elem_type(rows.head, around.inside(rows.generators).pi)):
        return None
    first = [(c, _first(t, rows)) for c in rows.conjuncts]
    every = ((c, by) for c in rows.conjuncts for by in _compared(c, rows))
    other = sorted(every, key=lambda way: not way[1].descending)  # up to a value, as what comes is mostly the greatest
    found = (_behind(t, rows, c, around, by) for c, by in (*first, *other))
    return next((b for b in found if b is not None), None)


def _first(t: Top, rows: Chain) -> Order:
    """What orders rows first."""
    return evolve(t.order[0], by=rows.read(t.order[0].by, t.var))


def _compared(c: Elem, rows: Chain) -> Iterator[Order]:
    """What ``c`` compares of rows, each in the order in which they would be behind something."""
    for own, _, upper, _ in compared([c]):
        if free_vars(own) and free_vars(own) <= rows.own:
            yield Order(own, descending=upper)


def tied(t: Top, around: Around) -> tuple[Top, Expr] | None:
    """What ``t`` is the first rows of, if some are behind a value, and others lie on it and are told by more:

        R where k < v or k = v and c  =  (R where k < v) ⊎ (R where k = v and c)

    The former, of which the first are enough, and the latter, which are few.
    """
    t = evolve(t, of=_opened(t.of, around))
    rows = chain(t.of, t.var)
    types = around.inside(rows.generators).pi
    for c in rows.conjuncts if t.order else ():
        every = [*disjuncts(c)]
        ways = ((p, by) for p in every for by in (_first(t, rows), *_compared(p, rows)))
        for p, by in ways if len(every) > 1 else ():
            value, is_open = edge(p, by.by, by.descending, types)
            beside = [q for q in every if q is not p]
            if value is None or not is_open or not all(_lies_on(q, by.by, value) for q in beside):
                continue
            first, others = (_instead(rows, c, q) for q in (p, reduce(lambda a, b: Call("or", (a, b)), beside)))
            if _are_total(others, around) and behind(found := evolve(t, of=first.term(first.head)), around) is not None:
                return found, others.term(others.head)
    return None


def _instead(rows: Chain, c: Elem, other: Elem) -> Chain:
    """The rows with another one of their conditions in the place of ``c``."""
    return evolve(rows, conditions=tuple(other if known == c else known for known in rows.conjuncts))


def _lies_on(q: Elem, by: Elem, value: Elem) -> bool:
    """Whether ``q`` says that ``by`` is the ``value``."""
    said = (t.args for t in conjuncts(q) if isinstance(t, Call) and t.fn == "eq")
    return any({*sides} == {by, value} for sides in said)


def _are_total(rows: Chain, around: Around) -> bool:
    types = around.inside(rows.generators).pi
    return all(is_total(t, types) for t in rows.conditions)


def _opened(e: Expr, around: Around) -> Expr:
    """``e`` with what is named around it in the place of the name."""
    while named := free_lets(e):
        for name in sorted(named):
            e = replace_let(e, name, around.lets[name])
    return simplify(e, around.gamma, around.pi)


def _behind(t: Top, every: Chain, c: Elem, around: Around, by: Order) -> Behind | None:
    """Without the condition ``c``, if it is the one that says so of what rows are ordered ``by``, then or at first."""
    types, is_first = around.inside(every.generators).pi, by == _first(t, every)
    value, is_open = edge(c, by.by, by.descending, types)
    if value is None:
        return None
    groups = tuple((v, e) for v, e in every.generators if v in free_vars(value) and _has_one_row(e, every))
    if _is_one_for_all(value, groups):
        return None
    generators = tuple(g for g in every.generators if g not in groups)
    rows = Chain(generators, (*(p for p in every.conjuncts if p != c), *has_value(by.by, types)), every.head)
    own = elem_type(value, types)
    if not isinstance(own, Base) or not _is_of(value, by.by, rows, types) or not _never_fails(rows, t, types):
        return None
    if is_first and any(_is_end(p, by.by, rows) for p in rows.conjuncts):
        return None
    end: End | None = None
    if not is_first:
        rows, end = ended(rows, by, value, types)
        most = MOST if end is None else MOST_BETWEEN
        if not (t.limit <= most and is_total(by.by, types) and are_shared(rows, t)):
            return None
    found = evolve(t, of=rows.term(rows.head))
    return Behind(found, value, own, is_open, around.inside(groups), groups, None if is_first else by, end)


def _is_end(c: Elem, by: Elem, rows: Chain) -> bool:
    """Whether rows come to an end by ``c``: for who asks up to there, what lies between is few."""
    return any(own == by and not free_vars(other) & rows.own and free_vars(other) for own, other, *_ in compared([c]))


def _is_one_for_all(value: Elem, groups: Sequence[tuple[str, Expr]]) -> bool:
    """Whether ``value`` is the same for all places, as that of a clock: when it moves, so would all of them."""
    return free_vars(value) == {v for v, e in groups if not free_vars(e)}


def _has_one_row(e: Expr, rows: Chain) -> bool:
    """Whether it is a group that has a row wherever it is asked for, and that no other row says where."""
    total = isinstance(e, Apply) and isinstance(e.dictionary, GroupRel) and e.dictionary.nothing is not None
    return total and not free_vars(e) & rows.own


def _is_of(value: Elem, by: Elem, rows: Chain, types: Mapping[str, Type]) -> bool:
    """Whether ``value`` is of what is around the rows, and of the type of what orders them."""
    free, (own, other) = free_vars(value), (elem_type(t, types) for t in (value, by))
    return bool(free) and not free & rows.own and nullable(own) == nullable(other) and is_total(value, types)


def _never_fails(rows: Chain, t: Top, types: Mapping[str, Type]) -> bool:
    terms = (rows.head, *rows.conditions, *(rows.read(o.by, t.var) for o in t.order))
    return all(is_total(own, types) for own in terms)


def _is_plain(t: Type) -> bool:
    """Whether rows are made of values alone."""
    return isinstance(t, Base) or (isinstance(t, Record) and all(_is_plain(own) for _, own in t.fields))
