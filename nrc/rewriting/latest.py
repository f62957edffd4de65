"""That nothing came after a row and before a value says that the row is the latest one before it.

    for s in φ_α(x ∈ e; f: any(a < v ≤ c)) union C[for _ in p(not s.f) union e′]
        ⟶  for s in φ_α(x ∈ (for x in e where v ≤ c); f: max(v)) union C[for _ in p(s.f = a) union e′]

where the rows around are known to have a ≤ c, and a is the v of one of e, as conditions around it say: ``o.at >= s.at
and not any(s.at < z.at <= o.at for z in starts)`` of an s that is one of the starts, the orders of a visit that began
last. So with < and ``min``, and with all that asks whether a row is there. What is asked reads two rows, and would be
kept for each pair of them, or looked for among all s before an o; the latest start before an o is one value for each o
(``delta/groups/nearest.py``), by which the others find it.

What e equates with the row of a is said of that of c, if these are equal there, so that c alone tells which rows it is.

Law: ⟦latest e⟧ = ⟦e⟧.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import evolve, frozen

from ripplenest.nrc.functions.folds import result_type
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.keyed import Around, Keys, rebuilt
from ripplenest.nrc.rewriting.normal import conjuncts, where
from ripplenest.nrc.rewriting.presence import asks_for_some, is_certain, is_known, says, wanted, where_asked
from ripplenest.nrc.rewriting.sharing import compared_with, equated, own_rows, rows_of, without
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Pred, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, may_be_null
from ripplenest.nrc.walk import (
    Names,
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


def _inside(e: Expr, around: Around, names: Names) -> Expr:
    match e:
        case For(s, Group() as g, body) if asks_for_some(g) and (found := _latest(g, around)) is not None:
            (group, a), fold, n = found, g.folds[0], names.fresh(s)
            told = _told(body, Proj(Var(s), fold.name), fold.fn, (Proj(Var(n), fold.name), a))
            if s not in free_vars(told):
                e = For(n, group, told)
    return rebuilt(e, around, lambda c, here: _inside(c, here, names))


# ---------------------------------------------------------------- which rows it is asked of


@frozen
class _Asked:
    """The rows ``own`` of a fold, of which is asked that ``later``, that their ``value`` is beyond ``a``, and
    ``before``, that it is not beyond ``c``."""

    inner: Around
    own: AbstractSet[str]
    later: Call
    before: Call
    fn: str
    value: Elem
    type: Base
    a: Elem
    c: Elem


def _latest(g: Group, around: Around) -> tuple[Group, Elem] | None:
    """The latest value before c, in place of ``g``, and the a that it is if none is later."""
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
            fold = Fold(g.folds[0].name, asked.fn, (Var(g.var),), result_type(asked.fn, [asked.type]))
            of = without(g.of, [*conditions, *more], [*said, asked.before], asked.value)
            return evolve(g, of=of, folds=(fold,)), asked.a
    return None


def _asked(conditions: Sequence[Elem], inner: Around, own: AbstractSet[str]) -> Iterator[_Asked]:
    """The ways to read two of the ``conditions`` so."""
    compares = [c for c in conditions if isinstance(c, Call) and c.fn in SWAPPED]
    known = (c for c in compares if is_known(c, inner))
    sides = [(c, found) for c in known if (found := compared_with(c, own)) is not None and free_vars(found[2])]
    for later, (fn, value, a) in sides:
        for before, (op, also, c) in sides:
            if fn in LATER and op in BEFORE[fn] and also == value and not free_vars(a) & free_vars(c):
                t = elem_type(value, inner.types)
                if isinstance(t, Base):
                    yield _Asked(inner, own, later, before, LATER[fn], value, t, a, c)


def _of_c(asked: _Asked, others: Sequence[Elem], among: AbstractSet[str], around: Around) -> Sequence[Elem] | None:
    """The ``others``, of rows that c is of and not of those ``among`` which a is; None where they are of more, or c
    moves by itself."""
    free = free_vars(asked.c)
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
        if replace_elem(asked.value, own) == asked.a and all(_is_true(c, around) for c in needed):
            return frozenset(rows.values())
    return None


def _rows(asked: _Asked, around: Around) -> Iterator[Mapping[str, str]]:
    """Rows around that are of what each of the fold is of; the one of a first, which tells most."""
    inner = asked.inner
    found: list[dict[str, str]] = [{}]
    for x in inner.types:
        if x in asked.own:
            found = [{**rows, x: y} for rows in found for y in _like(x, rows, inner, around)]
    own, a = root(asked.value), root(asked.a)
    return (rows for rows in found if own is None or rows[own] == a)


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


def _told(e: Expr, answer: Elem, fn: str, sides: tuple[Elem, Elem]) -> Expr:
    """``e``, which asks for the ``answer`` of a fold ``fn``, as what asks whether the two ``sides`` are equal. The one
    that is folded is always there, which its type does not say."""

    def condition(t: Elem) -> Elem:
        is_there = says(t, answer, fn)
        return value(t) if is_there is None else Call("ne" if is_there else "eq", sides)

    def value(t: Elem) -> Elem:
        is_there = says(t, answer, fn)
        if is_there is None:
            return rebuild_elem(t, value)
        equal = Call("coalesce", (Call("eq", sides), Lit(False, BOOL)))
        return Call("not", (equal,)) if is_there else equal

    def below(e: Expr) -> Expr:
        match e:
            case For(var, Pred(cond), body) if var not in free_vars(body):
                return where([condition(c) for c in conjuncts(cond)], below(body))
        return rebuild(e, below, value, lambda d: d)

    return below(e)
