"""Loads the films, applies the batches on both engines, and compares each view with recomputations after each.

Times are what a user waits: a batch from its first operation until it is committed. On Spark it stands beside all of
the recomputation by plain Spark of the views that read what the batch changed, with its input cached and its result
kept in memory; in this process, beside the same batch under the policy that always recomputes, on a database of its own
for each view.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from attrs import asdict, field, frozen

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
Engine = Literal["local", "spark"]
ENGINES: tuple[Engine, ...] = ("local", "spark")


@frozen
class Watched:
    """A view, the one relation it reads, and the same from scratch: a function of the relation's DataFrame."""

    view: rn.View
    relation: str
    recompute: Callable[["DataFrame"], "DataFrame"]


WATCHED = (Watched(related, "M", recompute.related), Watched(elsewhere, "D", recompute.elsewhere))


@frozen
class Seconds:
    """What one engine took: to keep views fresh, or build one, and to recompute them."""

    kept_s: float
    recompute_s: float


Times = Mapping[Engine, Seconds]


@frozen
class Built:
    """A view after the load: its rows, those in its bags, seconds by engine, and whether all agree."""

    view: str
    rows: int
    inner_rows: int
    times: Times
    equal: bool


@frozen
class Outcome:
    """A batch after its comparison: rows in and rows out as the report counts them, and seconds by engine."""

    seq: int
    kind: str
    what: str
    rows_in: int
    rows_out: int
    times: Times
    equal: bool

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data, seconds to the millisecond."""
        return {
            "seq": self.seq,
            "kind": self.kind,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            **{engine: {k: round(s, 3) for k, s in asdict(took).items()} for engine, took in self.times.items()},
            "equal": self.equal,
        }


@frozen
class Compared:
    """One comparison: seconds of Spark's recomputation, its size, and whether every database has the same view."""

    seconds: float
    rows: int
    inner_rows: int
    equal: bool


@frozen
class Databases:
    """One for each engine, and by view one of this process that recomputes it with every batch."""

    kept: Mapping[Engine, rn.Database]
    again: Mapping[str, rn.Database]

    @staticmethod
    def open(folder: Path, scratch: Path, stack: ExitStack) -> "Databases":
        """New ones, which ``stack`` closes: that of this process in ``folder``, all others in ``scratch``."""
        kept: dict[Engine, rn.Database] = {
            "local": stack.enter_context(rn.open(folder, engine="local")),
            "spark": stack.enter_context(rn.open(scratch / "spark", engine="spark")),
        }
        names = [w.view.name for w in WATCHED]
        opened = {name: rn.open(scratch / name, engine="local", policy="full") for name in names}
        return Databases(kept, {name: stack.enter_context(db) for name, db in opened.items()})

    def of(self, watched: Watched) -> tuple[rn.Database, ...]:
        """Those that have a view."""
        return (*self.kept.values(), self.again[watched.view.name])


