"""What is asked of a rival."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from ripplenest.bench.changes import Write


class Rival(Protocol):
    """One workload in another engine."""

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Take the relations into memory."""
        ...

    def apply(self, writes: Sequence[Write]) -> None:
        """Change them as a batch does."""
        ...

    def recompute(self) -> None:
        """Compute the view from them and keep it, in memory. This is what is timed."""
        ...

    def answer(self) -> pa.Table:
        """What was computed last."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class Reference(Rival, Protocol):
    """The rival whose answers ours are compared with."""

    def nested(self) -> pa.Table:
        """The view computed and handed out, without being kept."""
        ...
