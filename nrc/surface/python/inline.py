"""Calls: scalar functions, methods, other views and helper functions.

Views and helpers are read again where they are called, with their parameters standing for the arguments: every binder
gets a fresh name each time, so nothing is captured.
"""

import ast
import datetime
import inspect
import math
from collections.abc import Mapping, Sequence
from types import FunctionType

from attrs import evolve

from ripplenest.nrc.errors import RipplenestError, TypeMismatch, Unsupported
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.surface.python import (
    aggregates,
    best,
    choices,
    constants,
    elapsed,
    functions,
    hints,
    made,
    moments,
    ranking,
    rings,
    scalars,
    sets,
    spans,
    windows,
)
from ripplenest.nrc.surface.python.body import read_body
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.python.source import Definition, Source
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, Static, Untyped, as_bag, describe, fit, is_bag
from ripplenest.nrc.surface.records import annotation_type, is_record
from ripplenest.nrc.syntax import Flatten
from ripplenest.nrc.types import Bag, Base


def call(node: ast.Call, scope: Scope) -> Reading:
    """f(…) or x.f(…)."""
    if isinstance(node.func, ast.Attribute):
        if isinstance(node.func.value, ast.Dict):
            raise hints.of_dict()
        receiver = constants.as_set(scope.read(node.func.value), node.func.value, scope)
        if not isinstance(receiver, Static):
            return _method(node, node.func.attr, receiver, scope)
        if isinstance(receiver.value, spans.Span) and not (node.args or node.keywords):
            return elapsed.method(receiver.value, node.func.attr)
        if isinstance(receiver.value, Mapping) and constants.has_method(node.func.attr):
            return constants.method(receiver.value, node, _positional(node, scope, node.func.attr))
        function = scalars.attribute(receiver, node.func.attr)
    else:
        function = scope.read(node.func)
    if not isinstance(function, Static):
        raise TypeMismatch("only functions can be called", got=describe(function))
    return _function(node, function.value, scope)


def _method(node: ast.Call, name: str, receiver: Reading, scope: Scope) -> Reading:
    if is_bag(receiver):
        if (found := sets.method(node, name, receiver, scope)) is not None:
            return found
        raise hints.of_bag_method(name, describe(receiver))
    if not isinstance(receiver, Element):
        hint = hints.METHODS.get(name, "`[... for x in xs]`")
        raise hints.unsupported(f"the method .{name} of {describe(receiver)}", hint)
    if (moment := moments.method_of(receiver, name)) is not None:
        return moment(receiver, *_arguments(node, scope))
    if isinstance(receiver.type, Base) and not scalars.has_method(receiver, name):
        raise hints.of_method(name, receiver.type)  # whatever its arguments are
    return scalars.method(receiver, name, _positional(node, scope, name))


def _function(node: ast.Call, function: object, scope: Scope) -> Reading:
    if function is min or function is max:
        name = function.__name__
        if any(word.arg == "key" for word in node.keywords):
            return best.read(node, name, scope, _of_rows(node, scope))
        if len(node.args) > 1:
            return choices.extreme(name, _positional(node, scope, name))
        return best.extreme(node, name, scope, _of_rows(node, scope))
    if function is bool and len(node.args) == 1 and not node.keywords:
        return choices.truth_value(node.args[0], scope)
    if aggregates.reads(function):
        return aggregates.read(node, function, scope, _of_rows(node, scope))
    if ranking.reads(function):
        return ranking.read(node, function, scope, _of_rows(node, scope))
    if rings.reads(function):
        return rings.read(node, function, scope, _of_rows(node, scope))
    if (op := scalars.named(function)) is not None:
        args = _positional(node, scope, getattr(function, "__name__", op))
        span = elapsed.absolute(args[0]) if function is abs and len(args) == 1 else None
        return scalars.call(function, op, args) if span is None else span
    if function is list and len(node.args) == 1:
        return as_bag(aggregates.listed(node.args[0], scope))
    if function is dict and len(node.args) <= 1:
        return scope.read(made.display(node), scope.wanted)
    if function is functions.coalesce:
        return choices.coalesce(_positional(node, scope, "coalesce"), scope)
    if function is math.isnan:
        return scalars.is_nan(_positional(node, scope, "isnan"))
    if function is functions.decimal:
        return scalars.decimal_of(*_arguments(node, scope))
    if function is functions.flatten:
        return _flatten(_positional(node, scope, "flatten"))
    if function is functions.difference or function is functions.intersect:
        return sets.combine(function.__name__, _positional(node, scope, function.__name__), scope)
    if windows.reads(function):
        return windows.read(function, *_arguments(node, scope), scope)
    if function is datetime.timedelta:
        return spans.read(*_arguments(node, scope))
    for constructor in scalars.CONSTRUCTORS:
        if function is constructor:
            return scalars.construct(constructor, *_arguments(node, scope))
    if isinstance(function, type) and is_record(function):
        return made.read(node, function, scope)
    if isinstance(function, Definition):
        return _view(node, function, scope)
    if isinstance(function, FunctionType) and not (hints.is_chance(function) or hints.is_of_library(function)):
        return _helper(node, function, scope)
    raise hints.of_call(function)


