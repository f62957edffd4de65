"""The first or the last row of a bag by a key, as a value: ``max(c.orders, key=lambda o: o.at).status``.

It is the one row of rn.top(1, …): each of its values is the greatest one of a bag of one, and NULL where there is no
row. Where several rows are the last, it is the one of them that rn.top has. Each value that a view reads is kept by
itself, over one order of the rows.
"""

import ast
from functools import reduce
from typing import TypeGuard

from attrs import evolve, frozen

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface import aggregates
from ripplenest.nrc.surface.conversions import NUMBERS
from ripplenest.nrc.surface.python import hints, ranking, scalars
from ripplenest.nrc.surface.python.aggregates import Apply, arguments, extreme_value, rows_given
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import (
    BagTerm,
    Bind,
    Element,
    Known,
    Reading,
    Static,
    Untyped,
    as_bag,
    is_bag,
    merge,
    project,
    wrap,
)
from ripplenest.nrc.syntax import For, Sng, Tuple, Var
from ripplenest.nrc.types import EXISTS, Bag, Base, Record, Type, is_flat, optional, places


@frozen
class Row(Known):
    """The one row of ``bag``, if there is one, or the record of it that ``path`` leads to."""

    called = "the first row of a bag, max(xs, key=...)"

    bag: BagTerm
    path: tuple[str, ...] = ()

    def of(self, var: str) -> Element:
        """The record or the value of a row ``var`` of the bag."""
        return reduce(project, self.path, Element(Var(var), self.bag.type.row))

    @property
    def type(self) -> Type:
        return self.of("").type

    @property
    def makes(self) -> tuple[str, ...]:
        value = "`max(xs)[0]`" if _are_tuples(self.type) else "`max(xs, key=...).n`"
        return f"its values, {value}", "`rn.top(1, xs, key=...)`, a bag of it", "`not xs`, there is none"

    def at(self, name: str) -> "Row":
        return evolve(self, path=(*self.path, name))

    def enclosed(self, binds: tuple[Bind, ...]) -> "Row":
        return evolve(self, bag=evolve(self.bag, expr=wrap(binds, self.bag.expr)))


def read(node: ast.Call, name: str, scope: Scope, apply: Apply) -> Reading:
    """max(xs, key=…) and min(xs, key=…): a value, where the rows are base values."""
    given = arguments(node, name, f"{name}(xs, key=lambda x: x.n)", ("rows", "key"), ("default",), ("key", "default"))
    if "default" in given and scope.read(given["default"]) != Untyped("None"):
        raise hints.unsupported(f"{name} with a key and a default", "`rn.coalesce(max(xs, key=...).n, 0)`")
    return _reading(Row(ranking.first(given["rows"], given["key"], name == "max", scope, apply)), scope)


def extreme(node: ast.Call, name: str, scope: Scope, apply: Apply) -> Reading:
    """max(xs) and min(xs), of nothing NULL, or the default; of tuples the one that is first, value by value."""
    words = {str(word.arg): word.value for word in node.keywords}
    if unknown := words.keys() - {"default"}:
        raise hints.unsupported(f"{name} with the keyword {min(unknown)}", "the keyword default")
    given = rows_given(node, name, scope)
    default = scope.read(words["default"]) if "default" in words else Untyped("None")
    if not is_bag(given) or not _are_tuples(row := as_bag(given).type.row):
        return extreme_value(given, name, default, scope)
    if default != Untyped("None"):
        at = next((i for i, (_, t) in enumerate(row.fields) if isinstance(t, Base) and t.kind in NUMBERS), None)
        value = f"`rn.coalesce({name}(...)[0], ...)`" if at is None else f"`rn.coalesce({name}(...)[{at}], 0)`"
        hint = f"{value}, of each value that is read"
        raise hints.unsupported(f"{name} of tuples with a default", hint)
    return _reading(Row(ranking.first_of_all(as_bag(given), name == "max", scope, apply)), scope)


def _are_tuples(row: Type) -> TypeGuard[Record]:
    return isinstance(row, Record) and row.names == places(len(row.names)) and is_flat(row)


def by_place(node: ast.Subscript, scope: Scope, apply: Apply) -> Reading | None:
    """sorted(xs, key=…)[0], as min(xs, key=…); None for another subscript."""
    found = ranking.first_of(node, scope, apply)
    return None if found is None else _reading(Row(found), scope)


def _reading(row: Row, scope: Scope) -> Reading:
    """One that may be NULL is asked whether it is, so it is a value at once."""
    is_open = isinstance(row.type, Record) and not (row.type.is_optional and is_flat(row.type))
    return Static(row) if is_open else value(row, scope)


def row_of(reading: Reading) -> Row | None:
    """The row that ``reading`` is, if it is one."""
    return reading.value if isinstance(reading, Static) and isinstance(reading.value, Row) else None


def field(row: Row, name: str, scope: Scope) -> Reading:
    """row.name. Raises UnknownName for a field that rows do not have."""
    return _reading(row.at(name), scope)


def settled(reading: Reading, scope: Scope) -> Reading:
    """A first row as a value; what is no such row as it is."""
    row = row_of(reading)
    return reading if row is None else value(row, scope)


def is_absent(reading: Reading, node: ast.Compare, scope: Scope) -> Element | None:
    """``max(xs, key=…) is None``, there is no row, or ``is not None``; None for other comparisons."""
    match row_of(reading), node:
        case Row() as row, ast.Compare(_, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]):
            there = _is_there(row, scope)
            return there if isinstance(op, ast.IsNot) else scalars.apply("not", [there])
    return None


def _is_there(row: Row, scope: Scope) -> Element:
    return aggregates.folded("any", row.bag, False, scope.site, scope.session.names)


def value(row: Row, scope: Scope) -> Element:
    """The row as a value, and where there is none NULL as a whole. Raises TypeMismatch for inner bags, of which rows
    that are alike may have others."""
    found = _value(row, scope)
    if not isinstance(row.type, Record) or row.type.is_optional:
        return found
    there = _is_there(row, scope)
    fields = ((name, project(found, name).elem) for name in row.type.names)
    return Element(Tuple(((EXISTS, there.elem), *fields)), optional(row.type), merge([there, found]))


def _value(row: Row, scope: Scope) -> Element:
    match row.type:
        case Base():
            names = scope.session.names
            var = names.fresh("x")
            own = row.of(var)
            one = BagTerm(For(var, row.bag.expr, Sng(own.elem)), Bag(own.type))
            return aggregates.folded("max", one, True, scope.site, names)
        case Record() as t:
            fields = {name: _value(row.at(name), scope) for name in t.names}
            if t.is_optional:  # there is none where there is no first row
                fields[EXISTS] = scalars.apply("is_true", [fields[EXISTS]])
            elem = Tuple(tuple((name, e.elem) for name, e in fields.items()))
            return Element(elem, Record(tuple((n, e.type) for n, e in fields.items())), merge(fields.values()))
        case t:
            where = ".".join(row.path)
            raise TypeMismatch(f"a first row as a value holds no bags: {where}", got=t, possible=row.makes[:2])
