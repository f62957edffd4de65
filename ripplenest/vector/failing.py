"""Who asks for values that a scalar does not have is told which function of it has none in the first combination."""

from collections.abc import Sequence

import numpy as np

from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.evaluate import written
from ripplenest.plan.product import Op, Scalar
from ripplenest.vector.binding import Binding
from ripplenest.vector.column import Column, Failed, Mask


def check(binding: Binding, scalars: Sequence[Scalar], found: Sequence[Column], rows: Mask | None = None) -> None:
    """Raises EvaluationError when one of ``scalars``, which ``found`` are the values of, has none in ``binding``, or in
    these ``rows`` of it."""
    for s, c in zip(scalars, found, strict=True):
        failure = c.failed if c.failed is None or rows is None else c.failed.within(rows)
        if failure is not None:
            one = _first(binding, failure)
            error, inner = EvaluationError(failure.why), _innermost(one, s)
            error.got, error.about, error.rows = written(inner), inner, one.only()
            raise error


def _first(binding: Binding, failure: Failed) -> Binding:
    """The first combination in which there is no value."""
    one = np.zeros(len(binding), np.bool_)
    one[np.flatnonzero(failure.rows)[0]] = True
    return binding.where(one)


def _innermost(one: Binding, s: Scalar) -> Scalar:
    """The innermost function that has no value in ``one`` combination."""
    assert isinstance(s, Op), "columns and constants have values"
    found = [one.value(a) for a in s.args]
    inner = next((a for a, c in zip(s.args, found, strict=True) if c.failed is not None), None)
    return s if inner is None else _innermost(one, inner)
