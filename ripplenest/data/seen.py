"""What statements see of stored rows, where that is a function of each window of them."""

from attrs import frozen

from ripplenest.data.columnar import support
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base


@frozen
class Seen:
    """All rows; of those that are there each once, for their ``support``; or so many ``columns``, of which no two rows
    agree in all."""

    support: bool = False
    columns: int | None = None

    def of(self, rows: Rows) -> Rows:
        """What is seen of ``rows``."""
        if self.columns is not None:
            return rows.select(range(self.columns))
        return support(rows.consolidated()) if self.support else rows

    def types(self, stored: tuple[Base, ...]) -> tuple[Base, ...]:
        """Those of what is seen of rows of types ``stored``."""
        return stored[: self.columns]


EVERYTHING = Seen()
