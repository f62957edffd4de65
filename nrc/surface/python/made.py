"""``Row(id=c.id, total=t)``: a row as its class makes it, ``{"id": c.id, "total": t}``, its fields in their order.

What is not given is the class's default; ``None`` and ``[]`` are of the field's type, and numbers are of its kind, as
where rows come in: an int becomes a float. Law: its type is that of the class, up to what is never NULL.
"""

import ast
from collections.abc import Sequence
from copy import copy
from decimal import Decimal
from functools import partial
from typing import Any, cast

import attrs
from attrs import evolve

from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.functions.signatures import is_within
from ripplenest.nrc.surface.conversions import towards
from ripplenest.nrc.surface.python import constants, hints, scalars
from ripplenest.nrc.surface.python.functions import greatest
from ripplenest.nrc.surface.python.returned import others
from ripplenest.nrc.surface.python.scalars import literal_of
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import Element, as_optional, difference, project, same_type, tuple_of
from ripplenest.nrc.surface.records import annotation_text, record_type
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Base, Record, Type, join, nullable

CASTS = {"long": "to_long", "double": "to_double"}


def display(node: ast.Call, names: Sequence[str] = ()) -> ast.Dict:
    """The arguments as {**row, "name": value}; those without a name are the first of ``names``, or rows."""
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            raise hints.unsupported("* in a call", "one argument after the other")
    if names and len(node.args) > len(names):
        what = f"a row of {len(names)} fields made of {len(node.args)} values"
        raise Unsupported(what, possible=names)
    keys: list[ast.expr | None] = [_key(node, names[i]) if names else None for i, _ in enumerate(node.args)]
    keys += [None if w.arg is None else _key(node, w.arg) for w in node.keywords]
    return ast.copy_location(ast.Dict(keys, [*node.args, *(word.value for word in node.keywords)]), node)


def _key(node: ast.Call, name: str) -> ast.Constant:
    return ast.copy_location(ast.Constant(name), node)


def read(node: ast.Call, cls: type, scope: Scope) -> Element:
    """Raises Unsupported for fields that the class has not, TypeMismatch for values that are not of a field's type."""
    row = record_type(cls)
    given = _fields(display(node, row.names), row, scope)
    if unknown := [name for name in given if name not in row.names]:
        raise Unsupported(f"{cls.__qualname__} has no such field", got=", ".join(unknown), possible=row.names)
    values = given | _fields(_defaults(node, cls, [name for name in row.names if name not in given]), row, scope)
    return tuple_of({name: _fitted(values[name], t, f"{cls.__qualname__}.{name}") for name, t in row.fields})


def _fields(node: ast.Dict, row: Record, scope: Scope) -> dict[str, Element]:
    found = scope.read(node, row)
    assert isinstance(found, Element)
    assert isinstance(found.type, Record)
    return {name: project(found, name) for name in found.type.names}


def _defaults(node: ast.Call, cls: type, missing: Sequence[str]) -> ast.Dict:
    """What the class has for those that are ``missing``, as it would be written."""
    fields = {a.name: a for a in attrs.fields(cast(Any, cls))}
    none = [name for name in missing if fields[name].default is attrs.NOTHING]
    if none:
        raise Unsupported(f"a new {cls.__qualname__} without {', '.join(none)}", possible=[f"`{n}=...`" for n in none])
    values = [constants.written(_default(fields[name], cls)) for name in missing]
    made = ast.Dict([_key(node, name) for name in missing], values)
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _default(field: "attrs.Attribute[Any]", cls: type) -> object:
    found: Any = field.default
    if not isinstance(found, attrs.Factory):  # type: ignore[arg-type]
        return found
    if found.factory is list or (isinstance(found.factory, partial) and found.factory.func is copy):
        return found.factory()
    what = f"a default that is worked out for each {cls.__qualname__}"
    raise hints.unsupported(what, f"`{field.name}=...`, given where the row is made")


def _fitted(value: Element, wanted: Type, what: str) -> Element:
    """``value`` as one of the type ``wanted``. Raises TypeMismatch where it is none."""
    found = _converted(value, wanted)
    if same_type(wanted, found.type):
        return found
    is_null = join(wanted, found.type) is not None
    at, want, got = _never_null(found.type, wanted) if is_null else difference(wanted, found.type)
    possible = [hint] if (hint := towards(got, want)) is not None else []
    if isinstance(found.type, Base):
        possible.append(f"`{what.rpartition('.')[2]}: {annotation_text(found.type)}` in the class")
    what = f"{what}{at} is never NULL" if is_null else f"{what} is of another type{at}"
    raise TypeMismatch(what, wanted=want if is_null else wanted, got=got if is_null else found.type, possible=possible)


def _never_null(found: Type, wanted: Type) -> tuple[str, Type, Type]:
    """Where ``found`` may be NULL, and what is ``wanted`` there is not."""
    path, got, want = next(others(found, wanted, ""), ("", found, wanted))
    return f".{path}" if path else "", want, got


def _converted(value: Element, wanted: Type) -> Element:
    match value.type, wanted:
        case Base() as t, Base():
            return value if same_type(nullable(wanted), t) else _number(value, t, wanted)
        case Record() as t, Record() if {*t.there.names} == {*wanted.there.names}:
            if t.is_optional:
                return value
            fields = {name: _converted(project(value, name), f) for name, f in wanted.there.fields}
            row = value if same_type(wanted.there, value.type) else tuple_of(fields)
            return as_optional(row) if wanted.is_optional else row
        case _:
            return value


def _number(value: Element, t: Base, wanted: Base) -> Element:
    """A number as one of the type ``wanted``, where that has all of its own; a constant, where that has it."""
    match value.elem:
        case Lit(int() | Decimal() as n) if t.kind != "bool" and wanted.kind in ("int", "long", "decimal"):
            return evolve(literal_of(n, wanted), binds=value.binds)
    if not is_within(t, wanted):
        return value
    if wanted.kind == "decimal":
        return scalars.apply("rounded", [value, literal_of(greatest(wanted.precision, wanted.scale), wanted)])
    return scalars.apply(CASTS[wanted.kind], [value])
