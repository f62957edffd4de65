"""What columns take is what is read row by row; what they do not take is read, or refused, row by row."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from struct import pack
from typing import Any, NamedTuple

import attrs
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel
from pyspark.sql import Row as SparkRow
from support.edges import EDGES

from ripplenest.data.columns import base_types
from ripplenest.data.content import content_digest
from ripplenest.data.level_values import values_of
from ripplenest.data.rows import arrow_type
from ripplenest.intake import ingest
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.plain import from_arrow, from_python
from ripplenest.nrc.errors import RipplenestError, WrongValue
from ripplenest.nrc.types import LONG, STRING, Bag, Base, Record, Type, nullable
from ripplenest.nrc.values import NAN, to_value

ODD: list[object] = [
    *(None, True, 1, -1, 2**31, 2**63, 10**40, 1.5, float("nan"), -0.0, 1e308, np.int64(3), np.float32(0.5), np.True_),
    *(Decimal("1.5"), Decimal("1.234567"), Decimal("-0.00"), Decimal("NaN"), Decimal("1e30"), "a", "\ud800", "", "\0"),
    *(date(2024, 2, 29), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), b"", b"\xff", bytearray(b"a"), [], {}),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2))),
]
KINDS = [t for base in EDGES for t in (base, nullable(base, False))]


def exactly(value: object) -> object:
    return pack("d", value) if isinstance(value, float) else (type(value), repr(value))


def read(rows: object, t: Type, by_columns: bool) -> Any:
    """The rows and the digest of what was read, or what was said."""
    with pytest.MonkeyPatch.context() as patch:
        if not by_columns:
            patch.setattr(ingest, "from_python", lambda *_: None)
            patch.setattr(ingest, "from_arrow", lambda *_: None)
        try:
            given = read_rows(rows, t, "rows")
        except RipplenestError as error:
            return str(error)
        values = [tuple(exactly(v) for _, v in row) for row in given.values]  # type: ignore[union-attr, misc]
        columns = [tuple(map(exactly, row)) for row, _ in given.rows.pairs()]
        assert columns == values
        return values, content_digest(given.rows)


@pytest.mark.parametrize("t", KINDS, ids=str)
def test_columns_of_python_values(t: Base) -> None:
    """One value, and one beside a value of the type."""
    row, taken = Record((("x", t),)), 0
    good = [{"x": v} for v in EDGES[nullable(t)]]  # type: ignore[index]
    for rows in ([], good, good[::-1], *([{"x": v}] for v in ODD), *([good[0], {"x": v}] for v in ODD)):
        assert read(rows, row, True) == read(rows, row, False), rows
        taken += from_python(rows, row) is not None
    assert taken >= 4


ARROW = [
    *(pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)),
    *(pa.decimal128(38, 3), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.date32(), pa.date64()),
    *(pa.timestamp(u, tz) for u, tz in product(("s", "us", "ns"), (None, "UTC", "Europe/Berlin", "-03:30", "Ab/Cd"))),
    *(pa.string_view(), pa.binary_view()),
    *(pa.dictionary(pa.int32(), pa.string()), pa.null()),
]


def arrow_columns(t: pa.DataType) -> list[pa.Array]:
    """Columns of this type, with whatever values can be in it."""
    values = [*ODD, *(v for edges in EDGES.values() for v in edges)]
    found = []
    for v in {(type(v), repr(v)): v for v in values}.values():
        try:
            found.append(pa.array([v], t))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return [*found, pa.concat_arrays(found).slice(1)]


@pytest.mark.parametrize("t", KINDS, ids=str)
def test_columns_of_arrow(t: Base) -> None:
    row, taken = Record((("x", t),)), 0
    for arrow in (*ARROW, arrow_type(t)):
        for column in arrow_columns(arrow):
            table = pa.table({"x": column})
            assert read(table, row, True) == read(table, row, False), (arrow, column)
            taken += from_arrow(table, row) is not None
    assert taken > 3


@pytest.mark.parametrize(
    "values",
    [
        pa.array([datetime(2026, 3, 29, 1, 30, tzinfo=UTC), None], pa.timestamp(unit, zone))
        for unit in ("us", "ns")
        for zone in ("Etc/UTC", "Europe/Berlin", "+02:00")
    ]
    + [pa.array(["é", None], pa.string_view()), pl.Series(["é", None]).to_arrow()]
    + [pa.array([b"x", None], pa.binary_view())],
    ids=lambda a: str(a.type),
)
def test_what_other_tools_hand_out_is_taken_by_columns(values: pa.Array) -> None:
    """Zones of DuckDB and of Spark's sessions, nanoseconds of pandas, texts of polars, lists of one size."""
    kinds = {"string": "string", "timestamp": "timestamp", "binary": "binary", "large": "string"}
    name = re.match("[a-z]+", str(values.type))[0]  # type: ignore[index]
    row = Record((("x", Base(kinds[name], True)),))
    for column in (values, values.slice(1), values.slice(0, 1)):
        table = pa.table({"x": column})
        assert from_arrow(table, row) is not None and read(table, row, True) == read(table, row, False)


