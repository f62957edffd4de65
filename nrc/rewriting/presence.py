"""What asks of a fold of rows whether there is one."""

from collections.abc import Callable

from attrs import frozen

from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.rewriting.keyed import Around, passed
from ripplenest.nrc.rewriting.normal import conjuncts, is_sure, is_total, where
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Sng, Term, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import may_be_null
from ripplenest.nrc.walk import Names, free_names, free_vars, nodes, replace_elem


def is_presence(t: Elem, answer: Elem, fn: str) -> bool:
    """Whether ``t`` is true where a row is there: the ``answer`` of any(), or that of count() being more than 0."""
    if fn == "any":
        return t == answer
    match t:
        case Call("not", (Call("eq", args),)):
            return is_presence(Call("ne", args), answer, fn)
        case Call("gt" | "ne", (a, Lit(0))) | Call("lt" | "ne", (Lit(0), a)):
            return a == answer
        case Call("ge", (a, Lit(1))) | Call("le", (Lit(1), a)):
            return a == answer
    return False


def is_absence(t: Elem, answer: Elem, fn: str) -> bool:
    """Whether ``t`` is true where none is there, and false elsewhere."""
    match t:
        case Call("not", (inner,)):
            return is_presence(inner, answer, fn)
        case Call("eq", args):
            return is_presence(Call("ne", args), answer, fn)
        case Call(op, args) if op in OPPOSITE:
            return is_presence(Call(OPPOSITE[op], args), answer, fn)
    return False


def says(t: Elem, answer: Elem, fn: str) -> bool | None:
    """Whether ``t`` says of the ``answer`` of a fold ``fn`` that a row is there for which is true what is ``wanted``,
    or that none is; None if it says something else."""
    if fn == "all":
        return False if t == answer else True if t == Call("not", (answer,)) else None
    if is_presence(t, answer, fn):
        return True
    return False if is_absence(t, answer, fn) else None


def asks_for_some(e: Term) -> bool:
    """Whether it is a fold that says no more than whether some row is there, or whether all are."""
    match e:
        case Group(_, _, _, None, (Fold(_, "any" | "all", _) | Fold(_, "count", ()),)):
            return True
    return False


@frozen
class Fresh:
    """Names of ``variables`` and ``sites`` that there are not yet."""

    variables: Names
    sites: Names


def where_asked(
    e: Expr, around: Around, rule: Callable[[Expr, Around, Fresh], Expr], asks: Callable[[Term], bool] | None = None
) -> Expr:
    """``e`` as the ``rule`` makes it, with names for what is new; itself where nothing in it ``asks``: for some row, if
    nothing else is said."""
    if not any(map(asks or asks_for_some, nodes(e))):
        return e
    return passed(e, lambda apart: rule(apart, around, Fresh(*free_names(apart))))


def opened(g: Group) -> Expr | None:
    """The rows that fulfil what is asked if some do; None where it is not asked of rows as they are."""

    def below(e: Expr) -> Expr | None:
        match e:
            case For(var, source, body):
                found = below(body)
                return None if found is None else For(var, source, found)
            case Sng(t):
                return where([*conjuncts(t)], Sng(Tuple(())))
        return None

    return below(g.of) if g.folds[0].args == (Var(g.var),) else None


def wanted(g: Group, head: Elem, inner: Around) -> list[Elem] | None:
    """What has to be true of a row that ``g`` asks for."""
    match g.folds[0]:
        case Fold(_, "any" | "count", ()):
            return []
        case Fold(_, fn, (t,)):
            asked = replace_elem(t, {g.var: head})
            if fn == "any":
                return [*conjuncts(asked)]
            match asked:
                case Call("coalesce", (Call(op, args), Lit(True))) if op in SWAPPED:
                    return [Call(OPPOSITE[op], args)]
                case Call(op, args) if op in SWAPPED and _is_never_null(asked, inner):
                    return [Call(OPPOSITE[op], args)]
    return None


def is_known(t: Elem, around: Around) -> bool:
    """Whether it reads stored rows and totals alone, whose types are known, and not the keys of a group."""
    return free_vars(t) <= around.types.keys()


def _is_never_null(t: Elem, around: Around) -> bool:
    return is_known(t, around) and not may_be_null(elem_type(t, around.types))


def is_certain(t: Elem, around: Around) -> bool:
    """Whether it has a value for all rows, as far as that is known."""
    return is_total(t, around.types) if is_known(t, around) else is_sure(t)
