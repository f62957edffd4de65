"""A view that is kept fresh, as its users read it: nested, shredded, or as changes."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ripplenest.declared import Kept
from ripplenest.delta.program import TriggerProgram
from ripplenest.explain import Explanation, explain_kept
from ripplenest.folding import Versioned
from ripplenest.nrc.bags import BagValue, LabelValue, field_of
from ripplenest.nrc.text import show_type
from ripplenest.nrc.types import Bag
from ripplenest.nrc.values import from_value
from ripplenest.plan.columns import from_leaves
from ripplenest.rows import Rows
from ripplenest.shape import dictionary, sites
from ripplenest.shred.values import nest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frozen
class Changes:
    """What changed in the versions (since, version]: signed rows of the flat part and of each dictionary by site.

    The column ``_multiplicity`` is above 0 for rows that came and below 0 for rows that went.
    """

    since: int
    version: int
    flat: "DataFrame"
    dictionaries: Mapping[str, "DataFrame"]


class ViewHandle:
    """One view of a database. Every read is of the newest version at the time of the call."""

    def __init__(
        self, kept: Kept, snapshot: Callable[[], Versioned], spark: Callable[[], "SparkSession"]
    ) -> None:
        self.program = kept.planned.program
        self._kept, self._snapshot, self._spark = kept, snapshot, spark

    def __repr__(self) -> str:
        return f"<view {self.name}: {show_type(Bag(self.program.row))}>"

    @property
    def name(self) -> str:
        """The view's name."""
        return self.program.view

    def nested(self) -> "DataFrame":
        """The view as a DataFrame of its fields, inner bags as arrays (of structs, or of base values).

        A row with multiplicity n comes n times; arrays have no particular order. A row of base values is the column
        ``value``. Evaluating it raises an error when a multiplicity is below 0, which has no nested form.
        """
        from ripplenest.spark.nest import nested  # noqa: PLC0415 - only Spark answers need Spark

        return nested(self._spark(), self.program, self._snapshot().scan)

    def flat(self) -> "DataFrame":
        """The flat part: base fields as they are, each inner bag as a label (a struct), and ``_multiplicity``."""
        from ripplenest.spark.nest import flat  # noqa: PLC0415

        return flat(self._spark(), self.program, self._snapshot().scan(self.program.flat.name))

    def dictionaries(self) -> "Mapping[str, DataFrame]":
        """By site, what its labels stand for: ``label``, the row's fields, and ``_multiplicity``.

        A label without rows is an empty bag. Labels of key-bound sites that no row holds may have rows, too.
        """
        from ripplenest.spark.nest import entries  # noqa: PLC0415

        scan = self._snapshot().scan
        found = {site: dictionary(self.program, site) for site in sites(self.program)}
        return {site: entries(self._spark(), d, scan(d.table)) for site, d in found.items()}

    def changes(self, since: int) -> Changes:
        """The view's own delta after version ``since``, per label: flat rows and dictionary rows."""
        from ripplenest.spark.nest import entries, flat  # noqa: PLC0415

        snapshot = self._snapshot()
        spark = self._spark()
        found = {site: dictionary(self.program, site) for site in sites(self.program)}
        return Changes(
            since,
            snapshot.version,
            flat(spark, self.program, snapshot.delta(self.program.flat.name, since)),
            {site: entries(spark, d, snapshot.delta(d.table, since)) for site, d in found.items()},
        )

    def explain(self, delta: Mapping[str, int] | None = None) -> Explanation:
        """How the view is kept fresh, with the maps that the state has and what triggers cost for its sizes.

        ``delta`` as in ``ripplenest.explain``, for parts that have rows.
        """
        snapshot = self._snapshot()
        found = {part: snapshot.size(part) for part in self.program.parts}
        return explain_kept(self._kept, {part: n for part, n in found.items() if n}, delta or {})

    def rows(self) -> list[Any]:
        """The view as plain Python: dicts with lists, sorted canonically. For small views; needs no Spark."""
        plain = from_value(self.bag(), Bag(self.program.row))
        assert isinstance(plain, list)
        return plain

    def bag(self) -> BagValue:
        """The view as a value of the calculus."""
        return nested_bag(self.program, self._snapshot())


def nested_bag(program: TriggerProgram, snapshot: Versioned) -> BagValue:
    """The nested value of a view, put together in Python."""
    flat = BagValue.weighted(
        (from_leaves(row, program.flat.row), n) for row, n in snapshot.scan(program.flat.name).counts().items()
    )
    tables = {site: _definitions(program, site, snapshot.scan) for site in sites(program)}
    return nest(flat, program.row, lambda label: tables[label.site].get(label, BagValue()))


def _definitions(program: TriggerProgram, site: str, scan: Callable[[str], Rows]) -> dict[LabelValue, BagValue]:
    d = dictionary(program, site)
    found: dict[LabelValue, list[tuple[object, int]]] = {}
    for row, n in scan(d.table).counts().items():
        entry = from_leaves(row, d.stored)
        label = field_of(entry, "label")
        assert isinstance(label, LabelValue)
        found.setdefault(label, []).append((field_of(entry, "row"), n))
    return {label: BagValue.weighted(rows) for label, rows in found.items()}
