"""The history of a state: what made each version, as a list that is shown as a table."""

from datetime import UTC

from ripplenest.data.sheet import Sheet, Tabular
from ripplenest.store.specs import Entry

HEAD = ("version", "time (UTC)", "rows in", "rows out", "what")


class History(list[Entry], Tabular):
    """The versions that are kept, newest first. The table counts the rows of relations, and those of stored tables,
    that each batch changed."""

    def sheet(self) -> Sheet:
        """The table, as its cells."""
        return Sheet(HEAD, tuple(map(_row, self)), right=(0, 2, 3))


def _row(e: Entry) -> tuple[str, ...]:
    time = e.time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return str(e.version), time, _rows(e, "rows_in"), _rows(e, "rows_out"), e.what


def _rows(e: Entry, which: str) -> str:
    """How many rows of parts a batch changed, or how many of maps; "" for what is no batch."""
    found = e.note.get(which)
    return f"{sum(found.values()):,}" if isinstance(found, dict) else ""
