"""What is wrong with rows, found by another process, which knows them by its own numbers: as JSON, and back."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from ripplenest import errors
from ripplenest.nrc.errors import MOST, LawBroken, RipplenestError

SHARE = 40  # bits of the number of a row in its share; those above say which share that is
Shares = Mapping[int, int]  # by share how many rows it has


def numbered(share: int) -> int:
    """The number of the first row of a share. Law: rows of all shares have other numbers, in the order of shares."""
    return share << SHARE


@frozen
class Fault:
    """An error as data; ``where`` names a row by such a number."""

    kind: str
    what: str
    where: str
    wanted: str | None
    got: str | None
    possible: tuple[str, ...] | None
    key: str

    @classmethod
    def of(cls, error: RipplenestError) -> "Fault":
        wanted, got = (None if said is None else str(said) for said in (error.wanted, error.got))
        return cls(type(error).__name__, error.what, error.where, wanted, got, error.possible, error.key)

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> "Fault":
        """Law: of_json(asdict(f)) = f, also when it has been JSON, which knows no tuples."""
        possible = found["possible"]
        return cls(**{**found, "possible": None if possible is None else tuple(possible)})

    @classmethod
    def of_all(cls, error: RipplenestError) -> list["Fault"]:
        """With the others that were found with it."""
        return [cls.of(e) for e in (error, *error.others)]

    def number(self, rows: str) -> int:
        """Of the row of ``rows`` that is wrong; -1 where all of them are."""
        found = re.match(re.escape(rows) + r"\[(\d+)\]", self.where)
        return int(found[1]) if found else -1

    def error(self, rows: str, starts: Shares) -> RipplenestError:
        """The error, with the number that the row has among all."""
        n, where = self.number(rows), self.where
        if n >= 0:
            share, own = n >> SHARE, n & (numbered(1) - 1)
            where = f"{rows}[{starts[share] + own}]" + where[len(f"{rows}[{n}]") :]
        return self.at(where)

    def at(self, where: str | None) -> RipplenestError:
        """The error, found at ``where``, or where it was found."""
        where = self.where if where is None else where
        kind: Any = getattr(errors, self.kind, None) if self.kind in errors.__all__ else None
        if kind is None:
            raise LawBroken("an error of no kind that there is", where=where, got=self.kind)
        error: RipplenestError = kind(self.what, where=where, wanted=self.wanted, got=self.got, possible=self.possible)
        return error.of_row(self.key)


def first_faults(faults: Iterable[Fault], rows: str, sizes: Shares) -> list[RipplenestError]:
    """The first of ``faults`` by the order of rows, one of each row; those that say of all rows what is wrong come
    alone."""
    starts, end = {}, 0
    for share in sorted(sizes):
        starts[share] = end
        end += sizes[share]
    by_row: dict[int, Fault] = {}
    for fault in faults:
        by_row.setdefault(fault.number(rows), fault)
    found = [-1] if -1 in by_row else sorted(by_row)[:MOST]
    return [by_row[n].error(rows, starts) for n in found]
