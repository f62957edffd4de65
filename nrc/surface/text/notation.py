"""The inverse of ``show``: one term, element, dictionary or type from its text, in an environment."""

import re
from collections.abc import Mapping

from ripplenest.nrc.limits import check_limits, check_type_limits
from ripplenest.nrc.surface.readings import BagTerm, Element
from ripplenest.nrc.surface.text.dictionaries import read_dict
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.kinds import read_type
from ripplenest.nrc.surface.text.scope import Scope, Session
from ripplenest.nrc.surface.text.terms import read_bag, read_element
from ripplenest.nrc.surface.text.trees import Node, Text, source, tree
from ripplenest.nrc.syntax import DictExpr, Elem, Expr, Var
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import Names

NO_NAMES = Environment()


def parse_expr(text: str, env: Environment = NO_NAMES, where: str = "text") -> Expr:
    """The term that ``text`` is. Raises ParseError, or another QueryError, with line and column.

    Law 7: parse_expr(show(e), environment_of(e)) = e, and the same for the lines of ``layout(e)``.
    """
    node, scope = _parsed(text, env, where)
    found = read_bag(node, scope).expr
    check_limits(found, where)
    return found


def parse_elem(text: str, env: Environment = NO_NAMES, where: str = "text") -> Elem:
    """The element that ``text`` is: the inverse of ``show_elem``."""
    node, scope = _parsed(text, env, where)
    found = read_element(node, scope).elem
    check_limits(found, where)
    return found


def parse_dict(text: str, env: Environment = NO_NAMES, where: str = "text") -> DictExpr:
    """The dictionary that ``text`` is: the inverse of ``show_dict``."""
    node, scope = _parsed(text, env, where)
    found, _ = read_dict(node, scope, read_bag)
    check_limits(found, where)
    return found


def parse_type(text: str, env: Environment = NO_NAMES, where: str = "text") -> Type:
    """The type that ``text`` is: the inverse of ``show_type``."""
    lines = source(text, where)
    found = read_type(tree(text, lines, "type"), lines, env, Session())
    check_type_limits(found, where)
    return found


def _parsed(text: str, env: Environment, where: str) -> tuple[Node, Scope]:
    lines = source(text, where)
    return tree(text, lines, "expr"), scope_of(lines, text, env)


def scope_of(
    lines: Text, text: str, env: Environment, path: tuple[str, ...] = (), views: Mapping[str, BagTerm] | None = None
) -> Scope:
    """The scope of a whole text. Names that are made up are apart from all words of it."""
    pi = {name: Element(Var(name), t) for name, t in env.pi.items()}
    return Scope(lines, Session(Names(frozenset(re.findall(r"\w+", text)))), env, pi, env.gamma, views or {}, path)
