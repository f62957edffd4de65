"""What a term reads of the variables around it: which paths, and which of them its own rows are equated with, or its
columns compared with and nothing else."""

from collections.abc import Iterable, Iterator
from typing import Literal

from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import compared
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Flatten,
    For,
    Group,
    Neg,
    Plus,
    Pred,
    Product,
    Proj,
    Sng,
    Term,
    Top,
    Var,
)
from ripplenest.nrc.walk import children, free_vars, nodes

Asks = Literal["any", "all"] | None
"""Whether a fold asks of rows, which are conditions, if some are true, or all."""


def paths_equated(e: Expr, free: frozenset[str], asks: Asks = None) -> frozenset[Elem]:
    """The paths into ``free`` variables that each product of ``e``, of whose rows it ``asks``, equates with a column of
    what it reads, or with what is computed of it, as of the key of a group."""
    match e:
        case For(_, Pred(cond), body):
            return frozenset(a for c in conjuncts(cond) for a in _column(c, free)) | paths_equated(body, free, asks)
        case For(var, Group() | Top(), body):
            return paths_equated(body, free | {var}, asks)  # what is read of it is no column that leads to it
        case For(_, Flatten(Sng(path)), body) if root(path) in free:
            return frozenset((path,)) | paths_equated(body, free, asks)
        case For(_, source, body):
            return paths_equated(source, free) | paths_equated(body, free, asks)
        case Plus(left, right):
            return paths_equated(left, free) & paths_equated(right, free)
        case Product(left, right):
            return paths_equated(left, free) | paths_equated(right, free)
        case Neg(of):
            return paths_equated(of, free)
        case Flatten(Sng(path)) if root(path) in free:
            return frozenset((path,))
        case Sng(head) if asks == "any":
            return frozenset(a for c in conjuncts(head) for a in _column(c, free))
        case _:
            return frozenset()


def beside_ends(term: Term, free: frozenset[str], asks: Asks = None) -> Iterator[Elem]:
    """The paths into ``free`` variables that ``term``, of whose rows it ``asks``, reads, but for what a column is
    compared with, its own or another of these: then rows are read, or not, as it passes that."""
    match term:
        case Pred(cond):
            yield from _not_compared(conjuncts(cond), free)
        case Sng(head) if asks is not None:
            yield from _not_compared(conjuncts(head) if asks == "any" else disjuncts(head), free)
        case For(_, source, body):
            yield from beside_ends(source, free)
            yield from beside_ends(body, free, asks)
        case _ if isinstance(term, Elem):
            yield from paths_read(term, free)
        case _:
            for c in children(term):
                yield from beside_ends(c, free)


def at_ends(term: Term, free: frozenset[str]) -> frozenset[Elem]:
    """The paths into ``free`` variables that conditions in ``term`` compare columns with."""
    conditions = (c for n in nodes(term) if isinstance(n, Pred) for c in conjuncts(n.cond))
    return frozenset(path for c in conditions if _is_end(c, free) for path in paths_read(c, free))


def _not_compared(conditions: Iterable[Elem], free: frozenset[str]) -> Iterator[Elem]:
    return (path for c in conditions if not _is_end(c, free) for path in paths_read(c, free))


def _is_end(condition: Elem, free: frozenset[str]) -> bool:
    return any(root(a) is not None and free_vars(b) <= free for a, b, *_ in compared([condition]))


def _column(condition: Elem, free: frozenset[str]) -> Iterator[Elem]:
    match condition:
        case Call("eq" | "same", (a, b)):
            yield from (x for x, y in ((a, b), (b, a)) if root(x) in free and (of := free_vars(y)) and not of & free)


def paths_read(term: Term, free: frozenset[str]) -> Iterator[Elem]:
    """The paths into ``free`` variables that ``term`` reads."""
    if isinstance(term, Proj | Var) and (x := root(term)) is not None:
        yield from (term,) if x in free else ()
    else:
        for c in children(term):
            yield from paths_read(c, free)
