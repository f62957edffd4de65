"""Where columns lie that are compared with values of wider types."""

from collections import Counter
from decimal import Decimal
from itertools import product

import pytest
from support.edges import EDGES

from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.rewriting.bands import CASTS, SWAPPED, WIDER, says_where
from ripplenest.nrc.types import BOOL, DOUBLE, INT, LONG, Base, nullable
from ripplenest.plan.edges import compared, decided_by
from ripplenest.plan.evaluate import value
from ripplenest.plan.narrow import narrowed
from ripplenest.plan.product import Col, Const, Op, Scalar

CENTS, MILLS, LARGE = Base("decimal", False, 6, 2), Base("decimal", False, 12, 4), Base("decimal", False, 34, 1)
NEAR = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 2**31, 2**53, -(2**53), 2**53 - 1, 2**63 - 1, -(2**63))
SMALL = [Decimal(n).scaleb(-4) for n in (0, 1, -1, 49, 50, 51, -50, 99_999_900, 99_999_950, 99_999_999, -99_999_999)]
VALUES: dict[Base, list[object]] = {
    INT: [n for n in NEAR if -(2**31) <= n < 2**31],
    LONG: [*NEAR, 2**53 + 1, 2**60 + 1, 2**31 + 1],
    DOUBLE: [*EDGES[Base("double", True)], *(float(n) + d for n in NEAR for d in (0.0, 0.5, -0.5))],
    CENTS: [Decimal(n).scaleb(-2) for n in (0, 1, -1, 99, 100, 150, -150, 999_999, -999_999)],
    MILLS: [*SMALL, *(Decimal(n) for n in (*NEAR[:5], 99_999_999, -99_999_999))],
    LARGE: [Decimal(n) + d for n in (*NEAR, 10**32, -(10**32)) for d in (Decimal(0), Decimal("0.5"), Decimal("-0.5"))],
}
PAIRS = [
    (own, other)
    for own, other in product(VALUES, VALUES)
    if own != other and says_where(own, other)
]


def widened(x: Scalar, other: Base) -> Scalar:
    """A column as a number of another type, as conditions have it."""
    if x.type.kind == other.kind == "decimal":
        return x
    fn = f"to_{other.kind}"
    assert fn in CASTS
    return Op(fn, (x,), result_type(fn, [x.type]))


def test_every_kind_of_pair_is_asked() -> None:
    assert {(a.kind, b.kind) for a, b in PAIRS} == WIDER


@pytest.mark.parametrize(("own", "other"), PAIRS, ids=[f"{a} {b}" for a, b in PAIRS])
def test_edges_are_exact(own: Base, other: Base) -> None:
    """Law (narrowed): of all values but the edge those on its side fulfil the condition, and no others."""
    x, d = Col(0, 0, own), Col(1, 0, other)
    edge, counts = narrowed(d, own), Counter[str]()
    assert nullable(edge.type) == nullable(own)
    for limit in VALUES[other]:
        try:
            e: object = value(edge, {1: (limit,)})
        except EvaluationError:
            assert (own, other) == (LONG, DOUBLE) and not abs(limit) < 2.0**53  # type: ignore[arg-type]
            counts["no edge"] += 1
            continue
        for n, fn in product((v for v in VALUES[own] if v != e), SWAPPED):
            condition = Op(fn, (widened(x, other), d), BOOL)
            is_above = n > e  # type: ignore[operator]
            assert value(condition, {0: (n,), 1: (limit,)}) is (is_above == (fn in ("gt", "ge"))), (n, fn, limit, e)
            counts["above" if is_above else "below"] += 1
    assert value(edge, {1: (None,)}) is None
    assert min(counts["above"], counts["below"]) > 20, counts
    assert (counts["no edge"] > 0) == ((own, other) == (LONG, DOUBLE))


@pytest.mark.parametrize(("own", "other"), PAIRS, ids=[f"{a} {b}" for a, b in PAIRS])
def test_comparisons_ask_for_edges(own: Base, other: Base) -> None:
    x, d = Col(0, 3, own), Col(1, 0, other)
    for sides in ((widened(x, other), d), (d, widened(x, other))):
        assert compared(Op("lt", sides, BOOL), 0) == ("lt", 3, narrowed(d, own))


@pytest.mark.parametrize(("own", "other"), PAIRS, ids=[f"{a} {b}" for a, b in PAIRS])
def test_what_decides_is_as_much_as_decides(own: Base, other: Base) -> None:
    """Law (decided_by): values that agree in it fulfil a condition with the same rows, also with those at the edges;
    a double beside whole numbers has as many as lie between them."""
    x, d = Col(0, 0, own), Col(1, 0, other)
    for fn, is_swapped in product(SWAPPED, (False, True)):
        condition = Op(fn, (d, widened(x, other)) if is_swapped else (widened(x, other), d), BOOL)
        decides, fulfilled = decided_by(condition, 0), dict[object, list[object]]()
        for limit in VALUES[other]:
            rows = [value(condition, {0: (n,), 1: (limit,)}) for n in VALUES[own]]
            assert fulfilled.setdefault(repr([value(s, {1: (limit,)}) for s in decides]), rows) == rows, (fn, limit)
        assert (len(fulfilled) < len({*map(repr, VALUES[other])})) == (other == DOUBLE and own.kind in ("int", "long"))


def test_columns_decide_where_they_are_part_of_what_lies_between() -> None:
    moment = Base("timestamp")
    x, now = Col(0, 0, moment), Col(1, 0, moment)
    lying = Op("le", (Op("micros_between", (now, x), LONG), Const(7, LONG)), BOOL)
    assert decided_by(lying, 0) == (now,)
    later, limit = Op("add_long", (Col(0, 0, LONG), Const(2, LONG)), LONG), Col(1, 3, LONG)
    assert decided_by(Op("lt", (later, limit), BOOL), 0) == (limit,)


def test_doubles_say_nothing_of_decimals() -> None:
    """What of them is a decimal, and where that is rounded, no function says."""
    assert not says_where(CENTS, DOUBLE) and not says_where(LONG, INT)
