"""Work that tasks of Spark do, however little it is."""

import pytest

from ripplenest.intake import operations
from ripplenest.spark import frames, joiner
from ripplenest.state import tasks


def all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are spread, and builds and joins left to tasks, from the first row on."""
    monkeypatch.setattr(tasks, "ALONE", 0)
    monkeypatch.setattr(operations, "SPREAD", 0)
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    monkeypatch.setattr(joiner, "SMALL_ROWS", 0)
