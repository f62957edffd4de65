"""u on Spark: flat tables and dictionaries back to nested DataFrames, and the tables as users read them.

From the innermost bags outwards, each dictionary is grouped by its label into arrays, and the arrays are joined to
the rows that hold the labels. Labels are joined null-safe: a label with a NULL parameter is one label.
"""

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import assert_never

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, IntegerType, StructField, StructType

from ripplenest.data.labels import SHOWN, Filled, Mark, Named, is_tagged, param_name, shows_site, site_columns, width
from ripplenest.data.order import shown_by
from ripplenest.data.rows import LABEL, MULTIPLICITY, WEIGHT, Rows, ours
from ripplenest.nrc.printing.shown import INSIDE, Path
from ripplenest.nrc.syntax import Sorting
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, has_columns
from ripplenest.schema.shape import Dictionary, OutputShape
from ripplenest.spark.frames import frame
from ripplenest.spark.ordering import way
from ripplenest.spark.scalars import spark_type

ROW = "row"
PLACE, COPIES, ENTRY = "place", "copies", "entry"  # of a row among those of its bag
Scan = Callable[[str], Rows]


def nested(spark: SparkSession, shape: OutputShape, scan: Scan) -> DataFrame:
    """The view's rows as columns of its fields, inner bags as arrays."""
    nester = _Nester(spark, shape, scan)
    rows = nester.rows(summed(frame(spark, scan(shape.flat.table))), shape.row, shape.flat.row, 0, (INSIDE,))
    copies = _copies(F.col(ROW))
    if has_columns(shape.row) and shape.row.fields:
        return rows.select(F.inline(copies))  # by position: names of fields may differ in case only
    value = F.explode(copies).alias("value")
    return rows.select(value).select(*[] if has_columns(shape.row) else ["value"])


def flat(spark: SparkSession, shape: OutputShape, rows: Rows) -> DataFrame:
    """Rows of the flat part: base fields, labels as structs, and the multiplicity."""
    df = summed(frame(spark, rows))
    t = shape.flat.row
    return df.select(*_named(t, 0), F.col(WEIGHT).alias(ours(MULTIPLICITY, _names(t))))


def entries(spark: SparkSession, d: Dictionary, rows: Rows) -> DataFrame:
    """Rows of a dictionary: the label, the fields of its row, and the multiplicity."""
    df = summed(frame(spark, rows))
    label = _plain(Label((d.site,)), 0)
    called, often = (ours(name, _names(d.row)) for name in (LABEL, MULTIPLICITY))
    return df.select(label.alias(called), *_named(d.row, d.label_width), F.col(WEIGHT).alias(often))


def _names(t: Type) -> tuple[str, ...]:
    """What the columns of the fields of ``t`` are called."""
    return t.names if has_columns(t) else ("value",)


def summed(df: DataFrame) -> DataFrame:
    """One row per distinct row, multiplicities summed, zeros left out."""
    keys = [c for c in df.columns if c != WEIGHT]
    return df.groupBy(*keys).agg(F.sum(WEIGHT).alias(WEIGHT)).filter(F.col(WEIGHT) != 0)


