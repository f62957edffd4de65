"""Operations on a relation without inner bags, column by column: the same changes as row by row (``apply.py``).

Each operation is a few probes: which keys are there, which rows. What the batch has changed so far is rows in memory,
found by the same index as stored ones. Where something is wrong with an operation, nothing is said here of what: the
batch is then run row by row, which finds the culprit.
"""

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Columns, Keys, matches
from ripplenest.data.rows import Rows
from ripplenest.intake.given import Given
from ripplenest.intake.operations import Verb
from ripplenest.schema.relation import Relation
from ripplenest.vector.binding import Input
from ripplenest.version.version import Sized


class Culprit(Exception):
    """An operation that cannot be done is among those of the batch."""


class FlatChanges:
    """What a batch does to one relation."""

    def __init__(self, relation: Relation, before: Sized) -> None:
        """``relation`` has no inner bags, and ``before`` an access key of the columns by which its rows are found."""
        assert len(relation.parts) == 1
        self._relation, self._before = relation, before
        self._part = relation.parts[relation.name]
        self._pending = Rows.empty(self._part.types)
        self._input: Input | None = None
        self.read = 0

    def run(self, verb: Verb, given: Given) -> None:
        """Apply one operation. Raises Culprit when it cannot be done."""
        match verb:
            case "insert":
                self._insert(given.rows)
            case "delete":
                self._delete(given.rows)
            case "upsert":
                self._upsert(given.rows)
            case "delete_key":
                self._delete_keys(given.rows)

    def changes(self) -> Rows:
        """The signed rows so far. Each that goes was found to be there, which is all that definition 2 asks here."""
        return self._pending.consolidated()

    def _insert(self, rows: Rows) -> None:
        if self._relation.key:
            held = self._held(self._relation.key_columns, self._distinct(rows))
            if not held.is_empty:
                raise Culprit
        self._add(rows)

    def _delete(self, rows: Rows) -> None:
        gone = rows.consolidated()
        columns = self._part.lookup
        held = Input(self._held(columns, Keys(columns, gone.select(columns))))
        wanted = Input(gone)
        every = tuple(range(len(self._part.types)))
        which, places = matches(
            held.index(every), held.table, every, hash_columns(wanted.columns, len(wanted)), wanted.columns
        )
        if len(which) != len(wanted) or (held.weights[places] < wanted.weights[which]).any():
            raise Culprit
        self._add(gone.negated())

    def _upsert(self, rows: Rows) -> None:
        held = self._held(self._relation.key_columns, self._distinct(rows))
        self._add(held.negated())
        self._add(rows)

    def _delete_keys(self, rows: Rows) -> None:
        """``rows`` are keys."""
        keys = self._distinct(rows, tuple(range(len(rows.types))))
        held = self._held(self._relation.key_columns, keys)
        if len(held) != len(keys):
            raise Culprit
        self._add(held.negated())

    def _distinct(self, rows: Rows, at: Columns | None = None) -> Keys:
        """The keys of ``rows``, each of which must come once; they are where they are in the relation, or ``at``."""
        columns = self._relation.key_columns
        keys = Keys(columns, rows.select(columns if at is None else at))
        if len(keys) != len(rows):
            raise Culprit
        return keys

    def _held(self, columns: Columns, keys: Keys) -> Rows:
        """The rows that have one of ``keys`` now, each once."""
        found = Rows.empty(self._part.types)
        if self._before.size(self._part.name):  # the first rows of a relation are many, and find nothing
            asked = Rows.of_columns(tuple(self._part.types[c] for c in columns), keys.arrays)
            found = self._before.probe(self._part.name, columns, asked)
            self.read += len(found)
        if not self._pending.is_empty:
            self._input = self._input or Input(self._pending)
            _, places = matches(self._input.index(columns), self._input.table, columns, keys.hashes, keys.arrays)
            found = found.plus(Rows(self._part.types, table=self._input.table.take(places)))
        return found.consolidated()

    def _add(self, rows: Rows) -> None:
        self._pending, self._input = self._pending.plus(rows), None
