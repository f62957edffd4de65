"""What changed in a view or a relation between two versions, as its users read it: DataFrames, Arrow, plain Python."""

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from attrs import frozen

from ripplenest.api.named import Named
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import StateError
from ripplenest.nrc.printing.text import part, show_type
from ripplenest.reading.changed import Changed
from ripplenest.reading.shown import dictionary_tables, flat_table
from ripplenest.reading.touched import touched
from ripplenest.schema.altered import is_grown
from ripplenest.state.state import Shown

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SCANNED = 10_000  # stored rows that are read whole without a word


@frozen(eq=False, slots=False, repr=False)
@public
class Changes(Named):
    """What changed in the versions (since, version]: signed rows of the flat part and of each dictionary by site, and
    the nested rows that were touched, however deep inside them it happened.

    The column ``_multiplicity`` is above 0 for rows that came and below 0 for rows that went; a nested row that changed
    inside went as it was before and came as it is after. Where a view was replaced meanwhile, the nested rows are the
    difference of both definitions, if the types of the second are those of the first, or wider, as they are not where
    fields were added to rows that it passes on; the others raise StateError unless both have the same tables. Only what
    is a DataFrame needs Spark.
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "rows": 'db.view("...").changed_rows(since=...)',
        "collect": "nested.collect()",
        "count": "to_arrow().num_rows",
    }

    _name: str
    _then: Shown
    _now: Shown
    _spark: "Callable[[], SparkSession]"
    _folder: str

    def __repr__(self) -> str:
        return f"<changes of {part(self._name)}, from version {self.since} to {self.version}>"

    @property
    def since(self) -> int:
        """The version before."""
        return self._then.tables.version

    @property
    def version(self) -> int:
        """The version after."""
        return self._now.tables.version

    @property
    def flat(self) -> "DataFrame":
        """The base fields, labels of inner bags, and ``_multiplicity``."""
        from ripplenest.source.frames import flat  # noqa: PLC0415 - only Spark answers need Spark

        return flat(self._spark(), self._folder, self._now, self._comparable())

    @property
    def dictionaries(self) -> "Mapping[str, DataFrame]":
        """By site: the label, the fields of its rows, and ``_multiplicity``."""
        from ripplenest.source.frames import entries  # noqa: PLC0415

        then, spark, now = self._comparable(), self._spark(), self._now
        return {d.site.name: entries(spark, self._folder, now, d, then) for d in now.shape.dictionaries}

    @property
    def nested(self) -> "DataFrame":
        """The fields of the nested rows, and ``_multiplicity``. Of views that are published or tracked
        (``Database.track``) only the rows that were touched are read; a warning says where large tables were."""
        from ripplenest.source.frames import changed  # noqa: PLC0415

        return changed(self._spark(), self._touched().batch())

    def to_arrow(self) -> "pa.Table":
        """As ``nested``."""
        import pyarrow as pa  # noqa: PLC0415 - for who reads so

        return pa.Table.from_batches([self._touched().batch()])

    def flat_to_arrow(self) -> "pa.Table":
        """As ``flat``, each row once."""
        return flat_table(self._now.shape, self._now.tables, self._comparable())

    def dictionaries_to_arrow(self) -> "Mapping[str, pa.Table]":
        """As ``dictionaries``, each row once."""
        return dictionary_tables(self._now.shape, self._now.tables, self._comparable())

    def _comparable(self) -> int:
        """``since``. Raises StateError when other tables were read then."""
        if not self._now.shape.same_tables(self._then.shape):
            what = "the view has other tables by now"
            possible = ["changes().nested", "changes().to_arrow", "changed_rows"]
            raise StateError(what, where=f"view {self._name}", possible=possible)
        return self.since

    def _touched(self) -> Changed:
        """What was scanned for want of access keys is told to the program: it is two frames above a public name."""
        now, then = self._now, self._then
        if not now.shape.same_tables(then.shape):
            return self._replaced()
        found = touched(now.shape, now.tables, self.since)
        change, scanned = Changed(now.shape, *found.changed()), found.missed
        many = sum(now.tables.size(table) for table in scanned)
        if many > SCANNED:
            what = f"{many:,} stored rows were read whole ({', '.join(scanned)}); after track({self._name!r}) only what"
            warnings.warn(f"changes of {self._name}: {what} was touched is read", stacklevel=4)
        return change

    def _replaced(self) -> Changed:
        """Raises StateError for rows of other types."""
        now, then = self._now, self._then
        if not is_grown(then.shape.row, now.shape.row):
            what, wanted = "the rows of the view have another type by now", show_type(then.shape.row)
            got, possible = show_type(now.shape.row), ["as_of for the rows as they were"]
            raise StateError(what, where=f"view {self._name}", wanted=wanted, got=got, possible=possible)
        return Changed.between((then.shape, then.tables), (now.shape, now.tables))
