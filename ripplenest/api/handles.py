"""A view or a relation as its users read it: nested, shredded, or as changes; the newest version, or an older one."""

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from attrs import frozen

from ripplenest.data.columns import from_leaves
from ripplenest.data.rows import Rows
from ripplenest.explanation import Explanation, explain_kept
from ripplenest.nrc.bags import BagValue, LabelValue, field_of
from ripplenest.nrc.border import public
from ripplenest.nrc.text import show_type
from ripplenest.nrc.types import Bag
from ripplenest.nrc.values import from_value
from ripplenest.reading.touched import touched
from ripplenest.schema.relation import Relation
from ripplenest.schema.shape import OutputShape, shape_of_relation
from ripplenest.shred.values import nest
from ripplenest.state.declared import Kept
from ripplenest.version.version import AsOf, Version, Versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCANNED = 10_000  # stored rows that are read whole without a word


@frozen
@public
class Changes:
    """What changed in the versions (since, version]: signed rows of the flat part and of each dictionary by site, and
    the nested rows that were touched, however deep inside them it happened.

    The column ``_multiplicity`` is above 0 for rows that came and below 0 for rows that went; a nested row that changed
    inside went as it was before and came as it is after.
    """

    since: int
    version: int
    flat: "DataFrame"
    dictionaries: Mapping[str, "DataFrame"]
    _nested: Callable[[], "DataFrame"]

    @property
    def nested(self) -> "DataFrame":
        """The fields of the nested rows, and ``_multiplicity``. Of views that are published or tracked
        (``Database.track``) only the rows that were touched are read; a warning says where large tables were."""
        return self._nested()


@public
class Handle:
    """A view or a relation of a database. Every read is of the newest version at the time of the call, or always of
    the one that ``as_of`` gave. Raises StateError for a version that is no longer kept, or before there was such a view
    or relation."""

    def __init__(
        self,
        shape: OutputShape,
        snapshots: Versions,
        spark: Callable[[], "SparkSession"],
        as_of: AsOf | None = None,
    ) -> None:
        self.shape = shape
        self._snapshots, self._spark, self._as_of = snapshots, spark, as_of

    def __repr__(self) -> str:
        at = "" if self._as_of is None else f" as of {self._as_of}"
        return f"<{self._kind} {self.name}: {show_type(Bag(self.shape.row))}{at}>"

    _kind = "view"

    @property
    def name(self) -> str:
        """The name of the view or relation."""
        return self.shape.name

    def as_of(self, version: AsOf) -> Self:
        """The same at ``version``, or at the version that the batch (source, seq) made."""
        self._snapshots(version)  # raises now what cannot be read
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, _as_of=version)
        return found

    def nested(self) -> "DataFrame":
        """A DataFrame of the fields, inner bags as arrays (of structs, or of base values).

        A row with multiplicity n comes n times; arrays have no particular order. A row of base values is the column
        ``value``. Evaluating it raises an error when a multiplicity is below 0, which has no nested form.
        """
        from ripplenest.spark.nest import nested  # noqa: PLC0415 - only Spark answers need Spark

        return nested(self._spark(), self.shape, self._snapshot().scan)

    def flat(self) -> "DataFrame":
        """The flat part: base fields as they are, each inner bag as a label (a struct), and ``_multiplicity``."""
        from ripplenest.spark.nest import flat  # noqa: PLC0415

        return flat(self._spark(), self.shape, self._snapshot().scan(self.shape.flat.table))

    def dictionaries(self) -> "Mapping[str, DataFrame]":
        """By site, what its labels stand for: ``label``, the row's fields, and ``_multiplicity``.

        A label without rows is an empty bag. Labels of key-bound sites that no row holds may have rows, too.
        """
        from ripplenest.spark.nest import entries  # noqa: PLC0415

        scan = self._snapshot().scan
        found = {site: self.shape.dictionary(site) for site in self.shape.sites}
        return {site: entries(self._spark(), d, scan(d.table)) for site, d in found.items()}

    def changes(self, since: AsOf) -> Changes:
        """The delta after version ``since`` (or after the batch (source, seq)): flat rows, dictionary rows by label,
        and nested rows. Up to the newest version, or to the one that ``as_of`` gave."""
        from ripplenest.spark.nest import entries, flat, signed  # noqa: PLC0415

        snapshot, start = self._snapshot(), self._snapshots(since).version
        spark, shape = self._spark(), self.shape
        found = {site: shape.dictionary(site) for site in shape.sites}
        return Changes(
            start,
            snapshot.version,
            flat(spark, shape, snapshot.delta(shape.flat.table, start)),
            {site: entries(spark, d, snapshot.delta(d.table, start)) for site, d in found.items()},
            lambda: signed(spark, shape, *self._touched(snapshot, start, 5)),
        )

    def changed_rows(self, since: AsOf) -> tuple[list[Any], list[Any]]:
        """The nested rows that went after ``since`` and those that came, as plain Python like ``rows``; a row that
        changed inside is in both, as it was and as it is. Reads only what was touched where the database has the access
        keys for it (``Database.track``), and warns where it does not and tables are large; needs no Spark."""
        snapshot, start = self._snapshot(), self._snapshots(since).version
        went, came = self._touched(snapshot, start, 4)
        return self._plain(went), self._plain(came)

    def _touched(self, snapshot: Version, since: int, caller: int) -> tuple[BagValue, BagValue]:
        """The nested rows that went, and those that came. What was scanned for want of access keys is told to the
        program, which is ``caller`` frames up, the border counted."""
        found = touched(self.shape, snapshot, since)
        rows, scanned = found.nested(), found.missed
        many = sum(snapshot.size(table) for table in scanned)
        if many > SCANNED:
            what = f"{many:,} stored rows were read whole ({', '.join(scanned)}); after track({self.name!r}) only what"
            warnings.warn(f"changes of {self.name}: {what} was touched is read", stacklevel=caller)
        return rows

    @property
    def size(self) -> int:
        """Stored rows, told without reading any: at least the distinct rows, and changes that are not merged yet."""
        return self._snapshot().size(self.shape.flat.table)

    def count(self) -> int:
        """How many rows there are, each as often as it comes."""
        return sum(n for _, n in self._snapshot().scan(self.shape.flat.table).pairs())

    def rows(self) -> list[Any]:
        """Plain Python: dicts with lists, sorted canonically. For small views; needs no Spark."""
        return self._plain(self.bag())

    def bag(self) -> BagValue:
        """The value of the calculus."""
        return nested_bag(self.shape, self._snapshot())

    def _plain(self, bag: BagValue) -> list[Any]:
        plain = from_value(bag, Bag(self.shape.row))
        assert isinstance(plain, list)
        return plain

    def _snapshot(self) -> Version:
        return self._snapshots(self._as_of)


