"""Partial shredding: inner bags that nothing looks into stay arrays (nrc-ivm, section 2.2).

Theory of operation. An inner bag that its relation declares immutable comes and goes with the row that holds it, so as
long as no view reads its dictionary there is no need to store one: the bag is *folded*, one row ⟨label, array, number⟩
in a table of its own, whatever it holds. Readers see no difference. ``Unfolding`` shreds arrays while it reads, always
into the same rows, so that the dictionary of a folded bag and those below it can be scanned, probed and compared
between versions like any other. The first view that reads one of them *unfolds* the bag: the rows that arrays stood for
are stored, the arrays go, and because they are the same rows, nothing changes for anybody. When you touch this: rows
without a key below a folded bag are numbered from the array's number on, and a probe below it can only be answered by
arrays that were read.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from ripplenest.data.argsort import argsort
from ripplenest.data.columnar import among
from ripplenest.data.columns import from_leaves, to_leaves
from ripplenest.data.index import Places, Wanted, key_rows, wanted
from ripplenest.data.naming import Numbers, array_numbers
from ripplenest.data.order import First, Firsts
from ripplenest.data.rows import Pair, Row, Rows
from ripplenest.data.texts import from_text, to_text
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import LONG, STRING, Bag, Base
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.values import Entry, nest, shred_bag
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.version.arrays import Texts, Unclear, is_much
from ripplenest.version.version import AccessKeys, Sized, Version


@frozen(slots=False)
class Fold:
    """An inner bag ``root`` of a relation that can be kept as arrays, with all dictionaries below it."""

    relation: Relation
    root: str

    @property
    def table(self) -> str:
        """Where its arrays are."""
        return f"{self.root}/arrays"

    @property
    def spec(self) -> TableSpec:
        return TableSpec(self.table, self.types, (self.label,))

    @property
    def label(self) -> Columns:
        """The columns of the label of an array."""
        return self.parts[self.root].label

    @property
    def types(self) -> tuple[Base, ...]:
        """Of an array: those of its label, its text, and the first number of rows below it."""
        return (*self.parts[self.root].types[: len(self.label)], STRING, LONG)

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Its dictionary, and those below it."""
        return {name: self.relation.parts[name] for name in self.relation.below(self.root)}

    @property
    def bag(self) -> Bag:
        return Bag(self.parts[self.root].row)

    def shredded(self, array: Row) -> Iterator[tuple[str, Row, Row, int]]:
        """The rows that an array stands for: part, label, row and multiplicity; 0 for the label of an empty bag."""
        *label, text, start = array
        assert isinstance(start, int)
        bag = from_text(str(text), self.bag, self.root, self.relation.fills)
        assert isinstance(bag, BagValue)
        for e in self.entries(bag, tuple(label), Numbers(start)):
            row = (*e.label.args, *to_leaves(e.row, self.parts[e.part].flat)) if e.count else ()
            yield e.part, e.label.args, row, e.count

    def rows(self, arrays: Rows, parts: Iterable[str]) -> dict[str, Rows]:
        """The rows of each of ``parts`` that signed arrays stand for; each array is read once."""
        pairs: dict[str, list[Pair]] = {part: [] for part in parts}
        for array, n in arrays.counts().items():
            for part, _, row, count in self.shredded(array):
                if count and part in pairs:
                    pairs[part].append((row, count * n))
        return {part: Rows.of_pairs(self.parts[part].types, found) for part, found in pairs.items()}

    def entries(self, bag: BagValue, label: Row, numbers: Numbers) -> Iterator[Entry]:
        """What a bag is in its dictionary, and in those below."""
        return shred_bag(bag, self.bag.row, self.relation.places[self.root], LabelValue(self.root, label), numbers)


