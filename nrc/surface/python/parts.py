"""Parts of values: a field by a dot or in brackets, ``t[0]`` of a tuple, ``s[1:3]`` of a string, ``xs[:3]``."""

import ast
from collections.abc import Mapping

from ripplenest.nrc.errors import UnknownName, Unsupported
from ripplenest.nrc.surface.python import best, constants, elapsed, hints, inline, placed, scalars, slices, spans
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import Element, Reading, Static, describe, is_bag
from ripplenest.nrc.types import Record, places


def attribute(of: Reading, name: str, scope: Scope) -> Reading:
    """A field of a row, also of one that is the first of a bag, or a name of a module or class."""
    if isinstance(of, Static) and isinstance(of.value, spans.Span):
        return elapsed.attribute(of.value, name)
    row = best.row_of(of)
    return scalars.attribute(of, name) if row is None else best.field(row, name, scope)


def of_extreme(node: ast.expr, name: str) -> str | None:
    """For max(x.total for x in xs).name, a field of the row that has the greatest value."""
    match node:
        case ast.Call(ast.Name("min" | "max" as fold), [ast.GeneratorExp(ast.Attribute(ast.Name(), field))]):
            return f"`{fold}(xs, key=lambda x: x.{field}).{name}`, of a row that has it"
        case _:
            return None


def subscript(node: ast.Subscript, scope: Scope) -> Reading:
    """The first rows of a bag, a part of a string, a field by its name, or what is in a collection of constants."""
    if (first := inline.sliced(node, scope)) is not None:
        return first
    if isinstance(node.value, ast.Dict) and not isinstance(node.slice, ast.Constant):
        raise hints.of_dict()
    match scope.read(node.value), node.slice:
        case Static(Mapping() | list() | tuple() as held), _:
            return scalars.settle(constants.at(held, node, scope))
        case of, ast.Constant(str() as name):
            return attribute(of, name, scope)
        case of, place if (part := _part_of(of, place)) is not None:
            return attribute(of, part, scope)
        case Element() as text, ast.Slice() as place if scalars.is_string(text):
            return slices.sliced(text, place, scope)
        case of, place:
            raise _no_subscript(node, of, place)


def _part_of(of: Reading, place: ast.expr) -> str | None:
    """The field that ``of[place]`` is, of a tuple ⟨_1: …, _2: …⟩. Raises UnknownName where it has none there."""
    row = best.row_of(of)
    found = of.type if row is None and isinstance(of, Element) else row and row.type
    at = placed.whole(place)
    if at is None or not isinstance(found, Record):
        return None
    names = found.there.names
    if names != places(len(names)):
        return None
    if not -len(names) <= at < len(names):
        possible = [f"[{n}]" for n in range(len(names))]
        raise UnknownName(f"a tuple of {len(names)} parts has none at [{at}]", got=f"[{at}]", possible=possible)
    return names[at]


def _no_subscript(node: ast.Subscript, of: Reading, place: ast.expr) -> Unsupported:
    """What there is in place of ``x[place]``."""
    written = ast.unparse(node.value)
    match place:
        case ast.Slice():
            return hints.of_node(place) if is_bag(of) else hints.unsupported(f"a slice of {describe(of)}", hints.PARTS)
        case _ if (at := placed.whole(place)) is not None:
            if is_bag(of):
                return hints.of_place(at)
            if scalars.is_string(of):
                part = f"`{written}[{at or ''}:{at + 1 or ''}]`, which is empty where there is none"
                return hints.unsupported("a letter of a string by its place", part)
    return hints.of_node(node)
