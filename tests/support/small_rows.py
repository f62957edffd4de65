"""A few rows of each table, with few values, so that many of them are equal or beside each other."""

from collections.abc import Callable, Collection, Mapping

from attrs import frozen

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.types import LONG, Bag, Base, Record
from ripplenest.nrc.values import NAN
from support.choices import Choices

Field = tuple[str, object]

MAYBE, REAL = Base("long", True), Base("double")
INNER = Record((("g", LONG), ("h", MAYBE), ("v", LONG), ("w", MAYBE), ("r", REAL)))
BESIDE_A_CLOCK = {
    "K": Record((("id", LONG), ("at", LONG))),
    "A": Record((("id", LONG), ("g", LONG), ("h", MAYBE), ("v", LONG), ("w", MAYBE), ("r", REAL), ("es", Bag(INNER)))),
    "B": Record((("g", LONG), ("h", MAYBE), ("v", LONG), ("w", MAYBE), ("r", REAL), ("es", Bag(INNER)))),
}
"""Rows in groups, some with ids, and a clock."""


TOTALS = {
    "b": "for t in fold[t](y in (for q in B where q.g = b.v union sng(q.v)) of m: max(y)) union ",
    "a": "for u in fold[u](y in (for q in A where q.h = a.h union sng(q.w)) of m: max(y)) union ",
}
"""What rows b, and those around them, have as totals t.m and u.m."""


GROUPS = "for a in group[ga](x in A by id: x.id, g: x.g, h: x.h, v: x.v, w: x.w, r: x.r) union "
"""Rows around that are those of no relation."""


def with_totals(c: Choices, term: str) -> str:
    """``term``, of rows b of a table and a around them, of which some values are those of totals instead, or a group's.
    """
    own, around = c.one_in(3), c.one_in(2)
    head, *rows = term.split("for b in ")
    term = "for b in ".join([head, *(map(_with_total, rows) if own else rows)])
    if around and "for a in A union " in term:
        head, between, rows = term.partition("for a in A union ")
        term = head + between + TOTALS["a"] + rows.replace("a.v", "u.m", c.number(3) + 1)
    return term.replace("for a in A union ", GROUPS) if c.one_in(8) else term


def _with_total(rows: str) -> str:
    """What follows ``for b in``."""
    table, between, rest = rows.partition(" union ")
    found, _, where = table.partition(" where ")
    kept = f"for _ in p({where}) union " if where else ""
    return f"{found}{between}{TOTALS['b']}" + (kept + rest).replace("b.v", "t.m")


BAG = "for d in A union for a in d.es union "
"""Rows around that are those of an inner bag."""


def in_bags(c: Choices, term: str) -> str:
    """``term``, perhaps of rows of an inner bag around other rows of it."""
    around = "for a in A union "
    if around not in term or any(own in term for own in ("a.id", "b.id", ".es")) or not c.one_in(2):
        return term
    return term.replace(around, BAG, 1).replace("for b in A", "for b in d.es").replace("for b in B", "for b in d.es")


UNION = "(for y in A union sng(⟨g: y.g, h: y.h, v: y.v, w: y.w, r: y.r, es: y.es⟩) ⊎ B)"
"""Rows of two tables, as those of B are."""


def in_unions(c: Choices, term: str, one_in: int = 4) -> str:
    """``term``, perhaps of rows of two tables in the place of those of B."""
    return term.replace(" in B ", f" in {UNION} ") if c.one_in(one_in) else term


def value(c: Choices, kind: str) -> object:
    """One of four numbers of a ``kind``, or NaN."""
    return c.number(4) if kind == "long" else NAN if c.one_in(6) else c.number(4) / 2


@frozen
class SmallRows:
    """Of ``tables`` four rows each, where ``keyed`` with ids that differ, and fewer than ``most`` of each bag, with ids
    that differ there; ``made``: a value of a base type."""

    tables: Mapping[str, Record]
    keyed: Collection[str]
    made: Callable[[Choices, str], object]
    most: int = 3

    def draw(self, c: Choices) -> dict[str, BagValue]:
        """The rows of each table."""
        numbers = range(4)
        return {
            name: BagValue.of(self._row(c, t, n if name in self.keyed else None) for n in numbers)
            for name, t in self.tables.items()
        }

    def _row(self, c: Choices, t: Record, key: int | None) -> tuple[Field, ...]:
        return tuple((f, key if f == "id" else self._value(c, inner)) for f, inner in t.fields)

    def _value(self, c: Choices, t: object) -> object:
        match t:
            case Bag(Record() as inner):
                return BagValue.of(self._row(c, inner, n) for n in range(c.number(self.most)))
            case Base(kind, is_nullable):
                return None if is_nullable and c.one_in(3) else self.made(c, kind)
        raise AssertionError(f"no table has a field of type {t}")
