"""Loads of rows that are with several processes, and stay there, and builds of views by such: what a state wants of who
does them."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from ripplenest.data.content import Content
from ripplenest.data.rows import Rows
from ripplenest.intake.share import Loading
from ripplenest.plan.planned import Plan
from ripplenest.schema.relation import Relation
from ripplenest.store.disk import Disk
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import Staging
from ripplenest.version.folding import Fold, Unfolding


class Tasks(Protocol):
    """Who loads rows that are with several processes, and stay there (``ripplenest/tasks``)."""

    def takes(self, rows: object) -> bool:
        """Whether these are such rows."""

    def content(self, rows: object, work: Loading, staging: Staging) -> Content:
        """What the rows are; nothing is written. Raises what is wrong with their types."""

    def load(
        self, rows: object, work: Loading, staging: Staging, tables: Mapping[str, int], first: int
    ) -> tuple[Written, dict[str, int], Content]:
        """The segments of the tables that get rows, numbered from ``first`` on, how many rows of each part there are,
        and what they are. Raises what is wrong with them."""


class Builds(Protocol):
    """Who builds maps in several processes (``ripplenest/tasks``)."""

    def build(
        self, plan: Plan, specs: Mapping[str, TableSpec], version: Unfolding, staging: Staging, first: int
    ) -> Written:
        """The segments of every map of ``plan`` that has rows, numbered from ``first`` on. Raises EvaluationError."""


def loading(r: Relation, folded: Iterable[Fold], snapshot: Unfolding) -> tuple[Loading, dict[str, int]]:
    """A load on top of a version, whose ``folded`` bags are arrays, and what the catalogue calls the tables."""
    tables = snapshot.tables
    assert isinstance(tables, Snapshot)
    folds = tuple(fold for fold in folded if fold.relation == r)
    names = [*r.parts, *(fold.table for fold in folds)]
    work = Loading(r, folds, {n: tables.tables[n] for n in names}, snapshot.version + 1)
    return work, {n: tables.number(n) for n in names}


def mapped(spec: TableSpec, written: Written) -> Rows:
    """Rows of a table that tasks wrote, where they are mapped."""
    return TableRef(spec, written.segments[spec.name]).scan(Reader(Disk(written.folder)))
