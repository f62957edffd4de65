"""A term after a relation it reads has got other fields: its rows have the new type, and a renamed field its new name.

Law: the result means what the term meant, on the relation with its fields renamed; where nothing is renamed, it is the
term with the new row type.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.functions import folds
from ripplenest.nrc.functions.scalars import OPERATORS, SCALARS, coerce
from ripplenest.nrc.rewriting.nothing import typed
from ripplenest.nrc.syntax import (
    At,
    Call,
    DictExpr,
    Elem,
    Empty,
    Expr,
    Fold,
    For,
    Group,
    Let,
    Plus,
    Proj,
    Query,
    Rel,
    SngBag,
    Sorting,
    Top,
)
from ripplenest.nrc.typecheck import elem_type, expr_type
from ripplenest.nrc.types import Bag, Base, Record, Type, join
from ripplenest.nrc.walk import rebuild, rebuild_elem, rebuild_group

Context = Mapping[str, Type]


def with_relation(q: Query, name: str, row: Type, renamed: tuple[str, str] | None = None) -> Query:
    """``q`` over relation ``name`` with rows ``row``, where a field ``renamed[0]`` is called ``renamed[1]`` now.

    A projection on the old name reads the new one where its record has the new name and not the old one: no record had
    both, and before, none was read that had it not. Raises QueryError for a term that does not fit the new type.
    """
    relations = tuple((n, row if n == name else t) for n, t in q.relations)
    renaming = _Renaming(name, row, renamed, dict(_records(dict(q.relations)[name], row, renamed)))
    body = renaming.expr(q.body, {}, {})
    shown = renaming.sorted(q.sorted, expr_type(body, {}, {}).row)
    return Query(q.name, body, relations, q.keys, shown, q.assumes)


@frozen
class _Renaming:
    name: str
    row: Type
    renamed: tuple[str, str] | None
    records: Mapping[Type, Type]  # those of the relation, as they were, that have other fields now

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
            case Plus(left, right):
                return self.plus(self.expr(left, gamma, pi), self.expr(right, gamma, pi), gamma, pi)
            case Group() | Top():
                return self.group(e, self.expr(e.of, gamma, pi), gamma, pi)
            case SngBag(site, body, order):
                rows = self.expr(body, gamma, pi)
                return SngBag(site, rows, self.sorted(order, expr_type(rows, gamma, pi).row))
            case _:
                return rebuild(e, lambda x: self.expr(x, gamma, pi), lambda t: self.elem(t, pi), _no_dictionary)

    def plus(self, left: Expr, right: Expr, gamma: Context, pi: Context) -> Expr:
        """e₁ ⊎ e₂. In a side of an outer join that has no row of the relation stands what is nothing, NULL and ∅ of the
        types of its fields, which follow where the other side has them."""
        if not _fit(left, right, gamma, pi):
            lefts, rights = (left, _like(left, right, gamma, pi)), (right, _like(right, left, gamma, pi))
            ways = ((a, b) for a in lefts for b in rights)
            sides = ((a, b) for x, y in ways for b in (y, self._grown(y)) for a in (x, self._grown(x)))
            left, right = next((pair for pair in sides if _fit(*pair, gamma, pi)), (left, right))
        return Plus(left, right)

    def _grown(self, e: Expr) -> Expr:
        if isinstance(e, Empty):
            return Empty(_replaced(e.row, self.records))
        return rebuild(e, self._grown, lambda t: t, _no_dictionary)

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


def _fit(a: Expr, b: Expr, gamma: Context, pi: Context) -> bool:
    """Whether both have the same rows, as the sides of ⊎ have."""
    return join(expr_type(a, gamma, pi), expr_type(b, gamma, pi)) is not None


def _like(e: Expr, other: Expr, gamma: Context, pi: Context) -> Expr:
    return typed(e, expr_type(other, gamma, pi).row)


def _records(old: Type, new: Type, renamed: tuple[str, str] | None) -> Iterator[tuple[Type, Type]]:
    """The records in ``old`` that are others in ``new``, with these."""
    match old, new:
        case Bag(a), Bag(b):
            yield from _records(a, b, renamed)
        case Record(), Record() if old != new:
            yield old, new
            now = dict(new.fields)
            for name, t in old.fields:
                other = now.get(name if renamed is None or name in now else renamed[1])
                if other is not None:
                    yield from _records(t, other, renamed)


def _replaced(t: Type, by: Mapping[Type, Type]) -> Type:
    """``t`` with other records in the place of those ``by`` has; NULL may be in fields that it was not in before."""
    match t:
        case Record() if (new := next((new for old, new in by.items() if join(t, old) is not None), None)) is not None:
            return new
        case Record(fields):
            return Record(tuple((name, _replaced(inner, by)) for name, inner in fields))
        case Bag(row, flag):
            return Bag(_replaced(row, by), flag)
        case _:
            return t


def _fold(f: Fold, pi: Context) -> Fold:
    """``f``, whose answer may be of a wider type."""
    types = [elem_type(a, pi) for a in f.args]
    return evolve(f, type=folds.result_type(f.fn, [t for t in types if isinstance(t, Base)]))


def _call(fn: str, args: list[Elem], pi: Context) -> Elem:
    """``fn`` of arguments some of which may have become wider: the function of the same meaning that takes them."""
    types = [elem_type(a, pi) for a in args]
    bases = [t for t in types if isinstance(t, Base)]
    found = SCALARS[fn].rule(bases) if len(bases) == len(types) else None
    if bases and fn == f"to_{bases[0].kind}" and found in (None, bases[0]):  # as no source says what it is already
        return args[0]
    if len(bases) < len(types) or found is not None:
        return Call(fn, tuple(args))
    op = fn if fn in OPERATORS else fn.rpartition("_")[0]
    return coerce(op, list(zip(args, bases, strict=True)))[0]


def _names(t: Type) -> tuple[str, ...]:
    return t.names if isinstance(t, Record) else ()


def _no_dictionary(d: DictExpr) -> DictExpr:
    raise QueryError("a view before shredding has no dictionaries", got=type(d).__name__)
