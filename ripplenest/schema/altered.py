"""A relation with other fields than it had: one more, one that is wider, one with another name.

Each says what becomes of the stored parts: rows that are there stay as they are and are read under the new types
(``store/layouts.py``). Fields are named by their path, ``orders.items.note``; inner bags are stepped into.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, field, frozen

from ripplenest.data.columns import to_leaves
from ripplenest.data.texts import filled
from ripplenest.nrc.errors import NameTaken, TypeMismatch, UnknownName, WrongValue
from ripplenest.nrc.surface.records import annotation_text
from ripplenest.nrc.types import EXISTS, Bag, Base, Record, Type, may_be_null, nullable, optional
from ripplenest.nrc.values import absent, to_value
from ripplenest.schema.relation import Relation
from ripplenest.shred.places import child_path
from ripplenest.store.layouts import is_wider
from ripplenest.store.specs import Columns, Reshape, TableSpec

Fields = tuple[tuple[str, Type], ...]


@frozen
class Altered:
    """``relation`` as it will be, how its stored parts change, and old ↦ new name where a field is renamed."""

    relation: Relation
    parts: Mapping[str, Reshape] = field(factory=dict)
    renamed: tuple[str, str] | None = None

    def tables(self, old: Relation) -> tuple[TableSpec, ...]:
        """The parts that the relation had not: those of a bag that came."""
        return tuple(spec for spec in self.relation.specs if spec.name not in old.parts)

    def access_keys(self, old: Relation) -> dict[str, tuple[Columns, ...]]:
        """Those of the parts that it had."""
        return {spec.name: spec.indexes for spec in self.relation.specs if spec.name in old.parts}


def added(r: Relation, path: str, t: Type, default: object) -> Altered:
    """``r`` with a field of type ``t`` at the end of its rows, or of those of an inner bag; rows that are stored have
    ``default`` there.

    Raises WrongValue for a default that is none of ``t``, TypeMismatch for a field that rows cannot get so: inside of a
    record, or a bag other than NULL.
    """
    where, (*into, name) = f"relation {r.name}, add {path}", _steps(r, path)

    def grown(fields: Fields) -> Fields:
        if name in dict(fields) or name == EXISTS:
            raise NameTaken("there is a field of this name", where=where, got=name, possible=["another name", "widen"])
        return (*fields, (name, t))

    relation, part = _rebuilt(r, into, grown, where, in_records=False)
    flat = relation.parts[part].flat
    assert isinstance(flat, Record)
    if flat.is_optional and isinstance(t, Base) and not (t.nullable and default is None):
        what, possible = "rows that may be NULL get no value in a field that comes", [f"add({path!r}, ... | None)"]
        raise TypeMismatch(what, where=where, wanted="a type with `| None`", got=t, possible=possible)
    if isinstance(t, Base) and default is None and not t.nullable:
        possible = [f"add({path!r}, ..., default=...)", "a type with `| None`"]
        raise WrongValue("rows that are there have no value for it", where=where, wanted=t, got=None, possible=possible)
    if isinstance(t, Base):
        value = to_value(default, t, f"{where}: default")
    elif default is None and ((isinstance(t, Bag) and t.nullable) or (isinstance(t, Record) and t.is_optional)):
        value = absent(t)
    else:
        wanted = "a base type with a default, or a bag or record that may be NULL, as it is in the rows that are there"
        raise TypeMismatch("a field that stored rows cannot get", where=where, wanted=wanted, got=t)

    if any(part in r.below(root) for root in r.arrays):
        fills = {**dict(r.fills), part: filled(dict(r.fills).get(part), value, t)}
        relation = evolve(relation, fills=tuple(fills.items()))
    return Altered(relation, _reshaped(r, relation, {part: to_leaves(value, dict(flat.fields)[name])}))


def widened(r: Relation, path: str, t: Type) -> Altered:
    """``r`` with the wider type ``t`` for a field: int becomes long, a decimal gets digits before the point, NULL is
    allowed. Raises TypeMismatch for a type that does not hold all that the field may hold."""
    where, (*into, name) = f"relation {r.name}, widen {path}", _steps(r, path)

    def wider(fields: Fields) -> Fields:
        old = _field(fields, name, where)
        if not holds(old, t) or old == t:
            raise _not_wider(old, t, where)
        if name in _key_of(r, into) and isinstance(t, Base) and t.nullable and not getattr(old, "nullable", False):
            raise TypeMismatch("a key stays without NULL", where=where, wanted=old, got=t)
        return tuple((n, t if n == name else inner) for n, inner in fields)

    relation, _ = _rebuilt(r, into, wider, where)
    return Altered(relation, _reshaped(r, relation, {}))


def _not_wider(old: Type, t: Type, where: str) -> TypeMismatch:
    """NULL is forgotten more often than a type is too small: then it is all that is said."""
    if may_be_null(old) and not may_be_null(t) and holds(old, nullable(t)):
        what, possible = "not a wider type: the field may be NULL, and the new type says not", nullable(t)
        return TypeMismatch(what, where=where, wanted=possible, got=t, possible=[annotation_text(possible)])
    if isinstance(old, Record) and isinstance(t, Record) and t.is_optional and not old.is_optional:
        what = "a record that is always there cannot become one that may be NULL"
        return TypeMismatch(what, where=where, wanted=old, got=t, possible=["add(name, X | None) beside it"])
    wanted = f"a wider type than {old}: long for int, more digits before the point and as many behind it, NULL allowed"
    return TypeMismatch("not a wider type", where=where, wanted=wanted, got=t)


def renamed(r: Relation, path: str, new: str) -> Altered:
    """``r`` with another name for a base field; no stored row changes. Raises TypeMismatch for an inner bag or a
    record, after which stored parts are named."""
    where, (*into, name) = f"relation {r.name}, rename {path}", _steps(r, path)
    if to_value(new, Base("string"), f"{where}: new name") == "":
        raise WrongValue("a field needs a name", where=where, got="an empty string")
    if new == EXISTS:
        raise NameTaken("the name is ours", where=where, got=new, possible=["another name"])
    if "." in new:
        raise WrongValue("a field keeps its place: this is a path, or could not be told from one", where=where,
                         wanted="a name without a point", got=new)  # fmt: skip

    def called(fields: Fields) -> Fields:
        if not isinstance(_field(fields, name, where), Base):
            raise TypeMismatch("only base fields are renamed", where=where, wanted="Base", got=dict(fields)[name])
        if new in dict(fields):
            raise NameTaken("there is a field of this name", where=where, got=new, possible=["another name"])
        return tuple((new if n == name else n, inner) for n, inner in fields)

    relation, part = _rebuilt(r, into, called, where)
    keys = {r.name: r.key, **dict(r.keys)}
    if part in keys and name in _key_of(r, into):
        keys[part] = tuple(new if k == name else k for k in keys[part])
    key = keys.pop(r.name)
    return Altered(evolve(relation, key=key, keys=tuple(keys.items())), renamed=(name, new))


def _key_of(r: Relation, into: list[str]) -> tuple[str, ...]:
    """The key of the rows of the bag that the steps ``into`` lead to; none for records inside of rows."""
    part = r.parts.get(".".join((r.name, *into)))
    return () if part is None else part.key


def _steps(r: Relation, path: str) -> list[str]:
    if not isinstance(path, str) or not path:
        wanted = "its path, such as orders.items.qty"
        raise WrongValue("not a field", where=f"relation {r.name}", wanted=wanted, got=type(path).__name__)
    return path.split(".")


def _rebuilt(
    r: Relation, into: list[str], change: Callable[[Fields], Fields], where: str, in_records: bool = True
) -> tuple[Relation, str]:
    """``r`` with other fields in the record that the steps ``into`` lead to, and the part that has that record; not
    ``in_records`` that are no rows."""
    part = r.name

    def inside(t: Type, steps: list[str], is_row: bool = True) -> Type:
        nonlocal part
        match t:
            case Bag(row, nullable):
                return Bag(inside(row, steps), nullable)
            case Record() if t.is_optional:
                return optional(inside(t.there, steps, is_row))
            case Record() if not (steps or is_row or in_records):
                what, wanted = "a field comes at the end of rows, not inside of records", "the path of an inner bag"
                raise TypeMismatch(what, where=where, wanted=wanted, got=into[-1])
            case Record(fields) if not steps:
                return Record(change(fields))
            case Record(fields):
                inner = _field(fields, steps[0], where)
                part = child_path(part, steps[0])
                below = inside(inner, steps[1:], is_row=False)
                return Record(tuple((n, below if n == steps[0] else old) for n, old in fields))
            case _:
                raise TypeMismatch("there are no fields", where=where, wanted="a record, or a bag of records", got=t)

    return evolve(r, row=inside(r.row, into)), part


def _field(fields: Fields, name: str, where: str) -> Type:
    found = dict(fields)
    if name not in found:
        raise UnknownName("there is no such field", where=where, got=name, possible=found)
    return found[name]


def holds(old: Type, new: Type) -> bool:
    """Whether a field can be widened so: all that it may hold is of the new type."""
    match old, new:
        case Base(), Base():
            return is_wider(old, new)
        case Bag(row, nullable), Bag(other, other_nullable):
            return row == other and (other_nullable or not nullable)
    return False


def is_grown(old: Type, new: Type) -> bool:
    """Whether every value of ``old`` is one of ``new``: its base values are as wide or wider, at every depth."""
    match old, new:
        case Record(fields), Record(others):
            return old.names == new.names and all(is_grown(a, b) for (_, a), (_, b) in zip(fields, others, strict=True))
        case Bag(row, is_null), Bag(other, may_be):
            return (may_be or not is_null) and is_grown(row, other)
        case Base(), Base():
            return is_wider(old, new)
    return False


def _reshaped(old: Relation, new: Relation, fills: Mapping[str, tuple[object, ...]]) -> dict[str, Reshape]:
    """How the parts that both have change."""
    return {
        name: Reshape(new.parts[name].types, fills.get(name, ()))
        for name, part in old.parts.items()
        if new.parts[name].types != part.types
    }
