"""The errors of queries and of values: one base class, and what each message must say. ``ripplenest/errors.py`` has
all that a user can meet.

A message has five parts: where it happened, what was wrong, what was wanted, what came, and what was possible.
Errors are raised where they are noticed and never caught on the way; nothing is changed before all checks have passed.

Messages show names and types, and of rows no values but keys that are no text. Names are of users: printed, each part
is one line, on which whatever could command a terminal is escaped.
"""

import os
from collections.abc import Iterable, Mapping
from errno import ENOMEM
from itertools import islice
from types import MappingProxyType

from ripplenest.nrc.printing.printable import printable


class RipplenestError(Exception):
    """Base of every error of Ripplenest. ``where`` is a path such as ``rows[17].items[2].qty`` or ``films.py:3:14``."""

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        wanted: object = None,
        got: object = None,
        possible: Iterable[object] | None = None,
    ) -> None:
        self.what, self.where, self.wanted, self.got = what, where, wanted, got
        self.possible = None if possible is None else tuple(map(_text, possible))
        self.excerpt: tuple[str, ...] = ()  # lines of a source, printed below what is wrong there
        self.key = ""  # of the row that is wrong
        self.others: tuple[RipplenestError, ...] = ()  # that were found with it
        super().__init__(what)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.wanted is not None:
            lines.append(f"  wanted   {_text(self.wanted)}")
        if self.got is not None:
            lines.append(f"  got      {_text(self.got)}")
        if self.possible is not None:
            lines.append(f"  possible {', '.join(self.possible) or '(none)'}")
        if self.key:
            lines.append(f"  row      {self.key}")
        if self.others:
            lines.extend(self._and())
        first, *rest = map(printable, lines)
        return "\n".join((first, *map(_source_line, self.excerpt), *rest))

    def _and(self) -> list[str]:
        """The others; of rows that all have the same wrong columns only how many they are."""
        many = f"{len(self.others)} more" if len(self.others) < MOST - 1 else f"the next {len(self.others)}"
        if all(isinstance(other, WrongColumns) and other.said == self.said for other in self.others):
            return [f"  and      {many}, where the same is wrong"]
        return [f"  and      {many}:", *(f"    {other.brief}" for other in self.others)]

    @property
    def said(self) -> tuple[str, str, str]:
        """What is wrong, wherever it is."""
        return self.what, _text(self.wanted), _text(self.got)

    @property
    def brief(self) -> str:
        """What is wrong and where, as one line."""
        said = f"{self.where}: {self.what}" if self.where else self.what
        wanted = "" if self.wanted is None else f", wanted {_text(self.wanted)}"
        got = "" if self.got is None else f", got {_text(self.got)}"
        return f"{said}{wanted}{got}" + (f" ({self.key})" if self.key else "")

    def of_row(self, key: str) -> "RipplenestError":
        """The same error, of the row with this key; its text is shown."""
        self.key = key
        return self

    def at(self, where: str) -> "RipplenestError":
        """The same error, found deeper: ``where`` is put before its own path."""
        self.where = f"{where}{self.where}" if self.where.startswith(("[", ".")) else where + (
            f".{self.where}" if self.where else ""
        )
        return self


KEYS = "RIPPLENEST_KEYS"
MORE_MEMORY = ("more memory for this process", "views of fewer rows", 'rn.open(..., engine="spark")')
MOST = 20  # errors that are shown at once
LONG = 60  # characters of a value of a key


def raise_first(faults: Iterable[RipplenestError]) -> None:
    """Raise the first of ``faults``, if there is one, with those that come next; what ends the search with an error of
    its own is only told where it is the first."""
    found: list[RipplenestError] = []
    try:
        found.extend(islice(faults, MOST))
    except RipplenestError:
        if not found:
            raise
    if found:
        found[0].others = tuple(found[1:])
        raise found[0]


def shown(value: object) -> str:
    """A value of a key, on one line of a message and not a long one. Texts and bytes are who somebody is, or worse:
    they are shown on request."""
    if isinstance(value, str | bytes) and os.environ.get(KEYS) != "show":
        unit, them = "letter" if isinstance(value, str) else "byte", "it" if len(value) == 1 else "them"
        return f"({len(value)} {unit}{'s' * (len(value) != 1)}; {KEYS}=show shows {them})"
    text = _text(value)
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"



def _text(part: object) -> str:
    """A part of a message. Python does not write integers of more than some thousand digits."""
    try:
        return str(part)
    except ValueError:
        return f"a vast {type(part).__name__}"


def _source_line(text: str) -> str:
    """A tab stays: the caret below it counts on it."""
    return "\t".join(map(printable, text.split("\t")))


class QueryError(RipplenestError):
    """A view that has no meaning: wrong types, unknown names, unsupported Python."""


class ParseError(QueryError):
    """A text that is not in the language: ``where`` is file:line:column, and the message shows the line."""


class TypeMismatch(QueryError):
    """A term has another type than its place wants."""


class UnknownName(QueryError):
    """A relation, field, variable or function that is not declared."""


class Unsupported(QueryError):
    """Python (or a construct) that a view cannot contain."""


class TooDeep(QueryError):
    """More nesting than the limit."""


class TooBig(QueryError):
    """More nodes or bytes than the limit."""


class LawBroken(RipplenestError):
    """A theorem that the compiler relies on does not hold: a defect of Ripplenest, found before it did harm."""


class NotIncremental(RipplenestError):
    """The policy refuses to recompute, and a view or a batch cannot be kept fresh in the size of the change."""


class EvaluationError(RipplenestError):
    """A scalar without a value: overflow, division by zero, a cast that fails."""

    about: object = None  # the scalar, for who knows what its columns are called
    rows: Mapping[int, tuple[object, ...]] = MappingProxyType({})  # by source, those that it has no value of


class DataError(RipplenestError):
    """Rows that do not fit: the batch is refused and nothing changes."""


class WrongColumns(DataError):
    """Missing or extra columns or fields, at any depth."""


class WrongValue(DataError):
    """A value of another type than its column, or a NULL where none is allowed."""


class UnknownRelation(DataError):
    """A batch or a view names a relation that the database does not have."""


class StateError(RipplenestError):
    """The state directory cannot be used as asked."""


class OutOfMemory(RipplenestError, MemoryError):
    """The process could not have as much memory as it asked for. That is no harm to what is stored: a change is stored
    as a whole, when it has been worked out."""


def of_memory(error: BaseException, where: str = "") -> OutOfMemory | None:
    """What an ``error`` says that is one of too little memory, also where the file system says it; None of others."""
    is_refused = isinstance(error, OSError) and (error.errno == ENOMEM or os.strerror(ENOMEM) in str(error))
    if not (is_refused or isinstance(error, MemoryError)):  # of a mapping Arrow has the text alone
        return None
    what, possible = "there is not enough memory, and what is stored is as it was", [*MORE_MEMORY]
    return OutOfMemory(what, where=where, got=error, possible=possible)


class NameTaken(StateError):
    """A name that another relation or view of the database has."""


class UnknownView(StateError):
    """A view that the database does not keep."""


class CorruptState(StateError):
    """Stored bytes are not the bytes that were written."""