def test_lists_of_one_size_are_taken_by_columns() -> None:
    lists = pa.array([[1, 2], None, [3, 3]], pa.list_(pa.int64(), 2))
    row = Record((("x", Bag(Base("long"), True)),))
    for column in (lists, lists.slice(1), lists.slice(2)):
        level = from_arrow(pa.table({"x": column}), row)
        assert level is not None
        assert values_of(level, row) == [to_value({"x": x}, row, "") for x in column.to_pylist()]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b", "c"])], ids=str)
def test_categories_of_polars_are_texts_at_every_depth(kind: Any) -> None:
    """Arrow takes no views, which these are made of."""
    t = pl.Struct({"c": kind})
    frame = pl.DataFrame(
        {"x": ["a", None, "b"], "r": [{"c": c} for c in ("b", None, "a")], "xs": [[{"c": "c"}, {"c": None}], [], None]},
        schema={"x": kind, "r": t, "xs": pl.List(t)},
    )
    inner = Record((("c", Base("string", True)),))
    row = Record((("x", Base("string", True)), ("r", inner), ("xs", Bag(inner, True))))
    for given in (frame, frame[1:], frame[:1]):
        level = from_arrow(pa.table(given), row)
        assert level is not None
        assert values_of(level, row) == [to_value(found, row, "") for found in given.to_dicts()]
        assert len(read_rows(given, row, "rows")) == len(given)


ROW = Record((("a", Base("long")), ("r", Record((("b", Base("string", True)), ("c", Base("double")))))))
ROWS = [{"a": i, "r": {"b": None if i % 3 == 0 else f"é{i}", "c": [0.5, -0.0, NAN][i % 3]}} for i in range(10)]


@dataclass
class DataInner:
    b: str | None
    c: float


@dataclass
class DataOuter:
    a: int
    r: DataInner
    bag: list[DataInner]


class TupleInner(NamedTuple):
    b: str | None
    c: float


class TupleOuter(NamedTuple):
    a: int
    r: TupleInner
    bag: list[TupleInner]


class ModelInner(BaseModel):
    b: str | None
    c: float


class ModelOuter(BaseModel):
    a: int
    r: ModelInner
    bag: list[ModelInner]


@attrs.define
class AttrsInner:
    b: str | None
    c: float


@attrs.define
class AttrsOuter:
    a: int
    r: AttrsInner
    bag: list[AttrsInner]


CLASSES = [(DataOuter, DataInner), (TupleOuter, TupleInner), (ModelOuter, ModelInner), (AttrsOuter, AttrsInner)]
DEEP = Record((*ROW.fields, ("bag", Bag(Record((("b", Base("string", True)), ("c", Base("double"))))))))
DICTS = [{**row, "bag": [{"b": str(j), "c": j / 2} for j in range(i % 3)]} for i, row in enumerate(ROWS)]


