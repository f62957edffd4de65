"""What is nothing in a term, NULL and ∅, follows the types of what it stands for: in an outer join, and beside if."""

from collections.abc import Iterator

from ripplenest.nrc.functions.signatures import maybe_null
from ripplenest.nrc.syntax import Elem, Empty, Expr, For, Let, Lit, Plus, Proj, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import Bag, Base, Record, Type


def typed(e: Expr, row: Type) -> Expr:
    """``e``, in whose rows what is nothing has the type of its place in ``row``, which may say of some fields only."""
    match e:
        case Empty():
            return e if isinstance(row, Record) and not _same_fields(e.row, row) else Empty(row)
        case Sng(t):
            return Sng(_typed_elem(t, row))
        case SngBag(site, body, order) if isinstance(row, Bag):
            return SngBag(site, typed(body, row.row), order)
        case Plus(left, right):
            return Plus(typed(left, row), typed(right, row))
        case For(var, source, body):
            asked = Record(tuple(_asked(body, var, row)))
            return For(var, typed(source, asked) if asked.fields else source, typed(body, row))
        case Let(name, bound, body):
            return Let(name, bound, typed(body, row))
        case _:
            return e


def _asked(e: Expr, var: str, row: Type) -> Iterator[tuple[str, Type]]:
    """The fields of ``var`` that are fields of the rows of ``e``, with the types that these have in ``row``."""
    match e:
        case Sng(Tuple(fields)) if isinstance(row, Record):
            for name, t in row.fields:
                match dict(fields).get(name):
                    case Proj(Var(of), own) if of == var:
                        yield own, t
        case For(other, _, body) if other != var:
            yield from _asked(body, var, row)
        case Let(_, _, body):
            yield from _asked(body, var, row)


def _typed_elem(t: Elem, row: Type) -> Elem:
    match t, row:
        case Lit(None), Base():
            return Lit(None, maybe_null(row, True))
        case Tuple(fields), Record(known):
            types = dict(known)
            return Tuple(tuple((n, _typed_elem(part, types[n]) if n in types else part) for n, part in fields))
        case _:
            return t


def _same_fields(a: Type, b: Record) -> bool:
    return isinstance(a, Record) and a.names == b.names
