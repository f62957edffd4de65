"""The first rows of a bag in Python: ``rn.top(n, xs, key=…)`` and ``sorted(xs, key=…, reverse=…)[:n]``; and in which
order all are shown, where nothing is cut off."""

import ast
from collections.abc import Mapping, Sequence
from types import ModuleType

from attrs import frozen

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.python import functions, hints, placed
from ripplenest.nrc.surface.python.aggregates import Apply, arguments, function_of, listed, value_of
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.ranking import Rank, Ranked, carried, sorted_by, top_of
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, Static, as_bag, describe, project
from ripplenest.nrc.syntax import Expr, Lit, Sorting
from ripplenest.nrc.types import Base, Record

TOP = "rn.top(3, xs, key=lambda x: x.price, desc=True)"
SLICED = "sorted(xs, key=lambda x: x.price)[:3]"
SORTED = "sorted(xs, key=lambda x: x.price, reverse=True)"
OWN = "rn.sorted(xs, key=lambda x: x.price, desc=True)"


def reads(function: object) -> bool:
    """Whether a call of ``function`` is read here."""
    return any(function is known for known in (functions.top, functions.rows_sorted, sorted))


def read(node: ast.Call, function: object, scope: Scope, apply: Apply) -> BagTerm:
    """rn.top(n, xs, key=…, desc=…, nulls_first=…), and rn.sorted without n; sorted(xs, key=…, reverse=…)"""
    given = _given(node, function)
    order = _order(given, function, scope)
    if function is functions.top:
        return _top(given["rows"], order, given["n"], scope, apply)
    bag = as_bag(listed(given["rows"], scope))
    with scope.located(order.key or node):
        return sorted_by(scope.fresh("x"), bag, _rank(bag, order, scope, apply))


def _given(node: ast.Call, function: object) -> dict[str, ast.expr]:
    """The arguments of a call by the parameters of the function. Raises Unsupported for other ones."""
    optional = ("key", "desc", "nulls_first")
    if function is functions.top:
        name, hint, given = "top", TOP, arguments(node, "top", TOP, ("n", "rows"), optional)
    elif function is sorted:
        name, hint, given = "sorted", SORTED, arguments(node, "sorted", SORTED, ("rows",), words=("key", "reverse"))
    else:
        name, hint, given = "sorted", OWN, arguments(node, "sorted", OWN, ("rows",), optional)
    if isinstance(given["rows"], ast.Constant | ast.Lambda):
        raise hints.unsupported(f"{name} of {ast.unparse(given['rows'])} in the place of rows", f"`{hint}`")
    return given


def order_of(
    source: BagTerm, var: str, body: Expr, generators: Sequence[ast.comprehension], scope: Scope
) -> tuple[Sorting, ...]:
    """How what a comprehension makes of a ``source`` is shown. Raises Unsupported for sorted(…) whose order is lost."""
    found = carried(source.sorted, var, body) if len(generators) == 1 else None
    if found is None:
        for node in (g.iter for g in generators):
            with scope.located(node):
                _check_not_sorted(node, scope)
    return found or ()


def _check_not_sorted(node: ast.expr, scope: Scope) -> None:
    if _is_sorting(_called(node, scope)):
        what = "a comprehension over sorted(...) whose rows do not hold what they are sorted by"
        every = "`sorted([... for x in xs], key=...)` by a field of the rows that it makes"
        raise hints.unsupported(what, f"{every}; of the first n rows `[... for x in sorted(xs, key=...)[:n]]`")


def sliced(node: ast.Subscript, scope: Scope, apply: Apply) -> BagTerm | None:
    """sorted(xs, key=…, reverse=…)[:n], and the same of rn.sorted; None for a place in something else. Raises
    Unsupported for another place in them."""
    function = _called(node.value, scope)
    if not isinstance(node.value, ast.Call) or not (_is_sorting(function) or function is functions.top):
        return None
    match node.slice:
        case ast.Slice(None, ast.expr() as limit, None) if _is_sorting(function) and (placed.whole(limit) or 0) >= 0:
            given = _given(node.value, function)
            return _top(given["rows"], _order(given, function, scope), limit, scope, apply)
        case place:
            raise placed.refused(_named(function), place)


def first_of(node: ast.Subscript, scope: Scope, apply: Apply) -> BagTerm | None:
    """The one row of sorted(xs, key=…)[0], and of rn.top and rn.sorted; None for anything else."""
    function = _called(node.value, scope)
    match node.value, node.slice:
        case ast.Call() as call, ast.Constant(int() as n) if _is_sorting(function) or function is functions.top:
            if n == 0 and not isinstance(n, bool):
                given = _given(call, function)
                return _top(given["rows"], _order(given, function, scope), _one(node), scope, apply)
    return None


def _one(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(1), node)


def _called(node: ast.expr, scope: Scope) -> object:
    """The function of a call, by its name; None for anything else, such as a method."""
    match node:
        case ast.Call(ast.Name() as func):
            found = scope.read(func)
        case ast.Call(ast.Attribute(ast.Name() as module) as func) if _is_module(scope.read(module)):
            found = scope.read(func)
        case _:
            return None
    return found.value if isinstance(found, Static) else None


