"""Which engine does a piece of work: this process, or Spark.

Both give the same signed rows, so nothing downstream can tell. This process is ahead as long as what it works on fits
its memory: a job of Spark has a fixed cost, and rows pass to it and back. So "auto" takes Spark where a session was
given, and where the estimate of rows read and made is beyond ``MOST``; nothing starts a JVM before that.
"""

from collections.abc import Callable
from typing import Literal

from attrs import field, frozen

from ripplenest.run.joiner import Joiner

Engine = Literal["auto", "local", "spark"]
MOST = 40_000_000  # rows of work of this process: about 8 GB (scripts/rows_of_work.py)


@frozen
class Chosen:
    """An engine for one piece of work, and why it is that one."""

    name: Literal["local", "spark"]
    why: str
    joiner: Joiner

    @property
    def facts(self) -> dict[str, object]:
        """For the note of a version."""
        return {"engine": self.name, "engine_why": self.why}


@frozen
class Engines:
    """The engines of one database; ``spark`` makes the one with a session, which was ``given`` or starts then."""

    wanted: Engine
    given: bool
    spark: Callable[[], Joiner]
    _made: dict[str, Joiner] = field(factory=dict)

    def choose(self, rows: float) -> Chosen:
        """The engine for work of about so many rows, read and made."""
        if self.wanted != "auto":
            return self._chosen(self.wanted == "spark", f"engine {self.wanted}")
        if self.given:
            return self._chosen(True, "a Spark session was given")
        if rows > MOST:
            return self._chosen(True, f"about {rows:,.0f} rows of work, more than {MOST:,}")
        return self._chosen(False, f"about {rows:,.0f} rows of work, and this process does up to {MOST:,}")

    def _chosen(self, on_spark: bool, why: str) -> Chosen:
        name: Literal["local", "spark"] = "spark" if on_spark else "local"
        if name not in self._made:
            self._made[name] = self.spark() if on_spark else _local()
        return Chosen(name, why, self._made[name])


def _local() -> Joiner:
    from ripplenest.run.local import LocalJoiner  # noqa: PLC0415 - Arrow's kernels, for who works

    return LocalJoiner()


def local_engines() -> Engines:
    """Work in this process alone."""

    def none() -> Joiner:
        raise AssertionError("nobody asked for Spark")

    return Engines("local", False, none)
