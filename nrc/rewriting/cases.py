"""A value that says how rows compare with what moves by itself is made in cases.

    sng(t[c])  ⟶  (for _ in p(c) union sng(t[true])) ⊎ (for _ in p(not c) union sng(t[false]))
                    ⊎ (for _ in p(c is NULL) union sng(t[NULL]))

where c compares a value of a row with a row that constants alone tell, as a clock is, or with a total that is one
value for all rows, and t reads nothing else of that: ``{"id": x.id, "overdue": x.due < k.now}``, ``c.n > avg(…)``. As
a value it would be asked again of all rows whenever the clock moves. As a condition it says where rows lie, and only
those become others that lie between the old value and the new one. It must have a value also where nobody asks for it,
as in ``a if x.n > 0 else x.v < k.n / k.m``. What is compared with the same is compared in one way then, so that what
others imply is left out, and of thresholds of one column no cases are made that exclude each other.

Law: ⟦in_cases e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from math import prod

from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.absent import answered
from ripplenest.nrc.rewriting.alternatives import opened
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED, operands, uncast
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.gaps import as_difference, gap, needed
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts, is_sure, where
from ripplenest.nrc.rewriting.sharing import shared
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Plus, Pred, Sng, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, Type, may_be_null
from ripplenest.nrc.walk import at_sites, canonical, free_vars, nodes, read_by, rebuild, replace_elem, replace_part

CASES = 12  # that a row may be in: more make more products than reading the rows again costs
MAYBE = Base("bool", True)
Value = tuple[bool | None, tuple[Elem, ...]]  # of a comparison, and the conditions that say so
Case = tuple[tuple[Call, bool | None, tuple[Elem, ...]], ...]  # what each comparison is, and where
Pair = tuple[Elem, Elem]  # what is compared, by ``nrc/rewriting/gaps.py``


def in_cases(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not any(isinstance(n, Sng) and any(_comparisons(n.elem)) for n in nodes(e)):
        return e
    pairs: set[Pair] = set()
    return passed(e, lambda e: _told_apart(_inside(e, Around(keys), pairs), pairs))


def _comparisons(t: Elem) -> Iterator[Call]:
    return (n for n in nodes(t) if isinstance(n, Call) and n.fn in SWAPPED)


def _pair(c: Elem) -> Pair | None:
    found = gap(c)
    return None if found is None else (found.a, found.b)


def _inside(e: Expr, around: Around, pairs: set[Pair]) -> Expr:
    match e:
        case Sng(head):
            told, head = _moving(around), replace_elem(opened(head, around), _of_one_value(around))
            found = [c for c in dict.fromkeys(_comparisons(head)) if _splits(c, around)]
            rest = head
            for c in found:
                rest = replace_part(rest, c, _truth(c, None, around))
            if not found or free_vars(rest) & told:
                return e
            every = _cases(found, around)
            if every is None:
                return e
            pairs |= {pair for c in found if (pair := _pair(c)) is not None}
            return reduce(Plus, (_case(head, case, around) for case in every))
        case Group(_, _, of, _, (Fold(_, "any" | "all" as fn, (_,)),)) if _is_asked(of, fn == "all", around):
            return e
        case _:
            return rebuilt(e, around, lambda c, below: _inside(c, below, pairs))


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
    return not free_vars(t) <= around.types.keys() or may_be_null(_type(t, around))


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
    all rows."""
    own = _own(c, around)
    others = [p for a in c.args for p in operands(a) if p not in own]
    free = read_by(others)
    several = (equal for x, equal in shared(around).items() if x in free)
    if not free or not free <= _moving(around) or len(own) != 1 or any(own[0] in equal for equal in several):
        return False
    return is_sure(as_difference(c))


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


def _cases(comparisons: Sequence[Call], around: Around) -> list[Case] | None:
    """Those that there can be: of n values that one column is compared with, one more. None of too many, of which each
    counts with those of what nothing answers (``nrc/rewriting/absent.py``)."""
    found: list[Case] = [()]
    for c in comparisons:
        found = [(*case, (c, *value)) for case in found for value in _values(c, around)]
        found = [case for case in found if _is_possible(case)]
        if len(found) > CASES:
            return None
    many = {c: 1 + sum(answered(p, around) is not None for p in _own(c, around)) for c in comparisons}
    every = sum(prod(1 if value is None else many[c] for c, value, _ in case) for case in found)
    return found if every <= CASES else None


def _is_possible(case: Case) -> bool:
    """Whether no two of its conditions exclude each other."""
    conditions = [t for _, _, said in case for t in said]
    nulls, there = set[Elem](), set[Elem]()
    for t in conditions:
        match t:
            case Call("is_null", (p,)):
                nulls.add(p)
            case Call("not", (Call("is_null", (p,)),)):
                there.add(p)
            case Call(args=args):
                there.update(uncast(p) for a in args for p in operands(a))
    return not nulls & there and needed(conditions, lambda _: True) is not None


def _values(c: Call, around: Around) -> list[Value]:
    """What ``c`` can be, and where it is: no two at once, and one of them anywhere."""
    said = as_difference(c)
    assert isinstance(said, Call)
    found: list[Value] = [(True, (said,)), (False, (Call(OPPOSITE[said.fn], said.args),))]
    there: tuple[Elem, ...] = ()
    for p in (p for a in c.args for p in operands(a) if may_be_null(_type(p, around))):
        absent = Call("is_null", (uncast(p),))
        found.append((None, (*there, absent)))
        there = (*there, Call("not", (absent,)))
    return found


def _case(head: Elem, case: Case, around: Around) -> Expr:
    for c, value, _ in case:
        head = replace_part(head, c, _truth(c, value, around))
    return where([cond for _, _, conditions in case for cond in conditions], Sng(head))


def _truth(c: Elem, value: bool | None, around: Around) -> Lit:
    return Lit(value, MAYBE if value is None or may_be_null(_type(c, around)) else BOOL)



def _type(t: Elem, around: Around) -> Type:
    return elem_type(t, around.types)
