"""Folders of files of rows, as Spark and others write them: the files one after the other, in the order of their names.

What begins with ``_`` or ``.`` is no file of rows, as for Spark. A folder inside that is called ``name=value`` says the
value of a field of all rows below it. Law: the rows are those of all files; each file has the columns that it would
have alone, so no column of one is left out because another one lacks it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from ripplenest.data.rows import arrow_type
from ripplenest.nrc.errors import WrongColumns, WrongValue
from ripplenest.nrc.types import Base, Record, Type

HIDDEN = ("_", ".")
NULL = "__HIVE_DEFAULT_PARTITION__"
LOGS = {
    "_delta_log": "deltalake.DeltaTable(path).to_pyarrow_table()",
    ".hoodie": "spark.read.format('hudi').load(path)",
}
SAID = ("string", "int", "long", "double", "decimal", "date", "bool")  # types of values that names of folders say


@frozen
class Piece:
    """A ``file`` of rows, alone or in a folder, and what the folders above it say of them."""

    file: Path
    said: Mapping[str, str] = field(factory=dict)
    is_alone: bool = False

    def row(self, row: Type) -> Type:
        """The type of what is in the file. Raises WrongColumns for fields that rows do not have."""
        if not self.said:
            return row
        types = dict(row.fields) if isinstance(row, Record) else {}
        if not self.said.keys() <= types.keys():
            what, wanted = "folders that name other columns than the relation has", list(types)
            raise WrongColumns(what, where=str(self.file.parent), wanted=wanted, got=list(self.said))
        return Record(tuple((name, t) for name, t in types.items() if name not in self.said))

    def whole(self, table: pa.Table, row: Type, where: str) -> pa.Table:
        """Rows of the file with what is said of them. Raises WrongValue and WrongColumns."""
        types = dict(row.fields) if isinstance(row, Record) else {}
        for name, text in self.said.items():
            if name in table.column_names:
                what = "a column that the folder names, too"
                raise WrongColumns(what, where=f"{where}: {self.file}", got=name)
            value = _value(text, types[name], f"{where}: {self.file.parent}: {name}")
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        if types and not self.is_alone and sorted(table.column_names) != sorted(types):
            what, where = "other columns than the relation has", f"{where}: {self.file}"
            raise WrongColumns(what, where=where, wanted=list(types), got=table.column_names)
        return table


def pieces(path: Path, where: str) -> Iterator[Piece]:
    """The files of rows that are in a folder, or the file alone. Raises WrongValue where there are none, and for a
    folder whose files are not all of them rows of a table that there is now."""
    if not path.is_dir():
        yield Piece(path, is_alone=True)
        return
    found = list(_below(path, {}, where))
    if not found:
        raise WrongValue("a folder without files of rows", where=f"{where}: {path}")
    yield from found


def _below(folder: Path, said: Mapping[str, str], where: str) -> Iterator[Piece]:
    for inner in sorted(folder.iterdir()):
        if inner.name in LOGS:
            what, possible = "a table, of which some files are of older versions", [LOGS[inner.name]]
            raise WrongValue(what, where=f"{where}: {folder}", got=inner.name, possible=possible)
        if inner.name.startswith(HIDDEN):
            continue
        name, equals, value = inner.name.partition("=")
        if inner.is_dir():
            yield from _below(inner, {**said, unquote(name): unquote(value)} if equals else said, where)
        else:
            yield Piece(inner, said)


def _value(text: str, t: Type, where: str) -> pa.Scalar:
    """What the name of a folder says, as a value of a field."""
    if not isinstance(t, Base) or t.kind not in SAID:
        possible = ["spark.read.parquet(path)"]
        raise WrongValue("a type that names of folders do not say", where=where, got=t, possible=possible)
    if text == NULL:
        return pa.scalar(None, arrow_type(t))
    try:
        return pc.cast(pa.scalar(text), arrow_type(t))
    except pa.ArrowException:
        raise WrongValue("a value that is not of its type", where=where, wanted=t, got="str") from None