@public
class RelationHandle(Handle):
    """A relation of a database."""

    _kind = "relation"

    def __init__(self, relation: Relation, *rest: Any) -> None:
        super().__init__(shape_of_relation(relation), *rest)


@public
class ViewHandle(Handle):
    """A view of a database."""

    def __init__(self, kept: Kept, *rest: Any) -> None:
        super().__init__(kept.shape, *rest)
        self._kept = kept

    def explain(self, delta: Mapping[str, int] | None = None) -> Explanation:
        """How the view is kept fresh, with the maps that the state has and what triggers cost for its sizes.

        ``delta`` as in ``ripplenest.explain``, for parts that have rows.
        """
        snapshot = self._snapshot()
        found = {part: snapshot.size(part) for part in self._kept.program.parts}
        return explain_kept(self._kept, {part: n for part, n in found.items() if n}, delta or {})


def nested_bag(shape: OutputShape, snapshot: Version) -> BagValue:
    """The nested value of a view, put together in Python."""
    flat = BagValue.weighted(
        (from_leaves(row, shape.flat.row), n) for row, n in snapshot.scan(shape.flat.table).counts().items()
    )
    tables = {site: _definitions(shape, site, snapshot.scan) for site in shape.sites}
    return nest(flat, shape.row, lambda label: tables[label.site].get(label, BagValue()))


def _definitions(shape: OutputShape, site: str, scan: Callable[[str], Rows]) -> dict[LabelValue, BagValue]:
    d = shape.dictionary(site)
    found: dict[LabelValue, list[tuple[object, int]]] = {}
    for row, n in scan(d.table).counts().items():
        entry = from_leaves(row, d.stored)
        label = field_of(entry, "label")
        assert isinstance(label, LabelValue)
        found.setdefault(label, []).append((field_of(entry, "row"), n))
    return {label: BagValue.weighted(rows) for label, rows in found.items()}
