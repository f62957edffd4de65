"""What readers see of the rows of groups, and of first rows: the first columns of what is stored, after its key."""

from typing import Protocol

from ripplenest.nrc.types import Base
from ripplenest.plan.product import Const


class Answers(Protocol):
    """``keys`` columns are the key; what readers see has the types ``visible``; ``nothing`` is what they see of a place
    without a stored row, behind its key, if they see something."""

    @property
    def keys(self) -> int: ...

    @property
    def visible(self) -> tuple[Base, ...]: ...

    @property
    def nothing(self) -> tuple[object, ...] | None: ...


def of_nothing(a: Answers) -> tuple[Const, ...]:
    """What is shown of nothing as constants, where every place has a row."""
    assert a.nothing is not None
    return tuple(Const(value, t) for value, t in zip(a.nothing, a.visible[a.keys :], strict=True))
