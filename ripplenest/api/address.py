"""Addresses: from ``at(custkey=7).orders.at(orderkey=11).items`` to a deep operation.

``Rows`` and ``Inner`` are what the user chains. They check every step against the row types and change nothing; an
insert or a delete at the end makes one operation, whose bags are found when the batch runs (``intake/locate.py``).
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

from attrs import evolve

from ripplenest.api.choices import Address, Chosen, Emit, fields_of, or_by_key, spelled
from ripplenest.api.each import EachValue, keys_given, plain, table_of
from ripplenest.data.rows import Row
from ripplenest.errors import BatchMisuse, Immutable, NoKey, UnknownKey, UnknownLabel
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.operations import KEYED, Deep, Field, ForEach, Named, Set, Step, Verb, Where
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.bags import LabelValue
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import RipplenestError, TypeMismatch, UnknownName, WrongColumns, WrongValue
from ripplenest.nrc.types import Bag, Base, Record, Site, Type, is_plain
from ripplenest.nrc.values import to_value
from ripplenest.schema.relation import Part, Relation, key_type
from ripplenest.shred.places import child_path

KEYS = ("upsert", "delete_key", "discard_key")
VERBS = ("insert", "delete", "update", *KEYS)


@public
class _Chained:
    """What is common to ``Rows`` and ``Inner``: fields lead on, and are not assigned."""

    __slots__ = ("_address",)
    _address: Address

    def __init__(self, address: Address) -> None:
        object.__setattr__(self, "_address", address)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        raise NotImplementedError

    def __setattr__(self, name: str, value: object) -> None:
        self._refuse(name)

    def __setitem__(self, name: object, value: object) -> None:
        self._refuse(name)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def __delitem__(self, name: object) -> None:
        self._refuse(name)

    def __iadd__(self, other: object) -> NoReturn:
        self._refuse(None)

    def __isub__(self, other: object) -> NoReturn:
        self._refuse(None)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raises BatchMisuse: an address is no function."""
        self._refuse(None)

    def _refuse(self, name: object) -> NoReturn:
        """Raises BatchMisuse for what would change nothing, with what does."""
        a = self._address
        place = a.path if name is None else child_path(a.path, str(name))
        what = "fields are not assigned: rows of inner bags are inserted and deleted, fields are set"
        raise a.told(BatchMisuse(what, where=place, wanted="an insert, a delete or a set", possible=a.forms()))


