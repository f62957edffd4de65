"""What a batch did: the report that ``with db.batch() as b`` leaves in ``b.report``."""

import time
from collections.abc import Mapping
from typing import Any

from attrs import asdict, field, frozen

from ripplenest.data.sheet import Sheet, Tabular
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.reserved import of_a_map

DICTIONARY = "/D["


@frozen
class Report(Tabular):
    """``rows_in`` by stored part and ``rows_out`` by map count changed rows; ``rows_read`` counts stored rows that were
    read, to find the rows that operations mean and those that views need.

    ``verdict`` says how views were kept fresh, by their triggers (incremental) or recomputed (full), and ``why``.
    ``engine`` is where the views were worked out, in this process (local) or on Spark, in so many ``jobs`` of it, and
    ``engine_why`` also says which little of that Spark was not asked for.
    ``applied`` is False for a retry of a batch that was applied before. ``waiting`` are the views that read what
    changed and are not kept fresh, because they wait to be rebuilt (``Database.rebuild``).

    ``phases`` are the seconds of each in turn, all of ``seconds``: "snapshot" finds the version, "digest" is of what
    the batch says, "intake" makes signed rows of it, "views" what these change, and "commit" stores both. A retry of a
    batch that was applied before has none.
    """

    version: int
    source: str
    seq: int
    rows_in: Mapping[str, int] = field(factory=dict)
    rows_out: Mapping[str, int] = field(factory=dict)
    rows_read: int = 0
    jobs: int = 0
    seconds: float = 0.0
    verdict: str = "incremental"
    why: str = ""
    applied: bool = True
    waiting: tuple[str, ...] = ()
    engine: str = ""
    engine_why: str = ""
    phases: Mapping[str, float] = field(factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)

    def sheet(self) -> Sheet:
        """The table, as its cells: each part and map that changed."""
        kinds = (("in", self.rows_in), ("out", self.rows_out))
        rows = tuple((kind, part(name), f"{n:,}") for kind, counts in kinds for name, n in counts.items())
        read = (f"read {self.rows_read} rows, {self.jobs} jobs",) if self.applied else ()
        why = (f"why  {self.why}",) if self.applied and self.why else ()
        on = (f"on   {self.engine}: {self.engine_why}",) if self.applied and self.engine else ()
        wait = (f"wait {', '.join(map(part, self.waiting))}: rebuild to keep them fresh",) if self.waiting else ()
        return Sheet(("", "table", "rows"), rows, (self._head(),), (*read, *why, *on, *wait), right=(2,))

    def _head(self) -> str:
        batch = f"version {self.version}: {printable(self.source)}:{self.seq}"
        if not self.applied:
            return f"{batch} was applied before, nothing changed"
        return f"{batch}, {self.verdict}, {self.seconds:.3f} s"

    def __str__(self) -> str:
        if not self.applied:
            return self._head()
        return (
            f"{self._head()}\n  in   {_counted(self.rows_in)}\n"
            f"  out  {_shown(self.rows_out)}\n  read {self.rows_read} rows, {self.jobs} jobs"
            + (f"\n  why  {printable(self.why)}" if self.why else "")
            + (f"\n  on   {self.engine}: {self.engine_why}" if self.engine else "")
            + (f"\n  wait {', '.join(map(part, self.waiting))}: rebuild to keep them fresh" if self.waiting else "")
        )


def _counted(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {part(name)}" for name, n in rows.items()) or "nothing"


def _shown(rows: Mapping[str, int]) -> str:
    """What views show, and how much changed in maps that nobody reads, whose names say little."""
    shown = {name: n for name, n in rows.items() if not of_a_map(name) or DICTIONARY in name}
    behind = [n for name, n in rows.items() if name not in shown]
    more = f", {sum(behind)} in {len(behind)} map{'s' * (len(behind) > 1)} behind" if behind else ""
    return _counted(shown) + more


class Laps:
    """Seconds by phase, of phases that follow one another."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._since = time.perf_counter()

    def end(self, phase: str) -> None:
        """What passed since the last phase is of this one."""
        now = time.perf_counter()
        self.spent[phase], self._since = now - self._since, now

    @property
    def total(self) -> float:
        """Of the phases that have ended."""
        return sum(self.spent.values())
