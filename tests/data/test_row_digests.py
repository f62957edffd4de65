"""The digests of rows by columns are those of the values of each row: published rows are known by them."""

from random import Random

from attrs import frozen
from support.choices import Choices
from support.edges import EDGES
from support.laws import law
from support.ordering import KINDS, row_of
from support.sizes import many

from ripplenest.data.naming import digest
from ripplenest.data.row_digests import digests
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.types import Base


@frozen
class Case:
    """Rows of some types, or of none."""

    types: tuple[Base, ...]
    rows: tuple[Row, ...]


def random_case(c: Choices) -> Case:
    types = tuple(c.pick(KINDS) for _ in range(c.number(4)))
    return Case(types, tuple(dict.fromkeys(row_of(c, types) for _ in range(c.number(6)))))


@law(random_case, examples=many(150, 3000))
def test_digests_are_those_of_rows(case: Case) -> None:
    """Also of rows that came in several pieces, in whatever order."""
    rows = Rows.of_counts(case.types, dict.fromkeys(case.rows, 1))
    wanted = [digest(*row) for row, _ in rows.pairs()]
    assert digests(Rows(rows.types, table=rows.arrow())).to_pylist() == wanted
    twice = Rows(rows.types, table=rows.arrow()).plus(Rows(rows.types, table=rows.arrow()))
    assert digests(twice).to_pylist() == wanted * 2


def test_every_value_has_its_digest() -> None:
    """All edge values, and NULL."""
    for t, values in EDGES.items():
        every = [None, *values]
        Random(1).shuffle(every)
        rows = Rows.of_pairs((t,), [((v,), 1) for v in every])
        assert digests(rows).to_pylist() == [digest(*row) for row, _ in rows.pairs()], t
