"""Contributions folded piece by piece, while products make them: what is kept is what they come to by key, and not all
that a join makes. A chain of matrices of n rows makes n³ contributions of n² keys.

Accumulators are sums, so those of pieces add up to those of the whole; a key of which a piece has as many rows less as
more is kept in it, with what they come to. Law (pieces): whatever the pieces are, ``groups.folded`` and
``groups.built`` make of them what they make of all contributions.
"""

import pyarrow as pa
from attrs import define, field

from ripplenest.data.room import held
from ripplenest.data.rows import Rows
from ripplenest.data.sums import Sums
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import Target
from ripplenest.run import groups
from ripplenest.run.counts import check_most
from ripplenest.vector import folding

PIECE = 1 << 17  # contributions that are folded at once
WORTH = 4  # contributions to a key, on average, for which folding twice costs less than keeping all of them


@define(eq=False)
class Contributions:
    """Rows of one target that knows how they ``fold`` on their way into ``sums``: as they are, or folded, once the
    first of very many, or ``most`` bytes of them, have shown that this makes them few."""

    target: Target
    fold: Folding
    sums: Sums
    most: int
    _waiting: list[Rows] = field(factory=list, init=False)
    _rows: int = field(default=0, init=False)
    _held: int = field(default=0, init=False)
    is_folded: bool | None = field(default=None, init=False)

    def add(self, rows: Rows) -> None:
        """More rows. Raises EvaluationError for one that comes too often."""
        if self.is_folded is False:
            self.sums.add(self.target.name, rows)
            return
        self._waiting.append(rows)
        self._rows += len(rows)
        self._held += held(rows.arrow())
        if self._rows >= PIECE or self._held > self.most:
            self._fold()

    def add_piece(self, pieces: Rows) -> None:
        """What is folded already, before anything that is not."""
        self.is_folded = True
        self.sums.add(self.target.name, pieces)

    def end(self) -> None:
        """There are no more."""
        if self.is_folded:
            self._fold()
        for rows in self._waiting:
            self.sums.add(self.target.name, rows)

    def _fold(self) -> None:
        waiting, self._waiting, self._rows, self._held = self._waiting, [], 0, 0
        if not waiting:
            return
        f = self.fold
        together = Rows(f.made, table=pa.concat_tables([rows.arrow() for rows in waiting]))
        check_most(self.target.map, [together.heaviest()])
        own = piece(f, together)
        if self.is_folded is None:
            self.is_folded = len(own) * WORTH <= len(together)
        for rows in [own] if self.is_folded else waiting:
            self.sums.add(self.target.name, rows)


def piece(f: Folding, made: Rows) -> Rows:
    """By key what contributions add: its columns, and the accumulators, a row for each key."""
    found = folding.sums(f, None, made, Rows.empty(f.types))
    return folding.as_piece(f, found) if found is not None else _piece_by_rows(f, made)


def _piece_by_rows(f: Folding, made: Rows) -> Rows:
    sums = groups.added_by_rows(f, made)
    rows = ((*key, *groups.kept(f.piece_sums, own)) for key, own in sums.items())
    return Rows.of_pairs(f.piece_types, ((row, 1) for row in rows)).consolidated()
