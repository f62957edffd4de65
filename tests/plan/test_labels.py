"""Labels as columns: what NULL in a label's columns means."""

import pytest
from support.programs import Running, planned

from ripplenest.delta.compile import Options
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import (
    Call,
    Empty,
    For,
    Let,
    LetVar,
    Lit,
    Plus,
    Pred,
    Proj,
    Query,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.types import LONG, Bag, Base, Record

ROW = Record((("k", LONG), ("g", Base("string", True))))
R = Rel("R", ROW)
NOTHING = Empty(Record((("b", Bag(LONG, True)),)))


@pytest.mark.parametrize("force_domain", [False, True])
def test_a_label_of_nulls_is_a_label(force_domain: bool) -> None:
    """let X := ∅ in X ⊎ for x in R union sng(⟨b: {y.k | y in R, y.k ≠ 1 or x.g is null}⟩): no bag of these is NULL."""
    cond = Call("or", (Call("ne", (Proj(Var("y"), "k"), Lit(1, LONG))), Call("is_null", (Proj(Var("x"), "g"),))))
    inner = SngBag("ι", For("y", R, For("_", Pred(cond), Sng(Proj(Var("y"), "k")))))
    made = For("x", R, For("b", inner, Sng(Tuple((("b", Var("b")),)))))
    body = Let("X", NOTHING, Plus(LetVar("X"), made))
    _, program = planned(Query("V", body, (("R", ROW),)), Options(force_domain=force_domain))
    rows = BagValue.of((("k", k), ("g", g)) for k, g in [(1, None), (2, "a"), (2, None)])
    running = Running.start(program, {"R": BagValue()}).apply({"R": rows})
    assert running.nested() == evaluate(body, {"R": rows})
