"""Loads of rows that are with several processes, and stay there, and maps that such build of what is stored: what a
state wants of who does them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from ripplenest.data.content import Content
from ripplenest.data.rows import Rows
from ripplenest.intake.files import FilePath
from ripplenest.intake.share import Loading
from ripplenest.nrc.types import Type
from ripplenest.plan.planned import Plan
from ripplenest.run.engines import Place
from ripplenest.schema.relation import Relation
from ripplenest.store.disk import Disk
from ripplenest.store.files import divided_by_place
from ripplenest.store.ref import Segments, TableRef
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import Staging
from ripplenest.version.folding import Fold, Unfolding

ALONE = 200_000  # rows of work that the driver hands to Spark and takes back sooner than tasks begin to write


class Tasks(Protocol):
    """Who loads rows that are with several processes, and stay there (``ripplenest/tasks``)."""

    def opened(self, path: FilePath, row: Type, where: str, whole: bool) -> object:
        """The rows of a file, or of the files at a URI, as such rows; ``whole`` is that of ``read_rows``."""

    def takes(self, rows: object) -> bool:
        """Whether these are such rows."""

    def many(self, rows: object, row: Type, where: str) -> int:
        """How many there are. Raises WrongColumns."""

    def sees(self, rows: object, folder: Path) -> bool:
        """Whether who has them can work beside a folder."""

    def content(self, rows: object, work: Loading, staging: Staging) -> Content:
        """What the rows are; nothing is written. Raises what is wrong with their types."""

    def load(
        self, rows: object, work: Loading, staging: Staging, tables: Mapping[str, int], first: int
    ) -> tuple[Written, dict[str, int], Content]:
        """The segments of the tables that get rows, numbered from ``first`` on, how many rows of each part there are,
        and what they are. Raises what is wrong with them, or Culprit where only who has all of them can say it."""


@frozen
class Pending:
    """A ``version`` and what a commit is to change in its parts: signed rows, which are here (``changes``) or in files
    of the same piece of work (``staged``). ``made`` are maps that are not stored yet."""

    version: Unfolding
    changes: Mapping[str, Rows] = field(factory=dict)
    staged: Mapping[str, Segments] = field(factory=dict)
    made: Mapping[str, TableSpec] = field(factory=dict)

    @classmethod
    def of(cls, version: Unfolding, changes: Mapping[str, Rows]) -> "Pending":
        """Changes of parts, some of which are in files."""
        here, files = divided_by_place(changes)
        return cls(version, here, {} if files is None else files.segments)


@frozen
class Back:
    """A ``version`` whose ``tables`` are to be what they were in version ``to``. Bags ``unfolded`` may have been arrays
    then."""

    version: Unfolding
    to: int
    tables: Sequence[str]
    unfolded: Sequence[Fold] = ()


@frozen
class Built:
    """What tasks wrote: by table the segments that change it. ``rows_read`` of stored tables, in so many ``jobs``."""

    written: Written
    rows_read: int
    jobs: int


class Builds(Protocol):
    """Who builds maps in several processes (``ripplenest/tasks``)."""

    def build(self, plan: Plan, over: Pending, staging: Staging, first: int, pairs: float = 0) -> Built:
        """The change of every map of ``plan`` from what it holds, which is nothing if it is made, to what its
        definition gives; in segments that are numbered from ``first`` on. Those whose definitions join no more than so
        many ``pairs`` are not built of sums that others keep. Raises EvaluationError."""

    def back(self, plan: Plan, back: Back, staging: Staging, first: int) -> Built:
        """The change of tables to what they were, and of every map of ``plan`` with it. Raises EvaluationError."""

    def check(self, version: Snapshot, r: Relation, staging: Staging) -> dict[str, int] | None:
        """By part how many rows a relation has; None where some are not what they should be, or do not belong
        together (nrc-ivm, definition 1)."""

    def merge(self, version: Snapshot, tables: Mapping[str, Segments], staging: Staging, first: int) -> Written:
        """For each table the segments that can take the place of these of it, which are stored in ``version``."""


def is_by_tasks(place: Place, rows: float) -> bool:
    """Whether work of about so many rows stays with tasks."""
    return place.name == "spark" and rows > ALONE


def loading(r: Relation, folded: Iterable[Fold], snapshot: Unfolding) -> tuple[Loading, dict[str, int]]:
    """A load on top of a version, whose ``folded`` bags are arrays, and what the catalogue calls the tables."""
    tables = snapshot.tables
    assert isinstance(tables, Snapshot)
    folds = tuple(fold for fold in folded if fold.relation == r)
    names = [*r.parts, *(fold.table for fold in folds)]
    where = f"load {r.name}"
    work = Loading(r, folds, {n: tables.tables[n] for n in names}, snapshot.version + 1, where, f"{where}: rows")
    return work, {n: tables.number(n) for n in names}


def mapped(spec: TableSpec, staging: Staging, segments: Segments) -> Rows:
    """Rows of a table that tasks wrote, where they are mapped."""
    return TableRef(spec, segments).scan(Reader(Disk(staging.folder)))