@pytest.mark.parametrize(("outer", "inner"), [*CLASSES, (SparkRow, SparkRow)], ids=lambda cls: cls.__name__)
def test_records_of_every_kind_are_the_rows_that_dicts_are(outer: Any, inner: Any) -> None:
    def made(row: Any) -> Any:
        return outer(a=row["a"], r=inner(**row["r"]), bag=[inner(**item) for item in row["bag"]])

    rows = [made(row) for row in DICTS]
    assert (from_python(rows, DEEP) is None) == (outer is SparkRow)
    for some, same in ((rows, DICTS), (rows[:1], DICTS[:1]), ([rows[0], DICTS[1]], DICTS[:2])):
        assert read_rows(some, DEEP, "rows").values == read_rows(same, DEEP, "rows").values
    with pytest.raises(WrongValue, match=r"(?s)one row, not a collection of them.*\[row\]"):
        read_rows(rows[0], DEEP, "rows")
    strange = [outer(a=1, r=inner(b="x", c=0.5), bag=[inner(b="x", c=10**400)])] if inner is not ModelInner else []
    for row in strange:
        with pytest.raises(WrongValue, match=r"rows\[0\]\.bag\[0\]\.c"):
            read_rows([row], DEEP, "rows")


def test_what_is_no_collection_yet_says_how_it_becomes_one() -> None:
    row = Record((("x", Base("long")),))
    with pytest.raises(WrongValue, match=r"(?s)one row, not a collection of them.*\[row\]"):
        read_rows({"x": 1}, row, "rows")
    with pytest.raises(WrongValue, match=r"(?s)not a collection of rows yet.*got +LazyFrame.*collect\(\)"):
        read_rows(pl.LazyFrame({"x": [1]}), row, "rows")


def test_integers_are_doubles_where_one_is_equal_to_them() -> None:
    """By columns and one by one; what would be another number is refused."""
    row = Record((("x", Base("double", True)),))
    for good in (3, -(2**53), 2**60, 10**22):
        for rows in ([{"x": good}] * 9, [{"x": good}], [{"x": good}, {"x": 0.5}, {"x": None}] * 3):
            assert read(rows, row, True) == read(rows, row, False)
            assert dict(read_rows(rows, row, "rows").values[0])["x"] == good  # type: ignore[call-overload]
    assert from_python([{"x": 1}, {"x": 1.5}] * 9, row) is not None
    assert from_arrow(pa.table({"x": pa.array([1, None], pa.int64())}), row) is not None
    for bad in (2**53 + 1, -(2**62) - 1):
        for given in ([{"x": bad}] * 9, [{"x": bad}], pa.table({"x": pa.array([bad] * 9, pa.int64())})):
            with pytest.raises(WrongValue, match=r"rows\[0\]\.x: an integer that no double is equal to"):
                read_rows(given, row, "rows")


@pytest.mark.parametrize("kind", ["bool", "int", "long", "double", "string", "binary", "date", "timestamp"])
def test_values_that_are_all_null_are_taken_by_columns(kind: Any) -> None:
    """And those of bags that are all empty."""
    row = Record((("x", Base(kind, nullable=True)), ("xs", Bag(Base(kind)))))
    assert from_python([{"x": None, "xs": []}] * 5, row) is not None


def test_every_kind_of_input_is_the_same_content() -> None:
    schema = pa.schema({"a": pa.int64(), "r": pa.struct({"b": pa.string(), "c": pa.float64()})})
    table = pa.Table.from_pylist(ROWS, schema)
    chunked = pa.concat_tables([table.slice(0, 3), table.slice(3)])
    inputs = [ROWS, ROWS[::-1], tuple(ROWS), table, chunked, table.to_batches()[0], table.slice(0), pl.DataFrame(table)]
    inputs += [pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), (dict(r) for r in ROWS)]
    found = {content_digest(read_rows(rows, ROW, "rows").rows) for rows in inputs}
    assert len(found) == 1
    others = [ROWS[1:], [*ROWS, ROWS[0]], [{**ROWS[0], "a": 99}, *ROWS[1:]]]
    others += [[{"a": 0, "r": {"b": "", "c": 0.5}}, *ROWS[1:]]]
    found |= {content_digest(read_rows(rows, ROW, "rows").rows) for rows in others}
    assert len(found) == 5


