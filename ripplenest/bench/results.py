"""What was found: plain data, which tables, plots, goals and JSON are made of."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import asdict, frozen

from ripplenest.bench.timing import Timing


@frozen
class Point:
    """Batches of one kind that change so many ``rows``: what they took in all and in each phase (medians), the floor,
    and what rivals took to compute the view again after the same change, or to maintain it. ``engine`` did the last.
    ``rows_read``: stored rows that a batch read (median)."""

    kind: str
    rows: int
    verdict: str
    batch: Timing
    phases: Mapping[str, float]
    floor: Timing | None
    rivals: Mapping[str, Timing]
    engine: str = "local"
    rows_read: int = 0


@frozen
class Reading:
    """Seconds to hand out all nested rows as Arrow: ours, and DuckDB's that computes them, or reads what it kept."""

    ours: float
    computed: float
    kept: float


@frozen
class Tried:
    """The same batch of so many ``rows`` under each policy: the seconds that it took to maintain and to recompute, and
    what policy auto did."""

    rows: int
    incremental: float
    full: float
    auto: str


@frozen
class Crossover:
    """Where it is as fast to recompute, by what was ``tried``, from few rows to many; None where that is beyond."""

    rows: float | None
    tried: tuple[Tried, ...]

    @property
    def least(self) -> float:
        """The rows up to which maintaining is at least as fast, as far as was tried."""
        return self.tried[-1].rows if self.rows is None else self.rows

    @property
    def agrees(self) -> bool:
        """Whether auto did what is faster, where that is not within a factor of two of the crossover."""
        return all(t.auto == self._faster(t.rows) for t in self.tried if self._faster(t.rows) is not None)

    def _faster(self, rows: float) -> str | None:
        if self.rows is None or rows <= self.rows / 2:
            return "incremental"
        return "full" if rows >= self.rows * 2 else None


@frozen
class FanOut:
    """Another price of one part, which so many ``items`` in groups of so many ``names`` have: what the batch took, and
    how many stored rows the first such batch read, and those after it (median), which also read what earlier ones left
    in segments that are not merged yet."""

    items: int
    names: int
    batch: Timing
    rows_read: int
    read_later: int


@frozen
class Drained:
    """Batches that take the first row of so many ``groups`` of which a view shows the first ``limit``: what one took,
    how many times as long the last ones took as the first ones (medians of five), and the most stored rows that one
    read."""

    groups: int
    limit: int
    batches: int
    batch: Timing
    growth: float
    most_read: int


@frozen
class Measured:
    """One workload at one scale. ``rows`` and ``input_bytes`` are those of the relations, rows of inner bags counted,
    bytes as uncompressed Arrow; ``items`` are the rows that batches are a share of, items or pairs. ``create`` is the
    seconds of it, and ``created_by`` the engine that built the view."""

    workload: str
    scale: float
    rows: int
    items: int
    input_bytes: int
    state_bytes: int
    load: float
    create: float
    reading: Reading
    points: tuple[Point, ...]
    crossover: Crossover | None
    opening: Timing | None
    fan_outs: tuple[FanOut, ...] = ()
    drained: Drained | None = None
    created_by: str = "local"

    def point(self, kind: str, rows: int) -> Point | None:
        """The point of these batches, if they were measured."""
        return next((p for p in self.points if (p.kind, p.rows) == (kind, rows)), None)

    def of_kind(self, kind: str) -> list[Point]:
        """The points of a kind, from few rows to many."""
        return sorted((p for p in self.points if p.kind == kind), key=lambda p: p.rows)


@frozen
class Grown:
    """Batches that insert so many ``rows``, on a ``small`` state and on a ``large`` one, which took turns."""

    rows: int
    small: Timing
    large: Timing

    @property
    def ratio(self) -> float:
        """How many times as long it takes on the large one."""
        return self.large.median / self.small.median


@frozen
class Growing:
    """A workload at a small scale and at a large one, with so many ``items``."""

    workload: str
    scales: tuple[float, float]
    items: tuple[int, int]
    grown: tuple[Grown, ...]

    @property
    def worst(self) -> float:
        """The worst ratio of all sizes of batches."""
        return max(g.ratio for g in self.grown)


@frozen
class Memory:
    """A load in a process of its own."""

    rows: int
    seconds: float
    peak_bytes: int


@frozen
class Many:
    """Batches of ``rows`` rows over one view, and over ``views`` of its shape."""

    views: int
    rows: int
    scale: float
    create_each: float
    one: Timing
    all: Timing


@frozen
class Followed:
    """Batches that insert so many ``rows``, which touch so many of a published table: until they are committed, then
    until the table shows them, and the floor, deltalake's own merge of the rows that were touched."""

    rows: int
    touched: int
    batch: Timing
    publish: Timing
    floor: Timing


@frozen
class Publication:
    """A view of so many ``rows`` that is published as a table of so many bytes: seconds to write it ``whole``, of
    deltalake alone the ``floor``, and the batches that it ``followed``."""

    workload: str
    scale: float
    rows: int
    table_bytes: int
    whole: float
    floor: float
    followed: tuple[Followed, ...]


@frozen
class Left:
    """What is not there, and why: a rival that is not installed or failed, an answer that differed."""

    what: str
    why: str


@frozen
class Run:
    """Everything: what was asked of which versions on which machine, and what was found."""

    command: str
    date: str
    seed: int
    machine: str
    versions: Mapping[str, str]
    measured: tuple[Measured, ...]
    memory: Memory | None
    many: Many | None
    left_out: tuple[Left, ...]
    refused: tuple[Left, ...]
    published: Publication | None = None
    growing: tuple[Growing, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def of(self, workload: str) -> list[Measured]:
        """A workload, from the smallest scale to the largest."""
        return sorted((m for m in self.measured if m.workload == workload), key=lambda m: m.scale)

    def largest(self, workload: str) -> Measured | None:
        """A workload at its largest scale."""
        found = self.of(workload)
        return found[-1] if found else None

    def workloads(self) -> Iterator[str]:
        """Those that were measured."""
        yield from dict.fromkeys(m.workload for m in self.measured)
