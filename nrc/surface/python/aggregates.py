"""Folds, distinct rows, group-by and outer joins in Python: the calls that read generator expressions and functions.

What they stand for is in ``surface/aggregates.py``. A generator expression is read as the list it would make, and a
function, a lambda or one written with ``def``, where it is called: its parameters are rows.
"""

import ast
from collections.abc import Callable, Sequence

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface import aggregates
from ripplenest.nrc.surface.python import advice, constants, functions, hints, scalars, truths
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import (
    BagTerm,
    Element,
    Reading,
    Static,
    Untyped,
    as_bag,
    describe,
    guard,
    is_bag,
    made_of,
    wrap,
)
from ripplenest.nrc.syntax import For, Sng, Var
from ripplenest.nrc.types import BOOL, Bag, Base, Record, Type, nullable

Apply = Callable[[Static, Sequence[Element]], Reading]
"""A function that is known, on these arguments."""

FOLDS: dict[object, tuple[str, bool]] = {
    sum: ("sum", True),
    any: ("any", True),
    all: ("all", True),
    len: ("count", False),
    functions.avg: ("avg", True),
    functions.count: ("count", True),
    functions.exists: ("any", False),
}
"""The fold of each, and whether it is of the values of the rows, and not of the rows alone."""

DISTINCT = (set, frozenset)
JOINS = (functions.left_join, functions.right_join, functions.full_join)
GROUPED = "rn.group_by(xs, lambda x: x.key)"
JOINED = "rn.{}(xs, ys, lambda x, y: x.key == y.key)"


def reads(function: object) -> bool:
    """Whether a call of ``function`` is read here."""
    known = (*FOLDS, *DISTINCT, functions.group_by, *JOINS)
    return any(function is own for own in known)


def read(node: ast.Call, function: object, scope: Scope, apply: Apply) -> Reading:
    """What the call of a ``function`` means that is read here."""
    name = getattr(function, "__name__", "")
    if function is functions.group_by:
        return _group_by(node, scope, apply)
    if any(function is join for join in JOINS):
        return _join(node, name, scope, apply)
    if node.keywords:
        hint = f"`rn.coalesce({name}(x.n for x in xs), 0)`, where there are none"
        raise hints.unsupported(f"{name} with the keyword {node.keywords[0].arg}", hint)
    is_set = any(function is known for known in DISTINCT)
    if is_set and not node.args:
        return Untyped("[]")
    given = listed(_one(node, name), scope)
    if is_set and isinstance(given, Static):
        given = constants.as_bag(given, node, scope)
    if is_set and given == Untyped("[]"):
        return given
    if is_set:
        return distinct(given, scope)
    if function is len and not is_bag(given):
        return scalars.call(len, "length", [given])
    if function is sum and _is_one(node.args[0]):  # how many there are, to Python 0 of nothing
        return _fold(name, "count", False, given, scope)
    for known, (fn, of_values) in FOLDS.items():
        if function is known:
            return _fold(name, fn, of_values, given, scope)
    raise hints.of_call(function)


def _is_one(node: ast.expr) -> bool:
    """Whether it is 1 for each row."""
    match node:
        case ast.GeneratorExp(ast.Constant(value)) | ast.ListComp(ast.Constant(value)):
            return type(value) is int and value == 1
    return False


def exists(rows: BagTerm, scope: Scope) -> Element:
    """Whether there is a row; a NULL bag has none."""
    return aggregates.folded("any", rows, False, scope.site, scope.session.names)


def distinct(rows: Reading, scope: Scope) -> BagTerm:
    """{t for x in xs}"""
    return aggregates.distinct(as_bag(rows), scope.site, scope.session.names)


def among(x: Reading, ys: BagTerm, scope: Scope) -> Element:
    """``x in ys``: any(y == x for y in ys)"""
    names = scope.session.names
    y = names.fresh("y")
    equal = scalars.apply("eq", [Element(Var(y), ys.type.row), x])
    found = BagTerm(For(y, ys.expr, guard(equal, Sng(Var(y)), names)), ys.type)
    return aggregates.folded("any", found, False, scope.site, names)


def _fold(name: str, fn: str, of_values: bool, given: Reading, scope: Scope) -> Element:
    if not is_bag(given):
        hint = ", ".join(made_of(given) or (f"`{name}(x.n for x in xs)`",))
        raise hints.unsupported(f"{name} of {describe(given)}", hint)
    row = as_bag(given).type.row
    if (fn == "sum" and row in (BOOL, nullable(BOOL))) or (fn == "count" and of_values and isinstance(row, Record)):
        return _count_true(as_bag(given), scope)
    rows = _truths(as_bag(given), scope) if fn in ("any", "all") and of_values else as_bag(given)
    with advice.advising(advice.of_fold(name, rows.type.row)):
        return aggregates.folded(fn, rows, of_values, scope.site, scope.session.names)


def _count_true(rows: BagTerm, scope: Scope) -> Element:
    """sum(x.n > 3 for x in xs): how many are true, as True is 1 to Python; 0 of nothing. Of records how many are there:
    rn.count(x.home for x in xs)."""
    x, names = scope.fresh("x"), scope.session.names
    kept = guard(truths.truth(Element(Var(x), rows.type.row)), Sng(Var(x)), names)
    return aggregates.folded("count", BagTerm(For(x, rows.expr, kept), rows.type), False, scope.site, names)