def _is_module(of: Reading) -> bool:
    return isinstance(of, Static) and isinstance(of.value, ModuleType)


def _is_sorting(function: object) -> bool:
    return function is sorted or function is functions.rows_sorted


def _named(function: object) -> str:
    return "rn.top" if function is functions.top else "rn.sorted" if function is functions.rows_sorted else "sorted"


def _order(given: Mapping[str, ast.expr], function: object, scope: Scope) -> "_Order":
    """What the arguments of a call say."""
    word = "reverse" if function is sorted else "desc"
    return _Order.of(given.get("key"), (word, given.get(word)), given.get("nulls_first"), scope)


@frozen
class _Order:
    """The key, and for its values whether they come from the last one on, and whether NULL is first."""

    key: ast.expr | None
    descending: Sequence[bool]
    nulls_first: Sequence[bool]

    @classmethod
    def of(
        cls, key: ast.expr | None, descending: tuple[str, ast.expr | None], nulls_first: ast.expr | None, scope: Scope
    ) -> "_Order":
        given = (descending, ("nulls_first", nulls_first))
        ways = ((False,) if node is None else _flags(node, keyword, scope) for keyword, node in given)
        return cls(key, *ways)


def _top(rows: ast.expr, order: _Order, limit: ast.expr, scope: Scope, apply: Apply) -> BagTerm:
    bag = as_bag(listed(rows, scope))
    rank = _rank(bag, order, scope, apply)
    with scope.located(limit):
        many = _limit(limit, scope)
    with scope.located(order.key or rows):
        return top_of(scope.site, scope.fresh("x"), bag, rank, many, scope.session.names)


def first(rows: ast.expr, key: ast.expr, descending: bool, scope: Scope, apply: Apply) -> BagTerm:
    """rn.top(1, rows, key=…, desc=…)"""
    return _top(rows, _Order(key, (descending,), (False,)), _one(rows), scope, apply)


def first_of_all(bag: BagTerm, descending: bool, scope: Scope, apply: Apply) -> BagTerm:
    """The first row of a bag, by its values."""
    rank = _rank(bag, _Order(None, (descending,), (False,)), scope, apply)
    return top_of(scope.site, scope.fresh("x"), bag, rank, 1, scope.session.names)


def _rank(bag: BagTerm, order: _Order, scope: Scope, apply: Apply) -> Rank:
    """Rows without a key are ordered by their base values, as tuples are."""
    of = None if order.key is None else function_of(order.key, 1, TOP, scope, apply)

    def rank(row: Element) -> list[Ranked]:
        values = list(_values(row if of is None else value_of(of([row]), TOP), of is not None))
        ways = (order.descending, order.nulls_first)
        for flags in ways:
            if len(flags) not in (1, len(values)):
                wanted = f"one, or {len(values)}"
                raise TypeMismatch("a direction for each value of the key", wanted=wanted, got=len(flags))
        return [Ranked(*way) for way in zip(values, *(_each(flags, len(values)) for flags in ways), strict=True)]

    if of is None and not isinstance(bag.type.row, Base | Record):
        raise TypeMismatch("these rows have no order", got=bag.type.row, possible=[f"`{TOP}`"])
    return rank


def _values(of: Element, is_key: bool) -> list[Element]:
    """A key, or the values of one that is a tuple; of a row its own base values."""
    if isinstance(of.type, Record):
        fields = [project(of, name) for name in of.type.there.names]
        return [v for f in fields for v in ([f] if isinstance(f.type, Base) or is_key else _values(f, is_key))]
    return [of] if is_key or isinstance(of.type, Base) else []


def _each(flags: Sequence[bool], many: int) -> Sequence[bool]:
    return [*flags] * many if len(flags) == 1 else flags


def _flags(node: ast.expr, keyword: str, scope: Scope) -> tuple[bool, ...]:
    """True or False, or several, for the values of a key that is a tuple."""
    found = [_constant(n, scope) for n in (node.elts if isinstance(node, ast.Tuple) else [node])]
    if not found or not all(isinstance(v, bool) for v in found):
        with scope.located(node):
            raise hints.unsupported("a direction that is not known when the view is made", _ways(node, keyword))
    return tuple(v is True for v in found)


def _ways(node: ast.expr, keyword: str) -> str:
    """What is written in place of a direction; of several in a list, their tuple."""
    match node:
        case ast.List([_, _, *_] as elts) if all(isinstance(e, ast.Constant) for e in elts):
            return f"`{keyword}=({', '.join(map(ast.unparse, elts))})`, a tuple"
    return f"`{keyword}=True`"


def _limit(node: ast.expr, scope: Scope) -> int:
    found = _constant(node, scope)
    if not isinstance(found, int) or isinstance(found, bool):
        raise hints.unsupported("a number of rows that is not known when the view is made", f"`{TOP}` or `{SLICED}`")
    return found


def _constant(node: ast.expr, scope: Scope) -> object:
    found = scope.read(node)
    match found:
        case Element(Lit(value, _)):
            return value
        case Static(value):
            return value
        case _:
            return describe(found)
