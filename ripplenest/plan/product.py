"""Sum-of-products plans: what is left of a query when labels and records have become columns.

A product joins stored tables: ``weight · [ head | sources, conditions ]``. It is engine-neutral: a small evaluator over
Python rows runs it in tests, Spark runs it in production.
"""

from collections.abc import Iterator
from typing import assert_never

from attrs import frozen

from ripplenest.nrc.failures import UNKNOWN, Argument
from ripplenest.nrc.scalars import can_fail
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import Base


@frozen
class Col:
    """Column ``column`` of the product's source number ``source``."""

    source: int
    column: int
    type: Base


@frozen
class Const:
    value: object
    type: Base


@frozen
class Op:
    """A scalar function of the table in ``nrc/scalars.py``."""

    fn: str
    args: tuple["Scalar", ...]
    type: Base


Scalar = Col | Const | Op


@frozen
class Source:
    """A stored table in one of its states, with the types of its columns."""

    table: str
    at: At
    types: tuple[Base, ...]


@frozen
class Product:
    """``weight`` times the rows ``head`` of every combination of source rows for which all conditions are true.

    A combination counts as often as the product of its rows' weights says. ``cautious``: no condition that can fail is
    a key (``plan/access.py``).
    """

    sources: tuple[Source, ...]
    conditions: tuple[Scalar, ...]
    head: tuple[Scalar, ...]
    weight: int
    cautious: bool = False


def sources_of(s: Scalar) -> frozenset[int]:
    """The numbers of the sources that a scalar reads."""
    return frozenset(c.source for c in cols(s))


def is_total(s: Scalar) -> bool:
    """True when ``s`` has a value for all rows."""
    if not isinstance(s, Op):
        return True
    return all(map(is_total, s.args)) and not can_fail(s.fn, lambda: [_argument(a) for a in s.args])


def _argument(s: Scalar) -> Argument:
    return Argument(s.type, s.value if isinstance(s, Const) else UNKNOWN)


def cols(s: Scalar) -> Iterator[Col]:
    """Every column that a scalar reads."""
    match s:
        case Col():
            yield s
        case Const():
            return
        case Op(_, args):
            for a in args:
                yield from cols(a)
        case _:
            assert_never(s)
