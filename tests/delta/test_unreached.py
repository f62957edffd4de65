"""Which products a change of a map cannot reach: where it says of labels what each row of the map is not made for."""

import pytest
from attrs import evolve

from ripplenest.delta.program import Map, MapKind
from ripplenest.delta.unreached import reached
from ripplenest.nrc.rewriting.normal import Comprehension, term
from ripplenest.nrc.syntax import TRUE, At, Call, Elem, InL, IsSite, Lit, OutL, Proj, Rel, Tuple, Var
from ripplenest.nrc.types import BOOL, LONG, UNIT, Label, Record, Site, nullable

FALSE = Lit(False, BOOL)
A, B = Site("A", (("id", LONG),)), Site("B", ())
PLACE = Site("G", (("p", Label((A, B))),))
ROW = Record((("label", Label((PLACE,))), ("row", UNIT)))
PLACES = Rel("Dom", Record((("p", Label((A, B))),)))
OF = Proj(Var("l"), "p")  # what a row is made for
ASKED = OutL(Proj(Var("s"), "label"), PLACE, "p")


def made(*conditions: Elem) -> Comprehension:
    """for l in Dom where … union sng(⟨label: ⟨G, l.p⟩, row: ⟨⟩⟩)"""
    head = Tuple((("label", InL("G", (("p", OF),))), ("row", Tuple(()))))
    return Comprehension((("l", PLACES),), conditions, head)


def is_reached(conditions: tuple[Elem, ...], *products: Comprehension, at: At = At.DELTA) -> bool:
    c = Comprehension((("s", Rel("G", ROW, at)),), conditions, Tuple(()))
    group = Map("G", MapKind.GROUP, ROW, term(products, ROW), products)
    return reached((c,), {"G": group}) == (c,)


OF_A, OF_B = made(IsSite(OF, "A")), made(IsSite(OF, "B"))
CASES = {
    "for the same": ((IsSite(ASKED, "A"),), (OF_A,), True),
    "for no such": ((Call("not", (IsSite(ASKED, "A"),)),), (OF_A,), False),
    "for no such, as keys say it": ((Call("same", (IsSite(ASKED, "A"), FALSE)),), (OF_A,), False),
    "turned around": ((Call("eq", (FALSE, IsSite(ASKED, "A"))),), (OF_A,), False),
    "in a conjunction": ((Call("and", (TRUE, Call("same", (IsSite(ASKED, "A"), FALSE)))),), (OF_A,), False),
    "one of two is": ((Call("same", (IsSite(ASKED, "A"), FALSE)),), (OF_A, OF_B), True),
    "neither of two is": ((Call("same", (IsSite(ASKED, "A"), FALSE)),), (OF_A, OF_A), False),
    "nothing is said of the rows": ((Call("same", (IsSite(ASKED, "A"), FALSE)),), (made(),), True),
    "nothing is said of the site": ((IsSite(ASKED, "B"),), (OF_A,), True),
    "nothing is asked": ((), (OF_A,), True),
    "of another row": ((Call("not", (IsSite(evolve(ASKED, label=Proj(Var("t"), "label")), "A"),)),), (OF_A,), True),
    "no rows are made": ((IsSite(ASKED, "A"),), (), True),
}


@pytest.mark.parametrize(("conditions", "products", "wanted"), CASES.values(), ids=CASES)
def test_which(conditions: tuple[Elem, ...], products: tuple[Comprehension, ...], wanted: bool) -> None:
    assert is_reached(conditions, *products) == wanted
    assert is_reached(conditions, *products, at=At.OLD), "rows that are there are read"


NUMBERED = Site("H", (("n", nullable(LONG)),))
NUMBERS = Record((("label", Label((NUMBERED,))), ("row", UNIT)))
N, K = Proj(Var("y"), "n"), Proj(Var("y"), "k")
NUMBER = OutL(Proj(Var("s"), "label"), NUMBERED, "n")
ONE, NOTHING = Lit(1, LONG), Lit(None, nullable(LONG))


def numbered(arg: Elem, *conditions: Elem) -> Comprehension:
    """for y in R where … union sng(⟨label: ⟨H, arg⟩, row: ⟨⟩⟩), of which y.k may be NULL, and y.n may not"""
    rows = Rel("R", Record((("n", LONG), ("k", nullable(LONG)))))
    return Comprehension((("y", rows),), conditions, Tuple((("label", InL("H", (("n", arg),))), ("row", Tuple(())))))


def same(a: Elem, b: Elem) -> Elem:
    return Call("same", (a, b))


CONSTANTS = {
    "a value that they may have": (same(NUMBER, ONE), (numbered(N),), True),
    "NULL, which they never are": (same(NUMBER, NOTHING), (numbered(N),), False),
    "NULL, which they may be": (same(NUMBER, NOTHING), (numbered(K),), True),
    "NULL, where it equals something": (same(NUMBER, NOTHING), (numbered(K, Call("eq", (K, N))),), False),
    "NULL, turned around, in a conjunction": (Call("and", (TRUE, same(NOTHING, NUMBER))), (numbered(N),), False),
    "NULL, of what can fail": (same(NUMBER, NOTHING), (numbered(K, Call("eq", (Call("mod_long", (K, K)), N))),), True),
    "a value, where they are below": (same(NUMBER, ONE), (numbered(K, Call("lt", (K, ONE))),), False),
    "another constant": (same(NUMBER, ONE), (numbered(Lit(2, LONG)),), False),
    "the same constant": (same(NUMBER, ONE), (numbered(ONE),), True),
    "one of two": (same(NUMBER, NOTHING), (numbered(N), numbered(K)), True),
    "none of two": (same(NUMBER, NOTHING), (numbered(N), numbered(N)), False),
}


@pytest.mark.parametrize(("asked", "products", "wanted"), CONSTANTS.values(), ids=CONSTANTS)
def test_of_constants(asked: Elem, products: tuple[Comprehension, ...], wanted: bool) -> None:
    c = Comprehension((("s", Rel("H", NUMBERS, At.DELTA)),), (asked,), Tuple(()))
    group = Map("H", MapKind.GROUP, NUMBERS, term(products, NUMBERS), products)
    assert (reached((c,), {"H": group}) == (c,)) is wanted
