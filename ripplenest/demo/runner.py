"""Loads the films, applies the batches, and compares each view with its recomputation by plain Spark after each.

Times are what a user waits: a batch from its first operation until it is committed, against all of the recomputation
of the views that read what the batch changed, with its input cached and its result kept in memory.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

import ripplenest as rn
from ripplenest.demo.batches import Arrivals, Film, Step, split, steps
from ripplenest.demo.operations import (
    DeepDelete,
    DeepInsert,
    Delete,
    Input,
    Insert,
    Operation,
    accumulate,
    reads,
    record,
)
from ripplenest.examples import recompute
from ripplenest.examples.films import Distributor, Movie, by_distributor, elsewhere, movie, related

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE, WARM_UP = "demo", "warm-up"


@frozen
class Watched:
    """A view, the one relation it reads, and the same from scratch: a function of the relation's DataFrame."""

    view: rn.View
    relation: str
    recompute: Callable[["DataFrame"], "DataFrame"]


WATCHED = (Watched(related, "M", recompute.related), Watched(elsewhere, "D", recompute.elsewhere))


@frozen
class Built:
    """A view after the load: its rows, those in its bags, seconds to build and to recompute, and whether both agree."""

    view: str
    rows: int
    inner_rows: int
    build_s: float
    recompute_s: float
    equal: bool


@frozen
class Outcome:
    """A batch after its comparison: rows in and rows out as the report counts them, and seconds."""

    seq: int
    kind: str
    what: str
    rows_in: int
    rows_out: int
    incremental_s: float
    recompute_s: float
    equal: bool

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data, seconds to the millisecond."""
        return {
            "seq": self.seq,
            "kind": self.kind,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "incremental_s": round(self.incremental_s, 3),
            "recompute_s": round(self.recompute_s, 3),
            "equal": self.equal,
        }


@frozen
class Compared:
    """One comparison: seconds of the recomputation, its size, and whether the view is the same."""

    seconds: float
    rows: int
    inner_rows: int
    equal: bool


@frozen
class Runner:
    """One run over a database that is empty at first; ``load``, ``warm_up``, then ``batches``."""

    db: rn.Database
    loaded: Sequence[Film]
    arrivals: Arrivals
    copy: Input = field(factory=Input)

    @staticmethod
    def of(db: rn.Database, films: Sequence[Film]) -> "Runner":
        loaded, arrivals = split(films)
        return Runner(db, loaded, arrivals)

    def load(self) -> None:
        """Declare and fill M, the films, and D, the distributors with theirs."""
        self.db.relation("M", Movie)
        self.db.relation("D", Distributor, key="name")
        films, lists = [movie(f) for f in self.loaded], by_distributor(self.loaded)
        self.db.load("M", films)
        self.db.load("D", [{"name": name, "films": bag} for name, bag in lists.items()])
        self.copy.films.update(films)
        self.copy.distributors.update({name: Counter(bag) for name, bag in lists.items()})

    def build(self, watched: Watched) -> Built:
        """Create one view over the loaded films."""
        started = time.perf_counter()
        self.db.create(watched.view)
        seconds = time.perf_counter() - started
        found = self._compare(watched, inner=True)
        return Built(watched.view.name, found.rows, found.inner_rows, seconds, found.seconds, found.equal)

    def warm_up(self) -> None:
        """A film comes and goes in both relations: Spark compiles its code, and nothing is left of it."""
        films = (Movie(name="Warm-up", gen="Drama", dir="Steven Spielberg"),)
        self._apply(WARM_UP, 1, (Insert(films), DeepInsert("Universal", films)))
        self._apply(WARM_UP, 2, (Delete(films), DeepDelete("Universal", films)))

    def steps(self) -> Iterator[Step]:
        """The batches, to be given to ``run`` one after the other."""
        return steps(self.copy, self.arrivals)

    def run(self, seq: int, step: Step) -> Outcome:
        """Apply one batch, and compare the views that read what it changed."""
        report, seconds = self._apply(SOURCE, seq, step.operations)
        for operation in step.operations:
            accumulate(self.copy, operation)
        changed = reads(step.operations)
        found = [self._compare(w) for w in WATCHED if w.relation in changed]
        return Outcome(
            seq,
            step.kind,
            step.what,
            sum(report.rows_in.values()),
            sum(report.rows_out.values()),
            seconds,
            sum(c.seconds for c in found),
            all(c.equal for c in found),
        )

    def _apply(self, source: str, seq: int, operations: tuple[Operation, ...]) -> tuple[rn.Report, float]:
        started = time.perf_counter()
        with self.db.batch(source=source, seq=seq) as b:
            for operation in operations:
                record(b, operation)
        return b.report, time.perf_counter() - started

    def _compare(self, watched: Watched, inner: bool = False) -> Compared:
        """``inner``: rows in bags are counted too, which is one more query."""
        given = self._input(watched.relation).persist()
        given.count()
        started = time.perf_counter()
        expected = watched.recompute(given).persist()
        rows = expected.count()
        seconds = time.perf_counter() - started
        equal = recompute.same(self.db.view(watched.view.name).nested(), expected)
        inner_rows = recompute.inner_rows(expected) if inner else 0
        expected.unpersist()
        given.unpersist()
        return Compared(seconds, rows, inner_rows, equal)

    def _input(self, relation: str) -> "DataFrame":
        """The accumulated input of one relation, from the copy."""
        if relation == "M":
            return recompute.movies(self.db.spark, self.copy.films.elements())
        return recompute.distributors(
            self.db.spark, ((name, bag.elements()) for name, bag in self.copy.distributors.items())
        )
