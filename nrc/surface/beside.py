"""What stands beside each other is of one type, and what is nothing takes its own from there: ``None`` and ``[]`` in
the rows of one side of ⊎, from the rows of the other.

Each side is read, first with ``NOTHING`` as the type of what has none. What the types of all sides come to says what is
missing, also of one field in one and of another field in another, and whatever lacks it is read again.

Law: nothing that is returned has a part of type ``NOTHING``, unless it was wanted so, by what is around.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import cast

from attrs import evolve

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.aggregates import nothing
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, Untyped, as_optional, is_row, untyped
from ripplenest.nrc.syntax import Empty, Lit
from ripplenest.nrc.types import Bag, Base, Kind, Record, Type, join, optional
from ripplenest.nrc.walk import Names

Read = Callable[[Type | None], Reading]
NOTHING = Base(cast(Kind, "nothing"), True)  # of None, as long as it has no type; no term that a view comes to has it
NO_ROW = evolve(NOTHING, nullable=False)  # of the rows of []


def side_by_side(sides: Sequence[Read], wanted: Type | None) -> list[Reading]:
    """The ``sides``, each read by what is ``wanted`` of it, a type or None if nothing says it."""
    found = [read(NOTHING if wanted is None else wanted) for read in sides]
    types = [r.type for r in found if isinstance(r, Element | BagTerm)]
    if not types:
        return found
    both = reduce(_merged, types)
    known = both if wanted is not None else _known(both)
    return [r if _is_whole(r, both) else read(known) for read, r in zip(sides, found, strict=True)]


def declared(read: Read, known: Type, site: str, names: Names) -> Reading:
    """What is read where it is said to be of a type: what is nothing is of that, if nothing beside it says another."""
    found = read(NOTHING)
    if isinstance(found, Untyped):
        return typed(found, known, site, names)
    return read(known) if isinstance(found, Element | BagTerm) and _lacks(found.type) else found


def typed(reading: Reading, wanted: Type | None, site: str, names: Names) -> Reading:
    """A value, where one of a type is ``wanted``: what is nothing, of that type. Raises Unsupported where nothing says
    which it is, and TypeMismatch for None as a bag."""
    match reading, wanted:
        case Untyped(), None:
            raise untyped(reading)
        case Untyped("None"), Bag():
            raise TypeMismatch("a bag cannot be joined with None", possible=["[]"])
        case Untyped("None"), Base() | Record():
            return Element(Lit(None, NOTHING), NOTHING) if wanted == NOTHING else nothing(optional(wanted), site, names)
        case Untyped("[]"), Bag(row):
            return BagTerm(Empty(row), Bag(row))
        case Untyped("[]"), _ if wanted == NOTHING:
            return BagTerm(Empty(NO_ROW), Bag(NO_ROW))
        case Element(), Record() if is_row(reading) and wanted.is_optional:
            return as_optional(reading)
        case Untyped(), _:
            raise untyped(reading)
        case _:
            return reading


def rows_of(wanted: Type | None) -> Type | None:
    """What is wanted of a row, where this is wanted of a bag."""
    return wanted.row if isinstance(wanted, Bag) else NOTHING if wanted == NOTHING else None


def field_of(wanted: Type | None, name: str) -> Type | None:
    """What is wanted of a field, where this is wanted of a record."""
    return wanted.there.get(name) if isinstance(wanted, Record) else NOTHING if wanted == NOTHING else None


def _merged(a: Type, b: Type) -> Type:
    """The least type of the values of both, of which one may be nothing. Of types that do not go together the first:
    whoever puts the sides together says so."""
    match a, b:
        case Base(), _ if a.kind == NOTHING.kind:
            return optional(b) if a.nullable and not isinstance(b, Bag) else b
        case _, Base() if b.kind == NOTHING.kind:
            return _merged(b, a)
        case Record(), Record() if a.is_optional or b.is_optional:
            return optional(_merged(a.there, b.there))
        case Record(fs), Record(gs) if a.names == b.names:
            return Record(tuple((name, _merged(f, g)) for (name, f), (_, g) in zip(fs, gs, strict=True)))
        case Bag(r), Bag(s):
            return Bag(_merged(r, s), a.nullable or b.nullable)
        case _:
            return join(a, b) or a


def _lacks(t: Type) -> bool:
    """Whether a part of ``t`` is that of nothing."""
    match t:
        case Record(fields):
            return any(_lacks(f) for _, f in fields)
        case Bag(row):
            return _lacks(row)
        case _:
            return t in (NOTHING, NO_ROW)


def _known(t: Type) -> Type | None:
    """``t`` without the parts of which nothing says what they are."""
    match t:
        case Record(fields):
            known = ((name, _known(f)) for name, f in fields)
            return Record(tuple((name, f) for name, f in known if f is not None), t.firm)
        case Bag(row, is_nullable):
            inner = _known(row)
            return None if inner is None else Bag(inner, is_nullable)
        case _:
            return None if t in (NOTHING, NO_ROW) else t


def _is_whole(r: Reading, both: Type) -> bool:
    return not isinstance(r, Element | BagTerm) or (not _lacks(r.type) and join(r.type, both) is not None)
