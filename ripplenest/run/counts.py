"""How often a row may be there: multiplicities are checked 64-bit integers, and stay far from their end."""

from collections.abc import Iterable, Mapping

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.version.version import Tables

HEAVY = 2**40  # a change of a multiplicity that makes it worth looking how often the row would be there
MOST = 2**62  # how often it may be, so that smaller changes would take millions of batches to leave 64 bits


def check_counts(reader: Tables, changes: Mapping[str, Rows]) -> None:
    """Raises EvaluationError when a row would be there so often that 64 bits may soon not count it: nobody could read
    its table any more.

    Only rows that change by very much are looked at, for which the table is read whole.
    """
    for table, rows in changes.items():
        if not rows.is_empty and rows.heaviest() >= HEAVY:
            held = reader.scan(table).counts()
            check_most(table, (held.get(row, 0) + n for row, n in rows.counts().items()))


def check_most(table: str, counts: Iterable[int]) -> None:
    for n in counts:
        if abs(n) > MOST:
            what = "multiplicity overflow: a row would be there too often"
            raise EvaluationError(what, where=table, wanted=f"at most {MOST} times", got=f"{n} times")
