"""What ``verify`` found: the tables that it looked at, and what differs, as text and as plain data."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import frozen

from ripplenest.data.rows import Pair, Rows
from ripplenest.data.sheet import Sheet, Tabular
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part, path

SHOWN = 5  # rows of a difference that are kept; all are counted


@frozen
class Sample:
    """How many rows differ, and the first few of them, each with the multiplicity by which it does."""

    count: int = 0
    rows: tuple[Pair, ...] = ()

    @classmethod
    def of(cls, rows: Rows) -> "Sample":
        """Of consolidated rows."""
        first = Rows(rows.types, table=rows.arrow().slice(0, SHOWN))
        return cls(len(rows), tuple(first.pairs()))

    @classmethod
    def of_pairs(cls, pairs: Sequence[Pair]) -> "Sample":
        """Of distinct rows."""
        return cls(len(pairs), tuple(pairs[:SHOWN]))

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the values are in the order of the difference's columns."""
        return {"count": self.count, "rows": [{"values": list(row), "multiplicity": n} for row, n in self.rows]}


@frozen
class Table:
    """A stored table that was looked at: its name, what it is, and how many different rows it has."""

    name: str
    of: str
    rows: int


@frozen
class Difference:
    """Something wrong with ``table``, which is ``of`` a relation or view.

    ``too_many`` are rows that should not be there, or not so often, ``missing`` those that should; ``columns`` names
    their values.
    """

    table: str
    of: str
    what: str
    columns: tuple[str, ...] = ()
    too_many: Sample = Sample()
    missing: Sample = Sample()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        found: dict[str, Any] = {"table": self.table, "of": self.of, "what": self.what, "columns": list(self.columns)}
        return {**found, "too_many": self.too_many.to_dict(), "missing": self.missing.to_dict()}

    def __str__(self) -> str:
        return "\n".join([f"{part(self.table)}: {printable(self.what)}", f"  in {self.of}", *self._samples()])

    def _samples(self) -> Iterator[str]:
        for title, sample in (("too many", self.too_many), ("missing", self.missing)):
            if sample.count:
                yield f"  {title}: {_rows(sample.count)}"
                yield from (f"    {n} × {self._row(row)}" for row, n in sample.rows)
                if sample.count > len(sample.rows):
                    yield f"    and {sample.count - len(sample.rows):,} more"

    def _row(self, row: tuple[object, ...]) -> str:
        values = zip(self.columns, row, strict=True)
        return ", ".join(f"{path(c)}={_shown(v)}" for c, v in values) or "the row without columns"


def _rows(n: int) -> str:
    return f"{n:,} {'row' if n == 1 else 'rows'}"


def _shown(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False, default=str))


@frozen
class Verification(Tabular):
    """What ``Database.verify`` found at ``version``. ``deep`` says whether views were evaluated on nested rows, too;
    ``not_compared`` are the views for which that gave no value to compare with, and why."""

    version: int
    deep: bool
    tables: tuple[Table, ...]
    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        tables = [{"table": t.name, "of": t.of, "rows": t.rows} for t in self.tables]
        differences = [d.to_dict() for d in self.differences]
        found: dict[str, Any] = {"version": self.version, "deep": self.deep, "ok": self.ok, "tables": tables}
        return {**found, "differences": differences, "not_compared": list(self.not_compared)}

    def sheet(self) -> Sheet:
        """The tables, as cells; below, what differs and the verdict."""
        n = len(self.differences)
        found = "nothing differs" if self.ok else f"{n} {'difference' if n == 1 else 'differences'}"
        missing = (f"not compared: {view}" for view in self.not_compared)
        rows = tuple((part(t.name), f"{t.rows:,}", t.of) for t in self.tables)
        differences = (line for d in self.differences for line in str(d).split("\n"))
        below = (*differences, *missing, f"version {self.version}: {found}")
        return Sheet(("table", "rows", "of"), rows, (), below, right=(1,))
