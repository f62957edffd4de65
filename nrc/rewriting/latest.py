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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

from attrs import evolve, frozen

from ripplenest.nrc.functions.folds import result_type
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.in_turn import STRICT, in_turn
from ripplenest.nrc.rewriting.keyed import Around, Keys, rebuilt
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts, where
from ripplenest.nrc.rewriting.presence import Fresh, asks_for_some, is_certain, is_known, says, wanted, where_asked
from ripplenest.nrc.rewriting.sharing import equated, own_rows, rows_of, without
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Order, Pred, Proj, Top, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, may_be_null, places
from ripplenest.nrc.walk import (
    at_sites,
    canonical,
    free_vars,
    rebuild,
    rebuild_elem,
    replace,
    replace_elem,
)

LATER, BEFORE = {"gt": "max", "lt": "min"}, {"gt": ("lt", "le"), "lt": ("gt", "ge")}


def latest(e: Expr, keys: Keys, unions: bool = False) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    return where_asked(e, Around(keys, unions=unions), _inside)


def _inside(e: Expr, around: Around, fresh: Fresh) -> Expr:
    match e:
        case For(s, Group() as g, body) if asks_for_some(g) and (found := _latest(g, around)) is not None:
            fold, n = g.folds[0], fresh.variables.fresh(s)
            told = _told(body, Proj(Var(s), fold.name), fold.fn, found.equal(Var(n)))
            if s not in free_vars(told):
                e = For(n, found.first, told)
    return rebuilt(e, around, lambda c, here: _inside(c, here, fresh))


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


# ---------------------------------------------------------------- which rows it is asked of


@frozen
class _Asked:
    """The rows ``own`` of a fold, of which is asked that ``later``, that their ``values`` are beyond ``a``, and
    ``before``, that they are not beyond ``c``; their ``fn`` is the latest of them."""

    inner: Around
    own: AbstractSet[str]
    later: Elem
    before: Elem
    fn: str
    values: tuple[Elem, ...]
    types: tuple[Base, ...]
    a: tuple[Elem, ...]
    c: tuple[Elem, ...]

    def first(self, g: Group, conditions: Sequence[Elem], said: Sequence[Elem]) -> Group | Top:
        """The latest of the rows of ``g``, for which is ``said`` what ``conditions`` were."""
        if len(self.values) == 1:
            fold = Fold(g.folds[0].name, self.fn, (Var(g.var),), result_type(self.fn, [*self.types]))
            return evolve(g, of=without(g.of, conditions, said, *self.values), folds=(fold,))
        names = places(len(self.values))
        row = Tuple(tuple(zip(names, self.values, strict=True)))
        order = tuple(Order(Proj(Var(g.var), name), descending=self.fn == "max") for name in names)
        return Top(g.site, g.var, without(g.of, conditions, said, row), order, 1)


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
    for asked in _asked(every, inner, own):
        others = [c for c in every if c not in (asked.later, asked.before)]
        among = _among(asked, others, around)
        said = None if among is None else _of_c(asked, others, among, around)
        if said is not None:
            return _Latest(asked.first(g, every, [*said, asked.before]), asked.a)
    return None


def _asked(conditions: Sequence[Elem], inner: Around, own: AbstractSet[str]) -> Iterator[_Asked]:
    """The ways to read two of the ``conditions`` so. Several values have to be there, as NULL is not compared."""
    known = ((c, in_turn(c)) for c in conditions if is_known(c, inner))
    sides = [(c, found) for c, t in known if t is not None and (found := t.of(own)) is not None]
    for later, a in sides:
        for before, c in sides:
            is_between = a.fn in LATER and c.fn in BEFORE[a.fn] and a.values == c.values
            free = [*map(free_vars, (*a.others, *c.others))]
            if is_between and all(free) and not _read(a.others) & _read(c.others):
                types = [elem_type(value, inner.types) for value in a.values]
                base = tuple(t for t in types if isinstance(t, Base))
                if len(base) == len(types) and (len(base) == 1 or not any(map(may_be_null, base))):
                    yield _Asked(inner, own, later, before, LATER[a.fn], a.values, base, a.others, c.others)


def _read(terms: Iterable[Elem]) -> AbstractSet[str]:
    return frozenset[str]().union(*map(free_vars, terms))


def _of_c(asked: _Asked, others: Sequence[Elem], among: AbstractSet[str], around: Around) -> Sequence[Elem] | None:
    """The ``others``, of rows that c is of and not of those ``among`` which a is; None where they are of more, or c
    moves by itself."""
    free = _read(asked.c)
    if not free <= around.rows.keys() or free & around.moving:
        return None
    beside = _beside(free, among, around)
    said = [_equated(c, asked, beside, around) for c in others]
    found = [c for c in said if c is not None]
    return found if len(found) == len(others) else None


