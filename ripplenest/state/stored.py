"""How declarations are stored with the state: as JSON, never as code. Who wrote it is not trusted.

A view is stored with the shape of its output and the digests of its maps, so that it can be read, and its maps be told
apart, by a compiler that would make another program of its term.
"""

import json
from collections.abc import Mapping
from typing import TypeVar

import cattrs
from attrs import field, frozen
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn

from ripplenest.delta.compile import Options
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.serial import type_from_json, type_to_json
from ripplenest.nrc.syntax import Keys, Sorting
from ripplenest.nrc.types import Base, Label, Record
from ripplenest.schema.relation import Relation
from ripplenest.schema.shape import Dictionary, FlatPart, OutputShape

T = TypeVar("T")
STORED = cattrs.Converter()
STORED.register_structure_hook(Options, make_dict_structure_fn(Options, STORED, _cattrs_forbid_extra_keys=True))


@frozen
class StoredRelation:
    """A state from before relations could say what is immutable, or the keys of inner bags, says nothing of it."""

    row: str
    key: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    keys: Keys = ()
    fills: tuple[tuple[str, str], ...] = ()


@frozen
class StoredDictionary:
    table: str
    stored: str
    of_input: bool


@frozen
class StoredShape:
    """A state from before orders were stored says nothing of how rows are ``shown``, by path, and one from before views
    were read without compiling them nothing of whether they are ``signed``."""

    row: str
    flat: tuple[str, str]
    dictionaries: tuple[StoredDictionary, ...]
    shown: tuple[tuple[tuple[str, ...], tuple[Sorting, ...]], ...] = ()
    signed: bool | None = None


@frozen
class StoredView:
    """A state of format 2, which migration reads, has neither ``maps`` nor ``shape``."""

    query: str
    program: str
    options: Options = field(factory=Options)
    maps: Mapping[str, str] = field(factory=dict)
    shape: StoredShape | None = None


@frozen
class StoredPast:
    """What a view showed until version ``died``."""

    name: str
    died: int
    program: str
    shape: StoredShape


@frozen
class StoredWas:
    """How a relation was declared until version ``died``, when it was dropped."""

    name: str
    died: int
    declared: str


def read(key: str, text: str, as_: type[T]) -> T:
    """What the state says under ``key``. Raises CorruptState for what is no declaration."""
    try:
        return STORED.structure(json.loads(text), as_)
    except (ValueError, TypeError, RecursionError, BaseValidationError) as error:
        what = "the state does not say how this is declared"
        raise CorruptState(what, where=key, wanted="what was stored", got=type(error).__name__) from error


def write(stored: object) -> str:
    """The text of a declaration."""
    return json.dumps(STORED.unstructure(stored))


def relation_text(r: Relation) -> str:
    """How a relation is stored."""
    return write(StoredRelation(type_to_json(r.row), r.key, r.immutable, r.arrays, r.keys, r.fills))


def relation_of(name: str, text: str) -> Relation:
    """The relation that ``text`` declares. Raises CorruptState."""
    stored = read(f"relation:{name}", text, StoredRelation)
    row = type_from_json(stored.row)
    found = Relation(name, row, stored.key, stored.immutable, stored.arrays, stored.keys, stored.fills)
    base = {f for f, t in found.row.fields if isinstance(t, Base)} if isinstance(found.row, Record) else set()
    parts = set(list(found.parts)[1:]) if base.issuperset(found.key) else set()
    named = {*found.immutable, *found.arrays, *(part for part, _ in found.keys)}
    if not (base.issuperset(found.key) and parts.issuperset(named)):
        raise CorruptState("the state does not say how this is declared", where=f"relation:{name}", wanted="its fields")
    return found


def stored_shape(shape: OutputShape) -> StoredShape:
    """How a shape is stored. Law: shape_of_stored(name, program, stored_shape(s)) = s, in the same order."""
    dictionaries = (StoredDictionary(d.table, type_to_json(d.stored), d.of_input) for d in shape.dictionaries)
    flat = (shape.flat.table, type_to_json(shape.flat.row))
    shown = tuple(sorted(shape.shown.items()))
    return StoredShape(type_to_json(shape.row), flat, tuple(dictionaries), shown, shape.is_signed)


def shape_of_stored(name: str, program: str, stored: StoredShape) -> OutputShape:
    """The shape that was stored. Raises CorruptState."""
    table, row = stored.flat
    dictionaries = tuple(_dictionary(name, d) for d in stored.dictionaries)
    flat = FlatPart(table, type_from_json(row))
    shown, signed = dict(stored.shown), stored.signed is not False  # where nothing is said they may be
    return OutputShape(name, type_from_json(stored.row), flat, dictionaries, program, shown=shown, is_signed=signed)


def _dictionary(name: str, stored: StoredDictionary) -> Dictionary:
    t = type_from_json(stored.stored)
    match t:
        case Record((("label", Label((site, *_))), ("row", row))):
            return Dictionary(site, stored.table, t, row, stored.of_input)
        case _:
            what = "the state does not say what a table holds"
            raise CorruptState(what, where=f"view:{name}, {stored.table}", wanted="⟨label, row⟩", got=t)