@frozen(slots=False)
class Unfolding:
    """The tables of a version, those of folded bags shredded while they are read (a ``Version``)."""

    tables: Version
    folds: tuple[Fold, ...]
    _read: dict[str, dict[Row, Counter[Row]]] = field(factory=lambda: defaultdict(dict))

    @property
    def version(self) -> int:
        return self.tables.version

    @property
    def access_keys(self) -> AccessKeys:
        return self.tables.access_keys

    @cached_property
    def _fold_of(self) -> dict[str, Fold]:
        return {part: fold for fold in self.folds for part in fold.parts}

    def scan(self, table: str) -> Rows:
        """Every row of ``table``."""
        rows, fold = self.tables.scan(table), self._fold_of.get(table)
        return rows if fold is None else rows.plus(self.shredded(fold, table, self.tables.scan(fold.table)))

    def some(self, table: str, most: int) -> Rows:
        """At least ``most`` different rows of ``table``, or all; of one that arrays stand for, all."""
        return self.scan(table).consolidated() if table in self._fold_of else self.tables.some(table, most)

    def delta(self, table: str, since: int) -> Rows:
        """The changes of ``table`` in the versions (since, version]."""
        rows, fold = self.tables.delta(table, since), self._fold_of.get(table)
        return rows if fold is None else rows.plus(self.shredded(fold, table, self.tables.delta(fold.table, since)))

    def size(self, table: str) -> int:
        """At least the number of different rows of ``table``, counting an array as one; 0 only when there are none."""
        fold = self._fold_of.get(table)
        return self.tables.size(table) + (0 if fold is None else self.tables.size(fold.table))

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """The rows of ``table`` whose ``columns`` are one of ``keys``; NULL matches NULL."""
        rows, fold = self.tables.probe(table, columns, keys), self._fold_of.get(table)
        if fold is None or not self.tables.size(fold.table):
            return rows
        if columns != fold.parts[table].label:
            every = self.shredded(fold, table, self.tables.scan(fold.table))
            asked = wanted(keys, tuple(rows.types[c] for c in columns))
            return rows.plus(Rows(rows.types, table=every.arrow().filter(among(every, columns, asked))))
        return rows.plus(Rows.of_pairs(rows.types, self._labelled(fold, table, key_rows(keys))))

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:
        """By key, about how many rows ``probe`` finds, but for those that arrays stand for."""
        return self.tables.many(table, columns, keys)

    def first(self, table: str, asked: Firsts) -> First:
        """The first rows of keys. Arrays stand for rows in no order: who reads in order unfolds them. Raises
        LawBroken where there are some."""
        fold = self._fold_of.get(table)
        if fold is not None and self.tables.size(fold.table):
            raise LawBroken("rows in order of a bag that is stored as arrays", where=table, got=fold.table)
        return self.tables.first(table, asked)

    def _labelled(self, fold: Fold, table: str, labels: Collection[Row]) -> list[tuple[Row, int]]:
        """The rows under ``labels`` of what arrays stand for."""
        known = self._read[table]
        missing = [label for label in labels if label not in known]
        if missing and table == fold.root:
            self._remember(fold, self.tables.probe(fold.table, fold.label, missing))
        elif missing:  # below the root, labels come from arrays that were read, or from no array
            self._remember(fold, self.tables.scan(fold.table))
        for label in missing:
            known.setdefault(label, Counter())
        return [pair for label in dict.fromkeys(labels) for pair in known[label].items()]

    def _remember(self, fold: Fold, arrays: Rows) -> None:
        for array, n in arrays.counts().items():
            if n and array[: len(fold.label)] not in self._read[fold.root]:
                for part, label, row, count in fold.shredded(array):
                    rows = self._read[part].setdefault(label, Counter())
                    if count:
                        rows[row] += count

    def shredded(self, fold: Fold, table: str, arrays: Rows) -> Rows:
        """The rows of one part that signed arrays stand for."""
        return fold.rows(arrays, [table])[table]


def folded(
    changes: Mapping[str, Rows], before: Unfolding, folds: Collection[Fold], numbers: Numbers | None = None
) -> dict[str, Rows]:
    """Changes of parts as they are stored: those of folded bags as changes of their arrays.

    Law: what ``Unfolding`` reads afterwards is what it read before, plus ``changes`` (up to the names of labels below
    the root). Raises LawBroken for rows below a folded bag that does not change itself. ``numbers`` are those that
    changes before these of the same version have left.
    """
    stored, numbers = dict(changes), array_numbers(before.version + 1) if numbers is None else numbers
    for fold in folds:
        own = {part: stored.pop(part) for part in fold.parts if part in stored}
        if own:
            stored[fold.table] = _arrays(fold, own, before.tables, numbers)
    return {table: rows for table, rows in stored.items() if not rows.is_empty}


