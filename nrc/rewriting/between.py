"""What asks for rows between two values: of which rows, whether one value is that of one of them, and of which rows of
those around the other one is (``latest.py``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import evolve, frozen

from ripplenest.nrc.functions.folds import result_type
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.in_turn import STRICT, in_turn
from ripplenest.nrc.rewriting.keyed import Around
from ripplenest.nrc.rewriting.presence import is_known
from ripplenest.nrc.rewriting.sharing import equated, without
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, Group, Order, Proj, Top, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, may_be_null, places
from ripplenest.nrc.walk import at_sites, canonical, free_vars, read_by, replace, replace_elem

LATER, BEFORE = {"gt": "max", "lt": "min"}, {"gt": ("lt", "le"), "lt": ("gt", "ge")}


@frozen
class Between:
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


def between(conditions: Sequence[Elem], inner: Around, own: AbstractSet[str]) -> Iterator[Between]:
    """The ways to read two of the ``conditions`` so. Several values have to be there, as NULL is not compared."""
    known = ((c, in_turn(c)) for c in conditions if is_known(c, inner))
    sides = [(c, found) for c, t in known if t is not None and (found := t.of(own)) is not None]
    for later, a in sides:
        for before, c in sides:
            is_between = a.fn in LATER and c.fn in BEFORE[a.fn] and a.values == c.values
            free = [*map(free_vars, (*a.others, *c.others))]
            if is_between and all(free) and not read_by(a.others) & read_by(c.others):
                types = [elem_type(value, inner.types) for value in a.values]
                base = tuple(t for t in types if isinstance(t, Base))
                if len(base) == len(types) and (len(base) == 1 or not any(map(may_be_null, base))):
                    yield Between(inner, own, later, before, LATER[a.fn], a.values, base, a.others, c.others)


def of_c(asked: Between, others: Sequence[Elem], among: AbstractSet[str], around: Around) -> Sequence[Elem] | None:
    """The ``others``, of rows that c is of and not of those ``among`` which a is; None where they are of more, or c
    moves by itself."""
    free = read_by(asked.c)
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


def _equated(c: Elem, asked: Between, rows: AbstractSet[str], around: Around) -> Elem | None:
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


def among(asked: Between, others: Sequence[Elem], around: Around) -> AbstractSet[str] | None:
    """The rows around that are some of those of the fold, and lie before c, if a is their value."""
    for rows in _rows(asked, around):
        own = {x: Var(y) for x, y in rows.items()}
        needed = (replace_elem(c, own) for c in (*others, asked.before))
        if tuple(replace_elem(v, own) for v in asked.values) == asked.a and all(_is_true(c, around) for c in needed):
            return frozenset(rows.values())
    return None


def _rows(asked: Between, around: Around) -> Iterator[Mapping[str, str]]:
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