def test_null_is_the_same_content_whatever_stands_behind_it() -> None:
    bits = pa.array([False]).buffers()[1]
    behind = [pa.nulls(1, pa.int64()), pa.array([None], pa.int64())]
    behind += [pa.Array.from_buffers(pa.int64(), 1, [bits, pa.array([7]).buffers()[1]])]
    row = Record((("x", Base("long", True)),))
    assert len({content_digest(read_rows(pa.table({"x": c}), row, "rows").rows) for c in behind}) == 1


def test_empty_texts_and_null_are_told_apart_whatever_buffers_there_are() -> None:
    row = Record((("x", Base("string", True)),))
    columns = (pa.array(["", None]), pa.array([None, ""]), pa.array(["a", "", None])[1:], pa.array(["", None, "b"])[:2])
    tables = [pa.table({"x": c}) for c in columns]
    assert len({content_digest(read_rows(t, row, "rows").rows) for t in tables}) == 1
    assert content_digest(read_rows([{"x": ""}, {"x": ""}], row, "rows").rows) != content_digest(
        read_rows(tables[0], row, "rows").rows
    )


@pytest.mark.parametrize("rows", [pa.chunked_array([[1, 2]]), pa.array([1, 2])], ids=["chunked", "array"])
def test_arrow_data_without_fields_is_refused(rows: object) -> None:
    assert "rows" in read(rows, ROW, True)


def test_texts_that_only_differ_in_where_they_end_have_other_digests() -> None:
    row = Record((("x", Base("string", True)), ("y", Base("string", True))))
    texts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("abc", None), (None, "abc")]
    digests = {content_digest(read_rows([{"x": x, "y": y}], row, "rows").rows) for x, y in texts}
    assert len(digests) == len(texts)


@pytest.mark.parametrize("bad", [{"a": 1}, {"a": 1, "r": None}, {"a": 1, "r": {"b": "x", "c": 1.0}, "z": 1}, 7])
def test_what_is_no_row_is_refused_with_its_place(bad: object) -> None:
    assert read([ROWS[1], bad], ROW, True) == read([ROWS[1], bad], ROW, False)
    assert "rows[1]" in read([ROWS[1], bad], ROW, True)


def test_bytes_that_are_no_text_are_refused() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    table, row = pa.table({"x": broken}), Record((("x", Base("string")),))
    assert from_arrow(table, row) is None
    assert isinstance(read(table, row, True), str)


def test_types_without_fields() -> None:
    for rows in ([1, 2], pa.table({"any": [1, 2]})):
        given = read_rows(rows, Base("long"), "rows")
        assert given.values == (1, 2) and base_types(given.type) == (Base("long"),)


def test_rows_are_tiny_at_every_depth_or_not_at_all() -> None:
    for depth in range(3):
        few, many = ([{"x": [1] * n}] for n in (ingest.TINY, ingest.TINY + 1))
        for _ in range(depth):
            few, many = ([{"r": {"bag": rows}}] for rows in (few, many))
        assert ingest._is_tiny(few) and not ingest._is_tiny(many), depth


@pytest.mark.parametrize("lengths", [(0,), (0, 2), (1, 0, 1), (0, 0)])
def test_pieces_without_rows_that_were_cut_out_of_others(lengths: tuple[int, ...]) -> None:
    """They come by a stream with an offset, and without the bytes before it."""
    whole = pa.record_batch({"x": [7, 8, 9], "s": ["a", None, "c"]})
    pieces = [whole.slice(1, n) for n in lengths]
    t = Record((("x", LONG), ("s", nullable(STRING))))
    reader = pa.RecordBatchReader.from_batches(whole.schema, pieces)
    assert read(reader, t, True) == read([row for piece in pieces for row in piece.to_pylist()], t, False)
