"""Kernels of comparison and logic. NULL is unknown, NaN equals NaN and is above every number, text is compared by code
point (which UTF-8 keeps)."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.rows import arrow_type
from ripplenest.nrc.types import Base
from ripplenest.vector.column import Column, Failed, either, mask


def equal(a: pa.Array, b: pa.Array) -> pa.Array:
    if pa.types.is_floating(a.type):
        return pc.or_(pc.equal(a, b), pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return pc.equal(a, b)


def less(a: pa.Array, b: pa.Array) -> pa.Array:
    if pa.types.is_floating(a.type):
        return pc.or_(pc.less(a, b), pc.and_(pc.invert(pc.is_nan(a)), pc.is_nan(b)))
    return pc.less(a, b)


def same(a: pa.Array, b: pa.Array) -> pa.Array:
    """NULL equals NULL and nothing else."""
    both = equal(a, b)
    if not both.null_count:
        return both
    return pc.if_else(both.is_null(), pc.and_(a.is_null(), b.is_null()), both)


def plain(f: Callable[..., pa.Array]) -> Callable[..., Column]:
    """A kernel that needs no types and never fails."""
    return lambda args, _types, _result: Column(f(*args))


# ---------------------------------------------------------------- lazy: what is not needed may fail

Lazy = Callable[[Sequence[Column], Base], Column]


def and_(args: Sequence[Column], _: Base) -> Column:
    """The second argument is asked where the first is not false."""
    a, b = args
    asked = ~mask(pc.equal(a.values, False))
    return Column(pc.and_kleene(a.values, b.values), either([a.failed, _where(b, asked)]))


def or_(args: Sequence[Column], _: Base) -> Column:
    """The second argument is asked where the first is not true."""
    a, b = args
    return Column(pc.or_kleene(a.values, b.values), either([a.failed, _where(b, ~mask(a.values))]))


def if_(args: Sequence[Column], result: Base) -> Column:
    """The branch that the condition chooses is asked; one that is NULL chooses the second."""
    condition, a, b = args
    chosen = mask(condition.values)
    t = arrow_type(result)
    values = pc.if_else(pa.array(chosen), a.values.cast(t), b.values.cast(t))
    return Column(values, either([condition.failed, _where(a, chosen), _where(b, ~chosen)]))


def coalesce(args: Sequence[Column], result: Base) -> Column:
    """Each argument is asked where all before it are NULL."""
    t = arrow_type(result)
    asked = np.ones(len(args[0].values), np.bool_)
    failures: list[Failed | None] = []
    for arg in args:
        failures.append(_where(arg, asked))
        known = arg.values.is_valid().to_numpy(zero_copy_only=False)
        asked = asked & ~(known | (arg.failed.rows if arg.failed else False))
    return Column(pc.coalesce(*(arg.values.cast(t) for arg in args)), either(failures))


def _where(arg: Column, asked: "np.typing.NDArray[np.bool_]") -> Failed | None:
    return None if arg.failed is None else arg.failed.within(asked)
