"""What asks whether a row fulfils a condition folds the rows that do, where the condition says how to find them.

    for s in φ_α(x ∈ e; f: any(t)) union C[s.f]
        ⟶  for s in φ_α(x ∈ (for x in e where t union sng⟨⟩); f: any()) union C[s.f]
    for s in φ_α(x ∈ e; f: all(t)) union C[s.f]
        ⟶  for s in φ_α(x ∈ (for x in e where not t union sng⟨⟩); f: any()) union C[not s.f]
    φ_α(x ∈ (for x in e, s in φ_β(y ∈ e′; f: any()) where s.f union sng⟨⟩); any())
        ⟶  φ_α(x ∈ (for x in e, y in e′ union sng⟨⟩); any())

where t (of ``all``: not t, if t is never NULL) equates values of different rows, or each of its alternatives does, or
compares values of two rows of e, or t is a window, of which a value of x lies between two of other rows, and something
else; and e′ depends on something around x.
As a condition it is a key by which rows are looked up, or says from where on they are; as what a fold is of it would be
asked of every row for every place, and of all of them again when what they are compared with moves. ``any`` is true if
t is true of some row, ``all`` false if t is not true of some, so NULL is as in a condition. What can fail is asked then
as conditions that can fail are, of rows that the others let through, as ``and`` of Python asks it; an equality that can
fail finds nothing.

Law (exists): ⟦asked e⟧ = ⟦e⟧.
"""

from collections.abc import Iterator, Sequence, Set

from attrs import evolve

from ripplenest.delta.around import Around, rebuilt, rebuilt_dict
from ripplenest.delta.chain import Chain, chain
from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.bands import OPPOSITE, compared
from ripplenest.nrc.rewriting.normal import conjuncts, is_total
from ripplenest.nrc.rewriting.presence import is_presence
from ripplenest.nrc.syntax import Call, DictExpr, Elem, Expr, Fold, For, Group, Proj, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import may_be_null
from ripplenest.nrc.walk import free_vars, rebuild, rebuild_elem

Equated = tuple[str, Elem, Elem]  # a function, the value of a row that it compares, and what with


def asked(e: Expr) -> Expr:
    """``e``, a closed term whose variables are named apart, with such conditions where rows are looked up."""
    return _asked(e, Around())


def asked_dict(d: DictExpr) -> DictExpr:
    """The same of a definition."""
    return rebuilt_dict(d, Around(), _asked)


def equated(t: Elem, own: Set[str]) -> Iterator[Equated]:
    """``t`` as an equality of a value of the variables ``own`` with something else."""
    match t:
        case Call("eq" | "same" as fn, (a, b)):
            for value, other in ((a, b), (b, a)):
                if free_vars(value) & own and free_vars(value) <= own and not free_vars(other) & own:
                    yield fn, value, other


def _asked(e: Expr, around: Around) -> Expr:
    match e:
        case For(s, Group(_, _, _, None, (Fold(name, "any" | "all" as fn, args),)) as g, body):
            own = evolve(g, of=_asked(g.of, around))
            found = _looked_up(own, args, fn == "all", around) or own
            below = _negated(body, s, name) if found.folds[0].fn != fn else body
            return For(s, found, _asked(below, around.where(s, around.row_of(found))))
    return rebuilt(e, around, _asked)


def _looked_up(g: Group, args: Sequence[Elem], is_all: bool, around: Around) -> Group | None:
    """``g`` as a fold of the rows of which what it asks is true, or not true; None where that does not find them."""
    rows = chain(g.of, g.var)
    place = around.inside(rows.generators)
    wanted: list[Elem] = []
    for arg in args:
        t = rows.read(arg, g.var)
        told = _not(t, place) if is_all else t
        if told is None:
            return None
        wanted += conjuncts(told)
    found = opened(evolve(rows, conditions=(*rows.conjuncts, *wanted), head=Tuple(())))
    inside = around.inside(found.generators)
    new = [t for t in found.conditions if t not in rows.conjuncts]
    finds = any(_bounds(t, found.own) or (_finds(t, found.own) and is_total(t, inside.pi)) for t in new)
    if not finds and not _is_window(new, found.own):
        return None
    return evolve(g, of=found.term(found.head), folds=(evolve(g.folds[0], fn="any", args=()),))


def _finds(t: Elem, own: Set[str]) -> bool:
    """Whether ``t`` equates a value of rows ``own`` with one of other rows, or each of its alternatives does."""
    match t:
        case Call("eq" | "same", (a, b)):
            left, right = free_vars(a), free_vars(b)
            return bool(left and right and not left & right and (left | right) & own)
        case Call("or", args):
            return all(any(_finds(c, own) for c in conjuncts(a)) for a in args)
    return False


def _bounds(t: Elem, own: Set[str]) -> bool:
    """Whether ``t`` compares a value of a row of ``own`` with one of another."""
    sides = ((free_vars(a) & own, free_vars(b) & own) for a, b, *_ in compared([t]))
    return any(left and right and not left & right for left, right in sides)


def _is_window(conditions: Sequence[Elem], own: Set[str]) -> bool:
    """Whether a value of the rows ``own`` lies between two of other rows, and something else is asked of them, too: by
    the window alone one end of it, the greatest or the least, answers."""
    ends: dict[Elem, dict[bool, Elem]] = {}
    for a, b, upper, t in compared(conditions):
        if column_of(a) is not None and free_vars(a) <= own and free_vars(b) and not free_vars(b) & own:
            ends.setdefault(a, {})[upper] = t
    windows = [{*found.values()} for found in ends.values() if len(found) == 2]
    return any(not {*conditions} <= window for window in windows)


def opened(rows: Chain) -> Chain:
    """``rows`` of which it is asked whether there are some, with those that they ask for as rows of the chain. None of
    their conditions is an ``and``."""
    for i, (s, source) in enumerate(rows.generators):
        match source:
            case Group(_, _, _, None, (Fold(name, "any" | "count" as fn, ()),)) as g if free_vars(g) - rows.own:
                inner = chain(g.of, g.var)
                others = tuple(t for t in rows.conditions if not is_presence(t, Proj(Var(s), name), fn))
                read_by = (*(e for _, e in rows.generators), *others, rows.head)
                if len(others) == len(rows.conditions) or any(s in free_vars(t) for t in read_by):
                    continue
                generators = (*rows.generators[:i], *inner.generators, *rows.generators[i + 1 :])
                return opened(evolve(rows, generators=generators, conditions=(*others, *inner.conjuncts)))
    return rows


def _not(t: Elem, place: Around) -> Elem | None:
    """True where ``t`` is not, as what has conjuncts; None where ``t`` may be NULL."""
    if may_be_null(elem_type(t, place.pi)):
        return None
    match t:
        case Call(fn, args) if fn in OPPOSITE:
            return Call(OPPOSITE[fn], args)
        case Call("not", (inner,)):
            return inner
        case Call("or" | "and" as fn, args):
            parts = tuple(found for a in args if (found := _not(a, place)) is not None)
            return Call("and" if fn == "or" else "or", parts)
        case _:
            return Call("not", (t,))


def _negated(e: Expr, s: str, name: str) -> Expr:
    """``e`` with what ``s`` does not answer as the answer of it."""
    answer = Proj(Var(s), name)
    negated = Call("not", (answer,))

    def elem(t: Elem) -> Elem:
        if t in (answer, negated):
            return negated if t == answer else answer
        return Tuple(((name, negated),)) if t == Var(s) else rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, elem, lambda d: d)  # definitions are closed

    return expr(e)
