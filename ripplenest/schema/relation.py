"""A declared relation: its row type, its key, and the tables that it is stored in.

Relation R with inner bags is stored shredded: table ``R`` holds its flat rows, with an id in place of each inner bag,
and table ``R.orders`` holds ⟨id, row⟩ for every row of those bags, at every depth.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import frozen

from ripplenest.data.columns import base_types, columns, label_columns, label_site, scalar_columns
from ripplenest.errors import NoKey
from ripplenest.nrc.arguments import kind, one_of
from ripplenest.nrc.errors import TypeMismatch, UnknownName, UnknownRelation, WrongValue
from ripplenest.nrc.reserved import check_free_of_maps
from ripplenest.nrc.syntax import dict_row
from ripplenest.nrc.types import STRING, Bag, Base, Record, Type
from ripplenest.nrc.values import to_value
from ripplenest.shred.contexts import child_path, stored_parts
from ripplenest.store.specs import TableSpec


@frozen
class Part:
    """One stored table of a relation: its nested row type, its flat row type and whether rows begin with a bag's id."""

    name: str
    row: Type
    flat: Type
    inner: bool

    @cached_property
    def stored(self) -> Type:
        """The type whose columns the table has."""
        return dict_row(self.flat, self.name) if self.inner else self.flat

    @cached_property
    def types(self) -> tuple[Base, ...]:
        return base_types(self.stored)

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """Columns of the stored row that hold ids of inner bags."""
        return tuple(i + self.inner for i in label_columns(self.flat))

    @cached_property
    def scalars(self) -> tuple[int, ...]:
        """The columns that tell rows apart before their inner bags are looked at: the bag's id and the base values."""
        own = tuple(i + self.inner for i in scalar_columns(self.flat))
        return (0, *own) if self.inner else own


@frozen
class Holder:
    """Where the labels of one dictionary are: in ``column`` of the rows of ``part``, each in one row."""

    part: Part
    column: int


@frozen
class Relation:
    """``name`` with rows ``row``; ``key`` names base fields that together occur once, or is empty.

    ``immutable`` are dictionaries whose bags come and go with the rows that hold them, and never change; those of them
    that are ``arrays`` need not be shredded until a view reads them (``ripplenest/version/folding.py``).
    """

    name: str
    row: Type
    key: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Every table of the relation by name; the flat one first."""
        flats = stored_parts(self.name, self.row)
        nested = _nested_rows(self.name, self.row)
        return {name: Part(name, nested[name], flat, name != self.name) for name, flat in flats.items()}

    @cached_property
    def key_columns(self) -> tuple[int, ...]:
        """Where the key is in the flat row. Raises NoKey when there is none."""
        if not self.key:
            raise NoKey(f"{self.name} has no key", where=self.name, possible=["relation(name, record, key=...)"])
        paths = [c.path for c in columns(self.parts[self.name].flat)]
        return tuple(sorted(paths.index(k) for k in self.key))

    @cached_property
    def holders(self) -> dict[str, Holder]:
        """By the name of a dictionary, which rows hold its labels."""
        found = {label_site(p.stored, c): Holder(p, c) for p in self.parts.values() for c in p.labels}
        return {site: holder for site, holder in found.items() if site is not None}

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

    def lookup(self, p: Part) -> tuple[int, ...]:
        """The columns by which batches find rows of ``p``: its key, or else all that is compared before inner bags are;
        none where rows are nothing but inner bags."""
        return self.key_columns if self.key and not p.inner else p.scalars

    @property
    def specs(self) -> tuple[TableSpec, ...]:
        """The tables with the access keys by which batches find rows."""
        return tuple(TableSpec(p.name, p.types, self._indexes(p)) for p in self.parts.values())

    def _indexes(self, p: Part) -> tuple[tuple[int, ...], ...]:
        found: list[tuple[int, ...]] = [(i,) for i in p.labels]
        if p.inner:
            found.append((0,))
        if self.lookup(p):
            found.append(self.lookup(p))
        return tuple(dict.fromkeys(found))


Paths = str | tuple[str, ...]


def declare(
    name: str, row: Type, key: Paths | None = None, immutable: Paths = (), arrays: bool | Paths = True
) -> Relation:
    """A relation whose name and key are checked, and whose ``immutable`` paths (``orders``, ``orders.items``) lead to
    inner bags; ``arrays`` are those of them that may be kept as arrays.

    Raises WrongValue, UnknownName, TypeMismatch, or NameTaken for a name that is ours.
    """
    key_fields = _key(name, row, key)
    plain = Relation(name, row, key_fields)
    for part in plain.parts:
        check_free_of_maps(part, f"relation {name}")
    fixed = _dictionaries(plain, immutable, "an immutable path", list(plain.parts)[1:])
    allowed = fixed if arrays is True else _dictionaries(plain, () if arrays is False else arrays, "arrays", fixed)
    inner = {below for part in allowed for below in plain.below(part)[1:]}
    return Relation(name, row, key_fields, fixed, tuple(part for part in allowed if part not in inner))


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
    where = f"relation {name}"
    if not isinstance(key, str | tuple | list | None):
        raise WrongValue("not a key", where=where, wanted="the name of a field, or several", got=type(key).__name__)
    fields = (key,) if isinstance(key, str) else tuple(key or ())
    own = dict(row.fields) if isinstance(row, Record) else {}
    for field in fields:
        one_of(field, own, "the key is not a field", where, UnknownName)
        if not isinstance(own[field], Base):
            raise TypeMismatch("a key is made of base fields", where=f"{name}.{field}", wanted="Base", got=own[field])
    return tuple(field for field in own if field in fields)


def _nested_rows(path: str, row: Type) -> dict[str, Type]:
    """Table name ↦ nested row type, for the bag stored under ``path``."""
    found = {path: row}
    for below, inner in _bags(row, child_path(path, "[]") if isinstance(row, Bag) else path):
        found.update(_nested_rows(below, inner))
    return found


def _bags(t: Type, path: str) -> list[tuple[str, Type]]:
    match t:
        case Bag(row):
            return [(path, row)]
        case Record(fields):
            return [found for name, inner in fields for found in _bags(inner, child_path(path, name))]
        case _:
            return []


def find_relation(relations: Mapping[str, Relation], name: str) -> Relation:
    """The declared relation ``name``. Raises UnknownRelation."""
    return relations[one_of(name, relations, "there is no such relation", error=UnknownRelation)]
