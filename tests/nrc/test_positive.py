"""No group meets a row that is there less than 0 times: what is accepted has a value, whatever is in the database."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.queries import Queries, Scope
from support.schemas import Schema, random_database, random_schema

from ripplenest.nrc.bags import Value
from ripplenest.nrc.errors import EvaluationError, QueryError
from ripplenest.nrc.functions.natural import is_natural
from ripplenest.nrc.interpret import elem, evaluate
from ripplenest.nrc.rewriting.positive import check_positive
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Neg, Proj, Rel, Var, Weigh
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import LONG, STRING, Base
from ripplenest.nrc.walk import nodes

COUNTS: Counter[str] = Counter()


class Anywhere(Queries):
    """⊖ below groups too."""

    @property
    def positive(self) -> int:
        return 0

    @positive.setter
    def positive(self, _: int) -> None:
        pass

    def source(self, scope: Scope, fuel: int) -> Expr:
        found = super().source(scope, fuel)
        return Neg(found) if self.c.one_in(4) else found


def anywhere(c: Choices, schema: Schema) -> Expr:
    make = Anywhere(c, schema, groups=True)
    return make.comprehension(make.row(c.number(3)), Scope(schema), 12)


@law(examples=400)
def test_what_is_accepted_folds_rows_that_are_there(c: Choices) -> None:
    schema = random_schema(c)
    e = anywhere(c, schema)
    if not any(isinstance(n, Group) for n in nodes(e)):
        return
    try:
        check_positive(e)
    except QueryError:
        COUNTS["refused"] += 1
        COUNTS["refused, and it has no value"] += any(_is_negative(e, c, schema) for _ in range(3))
        return
    COUNTS["accepted"] += 1
    for _ in range(3):
        assert not _is_negative(e, c, schema)


def _is_negative(e: Expr, c: Choices, schema: Schema) -> bool:
    try:
        evaluate(e, random_database(c, schema))
    except EvaluationError as error:
        assert "less than 0 times" in error.what
        return True
    return False


def test_the_error_says_what_is_possible() -> None:
    possible = r"⊖ above the group.*difference\(a, b\).*monus"
    with pytest.raises(QueryError, match=rf"wanted +no ⊖ below it.*negative\n +possible +{possible}"):
        check_positive(Group("a", "x", Neg(Rel("R", LONG)), None, (Fold("n", "count", (), LONG),)))


class Numbers(Queries):
    """Weights, and what is made of them."""

    def number(self, scope: Scope, depth: int) -> Elem:
        a = self.weight(scope)
        t = elem_type(a, scope.pi)
        assert isinstance(t, Base)
        if depth == 0:
            return self.c.pick((a, a, Lit(None, Base(t.kind, True)), Call("length", (Lit("ab", STRING),))))
        b = self.number(scope, depth - 1)
        other = elem_type(b, scope.pi)
        assert isinstance(other, Base)
        if other.kind != t.kind:
            return Call(f"abs_{other.kind}", (b,))
        fn = self.c.pick(("least", "add", "mul", "sub", "monus", "mod", "quotient", "neg", "coalesce", "if"))
        match fn:
            case "if":
                return Call(fn, (self.condition(scope, 0), a, b))
            case "coalesce":
                return Call(fn, (b, a))
            case "neg":
                return Call(f"neg_{t.kind}", (b,))
            case _:
                return Call(f"{fn}_{t.kind}", (b, a))


@law(examples=600)
def test_natural_numbers_are_never_negative(c: Choices) -> None:
    schema = random_schema(c)
    name, row = c.pick(schema.relations)
    scope = Scope(schema).bind("x", row)
    t = Numbers(c, schema).number(scope, c.number(4))
    rows = random_database(c, schema)[name]
    found = [n for value, _ in rows for n in _value(t, value)]
    negative = any(n is not None and n < 0 for n in found)
    COUNTS["natural"] += is_natural(t)
    COUNTS["negative"] += negative
    assert not (is_natural(t) and negative)


def _value(t: Elem, x: Value) -> Iterator[Any]:
    with suppress(EvaluationError):
        yield elem(t, {"x": x})


def test_what_is_known_of_numbers() -> None:
    """Of each kind one, and what is made of it and of what nothing is known of; counts by the group that has them."""
    x, two, maybe = Var("x"), Lit(2, LONG), Lit(None, Base("long", True))
    known = (Call("monus_long", (x, x)), Call("abs_long", (x,)), Call("length", (x,)), two, maybe)
    for t in known:
        assert is_natural(t)
        for fn in ("least_long", "add_long", "mul_long", "coalesce"):
            assert is_natural(Call(fn, (t, two))) and not is_natural(Call(fn, (t, x))), fn
        assert is_natural(Call("mod_long", (t, x))) and not is_natural(Call("mod_long", (x, t)))
        assert is_natural(Call("if", (x, t, two))) and not is_natural(Call("if", (two, t, x)))
        assert not is_natural(Call("sub_long", (t, t))) and not is_natural(Call("neg_long", (t,)))
    n, s = Proj(Var("g"), "n"), Proj(Var("g"), "s")
    folds = (Fold("n", "count", (), LONG), Fold("s", "sum", (x,), Base("long", True)))
    of = Group("a", "x", Rel("R", LONG), (("k", x),), folds)
    for weight in (n, s):
        again = Group("b", "y", For("g", of, Weigh(weight)), None, (Fold("m", "count", (), LONG),))
        if weight is n:
            check_positive(again)
        else:
            with pytest.raises(QueryError, match="no weight that can be negative"):
                check_positive(again)


def test_coverage() -> None:
    if COUNTS:
        assert COUNTS["accepted"] > 100 and COUNTS["refused"] > 30, COUNTS
        assert COUNTS["refused, and it has no value"] > 10, COUNTS
        assert COUNTS["natural"] > 100 and COUNTS["negative"] > 50, COUNTS
