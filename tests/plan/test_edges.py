"""What comparisons ask of a column of one source, by another one."""

import pytest

from ripplenest.nrc.types import BOOL, LONG, Base
from ripplenest.plan.edges import compared
from ripplenest.plan.product import Col, Const, Op, Scalar

AT, INT = Base("timestamp"), Base("int")
X, Y = (Col(source, 2, LONG) for source in (0, 1))
A, B = (Col(source, 2, AT) for source in (0, 1))


def long(n: int) -> Const:
    return Const(n, LONG)


def op(fn: str, *args: Scalar, type: Base = LONG) -> Op:
    return Op(fn, args, type)


BETWEEN = op("micros_between", A, B)
CASES = {
    "as it is": (op("lt", X, Y, type=BOOL), ("lt", 2, Y)),
    "from the other side": (op("lt", Y, X, type=BOOL), ("lt", 2, Y)),
    "moved": (op("le", op("add_long", X, long(3)), Y, type=BOOL), ("le", 2, op("add_long", Y, long(-3)))),
    "from": (op("le", BETWEEN, long(3), type=BOOL), ("le", 2, op("micros_after", B, long(3), type=AT))),
    "to": (
        op("le", long(3), op("micros_between", B, A), type=BOOL), ("le", 2, op("micros_after", B, long(-3), type=AT)),
    ),
    "multiplied": (op("le", op("mul_long", X, long(3)), Y, type=BOOL), None),
    "a truth": (op("eq", op("eq", X, long(1), type=BOOL), Col(1, 0, BOOL), type=BOOL), None),
    "as far as another column says": (op("le", BETWEEN, Y, type=BOOL), None),
    "another source": (op("lt", Y, long(1), type=BOOL), None),
    "no comparison": (op("is_null", X, type=BOOL), None),
}  # fmt: skip


@pytest.mark.parametrize(("condition", "wanted"), CASES.values(), ids=CASES)
def test_compared(condition: Scalar, wanted: tuple[str, int, Scalar] | None) -> None:
    assert compared(condition, 0) == wanted
