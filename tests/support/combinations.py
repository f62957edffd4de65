"""What the joins of this process make of a product, and how many combinations of rows they look at."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.product import Product
from ripplenest.vector.joins import Joins, joined


def rows_of(p: Product, inputs: Sequence[Rows]) -> dict[Row, int] | None:
    """The rows of ``p``; None where there is no value."""
    try:
        tables = [table for _, table in joined([(p, inputs)], Room())]
    except EvaluationError:
        return None
    types = tuple(s.type for s in p.head)
    return Rows(types, table=pa.concat_tables([Rows.empty(types).arrow(), *tables])).counts()


def combinations(patch: pytest.MonkeyPatch) -> list[int]:
    """How many there are at each step of each join, from here on."""
    found: list[int] = []
    fulfilling = Joins._fulfilling

    def listening(self: Any, binding: Any, *others: Any) -> Any:
        found.append(len(binding))
        return fulfilling(self, binding, *others)

    patch.setattr(Joins, "_fulfilling", listening)
    return found
