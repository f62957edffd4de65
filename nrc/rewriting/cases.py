"""A value that says how rows compare with what moves by itself is made in cases.

    sng(t[c])  ⟶  (for _ in p(c) union sng(t[true])) ⊎ (for _ in p(not c) union sng(t[false]))
                    ⊎ (for _ in p(c is NULL) union sng(t[NULL]))

where c compares a value of a row with a row that constants alone tell, as a clock is, or with a total that is one
value for all rows, and t reads nothing else of that: ``{"id": x.id, "overdue": x.due < k.now}``, ``c.n > avg(…)``. As
a value it would be asked again of all rows whenever the clock moves. As a condition it says where rows lie, and only
those become others that lie between the old value and the new one. So does ``x.due = k.now``, of which others are less
or more. It must have a value also where nobody asks for it, as in ``a if x.n > 0 else x.v < k.n / k.m``. What is
compared with the same is compared in one way then, so that what others imply is left out, and of thresholds of one
column no cases are made that exclude each other. So with a choice of values that is compared, as where rows are of a
class, or of the class of a group:

    p(if c then t else u = v)  ⟶  p(c and t = v) ⊎ p(not c and u = v) ⊎ p(c is NULL and u = v)

and with groups by what compares their rows with what is around the group, which rows have then:

    γ_α(x ∈ e; k: t[x < c]; f)  ⟶  γ_α(x ∈ (for x in e union sng⟨row: x, key: t[x < c]⟩); k: x.key; f[x := x.row])

c may also be of a row that several look up (``sharing.py``), as a limit by what it is for, if t reads no more of it
than whether it is NULL: when a limit moves, rows that stay on their side of it are not read. It changes seldom, and
each row that comes is asked for all cases, so these are few.

Law: ⟦in_cases e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

from attrs import evolve

from ripplenest.nrc.paths import columns_read, root
from ripplenest.nrc.rewriting.absent import answered
from ripplenest.nrc.rewriting.alternatives import opened
from ripplenest.nrc.rewriting.bands import COMPARED, SWAPPED, operands, uncast
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.gaps import as_difference, gap, needed
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts, folded, is_sure, not_true, where
from ripplenest.nrc.rewriting.sharing import looked_up, shared
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.rewriting.truths import CASES, SAME, Case, cases, is_null, said, told, truth
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Plus, Pred, Proj, Sng, Term, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, may_be_null
from ripplenest.nrc.walk import (
    at_sites,
    canonical,
    free_vars,
    nodes,
    read_by,
    rebuild,
    replace_elem,
    replace_part,
)

LIMITED = 8  # cases by what rows look up, as of two limits that may be NULL: all are asked of each row that comes
ORDERED = ("int", "long", "decimal", "string", "date", "timestamp")
CHOICES = ("if", "and", "or", "not", "coalesce", *SWAPPED)
Pair = tuple[Elem, Elem]  # what is compared, by ``nrc/rewriting/gaps.py``


def in_cases(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not any(_has_values(n) or _chosen(n) for n in nodes(e)):
        return e
    pairs: set[Pair] = set()
    return passed(e, lambda e: _told_apart(_inside(e, Around(keys), pairs), pairs))


def _has_values(n: Term) -> bool:
    """Whether what is made, or what a group is by, has values that say how something is compared."""
    match n:
        case Sng(head):
            return _compares(head)
        case Group(keys=tuple() as keys):
            return any(_compares(t) for _, t in keys)
    return False


def _compares(t: Elem) -> bool:
    return any(isinstance(n, Call) and n.fn in (*SWAPPED, *SAME) for n in nodes(t))


def _comparisons(t: Elem) -> Iterator[Call]:
    return (n for n in nodes(t) if isinstance(n, Call) and n.fn in SWAPPED)


def _pair(c: Elem) -> Pair | None:
    found = gap(c)
    return None if found is None else (found.a, found.b)


def _pairs(every: Sequence[Case]) -> set[Pair]:
    """What is compared in all of them."""
    return {pair for c, _, _ in every[0] if (pair := _pair(c)) is not None}


def _inside(e: Expr, around: Around, pairs: set[Pair]) -> Expr:
    match e:
        case Sng(head):
            head = replace_elem(opened(head, around), _of_one_value(around))
            every = _cases_of([head], [head], around)
            if every is None:
                return e
            pairs |= _pairs(every)
            return reduce(Plus, (_case(head, case, around) for case in every))
        case For(x, Pred(cond), body) if (every := _cases_of(_chosen(e.source), [cond], around)) is not None:
            pairs |= _pairs(every)
            return _inside(For(x, _where(cond, every, around), body), around, pairs)
        case Group(_, _, of, _, (Fold(_, "any" | "all" as fn, (_,)),)) if _is_asked(of, fn == "all", around):
            return e
        case Group(keys=tuple()) if (found := _by_rows(e, around, pairs)) is not None:
            return found
        case _:
            return rebuilt(e, around, lambda c, below: _inside(c, below, pairs))


def _by_rows(g: Group, around: Around, pairs: set[Pair]) -> Group | None:
    """A group by what rows have, where its keys compare them with what is around it, if rows are made in cases then."""
    by = {f"key{i}": t for i, (_, t) in enumerate(g.keys or ())}
    if not any(free_vars(t) - {g.var} for t in by.values()) or not any(map(_compares, by.values())):
        return None

    def row(head: Elem) -> Elem:
        return Tuple((("row", head), *((f, simplify_elem(replace_elem(t, {g.var: head}))) for f, t in by.items())))

    of = _made(g.of, g.var, row)
    found = _inside(of, around, pairs)
    if found is of:
        return None
    x = Var(g.var)
    keys = tuple((name, Proj(x, f)) for (name, _), f in zip(g.keys or (), by, strict=True))
    folds = (evolve(f, args=tuple(replace_elem(a, {g.var: Proj(x, "row")}) for a in f.args)) for f in g.folds)
    return Group(g.site, g.var, found, keys, tuple(folds))


def _made(e: Expr, x: str, of: Callable[[Elem], Elem]) -> Expr:
    """for x in e union sng(of x)"""
    match e:
        case Sng(head):
            return Sng(of(head))
        case For(var, source, body):
            return For(var, source, _made(body, x, of))
        case Plus(a, b):
            return Plus(_made(a, x, of), _made(b, x, of))
    return For(x, e, Sng(of(Var(x))))


def _chosen(e: Term) -> list[Elem]:
    """What is compared in ``e``, a condition, that is a choice, or says itself how something is compared."""
    cond = e.cond if isinstance(e, Pred) else Lit(True, BOOL)
    either = [t for t in conjuncts(cond) if isinstance(t, Call) and t.fn in COMPARED]
    return [a for t in either for a in t.args if isinstance(a, Call) and a.fn in CHOICES and any(_comparisons(a))]


def _cases_of(values: Sequence[Elem], asked: Sequence[Elem], around: Around) -> list[Case] | None:
    """The cases of what moves in ``values``, as far as it is ``asked`` for: None where nothing does, or where more is
    read of it."""
    every = dict.fromkeys(n for t in values for n in nodes(t) if isinstance(n, Call))
    found = [c for c in every if (c.fn in SWAPPED and _splits(c, around)) or (c.fn in SAME and _is_met(c, around))]
    rest = [reduce(lambda t, c: replace_part(t, c, truth(c, None, around)), found, t) for t in values]
    limits = looked_up(around) - _moving(around)
    if not found or any(free_vars(t) & _moving(around) for t in rest):
        return None
    columns = _read(found, limits, around)
    rest = [reduce(lambda t, p: replace_part(t, is_null(p), Lit(False, BOOL)), columns, t) for t in rest]
    if columns & _read(rest, limits, around):
        return None
    most = LIMITED if any(free_vars(c) & limits for c in found) else CASES
    return cases(_each(found, around), around, asked, most)


def _read(of: Sequence[Elem], limits: AbstractSet[str], around: Around) -> set[Elem]:
    """The columns of rows that are looked up."""
    return {column for t in of for column in columns_read(t, frozenset(limits), around.types)}


def _each(comparisons: Iterable[Call], around: Around) -> dict[Call, int]:
    """Each with how many it is made of where nothing answers some."""
    return {c: 1 + sum(answered(p, around) is not None for p in _own(c, around)) for c in comparisons}


def _where(cond: Elem, every: Sequence[Case], around: Around) -> Expr:
    """``cond`` in all cases in which it can be true."""
    found: list[Expr] = []
    for case in every:
        asked = [folded(t) for t in conjuncts(told(cond, case, around))]
        if not any(not_true(t) and is_sure(t) for t in asked):
            found.append(Pred(conjunction([*said(case), *asked])))
    return reduce(Plus, found) if found else Pred(Lit(False, BOOL))


def _of_one_value(around: Around) -> dict[str, Elem]:
    """Totals that are one value for all rows, as the first one of those that are the same is called: a name that stands
    for a total is one for each place where it is read."""
    first: dict[Expr, str] = {}
    every = ((x, canonical(at_sites(g, lambda _: ""))) for x, g in around.ones.items())
    return {x: Var(first.setdefault(e, x)) for x, e in every}


def _is_asked(e: Expr, is_all: bool, around: Around) -> bool:
    """Whether all that a fold of rows ``e`` asks of them about what moves is asked as conditions are, or, of ``all``,
    as their opposites (``delta/groups/exists.py``, ``nrc/rewriting/valid.py``)."""
    match e:
        case For(var, source, body):
            return _is_asked(body, is_all, around.below(var, source))
        case Sng(head):
            asked = [t for t in (disjuncts if is_all else conjuncts)(head) if free_vars(t) & around.moving]
            said = [t for t in asked if _is_comparison(t) and not (is_all and _may_be_null(t, around))]
            return len(said) == len(asked) or (not is_all and len(asked) > 1 and all(map(_is_open, asked)))
    return True


def _may_be_null(t: Elem, around: Around) -> bool:
    """Whether ``t`` may be NULL; who knows of what reads other rows than stored ones."""
    return not free_vars(t) <= around.types.keys() or may_be_null(elem_type(t, around.types))


def _is_comparison(t: Elem) -> bool:
    return isinstance(t, Call) and t.fn in SWAPPED


def _is_open(t: Elem) -> bool:
    """A comparison, or one beside which something is NULL: the end of what is valid."""
    match t:
        case Call("or", args):
            return all(_is_comparison(a) or (isinstance(a, Call) and a.fn == "is_null") for a in args)
    return _is_comparison(t)


def _told_apart(e: Expr, pairs: set[Pair]) -> Expr:
    """``e`` whose conditions compare these pairs in one way, so that it is seen which of them say less than others."""
    match e:
        case Pred(cond) if any(_pair(c) in pairs for c in conjuncts(cond)):
            return Pred(conjunction(as_difference(c) if _pair(c) in pairs else c for c in conjuncts(cond)))
        case _:
            return rebuild(e, lambda c: _told_apart(c, pairs), lambda t: t, lambda d: d)


def _splits(c: Call, around: Around) -> bool:
    """Whether ``c`` compares a column of a row, or a total of it, with a row that constants tell, or with a total of
    all rows; or a column of a row with one that it looks up."""
    own = _own(c, around)
    others = [p for a in c.args for p in operands(a) if p not in own]
    free = read_by(others)
    several = (equal for x, equal in shared(around).items() if x in free)
    if not free or not free <= _moving(around) or len(own) != 1 or any(own[0] in equal for equal in several):
        return _is_limited(own, others, around) and is_sure(as_difference(c))
    return is_sure(as_difference(c))


def _is_met(c: Call, around: Around) -> bool:
    """Whether ``c`` asks if a value of a row is what moves, of which it is less or more if both are there and it is
    not."""
    types = [elem_type(t, around.types) for t in c.args if free_vars(t) <= around.types.keys()]
    is_ordered = len(types) == 2 and all(isinstance(t, Base) and t.kind in ORDERED for t in types)
    return is_ordered and not free_vars(c) & looked_up(around) - around.moving and _splits(c, around)


def _is_limited(own: Sequence[Elem], others: Sequence[Elem], around: Around) -> bool:
    """Whether a column of one row is compared with those of rows that are looked up by it."""
    limits = looked_up(around)
    values = [p for p in own if not free_vars(p) <= limits]
    beside = read_by([*others, *(p for p in own if p not in values)])
    return len(values) == 1 and free_vars(values[0]) <= around.rows.keys() and bool(beside) and beside <= limits


def _own(c: Call, around: Around) -> list[Elem]:
    """The columns that ``c`` compares of rows which constants do not tell, and totals of such rows."""
    told, several = around.told(frozenset()), shared(around)
    parts = [(p, root(uncast(p))) for a in c.args for p in operands(a)]
    return [
        p
        for p, x in parts
        if x not in several
        and ((x in around.rows and x not in told) or x in around.totals or answered(p, around) is not None)
    ]


def _moving(around: Around) -> AbstractSet[str]:
    return around.moving | shared(around).keys()


def _case(head: Elem, case: Case, around: Around) -> Expr:
    asked = needed(said(case), is_sure)
    assert asked is not None, "cases are possible"
    return where(asked, Sng(folded(told(head, case, around))))
