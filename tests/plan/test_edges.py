"""What comparisons ask of a column of one source, by another one."""

from decimal import Decimal
from itertools import product

import pytest

from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.types import BOOL, LONG, Base
from ripplenest.plan.edges import compared
from ripplenest.plan.evaluate import value
from ripplenest.plan.product import Col, Const, Op, Scalar
from ripplenest.plan.sides import side_of

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


OWN, ALSO, PLACE, HERE = (Col(source, at, LONG) for source, at in ((0, 3), (0, 4), (1, 3), (1, 4)))


@pytest.mark.parametrize("ties", [(OWN, PLACE), (PLACE, OWN), (OWN, ALSO), (PLACE, HERE)])
def test_ties_are_told_by_a_row_and_a_place(ties: tuple[Scalar, Scalar]) -> None:
    """Two columns of one row, or of the place, are no side of what is looked for."""
    less, same = op("lt", X, Y, type=BOOL), op("eq", X, Y, type=BOOL)
    found = side_of(op("or", less, op("and", same, op("lt", *ties, type=BOOL), type=BOOL), type=BOOL), 0)
    if {OWN, PLACE} == {*ties}:
        assert found is not None and (found.by, found.of) == ((X, OWN), (Y, PLACE))
    else:
        assert found is None


def exact(fn: str, *args: Scalar) -> Op:
    return Op(fn, args, result_type(fn, [a.type for a in args]))


MOST = 2**63 - 1
FEW = (-MOST - 1, -MOST, -1, 0, 1, 2, MOST - 1, MOST)
P, Q = (Col(source, 0, LONG) for source in (0, 1))


@pytest.mark.parametrize("fn", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("moved", ["add_decimal", "sub_decimal", None])
@pytest.mark.parametrize("turned", [False, True])
def test_exact_comparisons_lie_on_one_side_of_their_edge(fn: str, moved: str | None, turned: bool) -> None:
    """Of sums and differences of integers, by whichever of the two: all others before the edge, or all behind it."""
    told = 0
    p, q = exact("to_decimal", P), exact("to_decimal", Q)
    for n, other in product((0, 1, -1, MOST, -MOST), FEW):
        by = Const(Decimal(n), Base("decimal", False, 19, 0))
        sides = (exact("sub_decimal", p, q), by) if moved is None else (exact(moved, p, by), q)
        condition = Op(fn, sides[::-1] if turned else sides, BOOL)
        for own in (0, 1):
            found = compared(condition, own)
            assert found is not None and found[1] == 0
            edge = value(found[2], {1 - own: (other,)})
            near = {*FEW, *(x for x in (edge - 1, edge, edge + 1) if -MOST - 1 <= x <= MOST)}
            true = {x: value(condition, {own: (x,), 1 - own: (other,)}) for x in near}
            before, behind = ({t for x, t in true.items() if way * x < way * edge} for way in (1, -1))
            assert len(before) <= 1 and len(behind) <= 1 and (before != behind or abs(edge) >= MOST)
            told += before != behind
    assert told > 50
