"""Products of one family: alike but for their constants.

Views of one shape have such products, and one join makes the rows of all of them: constants are the columns of one more
table, with a row for each member. Law: a product over its inputs is its family's over these and its own row of
constants.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import assert_never

from attrs import evolve, frozen

from ripplenest.plan.product import CONSTANTS, Band, Col, Const, Edge, Key, Op, Product, Scalar, Step, interned


@frozen(eq=False)
class Member:
    """What a product is: ``family``, one object for all of its members, with ``constants`` in place of its columns of
    ``CONSTANTS``, the first of which is the number of the member."""

    family: Product
    constants: tuple[Const, ...]


@lru_cache(maxsize=1 << 14)
def member(p: Product) -> Member:
    """Where ``p`` belongs."""
    constants = tuple(dict.fromkeys(c for s in _scalars(p) for c in _constants(s)))
    places = {c: Col(CONSTANTS, i, c.type) for i, c in enumerate(constants, start=1)}
    return Member(interned(_general(p, places)), constants)


def _general(p: Product, places: dict[Const, Col]) -> Product:
    def steps(found: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            evolve(
                s,
                keys=tuple(Key(k.column, _with(k.scalar, places), k.null_safe) for k in s.keys),
                band=None if s.band is None else Band(edge(s.band.upper), edge(s.band.lower)),
                ready=scalars(s.ready),
                guarded=scalars(s.guarded),
                beside=(),  # a family joins what its members have read
            )
            for s in found
        )

    def edge(found: Edge | None) -> Edge | None:
        return None if found is None else Edge(found.column, _with(found.scalar, places))

    def scalars(found: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(_with(s, places) for s in found)

    return evolve(
        p,
        conditions=scalars(p.conditions),
        head=scalars(p.head),
        steps=steps(p.steps),
        cautious_steps=steps(p.cautious_steps),
        others=tuple(map(steps, p.others)),
        partial=scalars(p.partial),
        times=scalars(p.times),
    )


def _with(s: Scalar, places: dict[Const, Col]) -> Scalar:
    match s:
        case Col():
            return s
        case Const():
            return places[s]
        case Op(fn, args, t):
            return Op(fn, tuple(_with(a, places) for a in args), t)
        case _:
            assert_never(s)


def _scalars(p: Product) -> Iterator[Scalar]:
    yield from (*p.conditions, *p.head, *p.times)
    for step in (*p.steps, *p.cautious_steps, *(step for order in p.others for step in order)):
        yield from (*step.asks, *step.ready, *step.guarded)


def _constants(s: Scalar) -> Iterator[Const]:
    match s:
        case Col():
            return
        case Const():
            yield s
        case Op(_, args):
            for a in args:
                yield from _constants(a)
        case _:
            assert_never(s)
