"""A declared relation: its row type, its key, and the tables that it is stored in.

Relation R with inner bags is stored shredded: table ``R`` holds its flat rows, with a label in place of each inner bag,
and table ``R.orders`` holds ⟨label, row⟩ for every row of those bags, at every depth.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

import attrs
from attrs import evolve, frozen

from ripplenest.data.columns import base_types, column_at, columns, held_labels
from ripplenest.errors import NoKey
from ripplenest.nrc.arguments import kind, one_of
from ripplenest.nrc.errors import TypeMismatch, UnknownName, UnknownRelation, WrongValue
from ripplenest.nrc.reserved import check_free_of_maps
from ripplenest.nrc.syntax import Keys, dict_row
from ripplenest.nrc.types import EXISTS, STRING, Bag, Base, Params, Record, Type, may_be_null
from ripplenest.nrc.values import to_value
from ripplenest.shred.contexts import flat_type, stored_dictionaries
from ripplenest.shred.places import Place, child_path
from ripplenest.store.specs import Columns, TableSpec


@frozen
class Part:
    """One stored table of a relation: its nested row type, its flat row type, the columns of the label that its rows
    begin with (none in the flat part), and the fields that are the key of a row among those of its bag."""

    name: str
    row: Type
    flat: Type
    params: Params
    key: tuple[str, ...]

    @property
    def inner(self) -> bool:
        """Whether it is a dictionary."""
        return bool(self.params)

    @cached_property
    def stored(self) -> Type:
        """The type whose columns the table has."""
        return dict_row(self.flat, self.name, self.params) if self.inner else self.flat

    @property
    def given(self) -> Type:
        """The same of nested rows."""
        return dict_row(self.row, self.name, self.params) if self.inner else self.row

    @cached_property
    def types(self) -> tuple[Base, ...]:
        return base_types(self.stored)

    @property
    def label(self) -> Columns:
        """The columns of the label of the bag that a row is in."""
        return tuple(range(len(self.params)))

    @cached_property
    def held(self) -> Mapping[str, Columns]:
        """By dictionary, the columns that hold a label of it."""
        return dict(held_labels(self.flat, len(self.params)))

    @cached_property
    def scalars(self) -> Columns:
        """The columns that tell rows apart before their inner bags are looked at: the bag's label and base values."""
        inner = {column for columns in self.held.values() for column in columns}
        return tuple(i for i in range(len(self.types)) if i not in inner)

    @cached_property
    def key_columns(self) -> Columns:
        """The label and the key, which together tell rows apart; none where rows have no key."""
        return (*self.label, *(self.column((name,)) for name in self.key)) if self.key else ()

    @property
    def unique(self) -> tuple[str, ...]:
        """What the columns of the label and of the key are called; none where rows have no key."""
        every = columns(self.stored)
        return tuple(every[i].path for i in self.key_columns)

    def column(self, trail: tuple[str, ...]) -> int:
        """The column of a base field of a row, or of a record in it."""
        return column_at(self.flat, trail, len(self.params))

    @property
    def there(self) -> Columns:
        """The column that says whether a row is there, of rows that may be NULL as a whole."""
        return (self.column((EXISTS,)),) if isinstance(self.flat, Record) and self.flat.is_optional else ()

    def exists(self, trail: tuple[str, ...]) -> Columns:
        """The columns that say whether the records on the way to a record in a row are there."""
        found: list[int] = []
        t: Type = self.flat
        for i, name in enumerate(trail, 1):
            assert isinstance(t, Record)
            t = dict(t.fields)[name]
            if isinstance(t, Record) and t.is_optional:
                found.append(self.column((*trail[:i], EXISTS)))
        return tuple(found)

    @property
    def lookup(self) -> Columns:
        """The columns by which batches find rows: the key, or else all that is compared before inner bags are; none
        where rows are nothing but inner bags."""
        return self.key_columns or self.scalars


@frozen
class Holder:
    """Where the labels of one dictionary are: in ``columns`` of the rows of ``part``, each in one row. That row has the
    label in ``found_by`` as well, by which batches find rows anyway."""

    part: Part
    columns: Columns
    found_by: Columns


