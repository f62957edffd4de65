"""The body of a view or helper: a docstring, assignments, one return.

``x = [...]`` is ``let x := … in`` the rest; a scalar or a record is substituted. The latest assignment counts.
"""

import ast
from collections.abc import Sequence
from typing import Any, get_args, get_origin

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.surface.python import hints
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Bind, Element, Reading, enclose, fit
from ripplenest.nrc.surface.records import BAGS, annotation_type
from ripplenest.nrc.syntax import LetVar, Rel


def read_body(scope: Scope) -> Reading:
    """What the function returns, with its parameters as they are in ``scope``."""
    statements = _without_docstring(scope.source.tree.body)
    binds: list[Bind] = []
    for i, statement in enumerate(statements):
        with scope.located(statement):
            match statement:
                case ast.Return(ast.expr() as value):
                    if statements[i + 1 :]:
                        raise Unsupported("a view ends with its return", possible=["one return, as the last statement"])
                    return enclose(tuple(binds), scope.read(value))
                case ast.Assign(targets, value):
                    scope = _assign(targets, scope.read(value), scope, binds)
                case ast.AnnAssign(ast.Name() as target, annotation, ast.expr() as value):
                    scope = _assign([target], _declared(annotation, scope.read(value), scope), scope, binds)
                case ast.Expr(value):
                    raise hints.unsupported("an expression whose value is not used", "`return [...]`")
                case _:
                    raise hints.of_node(statement)
    with scope.located(scope.source.tree):
        raise Unsupported(f"{scope.source.tree.name} does not return anything", possible=["return [... for x in xs]"])


def _without_docstring(statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match statements:
        case [ast.Expr(ast.Constant(str())), *rest]:
            return rest
        case _:
            return statements


def _assign(targets: Sequence[ast.expr], value: Reading, scope: Scope, binds: list[Bind]) -> Scope:
    for target in targets:
        if not isinstance(target, ast.Name):
            with scope.located(target):
                raise hints.unsupported("this as the target of an assignment", "one name, `x = ...`")
        if isinstance(value, BagTerm) and not isinstance(value.expr, Rel | LetVar):
            name = scope.fresh(target.id)
            binds.append(Bind("let", name, value.expr))
            value = BagTerm(LetVar(name), value.type, is_set=value.is_set)
        if isinstance(value, Element):
            check_limits(value.elem)  # substituted wherever the name is used
        scope = scope.bind({target.id: value})
    return scope


def _declared(annotation: ast.expr, value: Reading, scope: Scope) -> Reading:
    """``x: Bag[str] = []``: the value, checked against the annotation; ``Any`` and ``list[Any]``, which type checkers
    are told, say nothing."""
    hint = _annotation(annotation, scope)
    if hint is Any or (get_origin(hint) in BAGS and get_args(hint) == (Any,)):
        return value
    return fit(value, annotation_type(hint, ""), "the value")


def _annotation(node: ast.expr, scope: Scope) -> object:
    """What the annotation of a local variable stands for; Python itself does not evaluate those."""
    return scope.source.annotation(ast.unparse(node), "")
