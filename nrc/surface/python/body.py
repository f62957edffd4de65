"""The body of a view or helper: a docstring, assignments, ``if`` statements, and what is returned.

``x = [...]`` is ``let x := … in`` the rest; a scalar or a record is substituted. The latest assignment counts. What an
``if`` returns is ``a if c else b``, of what each of its branches returns with the statements behind it.
"""

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any, get_args, get_origin

from attrs import evolve

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.surface.beside import declared, side_by_side
from ripplenest.nrc.surface.python import choices, hints, returned, truths
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Bind, Element, Reading, enclose, fit
from ripplenest.nrc.surface.records import BAGS, annotation_type
from ripplenest.nrc.syntax import LetVar, Rel
from ripplenest.nrc.types import Type


def read_body(scope: Scope) -> Reading:
    """What the function returns, with its parameters as they are in ``scope``."""
    statements, known = _without_docstring(scope.source.tree.body), returned.declared(scope.source)
    with scope.located(scope.source.tree):
        if known is None:
            return _read(statements, scope)
        return declared(partial(_branch, statements, scope), known, scope.site, scope.session.names)


def _read(statements: Sequence[ast.stmt], scope: Scope) -> Reading:
    """What is returned by ``statements``, of which those behind an ``if`` go on from each of its branches."""
    binds: list[Bind] = []
    for i, statement in enumerate(statements):
        rest = statements[i + 1 :]
        with scope.located(statement):
            match statement:
                case ast.Return(ast.expr() as value):
                    _check_last(rest)
                    return enclose(tuple(binds), scope.read(value, scope.wanted))
                case ast.If(test, body, orelse):
                    cond = choices.truth(test, scope)
                    _check_last(rest if _returns([statement]) else ())
                    if (known := truths.known(cond)) is not None:
                        return enclose(tuple(binds), _read(_then(body if known else orelse, rest), scope))
                    with scope.session.level():  # each is a conditional expression, one level deeper
                        sides = [partial(_branch, _then(branch, rest), scope.perhaps()) for branch in (body, orelse)]
                        yes, no = side_by_side(sides, scope.wanted)
                    return enclose(tuple(binds), choices.conditional(cond, yes, no, scope))
                case ast.Assign(targets, value):
                    scope = _assign(targets, scope.read(value), scope, binds)
                case ast.AnnAssign(ast.Name() as target, annotation, ast.expr() as value):
                    scope = _assign([target], _declared(annotation, value, scope), scope, binds)
                case ast.Expr(value):
                    raise hints.unsupported("an expression whose value is not used", "`return [...]`")
                case _:
                    raise hints.of_node(statement)
    possible = ["return [... for x in xs]", "behind an if, or in each of its branches, `return x`, or `return None`"]
    raise Unsupported(f"{scope.source.tree.name} does not return anything", possible=possible)


def _branch(statements: Sequence[ast.stmt], scope: Scope, wanted: Type | None) -> Reading:
    return _read(statements, evolve(scope, wanted=wanted))


def _then(branch: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements that a branch of an ``if`` goes on with."""
    return branch if _returns(branch) else [*branch, *rest]


def _returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind ``statements`` is reached."""
    match statements:
        case [*_, ast.Return()]:
            return True
        case [*_, ast.If(_, body, orelse)]:
            return _returns(body) and _returns(orelse)
        case _:
            return False


def _check_last(rest: Sequence[ast.stmt]) -> None:
    if rest:
        raise Unsupported("a view ends with its return", possible=["one return, as the last statement"])


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


def _declared(annotation: ast.expr, value: ast.expr, scope: Scope) -> Reading:
    """``x: Bag[str] = []``: the value, checked against the annotation; ``Any`` and ``list[Any]``, which type checkers
    are told, say nothing."""
    hint = _annotation(annotation, scope)
    if hint is Any or (get_origin(hint) in BAGS and get_args(hint) == (Any,)):
        return scope.read(value)
    wanted = annotation_type(hint, "")
    return fit(scope.read(value, wanted), wanted, "the value")


def _annotation(node: ast.expr, scope: Scope) -> object:
    """What the annotation of a local variable stands for; Python itself does not evaluate those."""
    return scope.source.annotation(ast.unparse(node), "")