@frozen
class Relation:
    """``name`` with rows ``row``; ``key`` names base fields that together occur once, or is empty; ``keys`` do for the
    rows of each bag of a dictionary.

    ``immutable`` are dictionaries whose bags come and go with the rows that hold them, and never change; those of them
    that are ``arrays`` need not be shredded until a view reads them (``ripplenest/version/folding.py``). Older arrays
    lack fields that came later: by part ``fills`` has what these are there, a list in JSON.
    """

    name: str
    row: Type
    key: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    keys: Keys = ()
    fills: tuple[tuple[str, str], ...] = attrs.field(default=(), eq=False)

    @cached_property
    def identities(self) -> Keys:
        """The keys that labels are made of: those without NULL, which equals nothing."""
        own = ((self.name, self.key),) if self.key and self._never_null(self.key) else ()
        return (*own, *self.keys)

    def _never_null(self, key: tuple[str, ...]) -> bool:
        fields = dict(self.row.fields) if isinstance(self.row, Record) else {}
        return not any(may_be_null(fields[name]) for name in key)

    @cached_property
    def place(self) -> Place:
        """Its rows."""
        return Place.of(self.name, self.row, self.identities)

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Every table of the relation by name; the flat one first."""
        keys = {self.name: self.key, **dict(self.keys)}
        nested = _nested_rows(self.name, self.row)
        flat = Part(self.name, self.row, flat_type(self.row, self.place), (), self.key)
        inner = stored_dictionaries(self.row, self.place)
        found = (Part(d.name, nested[d.name], d.row, d.params, keys.get(d.name, ())) for d in inner)
        return {part.name: part for part in (flat, *found)}

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """By dictionary, the place of its bags."""
        return _places(self.row, self.place)

    def rows_of(self, part: Part) -> Place:
        """The rows of a part."""
        return self.places[part.name].rows(part.row) if part.inner else self.place

    @property
    def key_columns(self) -> Columns:
        """Where the key is in the flat row. Raises NoKey when there is none."""
        if not self.key:
            raise NoKey(f"{self.name} has no key", where=self.name, possible=["relation(name, record, key=...)"])
        return self.parts[self.name].key_columns

    @cached_property
    def holders(self) -> dict[str, Holder]:
        """By the name of a dictionary, which rows hold its labels."""
        return {
            site: Holder(p, held, self._found_by(p, site, held))
            for p in self.parts.values()
            for site, held in p.held.items()
        }

    def _found_by(self, p: Part, site: str, held: Columns) -> Columns:
        """Labels that are made of keys are found by them."""
        return p.key_columns if self.places[site].key else held

    def below(self, part: str) -> tuple[str, ...]:
        """The dictionary ``part`` and every one that holds bags of its rows, outer ones first."""
        found = [part]
        for site, holder in self.holders.items():
            if holder.part.name in found:
                found.append(site)
        return tuple(found)

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The dictionaries of bags that never change: immutable ones, and what is inside them."""
        return frozenset(name for part in self.immutable for name in self.below(part))

    @property
    def specs(self) -> tuple[TableSpec, ...]:
        """The tables with the access keys by which batches find rows."""
        return tuple(TableSpec(p.name, p.types, self._indexes(p)) for p in self.parts.values())

    def _indexes(self, p: Part) -> tuple[Columns, ...]:
        held = (holder.found_by for holder in self.holders.values() if holder.part.name == p.name)
        return tuple(dict.fromkeys(found for found in (*held, p.label, p.lookup) if found))


Paths = str | tuple[str, ...]


def declare(
    name: str,
    row: Type,
    key: Paths | None = None,
    immutable: Paths = (),
    arrays: bool | Paths = True,
    keys: Mapping[str, Paths] | None = None,
) -> Relation:
    """A relation whose name and key are checked, and whose ``immutable`` paths (``orders``, ``orders.items``) lead to
    inner bags; ``arrays`` are those of them that may be kept as arrays. ``keys`` are the keys of the rows of inner bags
    by path, such as ``{"orders": "orderkey", "orders.items": "line"}``: each is there once in its bag.

    Raises WrongValue, UnknownName, TypeMismatch, or NameTaken for a name that is ours.
    """
    key_fields = _key(name, row, key)
    plain = Relation(name, row, key_fields, keys=_inner_keys(Relation(name, row), keys or {}))
    for part in plain.parts:
        check_free_of_maps(part, f"relation {name}")
    fixed = _dictionaries(plain, immutable, "an immutable path", list(plain.parts)[1:])
    allowed = fixed if arrays is True else _dictionaries(plain, () if arrays is False else arrays, "arrays", fixed)
    inner = {below for part in allowed for below in plain.below(part)[1:]}
    return evolve(plain, immutable=fixed, arrays=tuple(part for part in allowed if part not in inner))