class _Nester:
    """Nests rows of one view at one version."""

    def __init__(self, spark: SparkSession, shape: OutputShape, scan: Scan) -> None:
        self._spark, self._shape, self._scan = spark, shape, scan
        self._count = 0

    def rows(self, df: DataFrame, row: Type, stored: Type, start: int, path: Path) -> DataFrame:
        """``df`` with the column ``row``: the nested value of its columns from ``start``, of type ``stored``; ``path``
        is that of the rows."""
        df, value = self._value(df, row, stored, start, path)
        return df.withColumn(ROW, value)

    def _value(self, df: DataFrame, a: Type, stored: Type, start: int, path: Path) -> tuple[DataFrame, Column]:
        match a, stored:
            case Base(), _:
                return df, F.col(f"c{start}")
            case Record(), Record(flats) if a.is_optional:
                df, value = self._value(df, Record(a.fields[1:]), Record(flats[1:]), start + 1, path)
                # What a record that may be NULL holds may be, too: Spark makes no Arrow of others.
                return df, F.when(F.col(f"c{start}"), value.cast(nested_type(a)))
            case Record(fields), Record(flats):
                columns = []
                for (name, inner), (_, flat_type) in zip(fields, flats, strict=True):
                    df, value = self._value(df, inner, flat_type, start, (*path, name))
                    columns.append(value.alias(name))
                    start += width(flat_type)
                return df, F.struct(*columns or [F.lit(None).cast("int").alias("unit")])
            case Bag(inner), Label():
                return self._bag(df, inner, stored, start, path)
            case _:
                raise AssertionError(f"{stored} does not store {a}")

    def _bag(self, df: DataFrame, row: Type, label: Label, start: int, path: Path) -> tuple[DataFrame, Column]:
        """The arrays of one bag: those of the site that made the label, empty without entries, NULL for NULL."""
        value = F.lit(None).cast(ArrayType(nested_type(row)))
        chosen: list[tuple[Column, Column]] = []
        for s in site_columns(label, start):
            df, array = self._joined(df, self._shape.dictionary(s.site.name), row, s.params.start, path)
            chosen.append((_made(s.mark), array))
        for made, array in reversed(chosen):
            value = F.when(made, array).otherwise(value)
        return df, value

    def _joined(
        self, df: DataFrame, d: Dictionary, row: Type, position: int, path: Path
    ) -> tuple[DataFrame, Column]:
        self._count += 1
        mine = f"b{self._count}_"
        arrays = self._arrays(d, row, mine, path)
        keys = [f"{mine}k{i}" for i in range(d.label_width)]
        on = [F.col(f"c{position + i}").eqNullSafe(F.col(k)) for i, k in enumerate(keys)]
        joined = df.join(arrays, reduce(and_, on), "left") if on else df.join(arrays, how="cross")
        empty = F.array().cast(ArrayType(nested_type(row)))
        return joined.drop(*keys), F.coalesce(F.col(f"{mine}a"), empty)

    def _arrays(self, d: Dictionary, row: Type, mine: str, path: Path) -> DataFrame:
        """One row per label: its parameters and the array of its rows, each as often as its multiplicity, sorted where
        the view says so."""
        stored = self._placed(d, summed(frame(self._spark, self._scan(d.table))), self._shape.shown.get(path, ()))
        rows = self.rows(stored, row, d.row, d.label_width, (*path, INSIDE))
        keys = [F.col(f"c{i}").alias(f"{mine}k{i}") for i in range(d.label_width)]
        entry = F.struct(*[F.col(PLACE)] * (PLACE in rows.columns), _copies(F.col(ROW)).alias(COPIES)).alias(ENTRY)
        found = F.collect_list(ENTRY)
        in_order = F.sort_array(found) if PLACE in rows.columns else found
        collected = F.flatten(in_order[COPIES]).alias(f"{mine}a")
        return rows.select(*keys, entry).groupBy(*(f"{mine}k{i}" for i in range(d.label_width))).agg(collected)

    def _placed(self, d: Dictionary, stored: DataFrame, order: tuple[Sorting, ...]) -> DataFrame:
        """The rows of a dictionary, with their places in their bags where these are sorted."""
        if not order:
            return stored
        columns = stored.columns[:-1]
        by = shown_by(d.row, order, d.label_width).every(len(columns))
        ways = [way(F.col(columns[b.column]), b) for b in by]
        inside = Window.partitionBy(*columns[: d.label_width]).orderBy(*ways)
        return stored.withColumn(PLACE, F.row_number().over(inside))


def nested_type(t: Type) -> DataType:
    """Spark's type for a nested type: records are structs, bags arrays; the unit record has one field of NULL."""
    match t:
        case Base():
            return spark_type(t)
        case Record():
            inner = [StructField(name, nested_type(f)) for name, f in t.there.fields]
            return StructType(inner or [StructField("unit", IntegerType())])
        case Bag(row):
            return ArrayType(nested_type(row))
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of a view")
        case _:
            assert_never(t)


def _made(mark: Mark) -> Column:
    """Whether a label is of the site."""
    match mark:
        case None:
            return F.lit(True)
        case Named(column, site):
            return F.col(f"c{column}") == F.lit(site)
        case Filled(column):
            return F.col(f"c{column}").isNotNull()
        case _:
            assert_never(mark)


def _copies(value: Column) -> Column:
    """An array with ``value`` as often as its multiplicity."""
    what = F.lit("a row with a negative multiplicity has no nested form; read flat() and dictionaries()")
    return F.when(F.col(WEIGHT) < 0, F.raise_error(what)).otherwise(F.array_repeat(value, F.col(WEIGHT).cast("int")))


def _named(t: Type, start: int, there: Column | None = None) -> list[Column]:
    """The columns from ``start`` as the fields of the flat row type ``t``; base rows are the column ``value``."""
    if not has_columns(t):
        return [_plain(t, start, there).alias("value")]
    found = []
    for name, inner in t.fields:
        found.append(_plain(inner, start, there).alias(name))
        start += width(inner)
    return found


def _plain(t: Type, start: int, there: Column | None = None) -> Column:
    """The columns from ``start`` as one value of the flat type ``t``; labels are structs. Inside of a record that may
    be NULL a struct is where that is ``there``: Arrow has no NULL around what is never NULL."""
    match t:
        case Base():
            return F.col(f"c{start}")
        case Record() if t.is_optional:
            own = F.col(f"c{start}")
            return F.when(own, F.struct(*_named(Record(t.fields[1:]), start + 1, own)))
        case Record():
            return _where(F.struct(*_named(t, start, there)), there)
        case Label(sites):
            tag = F.col(f"c{start}") if is_tagged(t) else F.lit(sites[0].name if sites else None)
            parts = [tag.alias(SHOWN)] if shows_site(t) else []
            for s in site_columns(t, start):
                at = s.params.start
                for name, inner in s.site.params:
                    parts.append(_plain(inner, at, there).alias(param_name(t, s.site, name)))
                    at += width(inner)
            return _where(F.struct(*parts), there)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _where(value: Column, there: Column | None) -> Column:
    return value if there is None else F.when(there, value)
