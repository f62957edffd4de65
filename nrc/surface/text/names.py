"""Names to what they stand for: variables of a for or let, relations and their changes, the views above."""

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.surface.readings import BagTerm, Reading
from ripplenest.nrc.surface.text import elements
from ripplenest.nrc.surface.text.advice import unknown
from ripplenest.nrc.surface.text.scope import PartName, Scope, is_quoted, part_name, spelled
from ripplenest.nrc.surface.text.trees import Node
from ripplenest.nrc.syntax import LetVar, Rel
from ripplenest.nrc.types import Bag


def named(node: Node, scope: Scope, bag: bool) -> Reading:
    """What a name, or a path x.f.g in one word, stands for; ``bag``: whether a bag is wanted."""
    head, *fields = [spelled(node)] if is_quoted(node) else spelled(node).split(".")
    part = _known(part_name(node), scope) if bag or head not in scope.pi else None
    if part is not None:
        return part
    if head not in scope.pi:
        possible = [*scope.pi, *scope.gamma, *scope.env.relations, *scope.views]
        raise unknown(f"there is no {head!r} here", head, possible)
    found = scope.pi[head]
    for name in fields:
        found = elements.project(found, name)
    return found


def _known(part: PartName, scope: Scope) -> BagTerm | None:
    """A let-variable, a relation or a view."""
    if part.key in scope.gamma:
        return BagTerm(LetVar(part.key), scope.gamma[part.key])
    if part.name in scope.env.relations:
        return stored(part, scope)
    return scope.views.get(part.key)


def stored(part: PartName, scope: Scope, hidden: bool = False) -> BagTerm:
    """A stored part. ``hidden``: even where a let-variable has its name."""
    if part.key in scope.gamma and not hidden:
        return BagTerm(LetVar(part.key), scope.gamma[part.key])
    if part.name not in scope.env.relations:
        raise unknown(f"there is no relation {part.name!r}", part.name, scope.env.relations)
    if part.key != part.name and not scope.env.changes:
        raise Unsupported("a view reads relations, not their changes", got=part.key, possible=[part.name])
    row = scope.env.relations[part.name]
    return BagTerm(Rel(part.name, row, part.at, part.order), Bag(row))
