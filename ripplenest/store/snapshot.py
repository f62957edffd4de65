"""A reader's view: one version, whatever is committed meanwhile."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from attrs import frozen

from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import First, Firsts, Within
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store.changelog import Changelog
from ripplenest.store.database.catalogue import Catalogue
from ripplenest.store.database.chain import Live, Schema, Table, Version
from ripplenest.store.database.records import note_of
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Reader, Segment
from ripplenest.store.specs import Columns, TableSpec, same_columns, unknown_table

T = TypeVar("T")


@frozen
class Snapshot:
    """The tables as they were at ``version``. Rows come as sums: the same row may come in several entries.

    Every method raises StateError for a table that did not exist at this version, or when this version is no longer
    kept (old ones go as new ones come), and CorruptState for bytes that have changed.
    """

    _version: Version
    _schema: Schema
    _live: Live
    _catalogue: Catalogue
    _reader: Reader
    _changelog: Changelog
    oldest: int = 0  # the oldest version that was kept when this snapshot was made
    _complete: frozenset[int] | None = None  # ids of segments with an index for each access key; None for all

    @property
    def version(self) -> int:
        """Its number."""
        return self._version.n

    def state_of(self, version: int) -> str | None:
        """The digest of ``version`` and of everything before it; empty for one that is no longer known, None for one
        that there has not been. Two states that were one have versions of the same number: this tells them apart."""
        match self.version - version:
            case 0:
                return self._version.state
            case 1:
                return self._version.parent
        with self._catalogue.transaction() as c:
            return self._catalogue.state_of(c, version)

    def scan(self, table: str) -> Rows:
        """All rows of ``table``."""
        ref = self.table(table)
        return self._read(lambda: ref.scan(self._reader))

    def some(self, table: str, most: int) -> Rows:
        """At least ``most`` different rows of ``table``, or all, each as often as it is there."""
        ref = self.table(table)
        return self._read(lambda: ref.some(self._reader, most))

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """The rows of ``table`` whose ``columns`` are one of ``keys``; NULL matches NULL, NaN matches NaN.

        Costs keys · segments · log(rows) and the rows found; at a version before the access key came, also the rows
        of segments that were merged since. Raises StateError when ``columns`` is no access key, WrongValue or
        WrongColumns for a key of other types.
        """
        ref = self.table(table)
        return self._read(lambda: ref.probe(self._reader, columns, keys))

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:
        """By key, how many entries have its hash: at least as many as ``probe`` finds. Costs keys · segments ·
        log(rows). Raises as ``probe`` does."""
        ref = self.table(table)
        return self._read(lambda: ref.many(self._reader, columns, keys))

    def first(self, table: str, asked: Firsts) -> First:
        """The first rows of keys among those of ``table``.

        Costs keys · segments · log(rows), the rows found, and those that are passed over because their weights cancel.
        Raises StateError when the order is none of the table's orderings, and LawBroken for a row that is passed and is
        there less than 0 times, or for a key that comes twice.
        """
        ref = self.table(table)
        return self._read(lambda: ref.first(self._reader, asked))

    def within(self, table: str, *asked: Within) -> Rows | None:
        """The rows of ``table`` that have one of the keys and are between its prefixes, and perhaps some others that
        have the prefix of a bound, or the hash of a key: of those that are ``asked``, each in its order, as the one has
        it that finds the fewest. None where none of the orders is one of the table's.

        Costs keys · segments · log(rows) for each, and the rows found.
        """
        ref = self.table(table)
        return self._read(lambda: ref.within(self._reader, *asked))

    def table(self, table: str) -> TableRef:
        """What ``table`` is made of."""
        return self._ref(self._table(table), self.segments(table))

    def is_gone(self, table: str) -> bool:
        """Whether the table of this name was dropped since; another one may have the name now."""
        found = self._schema.table(table, self.version)
        return found is not None and found.died is not None

    def size(self, table: str) -> int:
        """The entries of ``table``, told from the catalogue alone: at least its distinct rows, a few more between
        compactions."""
        return sum(s.rows for s in self.segments(table))

    def delta(self, table: str, since: int) -> Rows:
        """The changes of ``table`` in the versions (since, version], so that scan(since) ⊎ delta(since) = scan."""
        changes, gone = self.difference(table, since)
        rows = self._read(lambda: changes.scan(self._reader), since)
        return rows.plus(self._read(lambda: gone.scan(self._reader), since).negated()) if gone.segments else rows

    def difference(self, table: str, since: int) -> tuple[TableRef, TableRef]:
        """What ``delta`` reads: the changes, and the rows at ``since`` of another table that had the name then, which
        went. Raises StateError when it had other columns."""
        self._check(since)
        found = self._table(table)
        changes = self._ref(found, self._changelog.since(since).get(found.id, ()))
        return changes, TableRef(found.spec, ()) if found.born <= since else self._before(found, since)

    def check_kept(self, since: int | None = None) -> None:
        """Raises NotKept when this version, or ``since``, is no longer kept."""
        with self._catalogue.transaction() as c:
            self._catalogue.check_kept(self.version if since is None else since, self._catalogue.tip(c))

    def _before(self, table: Table, since: int) -> TableRef:
        spec, old = table.spec, self._schema.table(table.spec.name, since)
        if old is None:
            return TableRef(spec, ())
        if not same_columns(old.spec.types, spec.types):
            what = f"the table was made anew with other columns in version {table.born}"
            raise StateError(what, where=spec.name, wanted=f"changes since version {table.born} or later", got=since)
        with self._catalogue.transaction() as c:
            live = self._catalogue.live(c, self._catalogue.version(c, since))
        return self._ref(old, live.get(old.id, ()))

    def born(self, table: str) -> int:
        """The version that made ``table``."""
        return self._table(table).born

    def changed(self, table: str, since: int) -> TableRef:
        """What ``delta`` reads, of a table that there was at ``since``. Raises StateError for another."""
        self._check(since)
        found = self._table(table)
        if found.born > since:
            what, wanted = "the table was made after that version", f"changes since version {found.born} or later"
            raise StateError(what, where=table, wanted=wanted, got=since)
        return self._ref(found, self._changelog.since(since).get(found.id, ()))

    def note(self, version: int) -> Mapping[str, object]:
        """The note that ``version`` was committed with."""
        self._check(version)
        with self._catalogue.transaction() as c:
            return note_of(self._catalogue.version(c, version).note)

    @property
    def meta(self) -> Mapping[str, str]:
        """The meta values of the newest version when this snapshot was made."""
        return self._schema.meta

    @property
    def tables(self) -> Mapping[str, TableSpec]:
        """The tables that there are at this version, with all access keys that they had when it was read."""
        return self._schema.names(self.version)

    @property
    def access_keys(self) -> Mapping[str, tuple[Columns, ...]]:
        """By table, the columns that ``probe`` finds rows by."""
        return {name: t.indexes for name, t in self.tables.items()}

    def segments(self, table: str) -> tuple[Segment, ...]:
        """The segments that ``table`` is made of, oldest first."""
        return self._live.get(self._table(table).id, ())

    def number(self, table: str) -> int:
        """What the catalogue calls ``table``."""
        return self._table(table).id

    def _ref(self, table: Table, segments: Iterable[Segment]) -> TableRef:
        return TableRef(table.spec, tuple(segments), self._schema.layouts.get(table.id, ()), self._complete)

    def _table(self, table: str) -> Table:
        found = self._schema.table(table, self.version)
        if found is not None:
            return found
        if table not in self._schema.tables:
            raise unknown_table(table, self._schema.names(self.version))
        before = [t for t in self._schema.dropped if t.spec.name == table]
        spans = [f"{t.born} to {t.died - 1}" if t.died and t.died > t.born + 1 else str(t.born) for t in before]
        wanted = f"version {', '.join([*spans, str(self._schema.born[table])])} or later"
        when = "then" if any(t.born <= self.version for t in before) else "yet"
        raise StateError(f"there was no such table {when}", where=table, wanted=wanted, got=f"version {self.version}")

    def _read(self, read: Callable[[], T], since: int | None = None) -> T:
        """What ``read`` finds in files. One that is missing because a version has gone meanwhile is no corruption."""
        try:
            return read()
        except CorruptState:
            self.check_kept(since)
            raise

    def _check(self, version: int) -> None:
        if not 0 <= version <= self.version:
            raise StateError("a version outside this snapshot", wanted=f"0 to {self.version}", got=version)
