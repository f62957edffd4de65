"""How each join of a statement reads its sources, in the names of the view."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from attrs import frozen

from ripplenest.data.columns import columns
from ripplenest.data.order import Ordering
from ripplenest.delta.program import Map
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.printing.text import path
from ripplenest.nrc.rewriting.access import How
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.types import Type
from ripplenest.plan.groups import stored_row
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Product, Step
from ripplenest.plan.ranges import ranged

Ranges = Mapping[str, Sequence[Ordering]]


@frozen
class Access:
    """How one source of one join is read: ``how`` is change, probe or scan; ``table`` is ``source`` in any state. What
    is probed is looked up by ``columns``, and so is a change that is joined to another one; or between values of the
    column ``range``, or of one of several, of those that have its columns."""

    how: How
    source: str
    table: str
    columns: tuple[str, ...]
    range: str | None = None

    def __str__(self) -> str:
        match self.how:
            case "change":
                return f"{self.source} by {', '.join(self.columns)}" if self.columns else self.source
            case "probe":
                return f"probe {self.source} by {', '.join(key_names(self.columns, self.range))}"
            case "scan":
                return f"SCAN {self.source} (no equality)"
            case _:
                assert_never(self.how)


def accesses(c: Comprehension, row: Type, ranges: Ranges) -> Iterator[tuple[Access, ...]]:
    """The order of reading of every join that the product ``c``, with rows ``row``, becomes; ``ranges`` are the orders
    in which tables are read between values."""
    for first, *_ in orders(c, row, ranges):
        yield first


def orders(c: Comprehension, row: Type, ranges: Ranges) -> Iterator[tuple[tuple[Access, ...], ...]]:
    """Of every such join the orders among which rows of the change choose, by the shorter list."""
    for product in lower(c, row):
        yield tuple(tuple(_access(step, order, c, ranges) for step in order.steps) for order in product.orders)


def _access(step: Step, product: Product, c: Comprehension, ranges: Ranges) -> Access:
    rel = c.generators[step.source][1]
    how, names = product.how(step), column_names(rel.row, step.columns)
    found = [range_name(rel.row, own.order) for own in ranged(step) if own.order in ranges.get(rel.name, ())]
    if not found:
        return Access(how, show(rel), rel.name, names)
    return Access("probe", show(rel), rel.name, names, " or ".join(found))


def range_name(row: Type, order: Ordering) -> str:
    """What users call the column by which a table with rows ``row`` is read between values."""
    (name,) = column_names(row, (order.by[0].column,))
    return name


def key_names(columns: Sequence[str], range_: str | None) -> tuple[str, ...]:
    """What a table is looked up by."""
    return (*columns, *(() if range_ is None else (f"the range of {range_}",)))


def column_types(row: Type) -> tuple[tuple[str, str], ...]:
    """The columns of a table with rows ``row``, as users call them, with their types."""
    return tuple((path(c.path.removeprefix(".")), str(c.type)) for c in columns(row))


def shown_row(m: Map) -> Type:
    """What readers see of a map; of a sum map, which is seen as other rows than are there, what is stored."""
    return stored_row(m) if m.summed else m.row


def column_names(row: Type, positions: tuple[int, ...]) -> tuple[str, ...]:
    """What users call these columns of a table with rows ``row``."""
    names = column_types(row)
    return tuple(names[i][0] for i in positions)
