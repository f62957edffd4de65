"""The order in which a product reads its sources: from the change outwards, constants last, else a scan."""

import pytest
from support.programs import Running, planned

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import At, Call, Elem, For, Lit, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import BOOL, LONG, STRING, Base, Record
from ripplenest.plan.access import access
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source

TYPES = (Base("long", True), STRING)
SOURCES = (Source("R", At.DELTA, TYPES), Source("S", At.OLD, TYPES), Source("T", At.NEW, TYPES))


def key(source: int) -> Scalar:
    return Col(source, 0, TYPES[0])


def text(source: int) -> Scalar:
    return Col(source, 1, STRING)


def op(fn: str, a: Scalar, b: Scalar) -> Scalar:
    return Op(fn, (a, b), BOOL)


def steps(*conditions: Scalar) -> list[tuple[int, tuple[int, ...], int | None]]:
    """(source, columns, via) of each step."""
    return [(s.source, s.columns, s.via) for s in access(Product(SOURCES, conditions, (), 1))]


DRAMA = Const("Drama", STRING)


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ((), [(0, (), None), (1, (), None), (2, (), None)]),
        ((op("eq", key(0), key(1)), op("eq", text(1), text(2))), [(0, (), None), (1, (0,), 0), (2, (1,), 1)]),
        ((op("eq", key(2), key(0)), op("eq", key(1), key(2))), [(0, (), None), (2, (0,), 0), (1, (0,), 2)]),
        ((op("eq", key(1), key(0)), op("eq", text(1), text(0))), [(0, (), None), (1, (0, 1), 0), (2, (), None)]),
        ((op("eq", text(1), DRAMA), op("lt", key(0), key(1))), [(0, (), None), (1, (1,), None), (2, (), None)]),
        ((op("eq", DRAMA, text(1)), op("eq", key(2), key(0))), [(0, (), None), (2, (0,), 0), (1, (1,), None)]),
        ((op("eq", text(1), DRAMA), op("eq", key(1), key(0))), [(0, (), None), (1, (0,), 0), (2, (), None)]),
        ((op("eq", key(1), Const(1, LONG)),), [(0, (), None), (1, (0,), None), (2, (), None)]),
        ((op("eq", key(1), Const(1.0, Base("double"))),), [(0, (), None), (1, (), None), (2, (), None)]),
    ],
)
def test_the_order_of_reading(conditions, wanted) -> None:
    assert steps(*conditions) == wanted


# ---------------------------------------------------------------- run

ROW = Record((("k", LONG), ("g", Base("string", True))))
R = Rel("R", ROW)


def rows(*pairs: tuple[int, str | None]) -> BagValue:
    return BagValue.of(tuple(zip(ROW.names, pair, strict=True)) for pair in pairs)


def test_a_constant_is_probed() -> None:
    """Inner bags that no equality leads to but one with a constant: what it does not find is not read."""
    drama: Elem = Call("eq", (Proj(Var("y"), "g"), Lit("Drama", STRING)))
    below: Elem = Call("lt", (Proj(Var("y"), "k"), Proj(Var("x"), "k")))
    inner = SngBag("ι", For("y", R, For("_", Pred(Call("and", (drama, below))), Sng(Proj(Var("y"), "k")))))
    body = For("x", R, For("b", inner, Sng(Tuple((("k", Proj(Var("x"), "k")), ("b", Var("b")))))))
    _, program = planned(Query("V", body, (("R", ROW),)))
    assert (1,) in program.indexes["R"]
    running, held = Running.start(program, {"R": rows()}), BagValue()
    changes = [rows((1, "Drama"), (2, None)), rows((3, "Action"), (4, "Drama")), -rows((1, "Drama"))]
    for change in changes:
        held += change
        running = running.apply({"R": change})
        assert running.nested() == evaluate(body, {"R": held})
