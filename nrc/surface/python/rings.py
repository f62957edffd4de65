"""Folds over rings in Python views: ``rn.fold(R, ((a.p, b.p) for a in A for b in B if a.j == b.j))``."""

import ast
from collections.abc import Sequence
from functools import reduce
from typing import Any

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.aggregates import fold as folded
from ripplenest.nrc.surface.aggregates import grouped
from ripplenest.nrc.surface.python import hints, scalars
from ripplenest.nrc.surface.python.aggregates import Apply, listed
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Bind, Element, Reading, Static, as_bag, describe, project
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.surface.rings import Column, Moments, Ring, RingVariable, moments
from ripplenest.nrc.surface.rings import fold as fold_function
from ripplenest.nrc.syntax import Call, Expr, Fold, For, Pred, Proj, Sng, Tuple, Var
from ripplenest.nrc.types import Base, Record, Type, join, may_be_null, nullable, places

HINT = "rn.fold(rn.MaxProduct, ((a.p, b.p) for a in A for b in B if a.j == b.j))"


def reads(function: object) -> bool:
    """Whether a call of ``function`` is read here."""
    return function is fold_function or function is moments


def read(node: ast.Call, function: object, scope: Scope, apply: Apply) -> Reading:
    """rn.fold(R, rows of factors), and rn.moments("x", …), which is such an R"""
    if function is moments:
        return Static(moments(*(_name(arg, scope) for arg in node.args)))
    if node.keywords or len(node.args) != 2:
        raise hints.unsupported(f"fold with {len(node.args)} arguments", f"`{HINT}`")
    over = _ring(node.args[0], scope)
    bag, var = as_bag(listed(node.args[1], scope)), scope.fresh("x")
    factors = _factors(Element(Var(var), bag.type.row))
    with scope.located(node.args[1]):
        if isinstance(over, Moments):
            return _moments(over, bag, var, factors, scope)
        return _over(over, bag, var, factors, scope, apply)


def _ring(node: ast.expr, scope: Scope) -> Ring | Moments:
    """The ring that a fold is over, or that its variable stands for."""
    match scope.read(node):
        case Static(Ring() | Moments() as over):
            return over
        case Static(RingVariable(name)):
            with scope.located(node):
                return scope.session.ring(name)
        case other:
            with scope.located(node):
                raise TypeMismatch("a fold is over a ring", got=describe(other), possible=[f"`{HINT}`", "@rn.ring"])


def _name(node: ast.expr, scope: Scope) -> str:
    match node:
        case ast.Constant(str() as name):
            return name
        case _:
            with scope.located(node):
                raise hints.unsupported("moments of variables without names", '`rn.moments("x", "y")`')


def _factors(row: Element) -> list[Element]:
    """Those of a tuple, or a row that is one."""
    if isinstance(row.type, Record) and row.type.names == places(len(row.type.names)):
        return [project(row, name) for name in row.type.names]
    return [row]


def _over(r: Ring, bag: BagTerm, var: str, factors: Sequence[Element], scope: Scope, apply: Apply) -> Reading:
    """One fold for each column of ⊗ of the lifted factors."""
    lifted = [_value(r, apply(Static(r.lift), [x])) for x in factors]
    made = reduce(lambda a, b: _value(r, apply(Static(r.times), [a, b])), lifted)
    columns = [_typed(r, c, project(made, c.name)) for c in r.columns]
    folds = [folded(c.name, c.fold, [_adding(c, x)]) for c, x in zip(r.columns, columns, strict=True)]
    total = _folded(folds, bag, var, scope)
    if r.answer is not None:
        return apply(Static(r.answer), [total])
    return project(total, r.names[0]) if len(r.names) == 1 else total


def _folded(folds: Sequence[Fold], bag: BagTerm, var: str, scope: Scope) -> Element:
    """The one row of φ, as a record that is bound around what reads it."""
    one = grouped(scope.site, var, bag, None, folds)
    name = scope.fresh("s")
    row = Record(tuple((f.name, f.type) for f in folds))
    elem = Tuple(tuple((f.name, Proj(Var(name), f.name)) for f in folds))
    return Element(elem, row, (Bind("for", name, one.expr),))


def _value(r: Ring, made: Reading) -> Element:
    found = scalars.settle(made)
    if not (isinstance(found, Element) and isinstance(found.type, Record) and set(found.type.names) == set(r.names)):
        what = f"lift and times of the ring {r.name} make a dict of its columns"
        raise TypeMismatch(what, wanted=", ".join(r.names), got=describe(found))
    return found


def _adding(c: Column, x: Element) -> Element:
    """What is NULL adds nothing: to ``all`` what is true."""
    return scalars.apply("coalesce", [x, Static(True)]) if c.fold == "all" and may_be_null(x.type) else x


def _typed(r: Ring, c: Column, x: Element) -> Element:
    """What is folded, of the type that the column is declared with."""
    if c.annotation is Any:
        return x
    column = f"the column {c.name} of the ring {r.name}"
    declared: Type = nullable(annotation_type(c.annotation, column))
    if join(x.type, declared) != declared:  # where it stands, the reader says
        raise TypeMismatch(f"{column} is of another type than it says", wanted=declared, got=x.type)
    return x


def _moments(m: Moments, bag: BagTerm, var: str, factors: Sequence[Element], scope: Scope) -> Element:
    if len(factors) != len(m.variables):
        wanted = f"{len(m.variables)}: {', '.join(m.variables)}"
        raise TypeMismatch("moments of other factors than variables", wanted=wanted, got=len(factors))
    odd = [n for n, x in zip(m.variables, factors, strict=True) if not isinstance(x.type, Base)]
    if odd:
        raise TypeMismatch("a variable is a number", where=odd[0], wanted="a base value")
    folds = [folded(name, fn, _summed([factors[i] for i in which])) for name, fn, which in m.columns]
    return _folded(folds, _whole(bag, scope), var, scope)


def _whole(bag: BagTerm, scope: Scope) -> BagTerm:
    """Rows of which no factor is NULL."""
    var = scope.fresh("x")
    rows: Expr = Sng(Var(var))
    for x in _factors(Element(Var(var), bag.type.row)):
        if may_be_null(x.type):
            rows = For("_", Pred(Call("not", (Call("is_null", (x.elem,)),))), rows)
    return bag if rows == Sng(Var(var)) else BagTerm(For(var, bag.expr, rows), bag.type)


def _summed(factors: Sequence[Element]) -> Sequence[Element]:
    """Factors of exact numbers are multiplied where they are summed; doubles row by row."""
    if len(factors) == 2 and any(isinstance(x.type, Base) and x.type.kind == "double" for x in factors):
        return [scalars.binary(ast.Mult(), *factors)]
    return factors
