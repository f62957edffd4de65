"""A view or a relation as its users read it: nested, shredded, or as changes; the newest version, or an older one."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module  # noqa: TID251 - of optional packages, by constants
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ripplenest.api.changes import Changes
from ripplenest.api.named import CHANGES, SET, Named
from ripplenest.data.columnar import largest_bag, weights
from ripplenest.data.order import wide
from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.arguments import count, moment
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import QueryError, UnknownView
from ripplenest.nrc.printing.text import show_type
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.types import Bag, Base, has_columns
from ripplenest.reading.nested import nested_bag
from ripplenest.reading.plain import rows_of
from ripplenest.reading.shown import dictionary_tables, flat_table
from ripplenest.reading.some import row_with, rows_with, some_rows
from ripplenest.schema.altered import Altered, added, renamed, widened
from ripplenest.schema.relation import Relation
from ripplenest.schema.shape import VALUE, OutputShape, shapes
from ripplenest.state.pieces import Pieces
from ripplenest.state.state import Shown
from ripplenest.state.views import Kept, Waiting
from ripplenest.version.version import AsOf

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ripplenest.explanation import Explanation

WHOLE = {"long": "Int64", "int": "Int32"}  # of pandas, which makes floats of integers beside NULL
BATCH = 65_536  # nested rows of one batch
Show = Callable[[str, AsOf | None], Shown]


@public
class Handle(Named):
    """A view or a relation of a database. Every read is of the newest version at the time of the call, or always of
    the one that ``as_of`` gave. Raises StateError for a version that is no longer kept, or before there was such a view
    or relation, and UnknownView when it was dropped."""

    _instead: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("head", "take", "first", "sample"), "limit(10)"),
        **dict.fromkeys(("collect", "fetchall", "to_list", "to_pylist", "to_dicts", "values"), "rows()"),
        **dict.fromkeys(("show", "display", "toDF", "df"), "nested(), a DataFrame of Spark, or limit(10)"),
        **dict.fromkeys(("filter", "find", "select"), "where(field=...), or nested().filter(...) of Spark"),
        **dict.fromkeys(("toPandas", "to_df", "pandas"), "to_pandas()"),
        **dict.fromkeys(("toArrow", "arrow"), "to_arrow()"),
        **dict.fromkeys(("schema", "columns", "type"), "shape.row"),
    }

    def __init__(
        self, name: str, show: Show, spark: Callable[[], "SparkSession"], folder: str, as_of: AsOf | None = None
    ) -> None:
        self.name = name
        self._show, self._spark, self._folder, self._as_of = show, spark, folder, as_of

    def __repr__(self) -> str:
        at = "" if self._as_of is None else f" as of {self._as_of}"
        return f"<{self._kind} {self.name}: {show_type(Bag(self.shape.row))}{at}>"

    _kind = "view"

    @property
    def shape(self) -> OutputShape:
        """The tables that are read, and how they are nested."""
        return self._shown().shape

    def as_of(self, version: AsOf) -> Self:
        """The same at ``version``, or at the version that the batch (source, seq) made."""
        self._show(self.name, moment(version, "as_of"))  # raises now what cannot be read
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, _as_of=version)
        return found

    def nested(self) -> "DataFrame":
        """A DataFrame of the fields, inner bags as arrays (of structs, or of base values).

        A row with multiplicity n comes n times; arrays have no particular order. A row of base values is the column
        ``value``. Evaluating it raises an error when a multiplicity is below 0, which has no nested form.
        """
        from ripplenest.source.frames import nested  # noqa: PLC0415 - only Spark answers need Spark

        return nested(self._spark(), self._folder, self._shown())

    def flat(self) -> "DataFrame":
        """The flat part: base fields as they are, each inner bag as a label (a struct), and ``_multiplicity``."""
        from ripplenest.source.frames import flat  # noqa: PLC0415

        return flat(self._spark(), self._folder, self._shown())

    def dictionaries(self) -> "Mapping[str, DataFrame]":
        """By site, what its labels stand for: ``label``, the row's fields, and ``_multiplicity``. Where a field
        is called so, ours begins with ``_``: ``_label``.

        A label without rows is an empty bag. Labels of key-bound sites that no row holds may have rows, too.
        """
        from ripplenest.source.frames import entries  # noqa: PLC0415

        now = self._shown()
        return {d.site.name: entries(self._spark(), self._folder, now, d) for d in now.shape.dictionaries}

    def flat_to_arrow(self) -> "pa.Table":
        """As ``flat``, each row once; needs no Spark."""
        now = self._shown()
        return flat_table(now.shape, now.tables)

    def dictionaries_to_arrow(self) -> "Mapping[str, pa.Table]":
        """As ``dictionaries``, each row once; needs no Spark."""
        now = self._shown()
        return dictionary_tables(now.shape, now.tables)

    def changes(self, since: AsOf) -> Changes:
        """The delta after version ``since`` (or after the batch (source, seq)): flat rows, dictionary rows by label,
        and nested rows. Up to the newest version, or to the one that ``as_of`` gave."""
        return self._changes(since)

    def changed_rows(self, since: AsOf) -> tuple[list[Any], list[Any]]:
        """The nested rows that went after ``since`` and those that came, as plain Python like ``rows``; a row that
        changed inside is in both, as it was and as it is. Reads only what was touched where the database has the access
        keys for it (``Database.track``), and warns where it does not and tables are large; needs no Spark."""
        return self._changes(since)._touched().rows()

    def _changes(self, since: AsOf) -> Changes:
        then = self._show(self.name, moment(since, "since"))
        return Changes(self.name, then, self._shown(), self._spark, self._folder)

    @property
    def size(self) -> int:
        """Stored rows, told without reading any: at least the distinct rows, and changes that are not merged yet."""
        now = self._shown()
        return now.tables.size(now.shape.flat.table)

    def count(self) -> int:
        """How many rows there are, each as often as it comes."""
        now = self._shown()
        return int(wide(weights(now.tables.scan(now.shape.flat.table)).to_numpy()).sum())

    def rows(self) -> list[Any]:
        """Plain Python: dicts with lists, sorted as the view says, and else canonically. For small views; needs no
        Spark."""
        now = self._shown()
        return rows_of(now.shape, now.tables)

    def __iter__(self) -> Iterator[Any]:
        """Its ``rows``, one after the other."""
        return iter(self.rows())

    def batches(self, rows: int = BATCH) -> "pa.RecordBatchReader":
        """The nested rows as Arrow, about ``rows`` of them at a time: inner bags are lists (of structs, or of base
        values), sorted where the view says how, and a row that is there n times comes n times. A row of base values is
        the column ``value``. Needs no Spark, and takes what the tables take and one batch. Raises EvaluationError when
        a multiplicity is below 0, which has no nested form."""
        from ripplenest.reading.arrow import NestedColumns  # noqa: PLC0415 - Arrow's kernels, for who reads so

        now = self._shown()
        return NestedColumns(now.shape, now.tables).reader(count(rows, "batches: rows", 1))

    def to_arrow(self) -> "pa.Table":
        """All of ``batches`` as one table."""
        return self.batches().read_all()

    def to_pandas(self) -> Any:
        """All of ``batches`` as a pandas.DataFrame: inner bags as arrays of dicts. Integers that may be NULL are of the
        types Int64 and Int32, which hold them as they are. Raises EnvironmentProblem without pandas."""
        optional("pandas", "to_pandas")
        row = self.shape.row
        fields = row.fields if has_columns(row) else ((VALUE, row),)
        some = ((name, t.kind) for name, t in fields if isinstance(t, Base) and t.nullable)
        whole = {name: WHOLE[kind] for name, kind in some if kind in WHOLE}
        return self.to_arrow().to_pandas(integer_object_nulls=True).astype(whole)

    def to_polars(self) -> Any:
        """All of ``batches`` as a polars.DataFrame. Raises EnvironmentProblem without polars."""
        return optional("polars", "to_polars").from_arrow(self.to_arrow())

    def get(self, /, **fields: object) -> Any:
        """The one nested row with these base fields, as plain Python, or None. A relation is asked by its key, and
        reads that row and what it holds; other fields, and views, read their flat rows. Raises Ambiguous for several.
        """
        now = self._shown()
        return row_with(now.shape, now.tables, fields, f"{self._kind} {self.name}, get")

    def where(self, /, **fields: object) -> list[Any]:
        """All nested rows with these base fields, as plain Python, in the order of ``rows``; None finds NULL. Where the
        fields are a key, or a view or batch looks rows up by them, only these rows and what they hold are read, and
        else the flat rows whole. Raises UnknownName, WrongValue, and UnknownKey without fields."""
        now = self._shown()
        return rows_with(now.shape, now.tables, fields, f"{self._kind} {self.name}, where")

    def limit(self, rows: int) -> list[Any]:
        """At most so many rows as plain Python: the first ones of ``rows`` where the view says how they are sorted, and
        else some. Of what is sorted the flat rows are read whole, and of the rest what these hold, with who agrees with
        the last one."""
        now = self._shown()
        return some_rows(now.shape, now.tables, count(rows, "limit: rows", 0))

    def bag(self) -> BagValue:
        """The value of the calculus."""
        now = self._shown()
        return nested_bag(now.shape, now.tables)

    def _shown(self) -> Shown:
        return self._show(self.name, self._as_of)


Alter = Callable[[str, Callable[[Relation], Altered]], int]


@public
class RelationHandle(Handle):
    """A relation of a database."""

    _kind = "relation"
    _instead: ClassVar[Mapping[str, str]] = {**Handle._instead, **CHANGES, "set": f"with db.batch() as b: {SET}"}

    def __init__(self, name: str, show: Show, spark: Callable[[], "SparkSession"], folder: str, alter: Alter) -> None:
        super().__init__(name, show, spark, folder)
        self._alter = alter

    def add(self, field: str, type: object, default: object = None) -> int:
        """Give rows the field ``field`` (``"year"``, or ``"orders.note"`` for the rows of an inner bag), at their end,
        with ``default`` in the rows that are there. Returns the version.

        No stored row is written again, older versions show the field, too, and views that do not read it stay as they
        are; those that show whole rows are made again. ``type`` is an annotation as in records. Raises TypeMismatch,
        WrongValue, NameTaken, and StateError when a view does not fit the new rows.
        """
        t = annotation_type(type, f"relation {self.name}, add {field}: type")
        return self._alter(f"add {field}", lambda r: added(r, field, t, default))

    def widen(self, field: str, type: object) -> int:
        """Give a field a wider type: ``rn.Int`` to ``int``, more digits before the point, ``| None``. Returns the
        version. As with ``add``, no stored row is written again; views that read the field are made again. Raises
        TypeMismatch, UnknownName, StateError."""
        t = annotation_type(type, f"relation {self.name}, widen {field}: type")
        return self._alter(f"widen {field}", lambda r: widened(r, field, t))

    def rename(self, field: str, new: str) -> int:
        """Give a base field the name ``new``. Returns the version. Views read it under its new name and are not
        rebuilt. Raises TypeMismatch, UnknownName, NameTaken, StateError."""
        return self._alter(f"rename {field} to {new}", lambda r: renamed(r, field, new))


@public
class ViewHandle(Handle):
    """A view of a database."""

    def __init__(self, name: str, view: Callable[[], Kept | Waiting | None], pieces: Pieces, *rest: Any) -> None:
        super().__init__(name, *rest)
        self._view, self._pieces = view, pieces  # asked for when it is needed: it is compiled. None when dropped

    @property
    def waits(self) -> str:
        """Why the view waits to be rebuilt; "" for one that is kept fresh."""
        found = self._view()
        return found.why if isinstance(found, Waiting) else ""

    def explain(self, delta: Mapping[str, int] | None = None) -> "Explanation":
        """How the view is kept fresh, with the maps that the state has and what triggers cost for its sizes; of a view
        that waits, how it will be; and on which engine a batch, a build and a load would run. ``delta`` as in
        ``ripplenest.explain``, for parts with rows. The labels of inner bags are read, to find the largest of each
        part."""
        from ripplenest.explanation import explain_kept  # noqa: PLC0415 - who reads and writes rows needs none of it

        found = self._view()
        kept = found.made if isinstance(found, Waiting) else found
        if isinstance(kept, QueryError):
            raise kept
        if kept is None:
            raise UnknownView("the view was dropped", got=self.name)
        tables = self._shown().tables
        sizes = {part: n for part in kept.program.parts if (n := tables.size(part))}
        inner = {d.table: d.label_columns for d in shapes(kept.program) if d.table in sizes}
        largest = {part: largest_bag(tables.scan(part), label) for part, label in inner.items()}
        pieces = partial(self._pieces.of, kept, tables.size)
        return explain_kept(kept, sizes, {} if delta is None else delta, largest, pieces)


def optional(package: str, for_what: str) -> Any:
    """An optional library. Raises EnvironmentProblem when it is missing."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        what, possible = f"{for_what} needs {package}", [f"pip install {package}", "to_arrow()"]
        raise EnvironmentProblem(what, where=for_what, wanted=package, got="none", possible=possible) from error
