"""The nested value of all rows of a view: u (nrc-ivm, figure 9), value by value, as the calculus has it."""

from collections.abc import Callable

from ripplenest.data.columns import from_leaves
from ripplenest.data.rows import Rows
from ripplenest.nrc.bags import BagValue, LabelValue, field_of
from ripplenest.schema.shape import OutputShape
from ripplenest.shred.values import nest
from ripplenest.version.version import Readable


def nested_bag(shape: OutputShape, snapshot: Readable) -> BagValue:
    """The nested value of a view, put together in Python."""
    flat = BagValue.weighted(
        (from_leaves(row, shape.flat.row), n) for row, n in snapshot.scan(shape.flat.table).counts().items()
    )
    tables = {site: _all_definitions(shape, site, snapshot.scan) for site in shape.sites}
    return nest(flat, shape.row, lambda label: tables[label.site].get(label, BagValue()))


def _all_definitions(shape: OutputShape, site: str, scan: Callable[[str], Rows]) -> dict[LabelValue, BagValue]:
    d = shape.dictionary(site)
    found: dict[LabelValue, list[tuple[object, int]]] = {}
    for row, n in scan(d.table).counts().items():
        entry = from_leaves(row, d.stored)
        label = field_of(entry, "label")
        assert isinstance(label, LabelValue)
        found.setdefault(label, []).append((field_of(entry, "row"), n))
    return {label: BagValue.weighted(rows) for label, rows in found.items()}
