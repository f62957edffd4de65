"""What a batch can do, as data; every check that needs no state has passed when an operation exists."""

from collections.abc import Sequence
from typing import Literal, assert_never, get_args

from attrs import frozen

from ripplenest.data.content import Content
from ripplenest.data.naming import canonical_text
from ripplenest.data.rows import Row
from ripplenest.intake.given import Given

Verb = Literal["insert", "delete", "upsert", "delete_key"]


@frozen
class Write:
    """Insert, delete or upsert whole rows of a relation, or delete those with some keys: then ``rows`` are keys."""

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


@frozen
class Set:
    """Give base ``fields`` of the record at ``path``, in the rows at the end of ``steps``, these values."""

    relation: str
    path: str
    steps: tuple[Step, ...]
    fields: tuple[tuple[str, object], ...]
    verb: Literal["set"] = "set"

    @property
    def target(self) -> str:
        """What it changes, for messages."""
        return self.path


Operation = Write | Deep | Set


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


def _steps(steps: Sequence[Step]) -> list[object]:
    return [s.name if isinstance(s, Field) else [s.fields, s.many] for s in steps]
