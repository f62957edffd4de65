"""The types A^F and A^Γ (nrc-ivm, section 5.1) and the context trees that hold dictionaries.

``Base^F = Base``, ``⟨…⟩^F`` field by field, ``Bag(C)^F = 𝕃``; ``Bag(C)^Γ = (𝕃 ↦ Bag(C^F)) × C^Γ``. A context is a
tree of the shape of the nested type, with one dictionary for each bag.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import assert_never

from attrs import frozen

from ripplenest.nrc.syntax import DictEmpty, DictExpr, DictRel, DictUnion, Keys, Query, dict_row
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.shred.places import Place

Relations = tuple[tuple[str, Type], ...]  # with their row types


@frozen
class NoContext:
    """Base^Γ = 1."""


@frozen
class RecordContext:
    """⟨f: A⟩^Γ: one context a field."""

    fields: tuple[tuple[str, "Context"], ...]

    def get(self, name: str) -> "Context":
        return dict(self.fields)[name]


@frozen
class BagContext:
    """Bag(C)^Γ: the dictionary of this bag's labels, and the context of its rows."""

    dictionary: DictExpr
    rows: "Context"


Context = NoContext | RecordContext | BagContext


def flat_type(a: Type, place: Place | None) -> Type:
    """A^F for values stored at ``place``; with no place, labels of no site (for ∅).

    ∅ holds no NULL either. If its labels allowed one, a label made beside it would too, and columns could not tell a
    label whose values are NULL from no label at all.
    """
    match a:
        case Base() | Label():
            return a
        case Record(fields):
            return Record(tuple((n, flat_type(t, place and place.field(n))) for n, t in fields))
        case Bag(_, null):
            return Label(()) if place is None else Label((place.site,), null)
        case Dict():
            return a
        case _:
            assert_never(a)


def empty_row(row: Type) -> Type:
    """C^F for the rows of ∅."""
    return flat_type(row, None)


@lru_cache(maxsize=4096)  # a view asks about each of its relations many times
def stored_context(a: Type, place: Place) -> Context:
    """A^Γ of an input: the stored dictionaries of every bag below ``place``."""
    match a:
        case Base() | Label() | Dict():
            return NoContext()
        case Record(fields):
            return RecordContext(tuple((n, stored_context(t, place.field(n))) for n, t in fields))
        case Bag(row):
            rows = place.rows(row)
            dictionary = DictRel(place.path, flat_type(row, rows), params=place.identity)
            return BagContext(dictionary, stored_context(row, rows))
        case _:
            assert_never(a)


def empty_context(a: Type) -> Context:
    """∅_{A^Γ}: dictionaries without any label."""
    match a:
        case Base() | Label() | Dict():
            return NoContext()
        case Record(fields):
            return RecordContext(tuple((n, empty_context(t)) for n, t in fields))
        case Bag(row):
            return BagContext(DictEmpty(empty_row(row)), empty_context(row))
        case _:
            assert_never(a)


def union(a: Context, b: Context) -> Context:
    """a ∪ b, dictionary by dictionary (nrc-ivm, figure 6, the rule of ⊎)."""
    match a, b:
        case BagContext(d, rows), BagContext(e, others):
            return BagContext(d if d == e else DictUnion(d, e), union(rows, others))
        case RecordContext(fields), RecordContext():
            return RecordContext(tuple((n, union(c, b.get(n))) for n, c in fields))
        case _:
            return a


def dictionaries(c: Context) -> Iterator[DictExpr]:
    """Every dictionary of a context, outer ones first."""
    match c:
        case NoContext():
            return
        case RecordContext(fields):
            for _, inner in fields:
                yield from dictionaries(inner)
        case BagContext(d, rows):
            yield d
            yield from dictionaries(rows)
        case _:
            assert_never(c)


def stored_parts(name: str, row: Type, keys: Keys = ()) -> dict[str, Type]:
    """Every part that relation ``name`` is stored in: its flat bag and each dictionary, with their flat row types.

    The first entry is the flat part; the others are dictionaries, outer ones first.
    """
    return dict(_stored_parts(name, row, keys))


@lru_cache(maxsize=4096)
def _stored_parts(name: str, row: Type, keys: Keys) -> tuple[tuple[str, Type], ...]:
    rows = Place.of(name, row, keys)
    return (name, flat_type(row, rows)), *((d.name, d.row) for d in stored_dictionaries(row, rows))


def stored_dictionaries(row: Type, place: Place) -> Iterator[DictRel]:
    """Every dictionary that a relation is stored in whose rows, of type ``row``, are at ``place``; outer ones first."""
    return (d for d in dictionaries(stored_context(row, place)) if isinstance(d, DictRel))


def parts_of(query: Query) -> dict[str, Type]:
    """Every part that the relations of a view are stored in, with their flat row types."""
    return {part: row for name, a in query.relations for part, row in stored_parts(name, a, query.keys).items()}


def stored_rows(relations: Relations, keys: Keys) -> dict[str, Type]:
    """Every part that relations are stored in, with the rows of its table: those of dictionaries have their label."""
    found: dict[str, Type] = {}
    for name, row in relations:
        place = Place.of(name, row, keys)
        found[name] = flat_type(row, place)
        found |= {d.name: dict_row(d.row, d.name, d.params) for d in stored_dictionaries(row, place)}
    return found
