"""The stored rows around a place of a term, and which of them are the only ones that some of their columns fit.

A row of a relation is told by its key, one in the inner bag of a row by its key there and that row, and each by what
labels an inner bag of it. What its key is may also be said by conditions: the value of a row that is told, or a
constant.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import evolve, field, frozen

from ripplenest.nrc.paths import path_name, root
from ripplenest.nrc.rewriting.normal import conjuncts, is_sure, is_total
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Flatten,
    For,
    Group,
    Let,
    Lit,
    Plus,
    Pred,
    Proj,
    Rel,
    Sng,
    Term,
    Top,
    Var,
)
from ripplenest.nrc.typecheck import elem_type, expr_type
from ripplenest.nrc.types import Bag, Record, Type, may_be_null
from ripplenest.nrc.walk import free_lets, free_vars, rebuild, unique_binders

Keys = Mapping[str, Sequence[str]]  # by relation and inner bag, the fields that are the key of its rows there


@frozen
class Told:
    """What the ``key`` of a row is, by field, and the rows ``beside`` it without which that says less."""

    key: tuple[tuple[str, Elem], ...]
    beside: frozenset[str] = frozenset()

    @property
    def is_constant(self) -> bool:
        """Whether constants alone tell it."""
        return all(isinstance(t, Lit) for _, t in self.key)

    def of(self, name: str) -> list[Elem]:
        """That the row ``name`` has this key."""
        return [Call("eq", (Proj(Var(name), f), t)) for f, t in self.key]


@frozen
class Row:
    """A row of ``type``, out of ``source``: a relation, or the inner bag of the row ``holder``. ``part`` is how that is
    called, and ``key`` are the fields that no two of its rows there have in common, if they are known."""

    part: str
    type: Type
    source: Expr
    key: tuple[str, ...]
    holder: str | None = None


@frozen
class Around:
    """The stored rows that are around a place, by variable, what is true of them there, totals of rows and those that
    are one value for all rows (``ones``), and the let-variables that are the same for all of them. With ``unions`` also
    the rows of ⊎ of stored ones, which have no key. Of the rows that are made there something may be computed that can
    fail (``fails``)."""

    keys: Keys
    rows: Mapping[str, Row] = field(factory=dict)
    true: tuple[Elem, ...] = ()
    totals: Mapping[str, Group] = field(factory=dict)
    ones: Mapping[str, Group] = field(factory=dict)
    lets: frozenset[str] = frozenset()
    unions: bool = False
    fails: bool = False

    def below(self, var: str, source: Expr) -> "Around":
        """Around the body of ``for var in source union``."""
        match source:
            case Pred(cond):
                return evolve(self, true=(*self.true, *conjuncts(cond)))
            case Rel(name, row):
                return self._with(var, Row(name, row, source, self._key(name, row)))
            case Flatten(Sng(path)) if (holder := root(path)) in self.rows:
                bag = self.type_of(path)
                assert isinstance(bag, Bag) and holder is not None
                _, _, inner = path_name(path).partition(".")
                part = f"{self.rows[holder].part}.{inner}"
                return self._with(var, Row(part, bag.row, source, self._key(part, bag.row), holder))
            case Plus() if self.unions and free_vars(source) <= self.rows.keys() and not free_lets(source):
                types = {x: row.type for x, row in self.rows.items()}
                return self._with(var, Row("", expr_type(source, {}, types).row, source, ()))
            case Group(keys=None):
                if self._is_same(source):
                    return evolve(self, ones={**self.ones, var: source})
                return evolve(self, totals={**self.totals, var: source})
        return self

    def below_let(self, name: str, bound: Expr) -> "Around":
        """Around the body of ``let name := bound in``."""
        return evolve(self, lets=self.lets | {name} if self._is_same(bound) else self.lets - {name})

    def _is_same(self, e: Expr) -> bool:
        """Whether ``e`` is the same for all rows."""
        return not free_vars(e) and free_lets(e) <= self.lets

    @property
    def answers(self) -> dict[str, Type]:
        """Π of the totals."""
        groups = {**self.totals, **self.ones}
        return {x: Record(tuple((f.name, f.type) for f in g.folds)) for x, g in groups.items()}

    @property
    def types(self) -> dict[str, Type]:
        """Π of the stored rows, and of the totals."""
        return {**{x: row.type for x, row in self.rows.items()}, **self.answers}

    def rows_of(self, variables: AbstractSet[str]) -> AbstractSet[str]:
        """The rows that these are, or that they are totals for."""
        totals = frozenset(x for x in variables if x in self.totals)
        if not totals:
            return variables
        return self.rows_of(frozenset(variables - totals).union(*(free_vars(self.totals[x]) for x in totals)))

    @property
    def moving(self) -> AbstractSet[str]:
        """What moves by itself: rows that constants alone tell, and totals that are one value for all rows."""
        return self.told(frozenset()).keys() | self.ones.keys()

    def said(self, of: AbstractSet[str], all_of_it: bool) -> list[Elem]:
        """What is true of these rows alone; ``all_of_it`` with what can fail, which has a value where there is such a
        place."""
        types = {x: r.type for x, r in self.rows.items()}
        return [c for c in self.true if free_vars(c) and free_vars(c) <= of and (all_of_it or is_total(c, types))]

    def type_of(self, path: Elem) -> Type | None:
        """What a path is; None where it leads into no stored row."""
        return elem_type(path, {x: r.type for x, r in self.rows.items()}) if root(path) in self.rows else None

    def told(self, by: AbstractSet[Elem]) -> dict[str, Told]:
        """The rows that the paths ``by`` tell, and those that constants do."""
        holding = {root(path) for path in by if isinstance(self.type_of(path), Bag)}
        found = {x: Told(self._own(x)) for x, row in self.rows.items() if x in holding and row.key}
        while more := self._by_values(by, found, False):
            found |= more
        for x in [*found]:
            while (holder := self.rows[x].holder) is not None and holder not in found and self.rows[holder].key:
                found[holder] = Told(self._own(holder), frozenset((x,)))
                x = holder  # noqa: PLW2901 - whose holder is told as well
        return found | self._by_values(by, found, True)

    def reached(self, x: str) -> AbstractSet[str]:
        """The rows that are known where row ``x`` is: those that hold it, and those whose keys are constants, or values
        of what is known."""
        known: set[str] = set()
        more = {x}
        while more:
            known |= more
            held = {self.rows[y].holder for y in more} | {y for y in self.rows if self._by_value(y, frozenset(), known)}
            more = {y for y in held if y is not None} - known
        return known

    def _own(self, x: str) -> tuple[tuple[str, Elem], ...]:
        return tuple((f, Proj(Var(x), f)) for f in self.rows[x].key)

    def _by_values(self, by: AbstractSet[Elem], known: Mapping[str, Told], constant: bool) -> dict[str, Told]:
        """The other rows that values of their keys tell, by constants alone or not."""
        found = {x: t for x in self.rows if x not in known and (t := self._by_value(x, by, known)) is not None}
        return {x: t for x, t in found.items() if t.is_constant == constant}

    def _by_value(self, x: str, by: AbstractSet[Elem], known: Collection[str]) -> Told | None:
        """What the key of a row is, beside the rows that its values are of and the one that holds it."""
        holder = self.rows[x].holder
        key = [(f, t) for f, own in self._own(x) if (t := self._value(own, by, known)) is not None]
        if not key or len(key) < len(self._own(x)) or not (holder is None or holder in known):
            return None
        others = {root(t) for _, t in key if t not in by} | {holder}
        return Told(tuple(key), frozenset(y for y in others if y is not None))

    def _value(self, own: Elem, by: AbstractSet[Elem], known: Collection[str]) -> Elem | None:
        if own in by:
            return own
        equal = (p for c in self.true if isinstance(c, Call) and c.fn == "eq" for p in (c.args, c.args[::-1]))
        others = [b for a, b in equal if a == own and (isinstance(b, Lit) or b in by or root(b) in known)]
        return min(others, key=lambda b: isinstance(b, Lit), default=None)

    def _key(self, part: str, row: Type) -> tuple[str, ...]:
        """NULL is no key: it equals nothing."""
        fields = dict(row.fields) if isinstance(row, Record) else {}
        key = tuple(self.keys.get(part, ()))
        return key if all(name in fields and not may_be_null(fields[name]) for name in key) else ()

    def _with(self, var: str, row: Row) -> "Around":
        return evolve(self, rows={**self.rows, var: row})


def passed(e: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """``e`` as ``f`` makes it of a term whose binders are named apart, named apart again; itself where ``f`` changes
    nothing."""
    apart = unique_binders(e)
    found = f(apart)
    return e if found is apart else unique_binders(found)


def computing(e: Expr, around: Around, f: Callable[[Expr, Around], Expr]) -> Expr:
    """``rebuilt``, where children are told whether of the rows that they make something is computed that can fail:
    groups and first rows, and whoever goes through rows, ask it of each of them. What is read of groups is of all of
    their rows together."""
    fails = (around.fails and not isinstance(e, Group | Top)) or not all(map(is_sure, asked_of_each(e)))
    inside = around if fails == around.fails else evolve(around, fails=fails)
    if isinstance(e, For):
        inner, below = f(e.source, inside), f(e.body, around.below(e.var, e.source))
        return e if inner is e.source and below is e.body else For(e.var, inner, below)
    return rebuilt(e, inside, f)


def asked_of_each(e: Expr) -> tuple[Term, ...]:
    """What is computed of each row of what ``e`` reads."""
    match e:
        case For(body=body):
            return (body,)
        case Group(keys=keys, folds=folds):
            return (*(t for _, t in keys or ()), *(t for fold in folds for t in fold.args))
        case Top(order=order):
            return tuple(o.by for o in order)
    return ()


def rebuilt(e: Expr, around: Around, f: Callable[[Expr, Around], Expr]) -> Expr:
    """``e`` with ``f`` applied to its direct children, each with what is around it."""
    match e:
        case For(var, source, body):
            inner, below = f(source, around), f(body, around.below(var, source))
            return e if inner is source and below is body else For(var, inner, below)
        case Let(name, bound, body):
            inner, below = f(bound, around), f(body, around.below_let(name, bound))
            return e if inner is bound and below is body else Let(name, inner, below)
        case _:
            return rebuild(e, lambda c: f(c, around), lambda t: t, lambda d: d)
