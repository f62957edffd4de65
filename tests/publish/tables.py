"""Published tables as other programs read them, and the view that they are to be."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa
from deltalake import DeltaTable

from ripplenest import Database
from ripplenest.data.columns import from_leaves
from ripplenest.data.rows import Rows
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.types import EXISTS, Bag, Base, Label, Record, Type, has_columns
from ripplenest.nrc.values import absent, to_value
from ripplenest.publish import Published, Target, publish
from ripplenest.publish.target import folder_name
from ripplenest.reading.touched import wanted_keys
from ripplenest.schema.shape import OutputShape
from ripplenest.store.specs import Change

APP = "test"


def shape_in(db: Database, view: str) -> OutputShape:
    db.view(view)  # raises for a view that there is not
    return db._declared.views[view].shape


def target(view: str, path: Any, layout: str = "nested") -> Target:
    return Target.of(view, path, layout)


def index(db: Database, view: str) -> None:
    """Give the tables of a view the access keys by which its touched rows are found."""
    keys = {table: keys for table, keys in wanted_keys(shape_in(db, view)).items() if table in keys_of(db)}
    db._state.commit(Change(indexes=keys), db.version)


def keys_of(db: Database) -> dict[str, tuple[tuple[int, ...], ...]]:
    return dict(db._state.snapshot().access_keys)


def published(db: Database, to: Target, **more: Any) -> Published:
    """The newest version of the view at its target, or that of ``snapshot``."""
    snapshot = more.pop("snapshot", None) or db._state.snapshot()
    return publish(shape_in(db, to.view), snapshot, to, f"{APP}/{to.view}", **more)


# ---------------------------------------------------------------- readers


def by_deltalake(path: str) -> list[dict[str, Any]]:
    return pa.table(DeltaTable(path).scan()).to_pylist()


def by_polars(path: str) -> list[dict[str, Any]]:
    """Polars reads the log with deltalake and the files by itself."""
    return pl.read_delta(path).to_arrow().to_pylist()


Reader = Callable[[str], list[dict[str, Any]]]
READERS: tuple[Reader, ...] = (by_deltalake, by_polars)


def feed(path: str, first: int, last: int | None = None) -> list[dict[str, Any]]:
    """The change data feed of the Delta versions from ``first`` to ``last``."""
    return pa.table(DeltaTable(path).load_cdf(first, last)).to_pylist()


# ---------------------------------------------------------------- what was read as values


def value_of(raw: Any, t: Type) -> Any:
    """What Arrow gives for a published value, as a value of the calculus."""
    match t:
        case Base():
            return to_value(raw, t, "published")
        case Record() if t.is_optional:
            return absent(t) if raw is None else ((EXISTS, True), *value_of(raw, t.there))
        case Record(fields):
            return tuple((name, value_of(raw[name], inner)) for name, inner in fields)
        case Bag(row):
            return None if raw is None else BagValue.of(value_of(v, row) for v in raw)
        case Label():
            return None if raw is None else _label(raw, t)
        case _:
            raise AssertionError(t)


def _label(raw: dict[str, Any], t: Label) -> LabelValue:
    many = len(t.sites) > 1 or not t.sites[0].params
    site = t.site(raw["site"]) if many else t.sites[0]
    assert site is not None
    prefix = f"{site.name}." if many else ""
    return LabelValue(site.name, tuple(value_of(raw[f"{prefix}{name}"], inner) for name, inner in site.params))


def row_of(raw: dict[str, Any], t: Type) -> Any:
    """A row of a table whose columns are those of ``t``."""
    return value_of(raw if has_columns(t) else raw["value"], t)


def nested_bag(rows: Iterable[dict[str, Any]], shape: OutputShape) -> BagValue:
    return BagValue.of(row_of(raw, shape.row) for raw in rows)


def flat_bag(rows: Iterable[dict[str, Any]], shape: OutputShape, site: str | None) -> BagValue:
    """The rows of one table of a shredded view, those of a dictionary as ⟨label, row⟩."""
    found = []
    for raw in rows:
        n = raw["_multiplicity"]
        assert n != 0
        if site is None:
            found.append((row_of(raw, shape.flat.row), n))
        else:
            d = shape.dictionary(site)
            label = value_of(raw["label"], Label((d.site,)))
            found.append(((("label", label), ("row", row_of(raw, d.row))), n))
    return BagValue.weighted(found)


def stored(shape: OutputShape, tables: Mapping[str, Rows], site: str | None) -> BagValue:
    """What the stored tables have of it."""
    name, t = shape.flat.table, shape.flat.row
    if site is not None:
        d = shape.dictionary(site)
        name, t = d.table, d.stored
    return BagValue.weighted((from_leaves(row, t), n) for row, n in tables[name].counts().items())


class Stored(dict[str, Rows]):
    """The tables of a database at its newest version, read when they are asked for."""

    def __init__(self, db: Database) -> None:
        self._scan = db._state.snapshot().scan

    def __missing__(self, table: str) -> Rows:
        return self._scan(table)


def folders(to: Target, shape: OutputShape) -> dict[str | None, str]:
    """Of a shredded target, the folder of the flat part (None) and of each site."""
    return {None: to.folder("flat"), **{site: to.folder(folder_name(site)) for site in shape.sites}}


def check(db: Database, to: Target, app_id: str = "") -> None:
    """The published table is the view, for two readers, and no id is there twice."""
    shape = shape_in(db, to.view)
    found = {None: to.path} if to.layout == "nested" else folders(to, shape)
    for site, path in found.items():
        wanted = db.view(to.view).bag() if to.layout == "nested" else stored(shape, Stored(db), site)
        for read in READERS:
            rows = read(path)
            bag = nested_bag(rows, shape) if to.layout == "nested" else flat_bag(rows, shape, site)
            assert bag == wanted, (to.view, site, read.__name__)
            assert len({row["_id"] for row in rows}) == len(rows), (path, read.__name__)
        assert DeltaTable(path).transaction_version(app_id or f"{APP}/{to.view}") == db.version, path