def _truths(rows: BagTerm, scope: Scope) -> BagTerm:
    """What Python takes for true of values that are no conditions."""
    if isinstance(rows.type.row, Bag):
        bag = scope.fresh("x")
        found = exists(as_bag(Element(Var(bag), rows.type.row)), scope)
        return BagTerm(For(bag, rows.expr, wrap(found.binds, Sng(found.elem))), Bag(BOOL))
    if not isinstance(rows.type.row, Base | Record) or rows.type.row in (BOOL, nullable(BOOL)):
        return rows
    x = scope.fresh("x")
    found = truths.truth(Element(Var(x), rows.type.row))
    return BagTerm(For(x, rows.expr, Sng(found.elem)), Bag(found.type))


def extreme_value(given: Reading, name: str, default: Reading, scope: Scope) -> Element:
    """min and max, of nothing NULL, or the default, which is there for NULL."""
    found = _fold(name, name, True, given, scope)
    return found if default == Untyped("None") else scalars.apply("coalesce", [found, default])


def rows_given(node: ast.Call, name: str, scope: Scope) -> Reading:
    """What the one argument of a call is, the rows that it is of."""
    return listed(_one(node, name), scope)


def _one(node: ast.Call, name: str) -> ast.expr:
    match node.args:
        case [ast.Starred() as found]:
            raise hints.of_node(found)
        case [arg]:
            return arg
        case _:
            start = "; `rn.coalesce(sum(x.n for x in xs), 0)`, where there are none" * (name == "sum")
            raise hints.unsupported(f"{name} with {len(node.args)} arguments", f"`{name}(x.n for x in xs)`{start}")


def listed(node: ast.expr, scope: Scope, wanted: Type | None = None) -> Reading:
    """An argument; a generator expression is the list that it would make."""
    match node:
        case ast.GeneratorExp(elt, generators):
            return scope.read(ast.copy_location(ast.ListComp(elt, generators), node), wanted)
        case _:
            return scope.read(node, wanted)


def _group_by(node: ast.Call, scope: Scope, apply: Apply) -> BagTerm:
    rows, key = _given(node, "group_by", ("rows", "key"), GROUPED)
    bag, of = as_bag(listed(rows, scope)), function_of(key, 1, GROUPED, scope, apply)
    with scope.located(key):
        return aggregates.group_by(bag, lambda x: value_of(of([x]), GROUPED), scope.site, scope.session.names)


def _join(node: ast.Call, name: str, scope: Scope, apply: Apply) -> BagTerm:
    hint = JOINED.format(name)
    *bags, condition = _given(node, name, ("left", "right", "on"), hint)
    left, right = (as_bag(listed(bag, scope)) for bag in bags)
    on = function_of(condition, 2, hint, scope, apply)
    with scope.located(condition):
        made = getattr(aggregates, name)
        found = made(left, right, lambda x, y: truths.condition(on([x, y])), scope.site, scope.session.names)
    assert isinstance(found, BagTerm)
    return found


def arguments(
    node: ast.Call, name: str, hint: str, required: Sequence[str],
    optional: Sequence[str] = (), words: Sequence[str] | None = None,
) -> dict[str, ast.expr]:  # fmt: skip
    """The arguments of a call by parameter, each by place or by name; only ``words`` by name, if they are said. Raises
    Unsupported for other ones."""
    places, by_name = (*required, *optional), {str(word.arg): word.value for word in node.keywords}
    if odd := [word for word in by_name if word not in (places if words is None else words)]:
        raise hints.unsupported(f"{name} with the keyword {odd[0]}", f"`{hint}`")
    given = dict(zip(places, node.args, strict=False)) | by_name
    count = len(node.args) + len(by_name)
    if len(given) < count or not given.keys() >= {*required}:
        raise hints.unsupported(f"{name} with {count} arguments", f"`{hint}`")
    return given


def _given(node: ast.Call, name: str, parameters: Sequence[str], hint: str) -> list[ast.expr]:
    """The arguments for ``parameters``, in their order, of which the last one is a function."""
    given = arguments(node, name, hint, parameters)
    if any(isinstance(given[word], ast.Lambda) for word in parameters[:-1]):
        raise hints.unsupported(f"{name} with a function in the place of rows", f"`{hint}`")
    return [given[word] for word in parameters]


def function_of(
    node: ast.expr, takes: int, hint: str, scope: Scope, apply: Apply
) -> Callable[[Sequence[Element]], Reading]:
    """A function of so many rows. Its body is read for each call, so binders are fresh each time."""
    if isinstance(node, ast.Lambda):
        args = node.args
        odd = [*args.posonlyargs, *args.kwonlyargs, *args.defaults, args.vararg, args.kwarg]
        if any(odd) or len(args.args) != takes:
            with scope.located(node):
                raise hints.unsupported("a lambda with other parameters here", f"`{hint}`")
        names = [arg.arg for arg in args.args]
        return lambda given: scope.bind(dict(zip(names, given, strict=True))).read(node.body)
    known = scope.read(node)
    if not isinstance(known, Static):
        name = node.value if isinstance(node, ast.Constant) else None
        own = f"lambda x: x.{name}" if isinstance(name, str) and name.isidentifier() else hint
        with scope.located(node):
            raise TypeMismatch("this must be a function of rows", got=describe(known), possible=[f"`{own}`"])
    return lambda given: apply(known, given)


def value_of(reading: Reading, hint: str) -> Element:
    found = scalars.settle(reading)
    if not isinstance(found, Element):
        what = "a key is a value of a row"
        raise TypeMismatch(what, wanted="a base value or a record", got=describe(found), possible=[f"`{hint}`"])
    return found