@public
class Rows(_Chained):
    """Rows chosen by ``at``: their fields lead to inner bags, ``.orders`` or ``["orders"]``."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        return _field(self._address, self._address.type, name)

    def set(self, /, **fields: object) -> None:
        """Give fields of the chosen rows, or of a record in them, other values: ``set(status="sent")``, and as a whole
        ``set(home={"city": "Oslo"})``, also where it is NULL. Fields of a key stay as they are."""
        a = self._address
        a.chosen.done(a.numbers)
        if a.label is not None:
            what = "a label names the bag itself"
            raise TypeMismatch(what, where=a.path, possible=["at() with fields", "insert", "delete"])
        key = self._part().key if a.path == self._part().name else ()
        known = {n: t for n, t in fields_of(a.type).items() if is_plain(t) and n not in key}
        if not fields:
            raise UnknownKey("set() needs at least one field", where=a.path, possible=known)
        for name in fields:
            if name not in known:
                what = "a field of the key is not set" if name in key else "fields without bags are set"
                moved = ["delete_key and insert, by which a row gets another key"] if name in key else []
                raise UnknownName(what, where=a.path, got=name, possible=self._instead(name) or [*known, *moved])
        table = a.table("set", fields.values())
        typed = {n: to_field(v, known[n], f"set {a.path}.{n}") for n, v in sorted(fields.items())}
        if table is not None:
            values = table.values({n: (v, self._base(n, known[n])) for n, v in typed.items()})
            a.emit(ForEach("set", a.relation.name, a.path, table.steps, tuple(table.asked), values))
        elif table_of(fields.values(), a.path) is not None:
            wanted = "at(<field>=each.<column>)"
            raise TypeMismatch("one address for each row of a table", where=f"set {a.path}", wanted=wanted)
        else:
            found = (pair for n, v in typed.items() for pair in _set(n, v, known[n]))
            a.emit(Set(a.relation.name, a.path, a.steps, tuple(found)))

    def _base(self, name: str, t: Type) -> Base:
        """The type of a field that is set for each row of a table. Raises TypeMismatch for a record."""
        if isinstance(t, Base):
            return t
        what = "a record is not set for each row of a table"
        raise TypeMismatch(what, where=f"set {self._address.path}", got=name, possible=self._instead(name))

    def _instead(self, name: str) -> list[str]:
        """What changes a field that is a record or a bag."""
        a = self._address
        match fields_of(a.type).get(name):
            case Record() as row:
                own = [f"{a.shown}.{name}.set({field}=...)" for field, t in row.there.fields if isinstance(t, Base)]
                return [*own, "an upsert of the row"] if row.is_optional else own
            case Bag():
                return [form for form in a.forms() if ".set(" not in form]
            case _:
                return []

    def _part(self) -> Part:
        """The part that the rows are of. Raises Immutable where it does not change."""
        a = self._address
        names = [a.path.rsplit(".", n)[0] for n in range(a.path.count(".") + 1)]
        part = next(a.relation.parts[name] for name in names if name in a.relation.parts)
        if part.name in a.relation.fixed:
            what = "the relation declares this bag immutable"
            raise Immutable(what, where=a.path, got="set", possible=["upsert", "delete and insert its row"])
        return part


@public
class Inner(_Chained):
    """An inner bag: insert and delete its rows, or choose some of them and go deeper.

    Below a label no rows are chosen: fields spell the path of the label's bag, ``["insert"]`` for a method's name.
    """

    __slots__ = ()

    def insert(self, rows: object) -> None:
        """Add ``rows`` to the bag: dicts, records, base values, a pyarrow.Table or a DataFrame."""
        self._write("insert", rows)

    def delete(self, rows: object) -> None:
        """Take ``rows`` out of the bag; each must be there."""
        self._write("delete", rows)

    def upsert(self, rows: object) -> None:
        """Put ``rows`` in place of those of the bag with the same key, or add them. Raises NoKey where the relation
        declares none for this bag."""
        self._write("upsert", rows)

    def delete_key(self, keys: object = None, /, **fields: object) -> None:
        """Take away the row with this key, ``delete_key(orderkey=11)``, or those with ``keys``, rows of the fields of
        the key; each must be there."""
        self._write("delete_key", self._keys(keys, fields))

    def discard_key(self, keys: object = None, /, **fields: object) -> None:
        """As ``delete_key``, but a key that is not there is passed over."""
        self._write("discard_key", self._keys(keys, fields))

    def at(self, /, **fields: object) -> Rows:
        """The one row with these fields; an error when none or several match."""
        return self._chosen(fields, many=False)

    def at_all(self, /, **fields: object) -> Rows:
        """Every row with these fields, if there is any."""
        return self._chosen(fields, many=True)

    def __getitem__(self, name: str) -> Any:
        a = self._address
        assert isinstance(a.type, Bag)
        if a.label is None:
            keyed = KEYS if a.relation.parts[a.path].key else ()
            possible = ["insert", "delete", *keyed, "at", "at_all"]
            what = "a bag has rows to choose, not fields"
            raise a.told(UnknownName(what, where=a.path, got=name, possible=possible))
        return _field(a, a.type.row, name)

    def _write(self, verb: Verb, rows: object) -> None:
        a = self._address
        assert isinstance(a.type, Bag)
        a.chosen.done(a.numbers)
        if a.path in a.relation.fixed:
            what = "the relation declares this bag immutable"
            raise Immutable(what, where=a.path, got=verb, possible=["upsert", "delete and insert its row"])
        t, key = self._rows_of(verb), a.relation.parts[a.path].key
        table = a.table(verb, [rows])
        if table is not None:
            given, asked = table.given(rows, t, key, verb == "upsert")
            a.emit(ForEach(verb, a.relation.name, a.path, table.steps, tuple(asked), given))
            return
        try:
            values = read_rows(plain(rows), t, f"{verb} {a.path}: rows", key, whole=verb == "upsert")
        except WrongColumns as error:
            forms = {"delete": f"{a.shown}.delete_key({spelled(key)})", "upsert": f"{a.shown}.at({spelled(key)})"}
            raise or_by_key(error, verb, forms if key else {}) from None
        label = None if a.label is None else label_of(a.label[0], a.relation.places[a.path].site)
        a.emit(Deep(verb, a.relation.name, a.path, a.steps, label, values))

    def _keys(self, keys: object, fields: dict[str, object]) -> object:
        a = self._address
        return keys_given(keys, fields, a.relation.parts[a.path].key, a.path)

    def _rows_of(self, verb: Verb) -> Type:
        """What is given: rows of the bag, or keys of them. Raises NoKey when they have none."""
        a = self._address
        assert isinstance(a.type, Bag)
        key = a.relation.parts[a.path].key
        if verb not in ("insert", "delete") and not key:
            shown = a.path.removeprefix(child_path(a.relation.name, ""))
            possible = [f'relation(name, record, keys={{"{shown}": ...}})', "insert", "delete"]
            raise NoKey(f"{verb} needs a key of the rows of this bag", where=a.path, possible=possible)
        return key_type(a.type.row, key) if verb in KEYED else a.type.row

    def _chosen(self, fields: dict[str, object], many: bool) -> Rows:
        a = self._address
        if a.label is not None:
            raise a.told(TypeMismatch("a label names the bag itself", where=a.path, possible=["insert", "delete"]))
        assert isinstance(a.type, Bag)
        try:
            step = _where(a.type.row, fields, many, a.path)
        except RipplenestError as error:
            raise a.told(error) from None
        return Rows(a.choose(a.type.row, (*a.steps, step), f"{a.shown}.{_verb(many)}({spelled(fields)})"))


def _field(a: Address, row: Type, name: str) -> "Rows | Inner":
    fields = fields_of(row)
    if not isinstance(name, str) or name not in fields:
        raise a.told(_no_field(a, fields, name))
    a.chosen.done(a.numbers)
    path, shown, steps = child_path(a.path, name), f"{a.shown}.{name}", (*a.steps, Field(name))
    below = evolve(a, path=path, type=fields[name], steps=steps, shown=shown)
    if isinstance(below.type, Record):
        return Rows(below)
    if isinstance(below.type, Bag):
        return Inner(below)
    what, possible = "a deep update reaches inner bags, and fields are set", [f"{a.shown}.set({name}=...)"]
    raise a.told(TypeMismatch(what, where=path, wanted="a bag", got=below.type, possible=possible))


def _no_field(a: Address, fields: Iterable[str], name: object) -> UnknownName:
    """What is called so, if it is no field: rows are chosen, and what is done with rows their bag does."""
    if name in VERBS:
        what = "rows that were chosen have fields to set: rows come into a bag and go out of it"
        forms = a.forms()
        asked = [form for form in forms if f".{name}" in form and not form.startswith(a.shown)]
        return UnknownName(what, where=a.path, got=name, possible=asked or forms)
    got = name if isinstance(name, str) else kind(name)
    return UnknownName("there is no such field", where=a.path, got=got, possible=fields)


def start(relation: Relation, fields: dict[str, object], many: bool, emit: Emit, chosen: Chosen) -> Rows:
    """The rows of a relation that a batch's ``at`` chooses: by fields, or whichever row holds the bag ``label``."""
    label: tuple[object] | None = None
    steps: tuple[Step, ...] = ()
    if not many and "label" in fields and not _is_field(relation.row, "label", fields["label"]):
        if len(fields) > 1:
            raise TypeMismatch("either a label or fields", where=relation.name, got=sorted(fields))
        label = (fields["label"],)
        _check_label(label[0], relation)
    else:
        steps = (_where(relation.row, fields, many, relation.name),)
    whole = Address(relation, relation.name, relation.row, (), label, emit, chosen, relation.name)
    return Rows(whole.choose(relation.row, steps, f'b.{_verb(many)}("{relation.name}", {spelled(fields)})'))


