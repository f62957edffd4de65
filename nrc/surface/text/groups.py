"""Groups and first rows as the text has them, with their sites: group[α](…), fold[α](…) and top[α](…)."""

from collections.abc import Callable

from attrs import evolve, frozen
from lark import Token

from ripplenest.nrc.errors import ParseError
from ripplenest.nrc.surface import aggregates
from ripplenest.nrc.surface.ranking import Ranked, top_of
from ripplenest.nrc.surface.readings import BagTerm, Element
from ripplenest.nrc.surface.text.kinds import pair, subtrees, unique
from ripplenest.nrc.surface.text.scope import Scope, is_quoted, spelled
from ripplenest.nrc.surface.text.trees import Node
from ripplenest.nrc.syntax import Fold, Sorting, Var
from ripplenest.nrc.typecheck import check_sorted
from ripplenest.nrc.types import Base

VALUE = "value"  # what a row is called that is one value


@frozen
class Readers:
    """How parts of a term are read: as a bag, and as one value."""

    bag: Callable[[Node, Scope], BagTerm]
    element: Callable[[Node, Scope], Element]


def group(node: Node, scope: Scope, read: Readers) -> BagTerm:
    """group[α](x in e by k: t, … of f: fn(t, …), …), and fold[α](…) without keys"""
    site, name, source, *columns = subtrees(node)
    var, bag = spelled(name), read.bag(source, scope)
    inner = scope.bind({var: Element(Var(var), bag.type.row)})
    found = {str(part.data): subtrees(part) for part in columns}
    keyed = next(c for c in node.children if isinstance(c, Token)) == "group"
    if keyed != ("group_keys" in found):
        raise ParseError("a group has keys, and a fold has none", possible=["group[…](… by …)", "fold[…](… of …)"])
    pairs = [(name, spelled(name), value) for name, value in map(pair, found.get("group_keys", ()))]
    keys = [(name, read.element(value, inner)) for name, value in unique(scope.text, pairs)]
    folds = [_fold(own, inner, read) for own in found.get("group_folds", ())]
    return aggregates.grouped(spelled(site), var, bag, keys if keyed else None, folds)


def _fold(node: Node, scope: Scope, read: Readers) -> Fold:
    name, fn, *args = subtrees(node)
    with scope.text.located(node):
        return aggregates.fold(spelled(name), spelled(fn), [read.element(a, scope) for a in args])


def top(node: Node, scope: Scope, read: Readers) -> BagTerm:
    """top[α](n, x in e order t desc nulls first, …)"""
    site, name, source, *orders = subtrees(node)
    limit = next(int(c) for c in node.children if isinstance(c, Token) and c.type == "INT")
    bag = read.bag(source, scope)

    def ranked(row: Element) -> list[Ranked]:
        inner = scope.bind({spelled(name): row})
        return [_order(own, inner, read) for o in orders for own in subtrees(o)]

    with scope.text.located(node):
        return top_of(spelled(site), spelled(name), bag, ranked, limit, scope.session.names)


def sorted_by(bag: BagTerm, node: Node, scope: Scope) -> BagTerm:
    """(e sorted a.b desc, c nulls first): how rows are shown"""
    order = tuple(map(_sorting, subtrees(node)))
    with scope.text.located(node):
        order = tuple(evolve(o, path=()) if o.path == (VALUE,) and isinstance(bag.type.row, Base) else o for o in order)
        check_sorted(order, bag.type.row, "")
    return evolve(bag, sorted=order)


def _sorting(node: Node) -> Sorting:
    marks = {c.type for c in node.children if isinstance(c, Token)}
    steps = [[spelled(n)] if is_quoted(n) else spelled(n).split(".") for n in subtrees(node)]
    return Sorting(tuple(name for step in steps for name in step), "DESC" in marks, "NULLS_FIRST" in marks)


def _order(node: Node, scope: Scope, read: Readers) -> Ranked:
    (by,) = subtrees(node)
    marks = {c.type for c in node.children if isinstance(c, Token)}
    return Ranked(read.element(by, scope), "DESC" in marks, "NULLS_FIRST" in marks)
