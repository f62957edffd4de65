"""One Delta table that shows one source: found, checked, and brought to a version in one commit.

Theory of operation. Our version is the *transaction version* of the table for our application id, and stands in the
same Delta commit as the rows. It is read from the handle that then commits, and that commit is refused when anybody
else committed since the handle was opened: so a version is there once or not at all, whoever else publishes it.
Deltalake alone would accept it twice, from a handle that was opened after the first time.

Rows are changed by a ``merge`` on the id, because it writes the change data feed; with added and removed files alone
(``create_write_transaction``) every row of a rewritten file would be in the feed. A merge rewrites each file that has a
touched row. So rows are spread by their ids over partitions, ``id_bucket``, of some hundred kilobytes each
(``whole.py``), and a merge reads and writes those of touched rows only.
How many buckets there are is chosen when a table is written whole, and can be read off their numbers. Rows that are all
new are appended. Buckets that have gathered many files are compacted in a commit that changes no rows.

The table is believed to be the view at its transaction version. That is checked as far as its history goes: others must
not have committed rows after us, and our last merge must have found every row that it was to change (its metrics say
so); if it has not, the whole view is written next.

A table belongs to one state. A copy of the state has its identity, its versions and its targets, and numbers and
digests agree until both go on; but it lives in another place, which each commit says. So a copy is refused before it
writes anything, until it is told to ``adopt`` the table; from then on it is the first state that is refused. The last
commit decides, and not what the state remembers: that would be copied as well. A state that was moved, or restored
where it was, is in the same place.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pyarrow as pa
from attrs import field, frozen

from ripplenest.nrc.errors import StateError
from ripplenest.publish.columns import BUCKET, ID, MULTIPLICITY, OP, bucketed
from ripplenest.publish.library import deltalake, storage
from ripplenest.publish.source import DELETE, INSERT, UPDATE, Edits, Source
from ripplenest.publish.target import check_folder, make_folder
from ripplenest.publish.whole import Stream
from ripplenest.store.place import Place

How = Literal["nothing", "changes", "whole"]
Commit = Mapping[str, Any]
History = Callable[[int], str | None]  # the digest of a version: empty when it is not known, None when it never was
APP, VERSION = "ripplenest.app", "ripplenest.version"  # what our commits say of themselves
PROGRAM, TOUCHED, STATE = "ripplenest.program", "ripplenest.touched", "ripplenest.state"
STRUCTURE = "ripplenest.structure"
PLACE = "ripplenest.place"  # where the state lives that wrote
HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES")  # commits of others that change no rows
METRICS = ("num_target_rows_inserted", "num_target_rows_updated", "num_target_rows_deleted")
CONFIGURATION = {"delta.enableChangeDataFeed": "true", "delta.dataSkippingNumIndexedCols": "1"}
FILES = 8  # a bucket with more files is compacted
ATTEMPTS = 5  # when others commit at the same time
ADOPTING = (
    "unpublish(view, path) in a copy that is to leave the table alone",
    "publish(view, path, adopt=True) or ripplenest adopt where the table is to be this state's from now on",
    "another path",
)


def unknown(_: int) -> str:
    """The history of which nothing is known."""
    return ""


@frozen
class PublishedTable:
    """One Delta table after a publication: the Delta version and the transaction version that it has.

    ``how`` says whether nothing was to be done, the changes were written, or the whole, and ``why`` the whole.
    ``written`` rows were added or updated, ``removed`` are gone.
    """

    part: str
    uri: str
    delta_version: int
    version: int
    how: How
    why: str = ""
    written: int = 0
    removed: int = 0


@frozen
class Seen:
    """A table that shows version ``there``, our last commit, which says so, and those of others since, newest first."""

    table: Any
    there: int
    own: Commit
    later: list[Commit]


@frozen(slots=False)
class Publisher:
    """Brings the table at ``uri`` to ``version`` of ``source``. The changes since ``oldest`` are known; ``rebuild``
    writes the whole whatever the table holds. ``history`` tells versions of the same number apart, ``place`` states of
    the same history: a table of another place is taken over only to ``adopt`` it."""

    source: Source
    uri: str
    app_id: str
    version: int
    oldest: int
    rebuild: bool
    history: History = unknown
    place: Place | None = None
    adopt: bool = False
    library: Any = field(factory=deltalake)

    def publish(self) -> PublishedTable:
        """Raises StateError for a table that is not ours, or that others changed or keep committing to."""
        with storage(self._where):
            for _ in range(ATTEMPTS):
                try:
                    return self._once()
                except self.library.exceptions.CommitFailedError:
                    continue  # somebody committed after the handle was opened: look at the table again
        raise self._crowded

    def look(self) -> int | None:
        """The version that the table shows, None when there is none. Raises what ``publish`` raises because of what is
        there, and touches nothing."""
        with storage(self._where):
            seen = self._seen()
            if seen is None:
                check_folder(self.uri, self._where)
                return None
            self._fault(seen.there, seen.own, seen.later)
            return seen.there

    @property
    def _where(self) -> str:
        return f"{self.source.where} at {self.uri}"

    def _table(self) -> Any:
        """Our table, None when there is none. Raises StateError for another."""
        if not self.library.DeltaTable.is_deltatable(self.uri):
            return None
        table = self.library.DeltaTable(self.uri)
        if table.transaction_version(self.app_id) is None:
            possible = ["another path", "a new folder"]
            raise StateError("a Delta table that is not ours", where=self._where, wanted=self.app_id, possible=possible)
        part = _about(table).get("part", self.source.part)
        if part != self.source.part:
            what = "a Delta table of another part of the view"
            raise StateError(what, where=self._where, wanted=self.source.part, got=part, possible=["another path"])
        return table

    def _seen(self) -> Seen | None:
        """Our table with the commit that made what the handle shows, None when there is none. The log that commits are
        read from may have later ones than the handle, which is opened again then."""
        for _ in range(ATTEMPTS):
            table = self._table()
            if table is None:
                return None
            there: int = table.transaction_version(self.app_id)
            own, later = self._last(table)
            if own.get(VERSION, there) == there:
                return Seen(table, there, own, later)
        raise self._crowded

    @property
    def _crowded(self) -> StateError:
        return StateError("others keep committing to the Delta table", where=self._where, wanted="one publisher")

    def _once(self) -> PublishedTable:
        seen = self._seen()
        if seen is None:
            return self._create()
        table, there = seen.table, seen.there
        fault = self._fault(there, seen.own, seen.later)
        shown = there > self.version or (there == self.version and not fault and self._wrote(seen.own))
        if not self.rebuild and shown:
            return self._done("nothing", table.version(), version=there)
        why = self._why_whole(table, there, fault)
        return self._write_whole(table, why) if why else self._write(table, self.source.edits(there))

    def _why_whole(self, table: Any, there: int, fault: str) -> str:
        """Why the changes since version ``there`` will not do; empty when they will."""
        if self.rebuild:
            return "asked for"
        if fault:
            return fault
        if there < self.oldest:
            return f"the changes since version {there} are no longer kept"
        return "" if _bits(table) else "the table was empty"

    # ------------------------------------------------------------ what others did

    def _fault(self, there: int, own: Commit, later: list[Commit]) -> str:
        """What is wrong with the rows of the table, which shows version ``there`` since our commit ``own``; empty when
        nothing is. Raises StateError when others changed it ``later``, a copy of the state wrote it, or it shows a
        version of another history."""
        if not (self.adopt or self._wrote(own)):
            what = "the Delta table belongs to a copy of this state, or this one is the copy"
            shown = f"place {own.get(PLACE)}", f"place {self.place}"
            raise StateError(what, where=self._where, wanted=shown[0], got=shown[1], possible=ADOPTING)
        foreign = [c for c in later if c.get("operation") not in HARMLESS]
        if foreign and not self.rebuild:
            got = f"{foreign[-1].get('operation')} in Delta version {foreign[-1].get('version')}"
            possible = ["rebuild=True, which replaces all rows", "another path"]
            raise StateError("others changed the Delta table", where=self._where, got=got, possible=possible)
        if not self.rebuild:
            self._check_history(there, own)
        if not self._same_tables(own):
            return "the view had another definition"
        metrics: Mapping[str, Any] = own.get("operationMetrics") or {}
        if own.get("operation") == "MERGE" and all(name in metrics for name in METRICS):
            changed = sum(int(metrics[name]) for name in METRICS)
            if changed != own.get(TOUCHED):
                return f"of {own.get(TOUCHED)} rows that were to change, {changed} did"
        return ""

    def _same_tables(self, own: Commit) -> bool:
        """Whether what changed in the view's tables since our commit ``own`` is what changed in its rows: its program
        was the same, or another that made the same tables, as of a relation that has got a field."""
        kept = own.get(PROGRAM, self.source.fingerprint) == self.source.fingerprint
        return kept or own.get(STRUCTURE) == self.source.structure

    def _wrote(self, own: Commit) -> bool:
        """Whether this state, and no copy of it, made the commit ``own``. One that says nothing of it may be ours."""
        other = Place.read(own.get(PLACE))
        return self.place is None or other is None or other.same(self.place)

    def _check_history(self, there: int, own: Commit) -> None:
        """Raises StateError when the version ``there`` that the table shows is not the one of this state. Its number
        says nothing: the state may have been restored, or copied, and gone on otherwise since."""
        known, shown = self.history(there), own.get(STATE)
        if known is None or (known and shown is not None and known != shown):
            what = "the Delta table shows a version of another history: the state was restored, or copied"
            possible = ["rebuild=True, which replaces all rows", "another path"]
            raise StateError(what, where=self._where, wanted=known, got=shown, possible=possible)

    def _last(self, table: Any) -> tuple[Commit, list[Commit]]:
        """Our last commit, and those of others since, newest first. Commits are forgotten after a month or so."""
        limit = 1
        while True:
            commits: list[Commit] = table.history(limit)
            for i, commit in enumerate(commits):
                if commit.get(APP) == self.app_id:
                    return commit, commits[:i]
            if len(commits) < limit:
                return {}, commits
            limit *= 16

    # ------------------------------------------------------------ writing

    def _create(self) -> PublishedTable:
        make_folder(self.uri, self._where)
        about = {"view": self.source.view, "part": self.source.part, "publisher": "ripplenest"}
        try:
            written = self._write_rows(
                self.uri,
                mode="error",
                name=self.source.view,
                description=json.dumps(about, sort_keys=True),
                configuration=CONFIGURATION,
            )
        except self.library.exceptions.DeltaError:
            if not self.library.DeltaTable.is_deltatable(self.uri):
                raise
            return self._once()  # somebody was faster
        return self._done("whole", 0, "the table is new", written=written)

    def _write_whole(self, table: Any, why: str) -> PublishedTable:
        removed = sum(pa.table(table.get_add_actions()).column("num_records").to_pylist())
        written = self._write_rows(table, mode="overwrite", schema_mode="overwrite")
        return self._done("whole", table.version(), why, written=written, removed=removed)

    def _write_rows(self, target: Any, **options: Any) -> int:
        """Write all rows, as they are made; how many they are."""
        stream = Stream(self.source.whole(), self.source.schema)
        properties = self._properties(stream.whole.rows)
        with stream.told():
            self.library.write_deltalake(
                target, stream.reader(), partition_by=[BUCKET], commit_properties=properties, **options
            )
        return stream.whole.rows

    def _write(self, table: Any, edits: Edits) -> PublishedTable:
        """One commit that makes the ``edits``; of no edits, it says that the version is the same."""
        before, properties = table.version(), self._properties(len(edits))
        if not len(edits):
            table.create_write_transaction(
                [], "append", self.source.schema, partition_by=[BUCKET], commit_properties=properties
            )
            return self._done("changes", before + 1)
        rows = bucketed(edits.rows, _bits(table))
        if edits.only_inserts:
            data = rows.drop_columns([OP])
            self.library.write_deltalake(table, data, mode="append", commit_properties=properties)
            inserted, updated, removed = len(edits), 0, 0
        else:
            inserted, updated, removed = self._merge(table, rows, edits.signed, properties)
        if inserted:
            self._tidy(table)
        return self._done("changes", before + 1, written=inserted + updated, removed=removed)

    def _merge(self, table: Any, rows: pa.Table, signed: bool, properties: Any) -> tuple[int, ...]:
        """Streamed, a merge would not look at the rows first and so would read every bucket."""
        on = f"t.{ID} = s.{ID} AND t.{BUCKET} = s.{BUCKET}"
        merger = table.merge(
            rows, on, source_alias="s", target_alias="t", streamed_exec=False, commit_properties=properties
        )
        if signed:
            total = f"t.{MULTIPLICITY} + s.{MULTIPLICITY}"
            merger.when_matched_delete(f"{total} = 0").when_matched_update({MULTIPLICITY: total})
            merger.when_not_matched_insert_all()
        else:
            merger.when_matched_delete(f"s.{OP} = {DELETE}")
            merger.when_matched_update_all(f"s.{OP} = {UPDATE}", except_cols=[OP])
            merger.when_not_matched_insert_all(f"s.{OP} = {INSERT}", except_cols=[OP])
        metrics = merger.execute()
        return tuple(int(metrics[name]) for name in METRICS)

    def _tidy(self, table: Any) -> None:
        """Compact the buckets that have gathered many files: new rows come in files of their own."""
        files = Counter(pa.table(table.get_add_actions(flatten=True)).column(f"partition.{BUCKET}").to_pylist())
        many = [str(bucket) for bucket, n in files.items() if n > FILES]
        if many:
            try:
                table.optimize.compact(partition_filters=[(BUCKET, "in", many)])
            except self.library.exceptions.CommitFailedError:
                return  # somebody else is writing: another time

    def _properties(self, rows: int) -> Any:
        state = self.history(self.version)
        return self.library.CommitProperties(
            custom_metadata={
                APP: self.app_id,
                VERSION: self.version,
                PROGRAM: self.source.fingerprint,
                STRUCTURE: self.source.structure,
                TOUCHED: rows,
                **({STATE: state} if state else {}),
                **({PLACE: str(self.place)} if self.place else {}),
            },
            max_commit_retries=0,
            app_transactions=[self.library.Transaction(self.app_id, self.version)],
        )

    def _done(
        self,
        how: How,
        delta_version: int,
        why: str = "",
        version: int | None = None,
        written: int = 0,
        removed: int = 0,
    ) -> PublishedTable:
        shown = self.version if version is None else version
        return PublishedTable(self.source.part, self.uri, delta_version, shown, how, why, written, removed)


def _about(table: Any) -> Mapping[str, Any]:
    """What the description of a table says, which we wrote; nothing when others changed it."""
    try:
        found = json.loads(table.metadata().description or "")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _bits(table: Any) -> int:
    """How many bits of an id are in the numbers of the table's buckets; 0 for a table without rows."""
    return max((int(p[BUCKET]).bit_length() - 1 for p in table.partitions()), default=0)