def _verb(many: bool) -> str:
    return "at_all" if many else "at"


def _is_field(row: Type, name: str, value: object) -> bool:
    """Whether ``value`` is for the base field ``name`` of the row, rather than a label's struct."""
    base = isinstance(row, Record) and isinstance(dict(row.fields).get(name), Base)
    return base and not isinstance(value, LabelValue | dict) and not hasattr(value, "asDict")


def label_of(label: object, site: Site) -> Row:
    """The columns of a label of ``site``, given as what the label columns of ``flat()`` and ``dictionaries()`` hold, or
    as its values alone."""
    values = _values_of(label, site)
    if values is None or len(values) != len(site.params):
        wanted = ", ".join(f"{name}: {t}" for name, t in site.params)
        what = "not a label of an inner bag of this path"
        raise UnknownLabel(what, where=site.name, wanted=wanted, got=kind(label))
    named = zip(site.params, values, strict=True)
    return tuple(to_value(value, t, f"{site.name}: label.{name}") for (name, t), value in named)


def _check_label(label: object, relation: Relation) -> None:
    """Raises UnknownLabel for what no bag of the relation has as its label."""
    for place in relation.places.values():
        with suppress(UnknownLabel, WrongValue):
            label_of(label, place.site)
            return
    shown = (f"{path}({', '.join(f'{n}: {t}' for n, t in p.identity)})" for path, p in relation.places.items())
    what, wanted = "not a label of its inner bags", " or ".join(shown)
    raise UnknownLabel(what, where=relation.name, wanted=wanted, got=kind(label))


