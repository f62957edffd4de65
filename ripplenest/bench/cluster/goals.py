"""What the figures on Spark ought to be. Those of some scales are judged where a run has these scales."""

from collections.abc import Callable

from ripplenest.bench.cluster.results import FEW, Engine, OnSpark, Scale
from ripplenest.bench.goals import Goal, Judged

SMALL, HALF, ONE, LARGE = 0.02, 0.5, 1.0, 5.0
PHASES = ("load", "create", "write", "batches")
Figure = Callable[[OnSpark], float | None]


def judged(run: OnSpark) -> list[Judged]:
    """Every goal."""
    return [goal.judged(run) for goal in GOALS]


def _at_one(of: Callable[[Scale], float | None]) -> Figure:
    def figure(run: OnSpark) -> float | None:
        found = run.at(ONE)
        return None if found is None else of(found)

    return figure


def _peaks(phase: str) -> Figure:
    """The driver's memory at the large scale against that at the half."""

    def figure(run: OnSpark) -> float | None:
        small, large = run.at(HALF), run.at(LARGE)
        return large.ours.peaks[phase] / small.ours.peaks[phase] if small and large else None

    return figure


def _flat(run: OnSpark) -> float | None:
    found = [s.batch("spark", FEW) for s in (run.at(SMALL), run.at(LARGE)) if s is not None]
    times = [b.batch.median for b in found if b is not None]
    return times[1] / times[0] if len(times) == 2 else None


def _over_floor(s: Scale) -> float | None:
    few = s.batch("spark", FEW)
    return few.batch.median / s.ours.floors[FEW].median if few else None


def _ahead(of_items: int | None) -> Callable[[Scale], float | None]:
    """How many times as long Spark takes to compute it again from memory; of one item of so many, or of few rows."""

    def times(s: Scale) -> float | None:
        rows = FEW if of_items is None else share(s, of_items)
        found = s.batch("spark", rows)
        return s.theirs.cached.median / found.batch.median if found and s.theirs.cached else None

    return times


def share(s: Scale, of_items: int) -> int:
    """The batch that changes about one item of so many."""
    return min((b.rows for b in s.ours.batches), key=lambda rows: abs(rows - s.items / of_items))


def _auto(s: Scale) -> float | None:
    """The worst of auto against the best of all that was tried on the same rows."""
    found = [_auto_against(s, b) for b in s.ours.batches if b.name == "auto"]
    return max(found, default=None)


def _auto_against(s: Scale, auto: Engine) -> float:
    return auto.batch.median / min(b.batch.median for b in s.ours.batches if b.rows == auto.rows and b.name != "auto")


def _load(s: Scale) -> float:
    return s.ours.load / s.theirs.sorted


def _create(s: Scale) -> float:
    return s.ours.create / s.theirs.computed


def _write(s: Scale) -> float:
    return s.ours.write / s.theirs.nested


def _jobs(s: Scale) -> float | None:
    few = s.batch("spark", FEW)
    return few.jobs if few else None


GOALS: tuple[Goal[OnSpark], ...] = (
    *(Goal("1", f"memory of the driver's Python, 30 M items against 3 M: {p}", 1.2, "x", _peaks(p)) for p in PHASES),
    Goal("2", "load, against Spark writing the rows sorted", 1.5, "x", _at_one(_load)),
    Goal("2", "create, against Spark computing and writing", 1.5, "x", _at_one(_create)),
    Goal("2", "nested rows written, against Spark's of our parts", 1.5, "x", _at_one(_write)),
    Goal("3", "jobs of a batch of 1k rows on Spark", 1, "", _at_one(_jobs)),
    Goal("3", "1k rows on Spark, against the floor", 4, "x", _at_one(_over_floor)),
    Goal("3", "1k rows on Spark, Spark recomputing against it", 60, "x", _at_one(_ahead(None)), least=True),
    Goal("3", "1k rows on Spark, 30 M items against 120 k", 1.5, "x", _flat),
    Goal("4", "1 % of the items, Spark recomputing against it", 10, "x", _at_one(_ahead(100)), least=True),
    Goal("4", "10 % of the items, Spark recomputing against it", 2, "x", _at_one(_ahead(10)), least=True),
    Goal("4", "auto against the best of here, Spark and recomputing", 1.1, "x", _at_one(_auto)),
)  # fmt: skip