def _dictionaries(r: Relation, paths: Paths, what: str, possible: Iterable[str]) -> tuple[str, ...]:
    """The dictionaries that ``paths`` lead to."""
    if not isinstance(paths, str | tuple | list):
        got = type(paths).__name__
        raise WrongValue(f"not {what}", where=f"relation {r.name}", wanted="a path, or several", got=got)
    found = []
    for path in (paths,) if isinstance(paths, str) else paths:
        if not isinstance(path, str):
            raise WrongValue(f"not {what}", where=f"relation {r.name}", wanted="a path, or several", got=kind(path))
        part, known = child_path(r.name, path), tuple(possible)
        if part not in known:
            shown = [name.removeprefix(child_path(r.name, "")) for name in known]
            raise UnknownName(f"{what} leads to no inner bag", where=f"relation {r.name}", got=path, possible=shown)
        found.append(part)
    return tuple(part for part in r.parts if part in found)


def _key(name: str, row: Type, key: Paths | None) -> tuple[str, ...]:
    if to_value(name, STRING, "relation name") == "":
        raise WrongValue("a relation needs a name", where="relation name", got="an empty string")
    return _key_fields(key, row, f"relation {name}", name)


def _inner_keys(r: Relation, keys: Mapping[str, Paths]) -> Keys:
    """The keys of the rows of inner bags, in the order of the parts."""
    where = f"relation {r.name}"
    if not isinstance(keys, Mapping):
        wanted = "the keys of rows by the path of their bag"
        raise WrongValue("not the keys of inner bags", where=where, wanted=wanted, got=type(keys).__name__)
    found: dict[str, tuple[str, ...]] = {}
    for path, key in keys.items():
        (name,) = _dictionaries(r, (path,), "a key's path", list(r.parts)[1:])
        row = r.parts[name].row
        found[name] = _key_fields(key, row, f"{where}, keys of {path}", name)
        for field in found[name]:
            t = dict(row.fields)[field] if isinstance(row, Record) else row
            if may_be_null(t):
                what = "the key of an inner bag is made of fields without NULL"
                raise TypeMismatch(what, where=f"{name}.{field}", wanted="no NULL", got=t)
    return tuple((name, found[name]) for name in r.parts if found.get(name))


def _key_fields(key: Paths | None, row: Type, where: str, name: str) -> tuple[str, ...]:
    """The base fields of ``row`` that a key names, in their order there."""
    if not isinstance(key, str | tuple | list | None):
        raise WrongValue("not a key", where=where, wanted="the name of a field, or several", got=type(key).__name__)
    fields = (key,) if isinstance(key, str) else tuple(key or ())
    own = dict(row.fields) if isinstance(row, Record) else {}
    for field in fields:
        one_of(field, own, "the key is not a field", where, UnknownName)
        if not isinstance(own[field], Base):
            raise TypeMismatch("a key is made of base fields", where=f"{name}.{field}", wanted="Base", got=own[field])
    if len({*fields}) < len(fields):
        raise WrongValue("a field of the key comes twice", where=where, wanted="each once", got=list(fields))
    return tuple(field for field in own if field in fields)


def _nested_rows(path: str, row: Type) -> dict[str, Type]:
    """Table name ↦ nested row type, for the bag stored under ``path``."""
    found = {path: row}
    for below, inner in _bags(row, child_path(path, "[]") if isinstance(row, Bag) else path):
        found.update(_nested_rows(below, inner))
    return found


def _places(t: Type, place: Place) -> dict[str, Place]:
    """By path, the place of each bag in a value of type ``t`` that is at ``place``, at every depth."""
    match t:
        case Bag(row):
            return {place.path: place, **_places(row, place.rows(row))}
        case Record(fields):
            return {path: p for name, inner in fields for path, p in _places(inner, place.field(name)).items()}
        case _:
            return {}


def _bags(t: Type, path: str) -> list[tuple[str, Type]]:
    match t:
        case Bag(row):
            return [(path, row)]
        case Record(fields):
            return [found for name, inner in fields for found in _bags(inner, child_path(path, name))]
        case _:
            return []


def key_type(row: Type, key: tuple[str, ...]) -> Record:
    """The rows that are keys of rows."""
    assert isinstance(row, Record)
    return Record(tuple((name, t) for name, t in row.fields if name in key))


def find_relation(relations: Mapping[str, Relation], name: str) -> Relation:
    """The declared relation ``name``. Raises UnknownRelation."""
    return relations[one_of(name, relations, "there is no such relation", error=UnknownRelation)]


def keys_of(relations: Iterable[Relation]) -> Keys:
    """What the labels of relations are made of; nothing for relations that have no inner bags."""
    return tuple(key for r in relations if len(r.parts) > 1 for key in r.identities)


def unique_columns(relations: Iterable[Relation]) -> Keys:
    """By stored part, the columns by which a row is the only one, where a key is declared."""
    return tuple((part.name, part.unique) for r in relations for part in r.parts.values() if part.key)