def _values_of(label: object, site: Site) -> tuple[object, ...] | None:
    if isinstance(label, LabelValue):
        return label.args if label.site == site.name else None
    as_dict = getattr(label, "asDict", None)  # a Spark row, without importing Spark
    fields = as_dict() if callable(as_dict) else label
    if isinstance(fields, dict):
        # A label of several sites says which made it, and has the values as ``<site>.<name>``.
        made = fields.get("site", site.name) == site.name
        of_several = {n.removeprefix(f"{site.name}."): v for n, v in fields.items() if n.startswith(f"{site.name}.")}
        found = {**{n: v for n, v in fields.items() if "." not in str(n)}, **of_several}
        names = [name for name, _ in site.params]
        return tuple(found[name] for name in names) if made and found.keys() >= set(names) else None
    if isinstance(fields, tuple):
        return fields
    return None if fields is None else (fields,)


def _set(name: str, value: object, t: Type) -> Iterator[tuple[Named, object]]:
    """The base fields that a value of a field is made of, each with its own."""
    if isinstance(t, Base):
        yield name, value
    else:
        yield from _leaves((name,), value, t)


def _leaves(path: tuple[str, ...], value: Any, t: Type) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(t, Record):
        for (name, inner), (_, field) in zip(t.fields, value, strict=True):
            yield from _leaves((*path, name), field, inner)
    else:
        yield path, value


def to_field(value: object, t: Type, where: str) -> object:
    """A value of a field; those of a table meet its type when all that is asked is known."""
    return value if isinstance(value, EachValue) else to_value(value, t, where)


def _where(row: Type, fields: dict[str, object], many: bool, where: str) -> Where:
    base = {n: t for n, t in fields_of(row).items() if isinstance(t, Base)}
    if not fields:
        raise UnknownKey(f"{'at_all' if many else 'at'}() needs at least one field", where=where, possible=base)
    for name in fields:
        if name not in base:
            raise UnknownName("rows are addressed by base fields", where=where, got=name, possible=base)
    return Where(tuple((n, to_field(v, base[n], f"{where}.{n}")) for n, v in sorted(fields.items())), many)
