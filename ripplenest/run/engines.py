"""Which engine does a piece of work: this process, or Spark.

Both give the same signed rows, so nothing downstream can tell. This process is ahead as long as what it works on fits
its memory: a job of Spark has a fixed cost, and rows pass to it and back. So "auto" takes Spark where the estimate of
rows read and made is beyond ``MOST``, whether a session was given or not; nothing starts a JVM before that.
"""

from collections.abc import Callable
from math import inf
from typing import Literal

from attrs import evolve, field, frozen

from ripplenest.data.room import Room
from ripplenest.run.joiner import Joiner, Writing
from ripplenest.store.files import Files

Engine = Literal["auto", "local", "spark"]
MOST = 40_000_000  # rows of work of this process: about 8 GB (scripts/rows_of_work.py)


@frozen
class Place:
    """Where a piece of work is done, and why there."""

    name: Literal["local", "spark"]
    why: str

    @property
    def facts(self) -> dict[str, object]:
        """For the note of a version."""
        return {"engine": self.name, "engine_why": self.why}


@frozen
class Chosen(Place):
    """The engine for one piece of work; ``here`` is this process, where another one would be asked for little."""

    joiner: Joiner
    here: Joiner | None = None
    most: float = inf  # rows of work that it may turn out to be

    def writing(self, files: Files) -> Joiner:
        """The engine, which may leave what it makes in ``files``."""
        return self.joiner.writing(files) if isinstance(self.joiner, Writing) else self.joiner

    def told(self, here: int) -> "Chosen":
        """The same, which says that so many rows were joined in this process: few for which others waited, or such as
        Spark would compare pair by pair."""
        why = f"{self.why}; {here:,} rows were joined in this process, where a job would take longer"
        return evolve(self, why=why) if here else self


@frozen
class Engines:
    """The engines of one database; ``spark`` gives the one with a session, for a piece of work; this process works in
    ``room``."""

    wanted: Engine
    spark: Callable[[], Joiner]
    room: Room = field(factory=Room)
    _made: dict[str, Joiner] = field(factory=dict)

    def place(self, rows: float) -> Place:
        """Where work of about so many rows, read and made, is done."""
        if self.wanted != "auto":
            return Place(self.wanted, f"engine {self.wanted}")
        if rows > MOST:
            return Place("spark", f"about {rows:,.0f} rows of work, more than {MOST:,}")
        return Place("local", f"about {rows:,.0f} rows of work, and this process does up to {MOST:,}")

    def choose(self, rows: float) -> Chosen:
        """The engine for it."""
        place = self.place(rows)
        here = self._engine("local") if place.name == "spark" else None
        most = MOST if self.wanted == "auto" and here is None else inf
        return Chosen(place.name, place.why, self._engine(place.name), here, most)

    def _engine(self, name: Literal["local", "spark"]) -> Joiner:
        if name == "spark":
            return self.spark()
        if name not in self._made:
            self._made[name] = _local(self.room)
        return self._made[name]


def _local(room: Room) -> Joiner:
    from ripplenest.run.local import LocalJoiner  # noqa: PLC0415 - Arrow's kernels, for who works

    return LocalJoiner(room)


def local_engines() -> Engines:
    """Work in this process alone."""

    def none() -> Joiner:
        raise AssertionError("nobody asked for Spark")

    return Engines("local", none)
