"""What is left out is not worked out: ``sum(y / x.n for y in x.ys) if x.n != 0 else 0.0``.

A fold has a value for each row of what it stands in, and an error where it has none. Behind a condition, what can fail
is folded of the rows for which the condition is true, and of none elsewhere, where nobody asks what that comes to:

    if c then φ(x ∈ e; f) else t  ⟶  if c then φ(x ∈ (for _ in p(c) union e); f) else t
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve

from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.normal import conjuncts, is_partial
from ripplenest.nrc.surface.readings import Bind, Element, Reading, guard, not_true
from ripplenest.nrc.syntax import Call, Elem, Expr, Group, LetVar, Var
from ripplenest.nrc.types import Base
from ripplenest.nrc.walk import Names, free_lets, free_vars, replace, replace_elem, replace_let

Choose = Callable[[Element], list[Element]]


def sides(cond: Element, yes: Reading, no: Reading, names: Names) -> tuple[Reading, Reading]:
    """The two sides of a conditional expression, each as it is where it is asked for."""
    return _side(_true(cond), yes, names), _side(_not_true(cond), no, names)


def _side(known: Sequence[Element], reading: Reading, names: Names) -> Reading:
    return where(known, reading, names) if isinstance(reading, Element) else reading


def where(known: Sequence[Element], reading: Element, names: Names) -> Element:
    """``reading`` as it is where all of ``known`` are true; what it was where nothing can fail."""
    if not known or not any(map(_can_fail, reading.binds)):
        return reading
    found: list[Bind] = []
    renamed: dict[str, Var] = {}  # others may read the same folds without a condition
    lets: dict[str, LetVar] = {}  # and bags with a name that are made of them
    for bind in reading.binds:
        expr = _with(bind.expr, renamed, lets)
        if _can_fail(bind):
            expr = _guarded(expr, known, names)
        own = bind.name if expr is bind.expr else names.fresh(bind.name)
        if expr is not bind.expr and bind.kind == "let":
            lets[bind.name] = LetVar(own)
        elif expr is not bind.expr:
            renamed[bind.name] = Var(own)
        found.append(Bind(bind.kind, own, expr))
    return evolve(reading, elem=replace_elem(reading.elem, renamed), binds=tuple(found))


def _with(e: Expr, renamed: Mapping[str, Var], lets: Mapping[str, LetVar]) -> Expr:
    """``e`` that reads other folds and bags."""
    if free_vars(e) & renamed.keys():
        e = replace(e, renamed)
    for name in free_lets(e) & lets.keys():
        e = replace_let(e, name, lets[name])
    return e


def _guarded(e: Expr, known: Sequence[Element], names: Names) -> Expr:
    """A fold of rows, or a bag with a name, that has rows only where all of ``known`` are true."""
    if isinstance(e, Group):
        return evolve(e, of=_guarded(e.of, known, names))
    rows: Expr = e
    for cond in reversed(known):
        rows = guard(cond, rows, names)
    return rows


def either(operands: Sequence[Element], names: Names) -> list[Element]:
    """The ``operands`` of ``or``, each as it is where none before it is true."""
    return _each(operands, _not_true, names)


def both(operands: Sequence[Element], names: Names) -> list[Element]:
    """The ``operands`` of ``and``, each as it is where none before it is false."""
    return _each(operands, _not_false, names)


def _each(operands: Sequence[Element], behind: Choose, names: Names) -> list[Element]:
    found: list[Element] = []
    for operand in operands:
        found.append(where([k for before in found for k in behind(before)], operand, names))
    return found


def _true(cond: Element) -> list[Element]:
    """What is true where ``cond`` is, of what is made of no folds."""
    return _plain(cond, conjuncts(cond.elem))


def _not_true(cond: Element) -> list[Element]:
    return [not_true(c) for c in _plain(cond, disjuncts(cond.elem))]


def _not_false(cond: Element) -> list[Element]:
    is_sure = isinstance(cond.type, Base) and not cond.type.nullable
    return _true(cond) if is_sure else [not_true(evolve(c, elem=Call("not", (c.elem,)))) for c in _true(cond)]


def _plain(cond: Element, parts: Iterable[Elem]) -> list[Element]:
    made = {b.name for b in cond.binds}
    return [evolve(cond, elem=c, binds=()) for c in parts if not free_vars(c) & made]


def _can_fail(bind: Bind) -> bool:
    """Whether it is a fold, or a bag with a name, in which something has no value for some rows. Numbers and times that
    grow too large are left out: who would ask before, and a fold with a condition is none that others share."""
    is_read = bind.kind == "let" or (isinstance(bind.expr, Group) and bind.expr.keys is None)
    return is_read and is_partial(bind.expr)
