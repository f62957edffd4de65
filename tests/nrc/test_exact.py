"""How far integers lie apart is compared as Python compares it."""

import operator
from collections import Counter

from support.choices import Choices
from support.laws import law

from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.exact import exact_elem
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import INT, LONG, Base, Record, nullable

OPS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
COUNTS: Counter[str] = Counter()


@law(examples=1500)
def test_it_is_true_of_the_same(c: Choices) -> None:
    """And where a difference is beyond its type it has a value all the same."""
    t, bits = c.pick(((INT, 31), (LONG, 63)))
    values = [c.pick((-(2**bits), 2**bits - 1, None, -1, 0, 1, 2, 3)) for _ in range(3)]
    types = {"x": Record((("a", nullable(t)), ("b", nullable(t)), ("c", nullable(t))))}
    a, b, other = (Proj(Var("x"), name) for name in "abc")
    n = Lit(values[2], nullable(t)) if c.one_in(2) and values[2] is not None else other
    difference: Elem = Call(f"sub_{t.kind}", (a, b))
    chained = Call(f"sub_{t.kind}", (difference, n)) if c.one_in(4) and n is other else None
    op, sides = c.pick([*OPS]), (chained or difference, n)
    asked = Call(op, sides[:: c.pick((1, -1))])
    found = exact_elem(asked)
    assert is_total(found, types) and not is_total(asked, types)
    assert elem_type(found, types) == elem_type(asked, types) == Base("bool", True)
    env = {"x": tuple(zip("abc", values, strict=True))}
    if None in values:
        assert elem(found, env) is None
    else:
        far = values[0] - values[1] - (values[2] if chained else 0), values[2]
        assert elem(found, env) == OPS[op](*(far if asked.args == sides else far[::-1]))
    try:
        assert elem(found, env) == elem(asked, env)
        COUNTS["told"] += 1
    except EvaluationError:
        COUNTS["beyond"] += 1


def test_what_is_moved_by_a_constant_is_left() -> None:
    """It says where a column lies, which is looked up as it is."""
    x, y = Proj(Var("x"), "a"), Proj(Var("x"), "b")
    for moved in (Call("sub_long", (x, Lit(5, LONG))), Call("sub_long", (Lit(5, LONG), x)), Call("add_long", (x, y))):
        assert exact_elem(Call("lt", (moved, y))) == Call("lt", (moved, y))
    apart = Call("sub_long", (x, y))
    assert exact_elem(Call("eq", (apart, Lit(5, LONG)))) == Call("eq", (apart, Lit(5, LONG)))


def test_enough_was_met() -> None:
    if COUNTS:
        assert COUNTS["told"] > 300 and COUNTS["beyond"] > 100, COUNTS
