"""A term after a relation it reads has got other fields: its rows have the new type, and a renamed field its new name.

Law: the result means what the term meant, on the relation with its fields renamed; where nothing is renamed, it is the
term with the new row type.
"""

from collections.abc import Mapping

from attrs import evolve, frozen

from ripplenest.nrc import folds
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.scalars import OPERATORS, SCALARS, coerce
from ripplenest.nrc.syntax import (
    At,
    Call,
    DictExpr,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Let,
    Proj,
    Query,
    Rel,
    SngBag,
    Sorting,
    Top,
)
from ripplenest.nrc.typecheck import elem_type, expr_type
from ripplenest.nrc.types import Base, Record, Type
from ripplenest.nrc.walk import rebuild, rebuild_elem, rebuild_group

Context = Mapping[str, Type]


def with_relation(q: Query, name: str, row: Type, renamed: tuple[str, str] | None = None) -> Query:
    """``q`` over relation ``name`` with rows ``row``, where a field ``renamed[0]`` is called ``renamed[1]`` now.

    A projection on the old name reads the new one where its record has the new name and not the old one: no record had
    both, and before, none was read that had it not. Raises QueryError for a term that does not fit the new type.
    """
    relations = tuple((n, row if n == name else t) for n, t in q.relations)
    renaming = _Renaming(name, row, renamed)
    body = renaming.expr(q.body, {}, {})
    return Query(q.name, body, relations, q.keys, renaming.sorted(q.sorted, expr_type(body, {}, {}).row))


@frozen
class _Renaming:
    name: str
    row: Type
    renamed: tuple[str, str] | None

    def expr(self, e: Expr, gamma: Context, pi: Context) -> Expr:
        match e:
            case Rel(name, _, At.OLD) if name == self.name:
                return Rel(name, self.row)
            case For(var, source, body):
                inner = self.expr(source, gamma, pi)
                return For(var, inner, self.expr(body, gamma, {**pi, var: expr_type(inner, gamma, pi).row}))
            case Let(name, bound, body):
                inner = self.expr(bound, gamma, pi)
                return Let(name, inner, self.expr(body, {**gamma, name: expr_type(inner, gamma, pi)}, pi))
            case Group() | Top():
                return self.group(e, self.expr(e.of, gamma, pi), gamma, pi)
            case SngBag(site, body, order):
                rows = self.expr(body, gamma, pi)
                return SngBag(site, rows, self.sorted(order, expr_type(rows, gamma, pi).row))
            case _:
                return rebuild(e, lambda x: self.expr(x, gamma, pi), lambda t: self.elem(t, pi), _no_dictionary)

    def group(self, g: Group | Top, of: Expr, gamma: Context, pi: Context) -> Expr:
        around = {**pi, g.var: expr_type(of, gamma, pi).row}
        found = rebuild_group(g, lambda _: of, lambda t: self.elem(t, around))
        return found if isinstance(found, Top) else evolve(found, folds=tuple(_fold(f, around) for f in found.folds))

    def sorted(self, order: tuple[Sorting, ...], row: Type) -> tuple[Sorting, ...]:
        """By the fields that rows have now."""
        return tuple(evolve(o, path=self._path(o.path, row)) for o in order)

    def _path(self, path: tuple[str, ...], row: Type) -> tuple[str, ...]:
        if not path or self.renamed is None:
            return path
        (old, new), names = self.renamed, _names(row)
        name = new if path[0] == old and new in names and old not in names else path[0]
        inner = row.get(name) if isinstance(row, Record) else None
        return (name, *(path[1:] if inner is None else self._path(path[1:], inner)))

    def elem(self, t: Elem, pi: Context) -> Elem:
        match t:
            case Proj(of, name) if self.renamed is not None:
                inner, (old, new) = self.elem(of, pi), self.renamed
                names = _names(elem_type(inner, pi))
                return Proj(inner, new if name == old and new in names and old not in names else name)
            case Call(fn, args):
                return _call(fn, [self.elem(a, pi) for a in args], pi)
            case _:
                return rebuild_elem(t, lambda a: self.elem(a, pi))


def _fold(f: Fold, pi: Context) -> Fold:
    """``f``, whose answer may be of a wider type."""
    types = [elem_type(a, pi) for a in f.args]
    return evolve(f, type=folds.result_type(f.fn, [t for t in types if isinstance(t, Base)]))


def _call(fn: str, args: list[Elem], pi: Context) -> Elem:
    """``fn`` of arguments some of which may have become wider: the function of the same meaning that takes them."""
    types = [elem_type(a, pi) for a in args]
    bases = [t for t in types if isinstance(t, Base)]
    scalar = SCALARS[fn]
    if len(bases) < len(types) or scalar.rule(bases) is not None:
        return Call(fn, tuple(args))
    if fn == f"to_{bases[0].kind}":
        return args[0]
    op = fn if fn in OPERATORS else fn.rpartition("_")[0]
    return coerce(op, list(zip(args, bases, strict=True)))[0]


def _names(t: Type) -> tuple[str, ...]:
    return t.names if isinstance(t, Record) else ()


def _no_dictionary(d: DictExpr) -> DictExpr:
    raise QueryError("a view before shredding has no dictionaries", got=type(d).__name__)
