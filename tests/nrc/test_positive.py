"""No group meets a row that is there less than 0 times: what is accepted has a value, whatever is in the database."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.queries import Queries, Scope
from support.schemas import Schema, random_database, random_schema

from ripplenest.nrc.errors import EvaluationError, QueryError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.positive import check_positive
from ripplenest.nrc.syntax import Expr, Fold, Group, Neg, Rel
from ripplenest.nrc.types import LONG
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
    with pytest.raises(QueryError, match=r"wanted +no ⊖ below it.*negative\n +possible +⊖ above the group"):
        check_positive(Group("a", "x", Neg(Rel("R", LONG)), None, (Fold("n", "count", (), LONG),)))


def test_coverage() -> None:
    if COUNTS:
        assert COUNTS["accepted"] > 100 and COUNTS["refused"] > 30, COUNTS
        assert COUNTS["refused, and it has no value"] > 10, COUNTS
