"""Nested values of some rows of a view: u (nrc-ivm, figure 9) that reads no more than these rows hold.

Level by level, the labels in what was read are looked up all at once, in the tables that define them: by a probe where
the table has the access key for it, which is the label's columns, and else by a scan, which is remembered.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import pyarrow as pa

from ripplenest.data.columns import column_at, from_leaves, to_leaves
from ripplenest.data.order import ranks_by, shown_by
from ripplenest.data.rows import Row, Rows
from ripplenest.errors import Ambiguous, UnknownKey
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.shown import in_order
from ripplenest.nrc.syntax import Sorting
from ripplenest.nrc.types import LONG, Base, Label, Record, Type
from ripplenest.nrc.values import to_value
from ripplenest.schema.shape import Dictionary, OutputShape
from ripplenest.shred.values import nest
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Overlay
from ripplenest.version.version import Version

T = TypeVar("T")


def missed(*overlays: Overlay) -> dict[str, tuple[Columns, ...]]:
    """The access keys for want of which ``overlays`` scanned tables."""
    found: dict[str, dict[Columns, None]] = defaultdict(dict)
    for overlay in overlays:
        for table, columns in overlay.missed.items():
            found[table].update((c, None) for c in columns if c)
    return {table: tuple(columns) for table, columns in found.items() if columns}


def nested_rows(shape: OutputShape, overlay: Overlay, rows: Iterable[Row]) -> dict[Row, Value]:
    """The nested value of each of the flat ``rows``, reading only the entries that they hold, level by level."""
    flat = {row: from_leaves(row, shape.flat.row) for row in dict.fromkeys(rows)}
    defined = _definitions(shape, overlay, flat.values())
    order = list(flat)
    numbered = BagValue.of((("id", i), ("row", flat[row])) for i, row in enumerate(order))
    both = Record((("id", LONG), ("row", shape.row)))
    values: dict[Row, Value] = {}
    for value, _ in nest(numbered, both, defined.__getitem__):
        number = field_of(value, "id")
        assert isinstance(number, int)
        values[order[number]] = field_of(value, "row")
    return values


def row_with(shape: OutputShape, tables: Version, fields: Mapping[str, object], where: str) -> Value | None:
    """The one of ``rows_with``, None when there is none. Raises as it does, and Ambiguous for several."""
    overlay = Overlay(tables)
    found = _flat_with(shape, overlay, fields, where)
    if sum(found.values()) > 1:
        got = f"{sum(found.values())} rows"
        raise Ambiguous("several rows have these fields", where=where, wanted="one row", got=got)
    return next(iter(nested_rows(shape, overlay, found).values()), None)


def rows_with(shape: OutputShape, tables: Version, fields: Mapping[str, object], where: str) -> BagValue:
    """The nested rows that have the base ``fields``. They are looked up where the flat part has an access key on all or
    some of them. Law: those rows of ``nested_bag`` of which the fields are equal; NULL equals NULL, and NaN itself.
    Raises UnknownKey, UnknownName, WrongValue."""
    overlay = Overlay(tables)
    found = _flat_with(shape, overlay, fields, where)
    nested = nested_rows(shape, overlay, found)
    return BagValue.weighted((nested[row], n) for row, n in found.items())


def _flat_with(shape: OutputShape, overlay: Overlay, fields: Mapping[str, object], where: str) -> Mapping[Row, int]:
    """The flat rows that have the base ``fields``, each as often as it is there."""
    row = shape.flat.row
    base = {n: t for n, t in row.fields if isinstance(t, Base)} if isinstance(row, Record) else {}
    if not fields:
        raise UnknownKey("which rows", where=where, wanted="base fields and their values", possible=base)
    if unknown := [name for name in fields if name not in base]:
        raise UnknownName("rows are addressed by base fields", where=where, got=unknown[0], possible=base)
    values = {column_at(row, (n,)): to_value(v, base[n], f"{where}: {n}") for n, v in fields.items()}
    known = [key for key in overlay.access_keys.get(shape.flat.table, ()) if key and values.keys() >= set(key)]
    columns = max(known, key=len, default=tuple(sorted(values)))
    stored = overlay.rows(shape.flat.table, columns, tuple(values[c] for c in columns))
    return {r: n for r, n in stored.items() if all((r[c],) == (v,) for c, v in values.items())}


def some_rows(shape: OutputShape, tables: Version, most: int) -> BagValue:
    """At most so many of the nested rows: the first ones of rows that are sorted, and else those whose flat rows come
    first. Law: the sorted ones are those ``nested_bag`` begins with, so who agrees with the last is nested, too."""
    table, order = shape.flat.table, shape.shown.get(())
    if order is None:
        flat = _first_copies(tables.some(table, most).pairs(), most)
    else:
        flat = _leading(tables.scan(table).consolidated(), shape.flat.row, order, most)
    nested = nested_rows(shape, Overlay(tables), flat)
    found = BagValue.weighted((nested[row], n) for row, n in flat.items())
    return found if order is None else BagValue(_first_copies(in_order(found, order), most))


def _first_copies(pairs: Iterable[tuple[T, int]], most: int) -> dict[T, int]:
    found: dict[T, int] = {}
    for row, n in pairs:
        if most <= 0:
            break
        found[row] = min(n, most)
        most -= n
    return found


def _leading(rows: Rows, row: Type, order: tuple[Sorting, ...], most: int) -> dict[Row, int]:
    """The flat rows that fewer than ``most`` others are before."""
    table = rows.arrow()
    before = ranks_by(table, shown_by(row, order, 0).by)
    return Rows(rows.types, table=table.filter(pa.array(before < most)), summed=True).counts()


def _definitions(shape: OutputShape, overlay: Overlay, flat: Iterable[Value]) -> dict[LabelValue, BagValue]:
    """What every label in the ``flat`` values stands for, and every label in that."""
    found: dict[LabelValue, BagValue] = {}
    todo = dict.fromkeys(label for value in flat for label in _labels(value, shape.flat.row))
    while todo:
        level = _read(shape, overlay, todo)
        found.update((label, bag) for label, (_, bag) in level.items())
        below = (label for d, bag in level.values() for value, _ in bag for label in _labels(value, d.row))
        todo = dict.fromkeys(label for label in below if label not in found)
    return found


def _read(
    shape: OutputShape, overlay: Overlay, labels: Iterable[LabelValue]
) -> dict[LabelValue, tuple[Dictionary, BagValue]]:
    """The dictionary and the flat bag of each of ``labels``, all labels of a site looked up at once."""
    by_site: dict[str, list[LabelValue]] = defaultdict(list)
    for label in labels:
        by_site[label.site].append(label)
    found: dict[LabelValue, tuple[Dictionary, BagValue]] = {}
    for site, same in by_site.items():
        d = shape.dictionary(site)
        columns = tuple(range(d.label_width))
        keys = {label: _key(label, d) for label in same}
        overlay.fetch(d.table, columns, keys.values())
        for label, key in keys.items():
            rows = overlay.rows(d.table, columns, key)
            entries = ((field_of(from_leaves(row, d.stored), "row"), n) for row, n in rows.items())
            found[label] = d, BagValue.weighted(entries)
    return found


def _key(label: LabelValue, d: Dictionary) -> Row:
    pairs = zip(label.args, d.site.params, strict=True)
    return tuple(leaf for arg, (_, t) in pairs for leaf in to_leaves(arg, t))


def _labels(value: Value, t: Type) -> Iterator[LabelValue]:
    """The labels in a value of the flat type ``t``; none for NULL bags."""
    match t:
        case Label() if isinstance(value, LabelValue):
            yield value
        case Record(fields):
            for name, inner in fields:
                yield from _labels(field_of(value, name), inner)
        case _:
            return


def nested_bag(shape: OutputShape, snapshot: Version) -> BagValue:
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
