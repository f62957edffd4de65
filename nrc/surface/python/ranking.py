"""The first rows of a bag in Python: ``rn.top(n, xs, key=…)`` and ``sorted(xs, key=…, reverse=…)[:n]``."""

import ast
from collections.abc import Sequence

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.python import functions, hints
from ripplenest.nrc.surface.python.aggregates import Apply, function_of, listed, value_of
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.ranking import Rank, Ranked, top_of
from ripplenest.nrc.surface.readings import BagTerm, Element, Static, as_bag, describe, project
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Base, Record

TOP = "rn.top(3, xs, key=lambda x: x.price, desc=True)"
SLICED = "sorted(xs, key=lambda x: x.price)[:3]"


def reads(function: object) -> bool:
    """Whether a call of ``function`` is read here."""
    return function is functions.top


def read(node: ast.Call, scope: Scope, apply: Apply) -> BagTerm:
    """rn.top(n, xs, key=…, desc=…, nulls_first=…)"""
    options = {word.arg: word.value for word in node.keywords}
    unknown = sorted(str(name) for name in options.keys() - {"key", "desc", "nulls_first"})
    if unknown or len(node.args) != 2:
        got = f"the keyword {unknown[0]}" if unknown else f"{len(node.args)} arguments"
        raise hints.unsupported(f"top with {got}", f"`{TOP}`")
    limit, rows = node.args
    flags = {name: _flags(options[name], scope) for name in ("desc", "nulls_first") if name in options}
    key = options.get("key")
    return _top(rows, key, flags.get("desc", (False,)), flags.get("nulls_first", (False,)), limit, scope, apply)


def sliced(node: ast.Subscript, scope: Scope, apply: Apply) -> BagTerm | None:
    """sorted(xs, key=…, reverse=…)[:n]; None for a slice of something else."""
    match node:
        case ast.Subscript(ast.Call(func, [rows], keywords), ast.Slice(None, ast.expr() as limit, None)):
            options = {word.arg: word.value for word in keywords}
        case _:
            return None
    called = scope.read(func)
    if not (isinstance(called, Static) and called.value is sorted and options.keys() <= {"key", "reverse"}):
        return None
    reverse = _flags(options["reverse"], scope) if "reverse" in options else (False,)
    return _top(rows, options.get("key"), reverse, (False,), limit, scope, apply)


def _top(
    rows: ast.expr,
    key: ast.expr | None,
    descending: Sequence[bool],
    nulls_first: Sequence[bool],
    limit: ast.expr,
    scope: Scope,
    apply: Apply,
) -> BagTerm:
    bag = as_bag(listed(rows, scope))
    rank = _rank(bag, key, descending, nulls_first, scope, apply)
    with scope.located(limit):
        many = _limit(limit, scope)
    with scope.located(key or rows):
        return top_of(scope.site, scope.fresh("x"), bag, rank, many, scope.session.names)


def _rank(
    bag: BagTerm, key: ast.expr | None, descending: Sequence[bool], nulls_first: Sequence[bool], scope: Scope,
    apply: Apply,
) -> Rank:  # fmt: skip
    """Rows without a ``key`` are ordered by their base values, as tuples are."""
    of = None if key is None else function_of(key, 1, TOP, scope, apply)

    def rank(row: Element) -> list[Ranked]:
        values = list(_values(row if of is None else value_of(of([row]), TOP), of is not None))
        wanted = f"one, or {len(values)}"
        for flags in (descending, nulls_first):
            if len(flags) not in (1, len(values)):
                raise TypeMismatch("a direction for each value of the key", wanted=wanted, got=len(flags))
        ways = zip(values, _each(descending, len(values)), _each(nulls_first, len(values)), strict=True)
        return [Ranked(*way) for way in ways]

    if of is None and not isinstance(bag.type.row, Base | Record):
        raise TypeMismatch("these rows have no order", got=bag.type.row, possible=[f"`{TOP}`"])
    return rank


def _values(of: Element, is_key: bool) -> list[Element]:
    """A key, or the values of one that is a tuple; of a row its own base values."""
    if isinstance(of.type, Record):
        fields = [project(of, name) for name in of.type.names]
        return [v for f in fields for v in ([f] if isinstance(f.type, Base) or is_key else _values(f, is_key))]
    return [of] if is_key or isinstance(of.type, Base) else []


def _each(flags: Sequence[bool], many: int) -> Sequence[bool]:
    return [*flags] * many if len(flags) == 1 else flags


def _flags(node: ast.expr, scope: Scope) -> tuple[bool, ...]:
    """True or False, or several, for the values of a key that is a tuple."""
    found = [_constant(n, scope) for n in (node.elts if isinstance(node, ast.Tuple) else [node])]
    if not found or not all(isinstance(v, bool) for v in found):
        with scope.located(node):
            raise hints.unsupported("a direction that is not known when the view is made", "`desc=True`")
    return tuple(v is True for v in found)


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
