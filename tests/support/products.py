"""Products as tests write them: sources, conditions and head by columns, read as plans read them."""

from collections.abc import Sequence
from typing import assert_never

from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Rel, Tuple, Var
from ripplenest.nrc.types import Base, Record
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source


def product(
    sources: Sequence[Source],
    conditions: Sequence[Scalar],
    head: Sequence[Scalar],
    weight: int = 1,
    times: Sequence[Scalar] = (),
) -> Product:
    """``weight · Π times · [ head | sources, conditions ]``; no condition may be a disjunction of joins or a constant,
    and some must say of each of ``times`` that it is not 0."""
    generators = tuple((f"x{i}", Rel(s.table, _row(s.types), s.at)) for i, s in enumerate(sources))
    made = Tuple(tuple((f"c{i}", _elem(s)) for i, s in enumerate(head)))
    c = Comprehension(generators, tuple(map(_elem, conditions)), made, weight, tuple(map(_elem, times)))
    (found,) = lower(c, _row([s.type for s in head]))
    assert (found.sources, found.head) == (tuple(sources), tuple(head)) and len(found.conditions) == len(conditions)
    return found


def _row(types: Sequence[Base]) -> Record:
    return Record(tuple((f"c{i}", t) for i, t in enumerate(types)))


def _elem(s: Scalar) -> Elem:
    match s:
        case Col(source, column):
            return Proj(Var(f"x{source}"), f"c{column}")
        case Const(value, t):
            return Lit(value, t)  # type: ignore[arg-type]  # tests write constants of the base types
        case Op(fn, args):
            return Call(fn, tuple(map(_elem, args)))
        case _:
            assert_never(s)
