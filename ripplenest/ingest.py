"""User rows to nested values: dicts, records, an Arrow table or a DataFrame, all checked the same way."""

from collections.abc import Iterable

import pyarrow as pa

from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.errors import WrongColumns, WrongValue
from ripplenest.nrc.types import Record, Type
from ripplenest.nrc.values import to_value

WANTED = "dicts, records, a pyarrow.Table or a DataFrame"


def read_rows(rows: object, row: Type, where: str) -> tuple[Value, ...]:
    """The rows as canonical values of type ``row``, in their order.

    Inner bags come as lists, inner records as dicts or records. Raises WrongColumns or WrongValue with the path of the
    culprit, such as ``rows[17].items[2].qty``.
    """
    return tuple(to_value(r, row, f"{where}[{i}]") for i, r in enumerate(_python_rows(rows, row, where)))


def _python_rows(rows: object, row: Type, where: str) -> Iterable[object]:
    to_arrow = getattr(rows, "toArrow", None)  # a Spark DataFrame, without importing Spark
    table = to_arrow() if callable(to_arrow) else rows
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return _arrow_rows(table, row, where)
    if isinstance(table, str | bytes | dict | BagValue) or not isinstance(table, Iterable):
        raise WrongValue("not a collection of rows", where=where, wanted=WANTED, got=type(rows).__name__)
    return table


def _arrow_rows(table: pa.Table, row: Type, where: str) -> Iterable[object]:
    """A table's rows as dicts; a bag of base values is a table of one column. Names are checked even without rows."""
    if isinstance(row, Record):
        if sorted(table.column_names) != sorted(row.names):
            what = "other columns than the relation has"
            raise WrongColumns(what, where=where, wanted=list(row.names), got=table.column_names)
        return list(table.to_pylist())
    if table.num_columns != 1:
        raise WrongColumns("rows without fields are one column", where=where, wanted=row, got=table.column_names)
    return list(table.column(0).to_pylist())
