"""Lookups by tasks: what is much larger than a change is not read whole; each task reads some of the change, and looks
up what it asks for, as this process would (``run/inputs.py``). What it joins stays in files.

A product is linear in its change, so ranges of that are joined one by one, each a window at a time.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import First, Firsts, Within
from ripplenest.data.rows import Rows
from ripplenest.data.seen import Seen
from ripplenest.data.sums import summed
from ripplenest.intake.faults import numbered
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import Plan, Target
from ripplenest.plan.product import Product
from ripplenest.plan.serial import map_of_json, map_to_json, product_of_json, product_to_json
from ripplenest.run import statements
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Task
from ripplenest.run.local import LocalJoiner
from ripplenest.run.statements import Asked
from ripplenest.store.files import Filed, windows
from ripplenest.store.ranges import Range, Unwritten, divided, written
from ripplenest.store.ref import (
    Segments,
    TableRef,
    ref_of_json,
    ref_to_json,
    segment_of_json,
    segment_to_json,
    spec_of_json,
    spec_to_json,
)
from ripplenest.store.segments import Reader, Segment
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.tasks.handed import Surroundings, range_of, sources_of, sources_text
from ripplenest.tasks.jobs import UNSEEN, Jobs, check_seen
from ripplenest.tasks.kinds import Finding
from ripplenest.tasks.merging import Told

SHARES = 1 << 20  # that rows of Spark come in at most: the numbers of runs are behind theirs


def looked_up(
    tasks: Sequence[Task], specs: Mapping[str, TableSpec], jobs: Jobs, here: Surroundings
) -> tuple[dict[str, Segments], int]:
    """By target the runs of what ``tasks`` make whose tables are looked up, and how many stored rows were read. One
    job. Raises EvaluationError."""
    work: list[list[Range]] = []
    for change in (t.inputs[t.product.steps[0].source] for t in tasks):
        assert isinstance(change, Filed)
        work.append(divided(change.ref, jobs.at_once, SHARES + sum(map(len, work)), 0))
    told = Told.of(work)
    common = sources_text(here, told.sources, json.dumps([_told(t, specs[t.target]) for t in tasks]))
    said = iter(jobs.on_work(Finding, common, told.ranges))
    found: dict[str, Segments] = {}
    read = 0
    for t, own in zip(tasks, work, strict=True):
        answers = [next(said) for _ in own]
        check_seen(answers, Path(here.write))
        for runs, many in map(json.loads, answers):
            found[t.target] = (*found.get(t.target, ()), *map(segment_of_json, runs))
            read += many
    return found, read


def _told(t: Task, spec: TableSpec) -> list[Any]:
    """A product over tables by their places in it, each with what is seen of it, which is all that there is to read."""
    delta, sources = t.product.steps[0].source, enumerate(t.product.sources)
    own = tuple(evolve(s, table=str(i), at=At.DELTA if i == delta else At.OLD) for i, s in sources)
    tables = []
    for rows in t.inputs:
        assert isinstance(rows, Filed)
        tables.append([ref_to_json(rows.ref), rows.seen.support, rows.seen.columns])
    totals = [map_to_json(evolve(m, name=str(i))) for i, m in enumerate(t.totals) if m is not None and i != delta]
    return [product_to_json(evolve(t.product, sources=own)), tables, spec_to_json(spec), totals]


# ---------------------------------------------------------------- in tasks


def find_range(common: str, own: str) -> str:
    """The runs of what the rows of a range make, and how many stored rows were read for it."""
    here, sources, more = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    work = range_of(own, sources)
    product, tables, spec, totals = json.loads(more)[json.loads(own)[0]]
    with here.messages():
        plan, looked = Plan((), (), {}, tuple(map(map_of_json, totals))), _Looked.of_json(here.reader, tables)
        found = _Found(product_of_json(product), plan, looked, spec_of_json(spec), here)
        return json.dumps(found.runs(work.source, (work.low, work.high), numbered(work.id)))


@frozen
class _Looked:
    """Tables by their places in a product, and what is seen of each."""

    reader: Reader
    tables: Mapping[str, tuple[TableRef, Seen]]

    @classmethod
    def of_json(cls, reader: Reader, tables: Sequence[Any]) -> "_Looked":
        return cls(reader, {str(i): (ref_of_json(ref), Seen(*seen)) for i, (ref, *seen) in enumerate(tables)})

    def scan(self, table: str) -> Rows:
        ref, seen = self.tables[table]
        return seen.of(ref.scan(self.reader).consolidated())

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        ref, seen = self.tables[table]
        return seen.of(ref.probe(self.reader, columns, keys).consolidated())

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:
        return self.tables[table][0].many(self.reader, columns, keys)

    def first(self, table: str, asked: Firsts) -> First:  # noqa: ARG002 - of a table, as all have it
        raise LawBroken("first rows that a product asks for", where=table)

    def within(self, table: str, *asked: Within) -> Rows | None:  # noqa: ARG002 - tables without their orders
        return None


@frozen
class _Found:
    """What a product makes of some of its change, and of what that asks for in ``tables``, for a target ``spec``.
    ``plan`` has the maps among them that have a row for every place."""

    product: Product
    plan: Plan
    tables: _Looked
    spec: TableSpec
    here: Surroundings

    def runs(self, change: TableRef, within: tuple[int, int], first: int) -> list[Any]:
        """Sorted runs, which are numbered from ``first`` on, and how many stored rows were read."""
        seen, found, read = self.tables.tables[str(self.product.steps[0].source)][1], list[Segment](), 0
        for rows in windows(change, self.here.reader, within, self.here.room):
            made, many = self._made(seen.of(rows))
            read += many
            if len(made):
                draft = Unwritten(made, self.spec.indexes[:1], first + len(found))
                found += written([draft], self.here.disk, self.here.room, lasts=False)
        return [list(map(segment_to_json, found)), read]

    def _made(self, change: Rows) -> tuple[Rows, int]:
        delta = str(self.product.steps[0].source)
        run, target = Run(self.plan, self.tables, {delta: change}), Target("", self.spec.types, "")
        made = LocalJoiner(self.here.room).join(statements.tasks(run, [Asked("", self.product, delta)]), [target])[""]
        return summed(made, self.here.room), sum(run.read)
