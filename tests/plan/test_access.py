"""The order in which a product reads its sources: from the change outwards, constants last, else a scan."""

import pytest
from support.programs import Running, planned

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import At, Call, Elem, Expr, For, Lit, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
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
    _, program = planned(Query("V", body, (("R", ROW),)), Options("none"))
    assert (1,) in program.indexes["R"]
    running, held = Running.start(program, {"R": rows()}), BagValue()
    changes = [rows((1, "Drama"), (2, None)), rows((3, "Action"), (4, "Drama")), -rows((1, "Drama"))]
    for change in changes:
        held += change
        running = running.apply({"R": change})
        assert running.nested() == evaluate(body, {"R": held})


def test_what_can_fail_is_asked_last() -> None:
    """A row that no combination of the view reaches may hold what a condition has no value for, in builds as in
    triggers: building is not stricter than keeping."""
    one = Lit(1.0, Base("double"))
    inverse = Call("div_double", (one, Call("to_double", (Proj(Var("x"), "k"),))))
    tenth = Call("gt", (inverse, Lit(0.1, Base("double"))))
    body = For("x", R, For("_", Pred(tenth), For("y", Rel("S", ROW), joined())))
    query = Query("V", body, (("R", ROW), ("S", ROW)))
    for mode in MODES:
        _, program = planned(query, Options(mode))
        running = Running.start(program, {"R": rows((0, "Drama"), (1, "Action")), "S": rows((3, "Action"))})
        assert running.nested() == BagValue({1: 1})
        after = running.apply({"R": rows((0, "War")), "S": rows((4, "Action"))})
        assert after.nested() == BagValue({1: 2})
        assert after.maps() == Running.start(program, {"R": rows((0, "Drama"), (0, "War"), (1, "Action")),
                                                       "S": rows((3, "Action"), (4, "Action"))}).maps()


def joined() -> Expr:
    same = Call("eq", (Proj(Var("x"), "g"), Proj(Var("y"), "g")))
    return For("_", Pred(same), Sng(Proj(Var("x"), "k")))
