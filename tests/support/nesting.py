"""u[h^Γ]: shredded results read back, dictionary by dictionary as the context says (nrc-ivm, figure 9)."""

from collections.abc import Iterator

from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue, Value, field_of
from ripplenest.nrc.interpret import Database, evaluate, look_up
from ripplenest.nrc.syntax import DictExpr
from ripplenest.nrc.types import Label, Record, Type, join
from ripplenest.shred.contexts import BagContext, Context, NoContext, RecordContext
from ripplenest.shred.terms import Shredded

Uses = list[tuple[DictExpr, dict[LabelValue, None]]]


def define(d: DictExpr, label: LabelValue, db: Database) -> BagValue:
    """d(l); an undefined label is an inconsistency (definition 1)."""
    found = look_up(d, label, db, {}, {})
    assert found is not None, f"{label} has no definition"
    return found


def nested(s: Shredded, db: Database) -> BagValue:
    """for x in h^F union u[h^Γ](x)"""
    return BagValue.weighted((_nest(row, s.context, db), n) for row, n in evaluate(s.flat, db))


def _nest(value: Value, context: Context, db: Database) -> Value:
    match context:
        case RecordContext(fields):
            return tuple((name, _nest(field_of(value, name), c, db)) for name, c in fields)
        case BagContext(d, rows) if isinstance(value, LabelValue):
            return BagValue.weighted((_nest(row, rows, db), n) for row, n in define(d, value, db))
        case _:
            return value


def labels_in_use(s: Shredded, *states: Database) -> Uses:
    """Each dictionary of the context with the labels that results over ``states`` hold, outer dictionaries first."""
    uses: dict[str, tuple[DictExpr, dict[LabelValue, None]]] = {}
    for db in states:
        for row, _ in evaluate(s.flat, db):
            collect(row, s.context, db, "", uses)
    return list(uses.values())


def collect(
    value: Value, context: Context, db: Database, path: str, uses: dict[str, tuple[DictExpr, dict[LabelValue, None]]]
) -> None:
    """Adds the labels of one value; asserts that each is defined over ``db``."""
    for place, d, label, rows in _labels(value, context, path):
        known = uses.setdefault(place, (d, {}))[1]
        if label not in known:
            known[label] = None
            for row, _ in define(d, label, db):
                collect(row, rows, db, f"{place}[]", uses)


def _labels(value: Value, c: Context, path: str) -> Iterator[tuple[str, DictExpr, LabelValue, Context]]:
    match c:
        case RecordContext(fields):
            for name, inner in fields:
                yield from _labels(field_of(value, name), inner, f"{path}.{name}")
        case BagContext(d, rows) if isinstance(value, LabelValue):
            yield path, d, value, rows
        case BagContext() | NoContext():
            return


def agrees(got: Type, wanted: Type) -> bool:
    """``got`` is ``wanted`` up to tighter nullability and other label sites."""
    a, b = erase(got), erase(wanted)
    return join(a, b) == b


def erase(t: Type) -> Type:
    """A flat type without the sites of its labels."""
    match t:
        case Label(_, nullable):
            return Label((), nullable)
        case Record(fields):
            return Record(tuple((name, erase(f)) for name, f in fields))
        case _:
            return t


def value_or_empty(bag: BagValue | None) -> BagValue:
    """(d₁ ⊎ d₂)(l) = d₁(l) ⊎ d₂(l) with {} outside the support."""
    return EMPTY if bag is None else bag
