"""What was found on Spark: plain data, which tables, goals and JSON are made of."""

from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen

from ripplenest.bench.results import Left
from ripplenest.bench.timing import Timing

FEW = 1_000  # rows of a small batch


@frozen
class Engine:
    """Batches that insert so many ``rows``, on the engine ``name``, which ``did`` the work; and what recomputing took
    there."""

    name: str
    rows: int
    did: str
    verdict: str
    batch: Timing
    jobs: int
    read: int


@frozen
class Ours:
    """A state whose rows came from DataFrames. ``peaks`` are of the driver's Python process, bytes by what it did, and
    ``own`` what it held afterwards besides pages of files."""

    rows: int
    load: float
    create: float
    write: float
    state_bytes: int
    peaks: Mapping[str, int]
    own: Mapping[str, int | None]
    batches: tuple[Engine, ...]
    floors: Mapping[int, Timing]


@frozen
class Theirs:
    """Seconds of Spark alone: to write the relations sorted by key, to compute the nested rows from Parquet and write
    them, to nest and write them from our parts as Parquet, and to compute them from cached input."""

    sorted: float
    computed: float
    nested: float
    cached: Timing | None


@frozen
class Scale:
    """F2 at a scale."""

    scale: float
    items: int
    ours: Ours
    theirs: Theirs

    def batch(self, engine: str, rows: int, verdict: str = "incremental") -> Engine | None:
        """What was found of these batches."""
        wanted = (engine, rows)
        return next((b for b in self.ours.batches if (b.name, b.rows) == wanted and verdict in (b.verdict, "")), None)


@frozen
class OnSpark:
    """A run, scales from small to large."""

    command: str
    date: str
    seed: int
    machine: str
    memory: str
    versions: Mapping[str, str]
    scales: tuple[Scale, ...]
    refused: tuple[Left, ...]

    def at(self, scale: float) -> Scale | None:
        """What was found at a scale."""
        return next((s for s in self.scales if s.scale == scale), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)
