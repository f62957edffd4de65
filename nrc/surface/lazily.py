"""What is left out is not worked out: ``sum(y / x.n for y in x.ys) if x.n != 0 else 0.0``.

A fold has a value for each row of what it stands in, and an error where it has none. Behind a condition, what can fail
is folded of the rows for which the condition is true, and of none elsewhere, where nobody asks what that comes to:

    if c then φ(x ∈ e; f) else t  ⟶  if c then φ(x ∈ (for _ in p(c) union e); f) else t
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from attrs import evolve

from ripplenest.nrc.disjoint import disjuncts
from ripplenest.nrc.normal import conjuncts
from ripplenest.nrc.scalars import grows, never_fails
from ripplenest.nrc.surface.readings import Bind, Element, Reading, guard, not_true
from ripplenest.nrc.syntax import Call, Elem, Expr, Group, Var
from ripplenest.nrc.types import Base
from ripplenest.nrc.walk import Names, free_vars, nodes, replace, replace_elem

Choose = Callable[[Element], list[Element]]


def sides(cond: Element, yes: Reading, no: Reading, names: Names) -> tuple[Reading, Reading]:
    """The two sides of a conditional expression, each as it is where it is asked for."""
    return _side(_true(cond), yes, names), _side(_not_true(cond), no, names)


def _side(known: Sequence[Element], reading: Reading, names: Names) -> Reading:
    return where(known, reading, names) if isinstance(reading, Element) else reading


def where(known: Sequence[Element], reading: Element, names: Names) -> Element:
    """``reading`` as it is where all of ``known`` are true; what it was where nothing can fail."""
    if not known or not any(_can_fail(b.expr) for b in reading.binds):
        return reading
    found: list[Bind] = []
    renamed: dict[str, Var] = {}  # others may read the same folds without a condition
    for bind in reading.binds:
        if bind.kind == "let":
            return reading
        expr = replace(bind.expr, renamed) if free_vars(bind.expr) & renamed.keys() else bind.expr
        if _can_fail(expr):
            assert isinstance(expr, Group)
            expr = evolve(expr, of=reduce(lambda of, cond: guard(cond, of, names), known[::-1], expr.of))
        if expr is not bind.expr:
            own = Var(names.fresh(bind.name))
            renamed[bind.name] = own
            found.append(Bind("for", own.name, expr))
        else:
            found.append(bind)
    return evolve(reading, elem=replace_elem(reading.elem, renamed), binds=tuple(found))


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


def _can_fail(e: Expr) -> bool:
    """Whether it is a fold in which something has no value for some rows. Numbers and times that grow too large are
    left out: who would ask before, and a fold with a condition is none that others share."""
    fails = (isinstance(n, Call) and not (never_fails(n.fn) or grows(n.fn)) for n in nodes(e))
    return isinstance(e, Group) and e.keys is None and any(fails)
