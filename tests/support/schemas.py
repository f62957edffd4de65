"""Random schemas and nested databases. Domains are small so that joins hit, and have NULL, NaN and -0.0 in them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import assert_never, cast

from attrs import frozen

from ripplenest.nrc.bags import BagValue, Row, Value
from ripplenest.nrc.syntax import Keys
from ripplenest.nrc.types import EXISTS, Bag, Base, Dict, Kind, Label, Record, Type, optional
from ripplenest.nrc.values import NAN, absent, canonical_float
from support.choices import Choices

DOMAIN: dict[Kind, tuple[object, ...]] = {
    "int": (0, 1, 2),
    "long": (0, 1, 2),
    "string": ("a", ""),
    "double": (0.0, canonical_float(-0.0), 1.5, NAN, float("inf")),
    "bool": (True, False),
    "date": (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1), date(2024, 12, 31)),
    "timestamp": tuple(datetime(2024, 2, 29, 12, minute, tzinfo=UTC) for minute in (0, 15, 20, 30)),
}
KINDS: tuple[Kind, ...] = ("long", "long", "string", "string", "double", "bool")
FIELDS = ("a", "b", "c", "d")
MAX_DEPTH = 3
TELLING = (Base("long"), Base("string"))

Database = dict[str, BagValue]


@frozen
class Schema:
    """Relation names with the types of their rows, in order of declaration."""

    relations: tuple[tuple[str, Type], ...]

    @property
    def keys(self) -> Keys:
        """A key for about half of the bags that could have one: of the first field that tells many rows apart."""
        bags = (bag for name, row in self.relations for bag in _bags_of(name, row))
        able = ((part, next((n for n, t in row.fields if t in TELLING), None)) for part, row in bags)
        return tuple((part, (name,)) for part, name in able if name is not None and sum(map(ord, part + name)) % 2)

    def __getitem__(self, name: str) -> Type:
        return dict(self.relations)[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.relations)


def _bags_of(path: str, row: Type) -> Iterator[tuple[str, Record]]:
    """The stored bags below ``path``, and its own, whose rows are records."""
    if isinstance(row, Record):
        yield path, row
    for name, t in row.fields if isinstance(row, Record) else (("[]", row),):
        if isinstance(t, Bag):
            yield from _bags_of(f"{path}.{name}", t.row)


def base_type(c: Choices) -> Base:
    return Base(c.pick(KINDS), c.number(2) == 1)


def field_type(c: Choices, depth: int) -> Type:
    """A field below which bags nest at most ``depth`` deep."""
    choice = c.number(10)
    if choice < 5 or (depth == 0 and choice < 9):
        return base_type(c)
    if choice < 9:
        return Bag(row_type(c, depth - 1), c.one_in(4))
    nested = record_type(c, depth, 2)
    return optional(nested) if c.one_in(2) else nested


def record_type(c: Choices, depth: int, most: int = 4) -> Record:
    size = 1 + c.number(most)
    return Record(tuple((name, field_type(c, depth)) for name in FIELDS[:size]))


def row_type(c: Choices, depth: int) -> Type:
    """The rows of a bag: mostly records, sometimes base values, now and then bags."""
    choice = c.number(16)
    if choice >= 14:
        return base_type(c)
    if choice == 13 and depth > 0:
        return Bag(row_type(c, depth - 1), c.number(2) == 1)
    return optional(record_type(c, depth)) if choice == 12 and depth < 2 else record_type(c, depth)


def random_schema(c: Choices) -> Schema:
    """1 to 3 relations ``R``, ``S``, ``T`` with bags nested to depth 3; a later one often has the rows of the first."""
    rows = [row_type(c, MAX_DEPTH)]
    for _ in range(c.number(3)):
        rows.append(rows[0] if c.one_in(3) else row_type(c, 2))
    return Schema(tuple(zip("RST", rows, strict=False)))


def decimals(t: Base) -> tuple[Decimal, ...]:
    """Small ones, large ones of which a few may be added up, and the largest there is."""
    digits = (0, 1, -250, 3 * 10 ** (t.precision - 2), -(10 ** (t.precision - 2)), 10**t.precision - 1)
    return tuple(Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -t.scale)) for n in digits)


def base_value(c: Choices, t: Base) -> object:
    domain = decimals(t) if t.kind == "decimal" else DOMAIN[t.kind]
    return c.pick((*domain, None) if t.nullable else domain)


def random_value(c: Choices, t: Type, size: int) -> Value:
    """A value of ``t`` whose bags have at most ``size`` different rows, fewer the deeper they are."""
    match t:
        case Base():
            return base_value(c, t)
        case Record() if t.is_optional:
            return absent(t) if c.one_in(4) else ((EXISTS, True), *cast("Row", random_value(c, t.there, size)))
        case Record(fields):
            return tuple((name, random_value(c, f, size)) for name, f in fields)
        case Bag(row, nullable):
            return None if nullable and c.one_in(5) else random_bag(c, row, size)
        case Label() | Dict():
            raise AssertionError(f"not a type of nested data: {t}")
        case _:
            assert_never(t)


def random_bag(c: Choices, row: Type, size: int) -> BagValue:
    """At most ``size`` rows, one in four of them twice."""
    n = c.pick((*range(1, size + 1), *range(1, size + 1), 0))
    return BagValue.weighted((random_value(c, row, max(size - 1, 1)), 2 if c.one_in(4) else 1) for _ in range(n))


def random_database(c: Choices, schema: Schema, size: int = 4) -> Database:
    """Nested bags with multiplicities of one or more."""
    return {name: random_bag(c, row, size) for name, row in schema.relations}
