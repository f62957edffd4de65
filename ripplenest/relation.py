"""A declared relation: its row type, its key, and the tables that it is stored in.

Relation R with inner bags is stored shredded: table ``R`` holds its flat rows, with an id in place of each inner bag,
and table ``R.orders`` holds ⟨id, row⟩ for every row of those bags, at every depth.
"""

from functools import cached_property

from attrs import frozen

from ripplenest.nrc.errors import NoKey, TypeMismatch, UnknownName, WrongValue
from ripplenest.nrc.syntax import dict_row
from ripplenest.nrc.types import STRING, Bag, Base, Record, Type
from ripplenest.nrc.values import to_value
from ripplenest.plan.columns import base_types, columns, label_columns, scalar_columns
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
class Relation:
    """``name`` with rows ``row``; ``key`` names base fields that together occur once, or is empty."""

    name: str
    row: Type
    key: tuple[str, ...] = ()

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

    @property
    def specs(self) -> tuple[TableSpec, ...]:
        """The tables with the access keys by which batches find rows."""
        return tuple(TableSpec(p.name, p.types, self._indexes(p)) for p in self.parts.values())

    def _indexes(self, p: Part) -> tuple[tuple[int, ...], ...]:
        found: list[tuple[int, ...]] = [(i,) for i in p.labels]
        if p.inner:
            found.append((0,))
        if self.key and not p.inner:
            found.append(self.key_columns)
        elif p.scalars:
            found.append(p.scalars)
        return tuple(dict.fromkeys(found))


def declare(name: str, row: Type, key: str | tuple[str, ...] | None) -> Relation:
    """A relation whose name and key are checked: text, and base fields of the row.

    Raises WrongValue, UnknownName or TypeMismatch.
    """
    if to_value(name, STRING, "relation name") == "":
        raise WrongValue("a relation needs a name", where="relation name", got="an empty string")
    where = f"relation {name}"
    if not isinstance(key, str | tuple | list | None):
        raise WrongValue("not a key", where=where, wanted="the name of a field, or several", got=type(key).__name__)
    fields = (key,) if isinstance(key, str) else tuple(key or ())
    own = dict(row.fields) if isinstance(row, Record) else {}
    for field in fields:
        if field not in own:
            raise UnknownName("the key is not a field", where=where, got=field, possible=own)
        if not isinstance(own[field], Base):
            raise TypeMismatch("a key is made of base fields", where=f"{name}.{field}", wanted="Base", got=own[field])
    return Relation(name, row, tuple(field for field in own if field in fields))


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
