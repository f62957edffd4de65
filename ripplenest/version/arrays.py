"""The texts of inner bags, from the columns of the rows that they hold: of all bags of a part at once, from
the inside out.

Law: the arrays are those that ``folding.py`` makes row by row, letter by letter (``data/texts.py``), with the same
numbers. Rows in a bag are ordered by their base values. Where these do not tell rows apart that hold bags, there is no
answer, and it is made row by row.
"""

import json
from collections.abc import Mapping
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data.argsort import argsort
from ripplenest.data.grouping import Ints
from ripplenest.data.order import By, changes, key_numbers, ranks_by
from ripplenest.data.rows import WEIGHT, Rows, python_column
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.serial import write_constant
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.schema.relation import Part

FEW = 64  # rows of which columns would cost more than they save
MOST = 1 << 27  # bytes of columns, whose texts fit an array
TEXT = pa.large_string()
PRINTED = ("int", "long", "bool")  # what Arrow writes as JSON has it


class Unclear(Exception):
    """Columns do not say what the arrays are."""


@frozen(eq=False)
class Bags:
    """Some bags, each once: their ``labels`` (c0…), what they hold as ``texts``, and how many ``numbers`` rows below
    them take."""

    labels: pa.Table
    texts: pa.Array
    numbers: Ints


@frozen(eq=False)
class Texts:
    """Of the rows that come to ``parts``, a dictionary and those below it."""

    parts: Mapping[str, Part]
    came: Mapping[str, Rows]

    def bags(self, name: str) -> Bags:
        """The bags of a part that get rows. Raises Unclear."""
        part = self.parts[name]
        table = self.came.get(name, Rows.empty(part.types)).consolidated().arrow().combine_chunks()
        weights, width = table.column(WEIGHT).to_numpy(), len(part.label)
        if (weights < 1).any() or (part.held and (weights > 1).any()):
            raise Unclear
        until = min((at for columns in part.held.values() for at in columns), default=len(part.types))
        rank = ranks_by(table, [By(c, nulls_first=True) for c in (*part.label, *range(width, until))])
        order = argsort(rank)
        if part.held and (np.diff(rank[order]) == 0).any():
            raise Unclear
        row, numbers = self._rows(part, table)
        entries = _joined("[", row, ",", table.column(WEIGHT).cast(TEXT).combine_chunks(), "]", "")
        starts = np.flatnonzero(changes([key_numbers(table, part.label)[order]]))
        lists = pa.ListArray.from_arrays(pa.array([*starts, len(order)], pa.int32()), entries.take(pa.array(order)))
        texts = _joined("[", pc.binary_join(lists, pa.scalar(",", TEXT)), "]", "")
        labels = table.select(list(part.label)).take(pa.array(order[starts]))
        if not len(starts):
            return Bags(labels, texts, np.empty(0, np.int64))
        return Bags(labels, texts, np.add.reduceat(numbers[order], starts))

    def _rows(self, part: Part, table: pa.Table) -> tuple[pa.Array, Ints]:
        """The text of each row, and how many numbers it takes."""
        is_numbered = bool(part.held) and not part.key
        numbers = np.full(table.num_rows, is_numbered, np.int64)
        text, end = self._text(part, part.flat, table, len(part.label), numbers)
        if end != len(part.types):
            raise LawBroken("columns that no field has", where=part.name, wanted=len(part.types), got=end)
        return text, numbers

    def _text(self, part: Part, t: Type, table: pa.Table, at: int, numbers: Ints) -> tuple[pa.Array, int]:
        """The text of the value of each row that begins at a column, and where it ends; adds to ``numbers``."""
        match t:
            case Base():
                return _base(table.column(at), t), at + 1
            case Record(fields):
                found = []
                for _, inner in fields:
                    text, at = self._text(part, inner, table, at, numbers)
                    found.append(text)
                inside = _joined(*found, ",") if found else pa.repeat(pa.scalar("", TEXT), table.num_rows)
                return _joined("[", inside, "]", ""), at
            case Label():
                name = t.sites[0].name
                return self._held(t, name, table.select(list(part.held[name])), numbers), at + len(part.held[name])
            case Bag() | Dict():
                raise AssertionError(f"only flat types have columns, not {t}")
            case _:
                assert_never(t)

    def _held(self, t: Label, name: str, labels: pa.Table, numbers: Ints) -> pa.Array:
        """The text of the bag that each of ``labels`` stands for."""
        inner, n = self.bags(name), labels.num_rows
        names = inner.labels.column_names
        own = key_numbers(pa.concat_tables([labels.rename_columns(names), inner.labels]), range(len(names)))
        place = np.full(len(own), -1)
        place[own[n:]] = np.arange(len(inner.texts))
        found = place[own[:n]]
        numbers += np.append(inner.numbers, 0)[found]  # the last one is that of bags without rows
        texts = inner.texts.take(pa.array(found, mask=found < 0)).fill_null("[]")
        absent = labels.column(0).combine_chunks().is_null()
        return pc.if_else(absent, pa.scalar("null", TEXT), texts) if t.nullable else texts


def _base(column: pa.ChunkedArray, t: Base) -> pa.Array:
    """Base values as JSON has them."""
    values = column.combine_chunks()
    if t.kind in PRINTED:
        return values.cast(TEXT).fill_null("null")
    each = values.dictionary_encode()
    known = python_column(t, pa.chunked_array([each.dictionary]))
    texts = pa.array([json.dumps(write_constant(v, t), allow_nan=False) for v in known], TEXT)
    return texts.take(each.indices).fill_null("null")


def _joined(*texts: pa.Array | str) -> pa.Array:
    """``texts`` one after the other, with the last one between them."""
    return pc.binary_join_element_wise(*(pa.scalar(t, TEXT) if isinstance(t, str) else t for t in texts))


def is_much(came: Mapping[str, Rows]) -> bool:
    """Whether columns save anything, and their texts fit."""
    return sum(map(len, came.values())) >= FEW and sum(rows.arrow().nbytes for rows in came.values()) <= MOST
