"""Every error a user can meet; ``ripplenest.nrc.errors`` has those of the compiler, and says what a message must say.

Errors of queries and of values are the compiler's; here are those of rows against a state, of states and of their
surroundings.
"""

from typing import Any

from ripplenest.nrc.errors import (
    CorruptState,
    DataError,
    EvaluationError,
    LawBroken,
    NameTaken,
    NotIncremental,
    OutOfMemory,
    ParseError,
    QueryError,
    RipplenestError,
    StateError,
    TooBig,
    TooDeep,
    TypeMismatch,
    UnknownName,
    UnknownRelation,
    UnknownView,
    Unsupported,
    WrongColumns,
    WrongValue,
)

__all__ = [
    "AlreadyLoaded",
    "Ambiguous",
    "BatchConflict",
    "BatchGap",
    "BatchMisuse",
    "CorruptState",
    "DataError",
    "DuplicateKey",
    "EnvironmentProblem",
    "EvaluationError",
    "Immutable",
    "LawBroken",
    "NameTaken",
    "NoKey",
    "NotIncremental",
    "NotKept",
    "NotPublished",
    "OutOfMemory",
    "ParseError",
    "QueryError",
    "RelationChanged",
    "RipplenestError",
    "RowNotThere",
    "Stale",
    "StateError",
    "TooBig",
    "TooDeep",
    "TypeMismatch",
    "UnknownColumn",
    "UnknownKey",
    "UnknownLabel",
    "UnknownMember",
    "UnknownName",
    "UnknownRelation",
    "UnknownView",
    "Unsupported",
    "ViewChanged",
    "WrongColumns",
    "WrongValue",
]


class UnknownColumn(UnknownName, AttributeError):
    """A column that the rows of ``rn.each`` do not have; as an AttributeError it is no answer to ``hasattr``."""


class UnknownMember(UnknownName, AttributeError):
    """A method or property that an object does not have; as an AttributeError it is no answer to ``hasattr``."""


class RowNotThere(DataError):
    """A delete of a row that is not in the relation or bag, or more often than it is there."""


class DuplicateKey(DataError):
    """Two rows with the same key."""


class NoKey(DataError):
    """An operation that needs a key on a relation without one."""


class UnknownKey(DataError):
    """A deep update whose owner does not exist."""


class UnknownLabel(DataError):
    """A deep update through a label that nobody holds."""


class Ambiguous(DataError):
    """A deep update whose address fits several rows."""


class Immutable(DataError):
    """A deep update of a bag that its relation declares immutable."""


class Stale(StateError):
    """Another commit came first: the change was computed from a version that is no longer the newest."""


class NotKept(StateError):
    """A version that is no longer kept, as many came after it."""


class NotPublished(StateError):
    """A version is committed, but a table that shows it elsewhere could not be written. The next batch does it.

    ``version`` is the newest one that is committed: what was asked for is done, and must not be asked for again.
    """

    def __init__(self, what: str, *, version: int = 0, **parts: Any) -> None:
        super().__init__(what, **parts)
        self.version = version


class BatchConflict(StateError):
    """The same (source, seq) came again with other content."""


class BatchGap(StateError):
    """A batch older than the last one of its source, or one whose predecessor is missing."""


class ViewChanged(StateError):
    """The state was built by a view of another definition."""


class RelationChanged(StateError):
    """The state holds the relation with other fields or another key."""


class AlreadyLoaded(StateError):
    """A load into a relation that has rows; changes go through batches."""


class BatchMisuse(StateError):
    """A batch used outside its ``with`` block, or with half of a (source, seq)."""


class EnvironmentProblem(RipplenestError):
    """Java, Spark or a setting that the engine relies on is missing or wrong."""
