"""Records that may be NULL as a whole, as rows store them: what one holds that is NULL, where nobody sees it, and what
one lacks that is there."""

from collections.abc import Iterator
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.labels import width
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import EXISTS, Base, Record, Type


@frozen
class Whole:
    """Such a record, by the numbers of its columns. ``exists`` says whether it is there: where it is not, other
    records in it are not (``inner``), and ``values`` are NULL; where it is, ``firm`` ones are not, each with its path.
    """

    path: str
    exists: int
    inner: tuple[int, ...]
    values: tuple[int, ...]
    firm: tuple[tuple[str, int], ...]

    def hiding(self, rows: Rows) -> Rows:
        """Those in which it is NULL and holds something."""
        held = [*(_valid(rows, i) for i in self.values), *(_true(rows, i) for i in self.inner)]
        gone = pc.invert(_true(rows, self.exists))
        return columnar.where(rows, reduce(pc.or_, (pc.and_(gone, own) for own in held), pc.and_not(gone, gone)))

    def lacking(self, rows: Rows, firm: int) -> Rows:
        """Those in which it is there without a value that is never NULL in it."""
        return columnar.where(rows, pc.and_not(_true(rows, self.exists), _valid(rows, firm)))


def wholes(t: Type, given: Type | None, path: str = "", start: int = 0) -> Iterator[Whole]:
    """Those in a flat type whose columns begin at ``start``. Where users have ``given`` the rows, as nested ones of
    this type, it says what is firm, and labels of bags are values: what views make of a record that is NULL may have
    some, of bags without rows, and flat types are the same whatever is firm."""
    if not isinstance(t, Record):
        return
    for name, at, inner, own in _fields(t, given, start):
        yield from wholes(inner, own, _below(path, name), at)
    if t.is_optional:
        leaves = [leaf for leaf in _leaves(t, start) if given is not None or isinstance(leaf[2], Base)]
        inner_ones = tuple(at for name, at, _ in leaves if name == EXISTS and at != start)
        every = (i for _, at, leaf in leaves for i in range(at, at + width(leaf)))
        values = tuple(i for i in every if i not in (start, *inner_ones))
        yield Whole(path, start, inner_ones, values, tuple(_firm(t, given, path, start)))


def _fields(t: Record, given: Type | None, start: int) -> Iterator[tuple[str, int, Type, Type | None]]:
    """The first column of each field, its type, and the given one."""
    nested = dict(given.fields) if isinstance(given, Record) else {}
    for name, inner in t.fields:
        yield name, start, inner, nested.get(name)
        start += width(inner)


def _leaves(t: Record, start: int) -> Iterator[tuple[str, int, Type]]:
    """The base values and labels in a record, each with its first column."""
    for name, at, inner, _ in _fields(t, None, start):
        if isinstance(inner, Record):
            yield from _leaves(inner, at)
        else:
            yield name, at, inner


def _firm(t: Record, given: Type | None, path: str, start: int) -> Iterator[tuple[str, int]]:
    """What is there where the record is; what is in another that may be NULL is that one's."""
    firm = given.firm if isinstance(given, Record) else ()
    for name, at, inner, own in _fields(t, given, start):
        if isinstance(inner, Record) and not inner.is_optional:
            yield from _firm(inner, own, _below(path, name), at)
        elif name in firm:
            yield _below(path, name), at


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _valid(rows: Rows, i: int) -> pa.ChunkedArray:
    return columnar.column(rows, i).is_valid()


def _true(rows: Rows, i: int) -> pa.ChunkedArray:
    return pc.fill_null(columnar.column(rows, i), False)