def _beside(rows: AbstractSet[str], among: AbstractSet[str], around: Around) -> AbstractSet[str]:
    """The ``rows`` and those that they are joined with, without those ``among`` which others are."""
    equal = [free_vars(t) & around.rows.keys() for t in around.true if isinstance(t, Call) and t.fn in ("eq", "same")]
    more = frozenset(rows).union(*(pair for pair in equal if pair & rows and not pair & among))
    return rows if more == rows else _beside(more, among, around)


def _equated(c: Elem, asked: _Asked, rows: AbstractSet[str], around: Around) -> Elem | None:
    """A condition with what ``rows`` have in the place of what it is equated with."""
    if free_vars(c) <= asked.own | rows:
        return c
    other = equated(c, asked.own)
    if other is None or not isinstance(c, Call):
        return None
    equal = (t.args for t in around.true if isinstance(t, Call) and t.fn in ("eq", "same"))
    for a, b in (pair for args in equal for pair in (args, args[::-1])):
        if a == other and free_vars(b) <= rows:
            return evolve(c, args=tuple(b if t == other else t for t in c.args))
    return None


# ---------------------------------------------------------------- whether a is the value of one of them


def _among(asked: _Asked, others: Sequence[Elem], around: Around) -> AbstractSet[str] | None:
    """The rows around that are some of those of the fold, and lie before c, if a is their value."""
    for rows in _rows(asked, around):
        own = {x: Var(y) for x, y in rows.items()}
        needed = (replace_elem(c, own) for c in (*others, asked.before))
        if tuple(replace_elem(v, own) for v in asked.values) == asked.a and all(_is_true(c, around) for c in needed):
            return frozenset(rows.values())
    return None


def _rows(asked: _Asked, around: Around) -> Iterator[Mapping[str, str]]:
    """Rows around that are of what each of the fold is of; the one of a first, which tells most."""
    inner = asked.inner
    found: list[dict[str, str]] = [{}]
    for x in inner.types:
        if x in asked.own:
            found = [{**rows, x: y} for rows in found for y in _like(x, rows, inner, around)]
    roots = [(root(own), root(a)) for own, a in zip(asked.values, asked.a, strict=True)]
    return (rows for rows in found if all(own is None or rows[own] == a for own, a in roots))


def _like(x: str, rows: Mapping[str, str], inner: Around, around: Around) -> Iterable[str]:
    """What around is made as ``x`` is, of these ``rows``."""
    own = {x: Var(y) for x, y in rows.items()}
    if x in inner.rows:
        source = canonical(replace(inner.rows[x].source, own))
        return (y for y, row in around.rows.items() if canonical(row.source) == source)
    total = _shape(replace(inner.totals[x], own))
    return (y for y, g in around.totals.items() if _shape(g) == total)


def _shape(g: Expr) -> Expr:
    """A fold, wherever it stands."""
    return canonical(at_sites(g, lambda _: ""))


def _is_true(c: Elem, around: Around) -> bool:
    """Whether ``c`` is known to be true around. What is compared there is not NULL, and equals itself."""
    if any(t in around.true for t in (c, *_turned(c))):
        return True
    match c:
        case Call("same", (a, b)):
            return a == b
        case Call("eq" | "le" | "ge", (a, b)):
            strict = BEFORE["gt"][0] if c.fn == "le" else BEFORE["lt"][0]
            if c.fn != "eq" and _is_true(Call(strict, (a, b)), around):
                return True
            return a == b and (not may_be_null(elem_type(a, around.types)) or _is_compared(a, around))
        case Call("or") if (asked := in_turn(c)) is not None:
            said = (found.towards(asked.fn) for t in around.true if (found := in_turn(t)) is not None)
            return any(found in (asked, evolve(asked, fn=STRICT[asked.fn])) for found in said)
    return False


def _turned(c: Elem) -> Iterator[Elem]:
    match c:
        case Call("eq" | "same" | "ne" as fn, (a, b)):
            yield Call(fn, (b, a))
        case Call(fn, (a, b)) if fn in SWAPPED:
            yield Call(SWAPPED[fn], (b, a))


def _is_compared(t: Elem, around: Around) -> bool:
    return any(isinstance(c, Call) and c.fn in ("eq", *SWAPPED) and t in c.args for c in around.true)


# ---------------------------------------------------------------- what is said of it


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