@frozen
class Runner:
    """One run over databases that are empty at first; ``load``, ``build``, ``warm_up``, then ``steps``."""

    dbs: Databases
    loaded: Sequence[Film]
    arrivals: Arrivals
    copy: Input = field(factory=Input)

    @staticmethod
    def of(dbs: Databases, films: Sequence[Film]) -> "Runner":
        loaded, arrivals = split(films)
        return Runner(dbs, loaded, arrivals)

    def load(self) -> None:
        """Declare and fill M, the films, and D, the distributors with theirs."""
        films, lists = [movie(f) for f in self.loaded], by_distributor(self.loaded)
        self.copy.films.update(films)
        self.copy.distributors.update({name: Counter(bag) for name, bag in lists.items()})
        rows = {"M": films, "D": [{"name": name, "films": bag} for name, bag in lists.items()]}
        for watched in WATCHED:
            for db in self.dbs.of(watched):
                _declare(db, watched.relation)
                db.load(watched.relation, rows[watched.relation])

    def build(self, watched: Watched) -> Built:
        """Create one view over the loaded films."""
        here, spark, again = (_timed(partial(db.create, watched.view)) for db in self.dbs.of(watched))
        found = self._compare(watched, inner=True)
        times: Times = {"local": Seconds(here, again), "spark": Seconds(spark, found.seconds)}
        return Built(watched.view.name, found.rows, found.inner_rows, times, found.equal)

    def warm_up(self) -> None:
        """A film comes and goes in both relations: Spark compiles its code, and nothing is left of it."""
        films = (Movie(name="Warm-up", gen="Drama", dir="Steven Spielberg"),)
        for engine in ENGINES:
            self._apply(engine, WARM_UP, 1, (Insert(films), DeepInsert("Universal", films)))
            self._apply(engine, WARM_UP, 2, (Delete(films), DeepDelete("Universal", films)))

    def steps(self) -> Iterator[Step]:
        """The batches, to be given to ``run`` one after the other."""
        return steps(self.copy, self.arrivals)

    def run(self, seq: int, step: Step) -> Outcome:
        """Apply one batch, and compare the views that read what it changed."""
        done = {engine: self._apply(engine, SOURCE, seq, step.operations) for engine in ENGINES}
        for operation in step.operations:
            accumulate(self.copy, operation)
        changed = [w for w in WATCHED if w.relation in reads(step.operations)]
        again = sum(self._recompute(w, step.operations) for w in changed)
        found = [self._compare(w) for w in changed]
        reports = {engine: report for engine, (report, _) in done.items()}
        return Outcome(
            seq,
            step.kind,
            step.what,
            sum(reports["local"].rows_in.values()),
            sum(reports["local"].rows_out.values()),
            {
                "local": Seconds(done["local"][1], again),
                "spark": Seconds(done["spark"][1], sum(c.seconds for c in found)),
            },
            all(c.equal for c in found) and reports["local"].rows_out == reports["spark"].rows_out,
        )

    def _apply(
        self, engine: Engine, source: str, seq: int, operations: Sequence[Operation]
    ) -> tuple[rn.Report, float]:
        return _applied(self.dbs.kept[engine], source, seq, operations)

    def _recompute(self, watched: Watched, operations: Sequence[Operation]) -> float:
        """Seconds of the batch where it recomputes one view: with what it changes in the view's relation."""
        own = [o for o in operations if reads([o]) == {watched.relation}]
        _, seconds = _applied(self.dbs.again[watched.view.name], None, None, own)
        return seconds

    def _compare(self, watched: Watched, inner: bool = False) -> Compared:
        """``inner``: rows in bags are counted too, which is one more query."""
        given = self._input(watched.relation).persist()
        given.count()
        started = time.perf_counter()
        expected = watched.recompute(given).persist()
        rows = expected.count()
        seconds = time.perf_counter() - started
        wanted: pa.Table = expected.toArrow()
        inner_rows = recompute.inner_rows(expected) if inner else 0
        expected.unpersist()
        given.unpersist()
        kept = (db.view(watched.view.name).to_arrow() for db in self.dbs.of(watched))
        return Compared(seconds, rows, inner_rows, all(recompute.same(wanted, table) for table in kept))

    def _input(self, relation: str) -> "DataFrame":
        """The accumulated input of one relation, from the copy."""
        spark = self.dbs.kept["spark"].spark
        if relation == "M":
            return recompute.movies(spark, self.copy.films.elements())
        return recompute.distributors(spark, ((name, bag.elements()) for name, bag in self.copy.distributors.items()))


def _declare(db: rn.Database, relation: str) -> None:
    if relation == "M":
        db.relation("M", Movie)
    else:
        db.relation("D", Distributor, key="name")


def _applied(
    db: rn.Database, source: str | None, seq: int | None, operations: Sequence[Operation]
) -> tuple[rn.Report, float]:
    started = time.perf_counter()
    with db.batch(source=source, seq=seq) as b:
        for operation in operations:
            record(b, operation)
    return b.report, time.perf_counter() - started


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