def _flatten(args: list[Reading]) -> BagTerm:
    if len(args) != 1:
        raise hints.unsupported(f"flatten with {len(args)} arguments", "flatten(xs), for a bag of bags")
    bag = as_bag(args[0])
    if not isinstance(bag.type.row, Bag):
        raise TypeMismatch("flatten needs a bag of bags", wanted="Bag(Bag(…))", got=bag.type)
    return BagTerm(Flatten(bag.expr), Bag(bag.type.row.row))


def _view(node: ast.Call, view: Definition, scope: Scope) -> Reading:
    """The view's body, with its relations replaced by the arguments."""
    parameters = view.parameters()
    args, kwargs = _arguments(node, scope)
    bound = _bound(inspect.Signature([_parameter(name) for name in parameters]), args, kwargs, view.source)
    env: dict[str, Reading] = {}
    for name, wanted in parameters.items():
        given = bound[name]
        bag = given if isinstance(given, Untyped) else as_bag(given)
        is_taken = isinstance(bag, BagTerm) and not scope.session.as_declared
        env[name] = bag if is_taken else fit(bag, wanted, f"the argument {name} of {view.source.tree.name}")
    return _inline(node, view.source, env, scope)


def _helper(node: ast.Call, function: FunctionType, scope: Scope) -> Reading:
    return _called(node, function, _arguments(node, scope), scope)


def sliced(node: ast.Subscript, scope: Scope) -> Reading | None:
    """The first rows of a bag, where a slice is that, or the first of them."""
    apply = _of_rows(node, scope)
    return best.by_place(node, scope, apply) or ranking.sliced(node, scope, apply)


def _of_rows(node: ast.expr, scope: Scope) -> aggregates.Apply:
    """How functions of rows are called that are arguments of ``node``, of whose values nothing is wanted."""
    own = evolve(scope, wanted=None)
    return lambda known, rows: _applied(node, known.value, rows, own)


def _applied(node: ast.expr, function: object, rows: Sequence[Element], scope: Scope) -> Reading:
    """A function of rows, which is an argument of the call."""
    if (op := scalars.named(function)) is not None:
        return scalars.call(function, op, rows)
    if not isinstance(function, FunctionType) or hints.is_chance(function):
        raise hints.of_call(function)
    return _called(node, function, (list(rows), {}), scope)


def _called(
    node: ast.expr, function: FunctionType, given: tuple[list[Reading], dict[str, Reading]], scope: Scope
) -> Reading:
    """The function's body, with its parameters replaced by the arguments."""
    signature = inspect.signature(function, follow_wrapped=False)
    odd = [p.name for p in signature.parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if odd and hasattr(function, "__wrapped__"):
        raise hints.of_decorated(function.__qualname__)
    if odd:
        raise hints.unsupported(f"a call of {function.__qualname__}, which takes *{odd[0]}", "parameters with names")
    source = scope.session.source(function)
    env = _bound(signature, *given, source)
    for name, value in env.items():
        annotation = signature.parameters[name].annotation
        if isinstance(value, Untyped) and annotation is not inspect.Parameter.empty:
            where = f"{function.__qualname__}.{name}"
            env[name] = fit(value, annotation_type(source.annotation(annotation, where), where), f"the argument {name}")
    return _inline(node, source, env, scope)


def _inline(node: ast.expr, source: Source, env: Mapping[str, Reading], scope: Scope) -> Reading:
    inner = scope.enter(source, env)
    try:
        with scope.session.level():
            result = read_body(inner)
    except RipplenestError as error:
        if error.where:
            error.excerpt += (f"  called at {scope.source.where(node)}",)
        raise
    match result:
        case Element(elem, _, binds):
            check_limits(elem)
            for bind in binds:
                check_limits(bind.expr)
        case BagTerm(expr, _):
            check_limits(expr)
        case Untyped() | Static():
            pass
    return result


# ---------------------------------------------------------------- arguments


def _arguments(node: ast.Call, scope: Scope) -> tuple[list[Reading], dict[str, Reading]]:
    """The arguments, read in the caller's scope."""
    kwargs: dict[str, Reading] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            with scope.located(keyword):
                raise hints.unsupported("** in a call", "one argument after the other")
        kwargs[keyword.arg] = scope.read(keyword.value)
    return [scope.read(arg) for arg in node.args], kwargs


def _positional(node: ast.Call, scope: Scope, name: str) -> list[Reading]:
    args, kwargs = _arguments(node, scope)
    _no_keywords(kwargs, name)
    return args


def _no_keywords(kwargs: Mapping[str, Reading], name: str) -> None:
    if kwargs:
        raise hints.unsupported(f"{name} with the keyword {next(iter(kwargs))}", "arguments without keywords")


def _parameter(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _bound(
    signature: inspect.Signature, args: list[Reading], kwargs: Mapping[str, Reading], source: Source
) -> dict[str, Reading]:
    """Parameters to arguments; defaults are constants. Raises Unsupported when the call does not fit."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        what = f"this call does not fit {source.tree.name}{signature}"
        raise Unsupported(what, got=str(error), possible=signature.parameters) from error
    env: dict[str, Reading] = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.name not in env:
            env[parameter.name] = scalars.settle(Static(parameter.default))
    return env
