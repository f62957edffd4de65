"""A batch: operations recorded inside a ``with`` block and applied, all or none, when it ends."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import ClassVar

from ripplenest.api.address import Rows, start
from ripplenest.api.choices import Chosen, or_by_key, spelled
from ripplenest.api.each import keys_given, plain
from ripplenest.api.named import SET, Named
from ripplenest.errors import BatchMisuse, NoKey
from ripplenest.intake.given import Given
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.operations import KEYED, Operation, Verb, Write
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import DataError, QueryError, WrongColumns
from ripplenest.nrc.types import LONG, STRING
from ripplenest.nrc.values import to_value
from ripplenest.schema.relation import Relation, key_type
from ripplenest.state.notes import LOADS
from ripplenest.state.report import Report

Commit = Callable[[tuple[Operation, ...], str | None, int | None], Report]
Spread = Callable[[Verb, Relation, object, str], Given | None]


@public
class Batch(Named):
    """Changes of one (source, seq). Columns and types are checked at once, the state when the block ends.

    An exception inside the block discards everything, and so does an ``at`` with nothing after it. After the block,
    ``report`` says what happened.
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "update": f'{SET}, or b.upsert("...", [...])',
        "set": SET,
        "load": 'db.load("...", rows), or b.insert("...", rows)',
        "commit": "nothing: the batch commits when its with block ends",
        "rollback": "an error in the with block, which discards the batch",
    }

    def __init__(
        self,
        find: Callable[[str], Relation],
        check: Callable[[], None],
        commit: Commit,
        spread: Spread,
        source: str | None,
        seq: int | None,
    ) -> None:
        """``find`` gives the relation of a name, or raises UnknownRelation; ``check`` raises RelationChanged when one
        that it gave is declared otherwise meanwhile; ``commit`` applies what was recorded; ``spread`` gives rows that
        are to stay where they are, if they are."""
        _check_name(source, seq)
        self._relation, self._check, self._commit, self._spread = find, check, commit, spread
        self._source, self._seq = source, seq
        self._operations: list[Operation] = []
        self._chosen = Chosen()
        self._open = self._used = False
        self._report: Report | None = None

    def insert(self, relation: str, rows: object) -> None:
        """Add rows: dicts, records, a DataFrame or whatever else hands out Arrow data, ``rn.json(...)``, or the path of
        a file; nested bags as lists.

        Rows of a large DataFrame stay where they are, as those of a load, and so do those of a large file: their types
        are looked at when the block ends.
        """
        self._write("insert", relation, rows)

    def delete(self, relation: str, rows: object) -> None:
        """Take rows away; each must be there, with equal contents at every depth. Many rows stay where they are, as
        those of an upsert."""
        self._write("delete", relation, rows)

    def upsert(self, relation: str, rows: object) -> None:
        """Put rows in place of those with the same key, or add them. Only rows that differ change. Many rows stay where
        they are, as those of an insert, if all rows that hold bags have keys. Raises NoKey without a key."""
        r = self._relation(relation)
        if not r.key:
            raise NoKey("upsert needs a key", where=relation, possible=["relation(name, record, key=...)", "insert"])
        self._write("upsert", relation, rows)

    def delete_key(self, relation: str, keys: object = None, /, **fields: object) -> None:
        """Take away the row with this key, ``b.delete_key("Customers", custkey=7)``, or those with ``keys``, which are
        rows of the fields of the key; each must be there. Raises NoKey without a key."""
        self._take("delete_key", relation, keys, fields)

    def discard_key(self, relation: str, keys: object = None, /, **fields: object) -> None:
        """As ``delete_key``, but a key that is not there is passed over, as ``set.discard`` does."""
        self._take("discard_key", relation, keys, fields)

    def at(self, relation: str, /, **fields: object) -> Rows:
        """The one row with these fields (its key, or any base fields), or the holder of ``label=``, for a deep update.

            b.at("Customers", custkey=7).orders.at(orderkey=11).items.insert([...])
            b.at("Customers", label=row.items).orders.items.delete([...])
            b.at("Customers", custkey=each.custkey).orders.insert(each)  # for each row of each = rn.each(table)

        A label is what it is made of, or a value of a label column of ``flat()`` or ``dictionaries()``; only the latter
        where the relation has a base field ``label``.
        """
        return start(self._relation(relation), fields, False, self._record, self._chosen)

    def at_all(self, relation: str, /, **fields: object) -> Rows:
        """Every row with these fields, if there is any, for a deep update of all of them."""
        return start(self._relation(relation), fields, True, self._record, self._chosen)

    @property
    def report(self) -> Report:
        """What the batch did. Raises BatchMisuse before it has ended well."""
        if self._report is None:
            raise BatchMisuse("the batch has no report until its block has ended without an error")
        return self._report

    def __enter__(self) -> "Batch":
        if self._used:
            raise BatchMisuse("a batch is used once", possible=["batch() for another one"])
        self._open = self._used = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if isinstance(error, DataError | QueryError):
            self._check()  # rows may be wrong because another object has changed what they are rows of
        if kind is None:
            self._chosen.check()
            self._report = self._commit(tuple(self._operations), self._source, self._seq)

    def _take(self, verb: Verb, relation: str, keys: object, fields: dict[str, object]) -> None:
        r = self._relation(relation)
        if not r.key:
            possible = ["relation(name, record, key=...)", "delete"]
            raise NoKey(f"{verb} needs a key", where=relation, possible=possible)
        self._write(verb, relation, keys_given(keys, fields, r.key, f"{verb} {relation}"))

    def _write(self, verb: Verb, relation: str, rows: object) -> None:
        r, where = self._relation(relation), f"{verb} {relation}: rows"
        rows = plain(rows)
        given = self._spread(verb, r, rows, where) if self._open else None
        if given is None:
            row, key = (key_type(r.row, r.key), ()) if verb in KEYED else (r.row, r.key)
            try:
                given = read_rows(rows, row, where, key, whole=verb == "upsert")
            except WrongColumns as error:
                key_of = spelled(r.key)
                forms = {"delete": f'b.delete_key("{relation}", {key_of})', "upsert": f'b.at("{relation}", {key_of})'}
                raise or_by_key(error, verb, forms if r.key else {}) from None
        self._record(Write(verb, relation, given))

    def _record(self, operation: Operation) -> None:
        if not self._open:
            raise BatchMisuse("changes are made inside the with block of the batch")
        self._operations.append(operation)


def _check_name(source: str | None, seq: int | None) -> None:
    """Raises BatchMisuse for half a name or a reserved source, WrongValue for one that is no text with a number."""
    if (source is None) != (seq is None):
        other = f'batch(source="...", seq={seq})' if source is None else f"batch(source={source!r}, seq=...)"
        possible = [f"{other}, the number that this batch has among those of the source", "batch()"]
        raise BatchMisuse("a batch has both a source and a seq or neither", got=(source, seq), possible=possible)
    if source is not None:
        to_value(source, STRING, "batch source")
        to_value(seq, LONG, "batch seq")
        if source.startswith(LOADS):
            raise BatchMisuse("this source is reserved for loads", where="batch source", got=source)
