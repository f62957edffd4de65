"""A small evaluator of products over Python rows: for very few of them, and the check of the engines."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, assert_never

from ripplenest.nrc.bags import checked
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions import scalars
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.syntax import Call, Elem, Lit, Var
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Step, sources_of

ROOM = 16  # parts of a scalar that a message shows
Row = tuple[object, ...]
Counts = Mapping[Row, int]
Binding = dict[int, Row]


def evaluate(p: Product, inputs: Sequence[Counts]) -> dict[Row, int]:
    """Row ↦ multiplicity of the product over one bag per source, zeros left out."""
    out: dict[Row, int] = defaultdict(int)
    for rows, weight in _join(p, inputs):
        times: list[Any] = [value(t, rows) for t in p.times]
        out[tuple(value(s, rows) for s in p.head)] += checked(prod(times, start=weight * p.weight))
    return {row: checked(n) for row, n in out.items() if n}


def value(s: Scalar, rows: Binding) -> object:
    """The value of a scalar for one combination of rows."""
    match s:
        case Col(source, column):
            return rows[source][column]
        case Const(v):
            return v
        case Op(fn, args):
            try:
                return scalars.evaluate(fn, [partial(value, a, rows) for a in args])
            except EvaluationError as error:
                if error.got is None:  # of the innermost one
                    error.got, error.about, error.rows = written(s), s, rows
                raise
        case _:
            assert_never(s)


def written(s: Scalar, called: Callable[[Col], str] = lambda _: "") -> str:
    """``7 mod (x1 - 3), x1 = R.a: long``: a scalar as it is written, with ``_`` for what is too much. Of the columns
    that it reads it has the types, and what they are ``called``: no error shows values of rows."""
    names: dict[Col, str] = {}
    room = iter(range(ROOM))

    def shown(t: Scalar) -> Elem:
        if next(room, None) is None:  # a scalar may have parts in common, and without them be very long
            return Var("_")
        match t:
            case Col():
                return Var(names.setdefault(t, f"x{len(names) + 1}"))
            case Const(v, base):
                return Lit(v, base)
            case Op(fn, args):
                return Call(fn, tuple(map(shown, args[:ROOM])))
            case _:
                assert_never(t)

    text = show_elem(shown(s))
    return ", ".join((text, *(_column(name, c, called(c)) for c, name in names.items())))


def _column(name: str, c: Col, called: str) -> str:
    return f"{name} = {called}: {c.type}" if called else f"{name}: {c.type}"


def fulfils(conditions: Sequence[Scalar], rows: Binding) -> bool:
    """Whether every condition is true of one combination of rows. One that is not decides, whatever the others do.

    Raises EvaluationError when one of them has no value and all others are true.
    """
    failure: EvaluationError | None = None
    for c in conditions:
        try:
            if value(c, rows) is not True:
                return False
        except EvaluationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return True


def _join(p: Product, inputs: Sequence[Counts]) -> Iterator[tuple[Binding, int]]:
    if any(c not in p.partial and value(c, {}) is not True for c in p.constant):
        return
    found: list[tuple[Binding, int]] = [({}, 1)]
    if not p.steps:
        yield from (b for b in found if fulfils(p.constant, b[0]))
        return
    *steps, last = p.steps
    for step in steps:
        found = list(_extend(found, step, inputs[step.source], step.ready))
    yield from _extend(found, last, inputs[last.source], (*last.ready, *last.guarded, *p.constant))


def possible(p: Product, steps: Sequence[Step], inputs: Mapping[int, Counts]) -> bool:
    """Whether there is one of ``combinations``. One is looked for, not all of them."""
    return next(combinations(p, steps, inputs), None) is not None


def combinations(p: Product, steps: Sequence[Step], inputs: Mapping[int, Counts]) -> Iterator[Binding]:
    """The combinations of rows of the sources that ``steps`` read which fulfil every condition on these sources alone
    that cannot fail. No key needs another source."""
    found: Iterator[tuple[Binding, int]] = iter([({}, 1)])
    for step in steps:
        found = _extend(found, step, inputs[step.source], asked_of(p, steps, step))
    return (binding for binding, _ in found)


def asked_of(p: Product, steps: Sequence[Step], step: Step) -> list[Scalar]:
    """The conditions to ask at ``step`` of sources that ``steps`` read alone, if they cannot fail."""
    read = {s.source for s in steps}
    return [c for c in step.ready if c not in p.partial and sources_of(c) <= read]


def _extend(
    found: Iterable[tuple[Binding, int]], step: Step, rows: Counts, conditions: Sequence[Scalar]
) -> Iterator[tuple[Binding, int]]:
    index: dict[Row, list[tuple[Row, int]]] = defaultdict(list)
    for row, n in rows.items():
        index[tuple(row[c] for c in step.columns)].append((row, n))
    for binding, weight in found:
        for row, n in index.get(tuple(value(k.scalar, binding) for k in step.keys), ()):
            extended = {**binding, step.source: row}
            if fulfils(conditions, extended):
                yield extended, checked(weight * n)
