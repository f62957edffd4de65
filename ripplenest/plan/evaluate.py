"""A small evaluator of products over Python rows: the second engine, and the check of the first."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import assert_never

from ripplenest.nrc import scalars
from ripplenest.nrc.bags import checked
from ripplenest.plan.access import Step, staged
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, sources_of

Row = tuple[object, ...]
Counts = Mapping[Row, int]
Binding = dict[int, Row]


def evaluate(p: Product, inputs: Sequence[Counts]) -> dict[Row, int]:
    """Row ↦ multiplicity of the product over one bag per source, zeros left out."""
    out: dict[Row, int] = defaultdict(int)
    for rows, weight in _join(p, inputs):
        out[tuple(value(s, rows) for s in p.head)] += weight * p.weight
    return {row: checked(n) for row, n in out.items() if n}


def value(s: Scalar, rows: Binding) -> object:
    """The value of a scalar for one combination of rows."""
    match s:
        case Col(source, column):
            return rows[source][column]
        case Const(v):
            return v
        case Op(fn, args):
            return scalars.evaluate(fn, [partial(value, a, rows) for a in args])
        case _:
            assert_never(s)


def _join(p: Product, inputs: Sequence[Counts]) -> Iterator[tuple[Binding, int]]:
    found: list[tuple[Binding, int]] = [({}, 1)]
    for step, conditions in staged(p):
        found = list(_extend(found, step, inputs[step.source], conditions))
    constant = [c for c in p.conditions if not sources_of(c)]
    yield from (b for b in found if all(value(c, b[0]) is True for c in constant))


def _extend(
    found: list[tuple[Binding, int]], step: Step, rows: Counts, conditions: Sequence[Scalar]
) -> Iterator[tuple[Binding, int]]:
    index: dict[Row, list[tuple[Row, int]]] = defaultdict(list)
    for row, n in rows.items():
        index[tuple(row[c] for c in step.columns)].append((row, n))
    for binding, weight in found:
        for row, n in index.get(tuple(value(k.scalar, binding) for k in step.keys), ()):
            extended = {**binding, step.source: row}
            if all(value(c, extended) is True for c in conditions):
                yield extended, checked(weight * n)
