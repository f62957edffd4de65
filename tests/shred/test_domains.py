"""The labels that a product makes: folds beside them are left out that say nothing but which place they are of."""

import pytest

from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, InL, Lit, OutL, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.types import LONG, Label, Record, Site
from ripplenest.shred.domains import labels_made

BAG, PLACE = Site("ι", (("a", LONG),)), Site("G", (("p", LONG), ("q", LONG)))
ROW = Record((("a", LONG), ("b", LONG)))
R, S = Rel("R", ROW), Rel("S", ROW)
G = Total(
    "G",
    Record((("label", Label((PLACE,))), ("row", Record((("value", LONG),))))),
    nothing=Tuple((("value", Lit(0, LONG)),)),
)
A, B, C = Proj(Var("x"), "a"), Proj(Var("x"), "b"), Proj(Var("y"), "a")
P, Q = (OutL(Proj(Var("s"), "label"), PLACE, name) for name in "pq")
VALUE = Proj(Proj(Var("s"), "row"), "value")


def eq(a: Elem, b: Elem) -> Elem:
    return Call("eq", (a, b))


@pytest.mark.parametrize(
    ("label", "conditions", "left"),
    [
        (A, (eq(P, A), eq(Q, B)), "xy"),
        (A, (eq(A, P), Call("same", (B, Q))), "xy"),
        (A, (eq(P, A), eq(Q, Lit(1, LONG)), eq(A, C)), "xy"),
        (A, (eq(P, A),), "xsy"),
        (A, (eq(P, A), eq(Q, B), eq(Q, C)), "xsy"),
        (A, (eq(P, A), eq(Q, B), Call("gt", (VALUE, A))), "xsy"),
        (A, (eq(P, A), eq(Q, P)), "xsy"),
        (VALUE, (eq(P, A), eq(Q, B)), "xsy"),
    ],
    ids=["each", "turned", "constant", "too few", "twice", "answer", "by each other", "in the label"],
)
def test_folds_that_say_nothing_else(label: Elem, conditions: tuple[Elem, ...], left: str) -> None:
    made = InL("ι", (("a", label),))
    c = Comprehension((("x", R), ("s", G), ("y", S)), conditions, made)
    (found,) = labels_made(c, made, Label((BAG,)), BAG)
    assert "".join(var for var, _ in found.generators) == left
    asked = tuple(t for t in conditions if left == "xsy" or t == eq(A, C))
    assert found.conditions == asked and found.head == Tuple((("a", label),))