def unfolded(folds: Collection[Fold], before: Unfolding) -> dict[str, Rows]:
    """The change that stores what arrays stand for, and takes the arrays away. Law: ``Unfolding`` reads the same."""
    stored: dict[str, Rows] = {}
    for fold in folds:
        arrays = before.tables.scan(fold.table)
        stored[fold.table] = arrays.negated().consolidated()
        for part, rows in fold.rows(arrays, fold.parts).items():
            stored[part] = rows.consolidated()
    return {table: rows for table, rows in stored.items() if not rows.is_empty}


def _arrays(fold: Fold, came: Mapping[str, Rows], before: Sized, numbers: Numbers) -> Rows:
    """The change of the arrays of the labels whose rows change."""
    if is_much(came):
        with suppress(Unclear):
            return _new_arrays(fold, came, before, numbers)
    return _each_array(fold, {part: rows.counts() for part, rows in came.items()}, before, numbers)


def _new_arrays(fold: Fold, came: Mapping[str, Rows], before: Sized, numbers: Numbers) -> Rows:
    """The same of bags that were not there, all at once. Raises Unclear where one was, or columns do not say it."""
    made = Texts(fold.parts, came).bags(fold.root)
    width, n = len(fold.label), len(made.texts)
    labels = Rows.of_columns(fold.types[:width], [c.combine_chunks() for c in made.labels.columns])
    if not n or (before.size(fold.table) and len(before.probe(fold.table, fold.label, labels))):
        raise Unclear
    order = argsort(made.firsts)
    taken = numbers.take(int(made.numbers.sum()))
    starts = np.empty(n, np.int64)
    starts[order] = taken.start + np.cumsum(made.numbers[order]) - made.numbers[order]
    columns = [*(c.combine_chunks() for c in made.labels.columns), made.texts.cast(pa.string()), pa.array(starts)]
    return Rows.of_columns(fold.types, columns).consolidated()


def _each_array(fold: Fold, changes: Mapping[str, Mapping[Row, int]], before: Sized, numbers: Numbers) -> Rows:
    """The same one by one: an array that is not equal to what was there is numbered anew."""
    width = len(fold.label)
    labels = dict.fromkeys(row[:width] for row in changes.get(fold.root, {}))
    if not labels:
        raise LawBroken("rows below a folded bag change, and the bag does not", where=fold.root, got=sorted(changes))
    held = before.probe(fold.table, fold.label, list(labels)).counts()
    rows: dict[tuple[str, Row], Counter[Row]] = defaultdict(Counter)
    for array in held:
        for part, label, row, count in fold.shredded(array):
            if count:  # an empty bag has a label, and no row
                rows[part, label][row] += count
    for part, found in changes.items():
        for row, n in found.items():
            rows[part, row[: len(fold.parts[part].label)]][row] += n
    old = {array[:width]: array for array in held}
    pairs: list[tuple[Row, int]] = [(array, -n) for array, n in held.items()]
    for label in labels:
        bag = _bag(fold, label, rows)
        if bag:
            pairs.append((_array(fold, label, bag, old.get(label), numbers), 1))
    return Rows.of_pairs(fold.types, pairs).consolidated()


def _array(fold: Fold, label: Row, bag: BagValue, old: Row | None, numbers: Numbers) -> Row:
    """``bag`` as an array: the old one if it is equal."""
    text = to_text(bag, fold.bag)
    if old is not None and old[len(label)] == text:
        return old
    below = Numbers(0)
    for _ in fold.entries(bag, label, below):  # which takes as many numbers as there are rows to number
        pass
    return (*label, text, numbers.take(below.next).start)


def _bag(fold: Fold, label: Row, rows: Mapping[tuple[str, Row], Counter[Row]]) -> BagValue:
    """The nested bag that a label stands for."""

    def definition(inner: LabelValue) -> BagValue:
        return _flat(fold.parts[inner.site], rows.get((inner.site, inner.args), Counter()))

    return nest(_flat(fold.parts[fold.root], rows[fold.root, label]), fold.bag.row, definition)


def _flat(part: Part, rows: Mapping[Row, int]) -> BagValue:
    pairs: list[tuple[Value, int]] = [(field_of(from_leaves(row, part.stored), "row"), n) for row, n in rows.items()]
    if any(n < 0 for _, n in pairs):
        raise LawBroken("a folded bag would hold a row less than 0 times", where=part.name)
    return BagValue.weighted((value, n) for value, n in pairs if n)
