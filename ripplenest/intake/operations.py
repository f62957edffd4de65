"""What a batch can do, as data; every check that needs no state has passed when an operation exists."""

from collections.abc import Iterator, Sequence
from typing import Literal, assert_never, get_args

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.content import Content, level_digest
from ripplenest.data.levels import Level
from ripplenest.data.naming import canonical_text
from ripplenest.data.rows import Row, python_column
from ripplenest.intake.given import Given
from ripplenest.nrc.types import Base, Record

Verb = Literal["insert", "delete", "upsert", "delete_key", "discard_key"]

KEYED: tuple[Verb, ...] = ("delete_key", "discard_key")  # of which the rows are keys


@frozen
class Write:
    """Insert, delete or upsert whole rows of a relation, or take away those with some keys: then ``rows`` are keys. To
    delete a key it must be there; one that is discarded may be."""

    verb: Verb
    relation: str
    rows: Given

    @property
    def target(self) -> str:
        """What it changes, for messages."""
        return self.relation


@frozen
class Where:
    """The rows whose base ``fields``, sorted by name, have these values; several may match only when ``many``."""

    fields: tuple[tuple[str, object], ...]
    many: bool


@frozen
class Field:
    """Into a field: an inner bag, or a record on the way to one."""

    name: str


Step = Where | Field


@frozen
class Deep:
    """The same for rows of inner bags: those at the end of ``steps``, or the one that has the ``label``."""

    verb: Verb
    relation: str
    path: str
    steps: tuple[Step, ...]
    label: Row | None
    rows: Given

    @property
    def target(self) -> str:
        """What it changes, for messages."""
        return self.path


Named = str | tuple[str, ...]
"""A base field of a record, or one of a record in it."""


def way(field: Named) -> tuple[str, ...]:
    """The names that lead to it."""
    return (field,) if isinstance(field, str) else field


@frozen
class Set:
    """Give ``fields`` of the record at ``path``, in the rows at the end of ``steps``, these values."""

    relation: str
    path: str
    steps: tuple[Step, ...]
    fields: tuple[tuple[Named, object], ...]
    verb: Literal["set"] = "set"

    @property
    def target(self) -> str:
        """What it changes, for messages."""
        return self.path


@frozen
class Asked:
    """A step of ``ForEach``: the rows whose base ``fields``, sorted by name, have the values of a row of its table."""

    fields: tuple[tuple[str, Base], ...]
    many: bool


@frozen
class ForEach:
    """A deep operation, or a set, for each row of a table, one after the other: ``singles`` says which.

    ``asked`` has a column for each field of the steps, in their order; ``rows`` has a row for each, which comes into
    its bag or goes, or has the values that are set, by name.
    """

    verb: Verb | Literal["set"]
    relation: str
    path: str
    steps: tuple[Asked | Field, ...]
    asked: tuple[pa.Array, ...]
    rows: Given

    @property
    def target(self) -> str:
        """What it changes, for messages."""
        return self.path

    @property
    def types(self) -> tuple[Base, ...]:
        """Those of ``asked``."""
        return tuple(t for step in self.steps if isinstance(step, Asked) for _, t in step.fields)

    def singles(self) -> Iterator[Deep | Set]:
        """The operations that it stands for."""
        columns = [python_column(t, column) for t, column in zip(self.types, self.asked, strict=True)]
        for values, row in zip(zip(*columns, strict=True), self.rows.values, strict=True):
            asked = iter(values)
            steps = tuple(
                s if isinstance(s, Field) else Where(tuple((name, next(asked)) for name, _ in s.fields), s.many)
                for s in self.steps
            )
            if self.verb == "set":
                assert isinstance(row, tuple)
                yield Set(self.relation, self.path, steps, row)
            else:
                rows = Given(self.rows.type, values=(row,))
                yield Deep(self.verb, self.relation, self.path, steps, None, rows)

    def digest(self) -> str:
        """That of its rows, with what they ask for, whatever their order; but of two that set a field the later one
        counts."""
        level = self.rows.level
        order = [pa.array(np.arange(len(level)))] if self.verb == "set" else []
        whole = Level(len(level), [*order, *self.asked, *level.columns], level.bags, level.weights)
        return level_digest(lambda: [whole.printed.ordered()])


Operation = Write | Deep | Set | ForEach


Form = Literal["spread", "levels", "columns", "rows", "sums"]
FORMS: tuple[Form, ...] = get_args(Form)
LOADS: Form = "sums"  # that of loads, whose rows may be with several processes
TINY = 8  # rows of which a text costs less than a digest of columns
SPREAD = 200_000
"""Rows of a write beyond which they may be with several processes. What they came as does not matter: so many are known
by what can be added up."""


def is_spread(o: Operation) -> bool:
    """Whether it writes so many rows."""
    return isinstance(o, Write) and len(o.rows) > SPREAD


def content(operations: Sequence[Operation], form: Form = FORMS[0]) -> str:
    """The text of a batch: equal for the same operations, whatever the order of the rows within each, and whatever they
    came as. Batches have the first form, and loads theirs; others are those of earlier releases, which had texts of all
    rows, then of all but flat ones, and then looked at all rows in an order of their own."""
    return canonical_text([_text(o, form) for o in operations])


def _text(o: Operation, form: Form) -> list[object]:
    match o:
        case Write() if form == "sums" or (form == "spread" and is_spread(o)):
            return _summed(o.verb, o.relation, o.rows.content)
        case Write() if form != "rows" and o.rows.is_flat:
            return [o.verb, o.relation, {"columns": o.rows.columns_digest()}]
        case Write():
            return [o.verb, o.relation, _rows(o.rows, form)]
        case Deep():
            return [o.verb, o.relation, o.path, _steps(o.steps), o.label, _rows(o.rows, form)]
        case Set():
            return [o.verb, o.relation, o.path, _steps(o.steps), o.fields]
        case ForEach():
            fields = list(o.rows.type.names) if isinstance(o.rows.type, Record) else []
            return [o.verb, o.relation, o.path, _steps(o.steps), fields, {"each": o.digest()}]
        case _:
            assert_never(o)


def loaded_content(relation: str, rows: Content) -> str:
    """The text of a load of a relation. Law: content([Write("insert", relation, rows)], LOADS), of their content."""
    return canonical_text([_summed("insert", relation, rows)])


def _summed(verb: Verb, relation: str, rows: Content) -> list[object]:
    return [verb, relation, {"sums": rows.text}]


def _rows(rows: Given, form: Form) -> object:
    if form in ("spread", "levels") and rows.total > TINY:
        return {"levels": rows.level_digest()}
    return sorted(map(canonical_text, rows.values))


def _steps(steps: Sequence[Step | Asked]) -> list[object]:
    return [s.name if isinstance(s, Field) else [_asked(s), s.many] for s in steps]


def _asked(step: Where | Asked) -> object:
    return step.fields if isinstance(step, Where) else [name for name, _ in step.fields]
