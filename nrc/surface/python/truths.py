"""What is true: conditions, which are three-valued, and other values as Python has it. A number is true unless it is 0,
a text unless it is empty, a date where it is not NULL; no such truth is NULL. That of bags is in ``choices.truth``.
"""

import ast
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.python.scalars import apply, base_of, fold, literal, settle
from ripplenest.nrc.surface.readings import (
    FALSE,
    Element,
    Reading,
    Untyped,
    as_bag,
    describe,
    is_bag,
    is_row,
    null_whole,
)
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import BOOL, Base, may_be_null

OR_ELSE = (
    "`xs if rn.exists(xs) else ys`: ys where it has none",
    "`rn.coalesce(xs, ys)`: ys where it is None, which a bag without rows is not",
    "`xs or []`: no rows there",
)
AND_THEN = ("`ys if rn.exists(xs) else xs`: ys where it has one",)
COMPARED = "a comparison, as in `x != 0` or `x is not None`"
NOTHING: Final[dict[str, object]] = {
    "int": 0, "long": 0, "double": 0.0, "decimal": Decimal(0), "string": "", "binary": b"",
}  # fmt: skip


def condition(reading: Reading, *others: str) -> Element:
    """An element that is a boolean. Raises TypeMismatch for others, with what ``others`` may be meant."""
    if is_bag(reading):
        possible = [*others, "`rn.exists(xs)`: whether it has a row"]
        raise TypeMismatch("a condition must be a boolean", wanted="bool", got=describe(reading), possible=possible)
    cond, kind = base_of(reading)
    if kind != "bool":
        own = COMPARED.replace("x != 0", "x != ''") if kind == "string" else COMPARED
        raise TypeMismatch("a condition must be a boolean", wanted="bool", got=cond.type, possible=[*others, own])
    return cond


def or_else(xs: Reading, others: Sequence[ast.expr]) -> tuple[str, ...]:
    """What stands for ``xs or ys``, of a bag: of decimals ys has as many digits; of one row it may be a default."""
    match others:
        case [ast.List([one])] if is_bag(xs) and isinstance(row := as_bag(xs).type.row, Base):
            y = ast.unparse(one)
            y = f"rn.decimal({y}, {row.precision}, {row.scale})" if row.kind == "decimal" else y
            default = f"`max(xs, default={ast.unparse(one)})`, and so of `min`, where that is asked"
            return f"`xs if rn.exists(xs) else [{y}]`: that where it has none", default, *OR_ELSE[1:]
    return OR_ELSE


def instead(conditions: Sequence[ast.expr], value: ast.expr) -> tuple[str]:
    """What stands for ``c and x or y``."""
    cond = conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), [*conditions])
    written = ast.unparse(ast.IfExp(cond, value, ast.Name("...", ast.Load())))
    return (f"`{written}`, with what it is where that is not so",)


def is_condition(reading: Reading) -> bool:
    return not is_bag(reading) and reading != Untyped("None") and base_of(reading)[1] == "bool"


def truth(reading: Reading, *others: str) -> Element:
    """A condition as it is, which may be NULL; bool(x) of other values. Raises TypeMismatch as ``condition`` does."""
    if reading == Untyped("None"):
        return FALSE
    if is_bag(reading):
        return condition(reading, *others)
    if is_row(reading):
        absent = null_whole(reading)
        assert absent is not None
        return _truth_of(True) if known(absent) is False else apply("not", [absent])
    value, kind = base_of(reading)
    if kind == "bool":
        return value
    if isinstance(value.elem, Lit):
        return _truth_of(value.elem.value)
    if kind not in NOTHING:
        return apply("not", [apply("is_null", [value])])
    return never_null(apply("ne", [value, literal(NOTHING[kind])]))


def never_null(cond: Element) -> Element:
    """coalesce(c, false)"""
    return apply("is_true", [cond]) if may_be_null(cond.type) else cond


def or_false(op: ast.boolop, operands: Sequence[ast.expr], cond: Element) -> Element:
    """``cond``, as which the operands are read, but never NULL where ``or False`` is written last: it says what stands
    for NULL, and would say nothing."""
    match op, operands[-1]:
        case ast.Or(), ast.Constant(False):
            return never_null(cond)
    return cond


def _truth_of(constant: object) -> Element:
    found = literal(bool(constant))
    assert isinstance(found, Element)
    return found


def is_nothing(reading: Reading) -> bool:
    """Whether it is the constant that a number or a text is where it is false: 0 or the empty one."""
    found = settle(reading)
    return isinstance(found, Element) and isinstance(found.elem, Lit) and found.elem.value in NOTHING.values()


def known(cond: Element) -> bool | None:
    """What a condition is that a constant decides, as ``LIMIT is None`` does: nothing else is read then that Python
    would not evaluate."""
    return bool(cond.elem.value) if isinstance(cond.elem, Lit) and cond.type == BOOL else None


def decided(op: ast.boolop, conditions: Iterable[Element]) -> list[Element]:
    """The operands of ``and`` or ``or``, up to one that decides what they come to."""
    found: list[Element] = []
    for cond in conditions:
        if known(cond) is isinstance(op, ast.Or):
            return [cond]
        found.append(cond)
    return found


def logic(op: ast.boolop, operands: Sequence[Element]) -> Element:
    """``and`` and ``or`` of conditions, three-valued."""
    return fold("and" if isinstance(op, ast.And) else "or", operands)
