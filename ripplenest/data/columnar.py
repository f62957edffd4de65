"""Selection and projection of rows as Arrow does them: for tables that are too large to be taken apart in Python."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.argsort import argsort
from ripplenest.data.grouping import grouping, row_prints
from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Columns, Keys, Places, index_of, matches
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema, sums_fit
from ripplenest.nrc.types import Base

OWNER = "owner"


def without_gaps(table: pa.Table) -> pa.Table:
    """``table`` without pieces that hold no row. Of a small table Spark reads none that comes behind one. One that was
    cut out of another comes by a stream with an offset and without the bytes before it: Arrow joins it to none."""
    return pa.Table.from_batches([piece for piece in table.to_batches() if len(piece)], table.schema)


def column(rows: Rows, i: int) -> pa.ChunkedArray:
    """The values of c{i}."""
    return rows.arrow().column(i)


def weights(rows: Rows) -> pa.ChunkedArray:
    """The multiplicities."""
    return rows.arrow().column(WEIGHT)


def where(rows: Rows, mask: pa.ChunkedArray) -> Rows:
    """Those of consolidated ``rows`` for which ``mask`` is true; NULL is not true."""
    return Rows(rows.types, table=rows.arrow().filter(mask), summed=True)


def project(rows: Rows, columns: Sequence[int], types: tuple[Base, ...]) -> Rows:
    """The bag of ``columns`` of the rows, consolidated; ``types`` are theirs, up to nullability."""
    table = rows.arrow()
    arrays = [*(table.column(i) for i in columns), table.column(WEIGHT)]
    return Rows(types, table=pa.Table.from_arrays(arrays, schema=arrow_schema(types))).consolidated()


def consolidated(found: Mapping[str, Rows]) -> dict[str, Rows]:
    """Each of ``found`` consolidated; several of equal types are looked at together."""
    summed = {name: rows for name, rows in found.items() if rows.is_sum}
    by_types: defaultdict[tuple[Base, ...], list[str]] = defaultdict(list)
    for name in (name for name in found if name not in summed):
        by_types[found[name].types].append(name)
    for types, names in by_types.items():
        if len(names) == 1:
            summed[names[0]] = found[names[0]].consolidated()
        else:
            summed.update(zip(names, _each_consolidated(types, [found[name].arrow() for name in names]), strict=True))
    return {name: summed[name] for name in found}


def _each_consolidated(types: tuple[Base, ...], tables: Sequence[pa.Table]) -> Iterator[Rows]:
    """Each of ``tables`` consolidated, by one grouping of the rows of all by whose they are and what they are. What has
    no two equal ones, and no weight of 0, is a sum already, and stays as it is."""
    together = pa.concat_tables(tables).combine_chunks()
    width = together.num_columns - 1
    sizes = [len(t) for t in tables]
    owners, weights = np.repeat(np.arange(len(tables)), sizes), together.column(width).to_numpy()
    found = grouping(together.set_column(width, OWNER, pa.array(owners)))
    if found is None or not sums_fit(weights):
        yield from (Rows(types, table=t).consolidated() for t in tables)
        return
    sums, firsts = found.sums(weights), found.firsts
    many = np.bincount(owners[firsts], minlength=len(tables))
    is_sum = (many == sizes) & (np.bincount(owners[weights == 0], minlength=len(tables)) == 0)
    kept = np.flatnonzero((sums != 0) & ~is_sum[owners[firsts]])
    kept = kept[argsort(owners[firsts[kept]])]
    ends = np.cumsum(np.bincount(owners[firsts[kept]], minlength=len(tables))).tolist()
    for i, (table, start, end) in enumerate(zip(tables, [0, *ends], ends, strict=False)):
        if is_sum[i]:
            yield Rows(types, table=table, summed=True)
            continue
        own = kept[start:end]
        rows = together.take(pa.array(firsts[own]))  # no slice of a table of all: who keeps one would keep them all
        yield Rows(types, table=rows.set_column(width, together.schema.field(width), pa.array(sums[own])), summed=True)


def chunks(rows: Rows, count: int) -> Iterator[Rows]:
    """Consolidated rows, in about ``count`` chunks of a size. Law: their sum is ``rows``, and no row is in two."""
    table = rows.arrow()
    places = None if rows.is_sum else _apart(table, count)
    if places is None:
        most = max(-(-len(table) // count), 1)
        for start in range(0, len(table), most):
            yield Rows(rows.types, table=table.slice(start, most), summed=True)
        return
    for own in places:
        found = Rows(rows.types, table=table.take(pa.array(own))).consolidated()
        if len(found):
            yield found


def _apart(table: pa.Table, count: int) -> list[Places] | None:
    """The places of rows in ``count`` groups by their fingerprints, so that equal rows are together; None for a table
    that is a sum."""
    prints = _prints(table)
    ordered = np.sort(prints)
    if not (ordered[1:] == ordered[:-1]).any() and (table.column(WEIGHT).to_numpy() != 0).all():
        return None
    groups = (prints % np.uint64(count)).astype(np.int64)
    order = argsort(groups)
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _prints(table: pa.Table) -> U64:
    """The fingerprints of rows without their weights."""
    return row_prints(table.select(table.column_names[:-1]))


def each_once(rows: Rows) -> Rows:
    """Consolidated ``rows``, each with multiplicity 1."""
    table = rows.arrow()
    place = table.num_columns - 1
    once = pa.repeat(pa.scalar(1, pa.int64()), len(rows))
    return Rows(rows.types, table=table.set_column(place, table.schema.field(place), once), summed=True)


def distinct(rows: Rows, columns: Columns) -> Rows:
    """What the rows have in ``columns``, each once, whatever they weigh."""
    table = rows.arrow()
    types = tuple(rows.types[i] for i in columns)
    if not columns:
        return Rows.of_counts((), {(): 1} if len(rows) else {}).consolidated()
    once = Rows.of_columns(types, [table.column(i).combine_chunks() for i in columns])
    return each_once(once.consolidated())


def others(rows: Rows, columns: Columns, keys: Rows) -> Rows:
    """Those of consolidated ``rows`` whose ``columns`` are none of ``keys``; NULL is NULL."""
    return where(rows, pc.invert(among(rows, columns, keys)))


def among(rows: Rows, columns: Columns, keys: Rows) -> pa.ChunkedArray:
    """For each row whether its ``columns`` are one of ``keys``; NULL is NULL."""
    table, asked = rows.arrow(), Keys(columns, keys)
    _, places = matches(index_of(table, columns), table, columns, asked.hashes, asked.arrays)
    mask = np.zeros(table.num_rows, np.bool_)
    mask[places] = True
    return pa.chunked_array([pa.array(mask)])


def places_in(held: Rows, rows: Rows) -> tuple[Places, Places]:
    """(which, place): row number ``which`` of ``rows`` is row number ``place`` of ``held``; NULL is NULL."""
    columns, table = tuple(range(len(rows.types))), held.arrow()
    arrays = [column.combine_chunks() for column in rows.arrow().columns[:-1]]
    return matches(index_of(table, columns), table, columns, hash_columns(arrays, len(rows)), arrays)


def positive(rows: Rows) -> Rows:
    """Those of consolidated ``rows`` that are there more than 0 times."""
    return where(rows, pc.greater(weights(rows), 0))


def support(rows: Rows) -> Rows:
    """Those of consolidated ``rows`` that are there more than 0 times, each once."""
    return each_once(positive(rows))


def negative(rows: Rows) -> Rows:
    """Those of consolidated ``rows`` that are there less than 0 times."""
    return where(rows, pc.less(weights(rows), 0))


def largest_bag(rows: Rows, label: Columns) -> int:
    """The rows of the largest bag in a stored dictionary: of the label, in columns ``label``, that has most."""
    return project(rows, label, tuple(rows.types[c] for c in label)).heaviest()
