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

import pyarrow.compute as pc
from attrs import field, frozen

from ripplenest.data.columnar import among
from ripplenest.data.columns import to_leaves
from ripplenest.data.index import Places, Wanted, key_rows, wanted
from ripplenest.data.naming import Numbers
from ripplenest.data.order import First, Firsts, Within
from ripplenest.data.rows import Pair, Row, Rows
from ripplenest.data.texts import from_text
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import LONG, STRING, Bag, Base
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.values import Entry, shred_bag
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.version.arrays import FEW, Unclear
from ripplenest.version.unfolding import standing
from ripplenest.version.version import AccessKeys, Version


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
        if len(arrays) >= FEW:
            with suppress(Unclear):
                found = self.standing(arrays)
                return {part: found[part] for part in parts}
        pairs: dict[str, list[Pair]] = {part: [] for part in parts}
        for array, n in arrays.counts().items():
            for part, _, row, count in self.shredded(array):
                if count and part in pairs:
                    pairs[part].append((row, count * n))
        return {part: Rows.of_pairs(self.parts[part].types, found) for part, found in pairs.items()}

    def standing(self, arrays: Rows) -> dict[str, Rows]:
        """The same of all parts, by columns. Raises Unclear."""
        return standing(self.parts, self.root, self.relation.fills, arrays)

    def holder(self, table: str) -> Part:
        """The part whose rows hold the labels of ``table``, which is below the root."""
        return next(part for part in self.parts.values() if table in part.held)

    def entries(self, bag: BagValue, label: Row, numbers: Numbers) -> Iterator[Entry]:
        """What a bag is in its dictionary, and in those below."""
        return shred_bag(bag, self.bag.row, self.relation.places[self.root], LabelValue(self.root, label), numbers)


@frozen
class _Came:
    """All rows of the bags with the labels ``asked`` of a fold, by part."""

    fold: Fold
    asked: Rows
    rows: Mapping[str, Rows]

    def take(self, table: str, labels: Rows) -> tuple[Rows, Rows]:
        """The rows of ``table`` that have ``labels``, and the labels of which nothing is known here."""
        columns = self.fold.parts[table].label
        mask = among(labels, columns, self._labels(table))
        known = Rows(labels.types, table=labels.arrow().filter(mask))
        rows = self.rows[table]
        found = Rows(rows.types, table=rows.arrow().filter(among(rows, columns, known)))
        return found, Rows(labels.types, table=labels.arrow().filter(pc.invert(mask)))

    def _labels(self, table: str) -> Rows:
        if table == self.fold.root:
            return self.asked
        holder = self.fold.holder(table)
        held = self.rows[holder.name].select(holder.held[table])
        return Rows(held.types, table=held.arrow().filter(held.arrow().column(0).is_valid()))


def _with_labels(holder: Part, table: str, labels: Rows, rows: Rows) -> Rows:
    """Of ``rows`` of a part those that hold ``labels`` of ``table``, each once."""
    kept = Rows(rows.types, table=rows.arrow().filter(among(rows, holder.held[table], labels)))
    return kept.consolidated()


def all_among(labels: Rows, others: Rows) -> bool:
    """Whether all of ``labels`` are among ``others``."""
    every = tuple(range(len(labels.types)))
    return not len(labels) or bool(pc.all(among(labels, every, others)).as_py())


@frozen(slots=False)
class Unfolding:
    """The tables of a version, those of folded bags shredded while they are read (a ``Version``)."""

    tables: Version
    folds: tuple[Fold, ...]
    _read: dict[str, dict[Row, Counter[Row]]] = field(factory=lambda: defaultdict(dict))
    _came: dict[str, list[_Came]] = field(factory=lambda: defaultdict(list))

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
        asked = wanted(keys, tuple(rows.types[c] for c in columns))
        if columns != fold.parts[table].label:
            every = self.shredded(fold, table, self.tables.scan(fold.table))
            return rows.plus(Rows(rows.types, table=every.arrow().filter(among(every, columns, asked))))
        found, missing = self._labelled(fold, table, asked)
        return rows.plus(*found, Rows.of_pairs(rows.types, self._each_labelled(fold, table, key_rows(missing))))

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

    def within(self, table: str, *asked: Within) -> Rows | None:
        """The rows between values; None also where arrays stand for rows, which are in no order."""
        fold = self._fold_of.get(table)
        return None if fold is not None and self.tables.size(fold.table) else self.tables.within(table, *asked)

    def holding(self, fold: Fold, table: str, labels: Rows) -> Rows:
        """The rows that hold ``labels`` of a bag below the root. They were read before, or else all arrays are."""
        holder = fold.holder(table)
        read = ((row, 1) for rows in self._read[holder.name].values() for row in rows)
        found = [Rows.of_pairs(holder.types, read), *(came.rows[holder.name] for came in self._came[fold.root])]
        rows = _with_labels(holder, table, labels, Rows.empty(holder.types).plus(*found))
        if all_among(labels, rows.select(holder.held[table])):
            return rows
        arrays = self.tables.scan(fold.table)
        self._came[fold.root].append(_Came(fold, arrays.select(fold.label), fold.rows(arrays, fold.parts)))
        return _with_labels(holder, table, labels, self._came[fold.root][-1].rows[holder.name])

    def _labelled(self, fold: Fold, table: str, asked: Rows) -> tuple[list[Rows], Rows]:
        """The rows under labels that were read by columns, or are read so now because they are many; and the labels of
        which nothing is known then."""
        found = []
        for came in self._came[fold.root]:
            if len(asked):
                rows, asked = came.take(table, asked)
                found.append(rows)
        if table == fold.root and len(asked) >= FEW:
            with suppress(Unclear):
                arrays = self.tables.probe(fold.table, fold.label, asked)
                came = _Came(fold, asked, fold.standing(arrays))
                self._came[fold.root].append(came)
                return [*found, came.rows[table]], Rows.empty(asked.types)
        return found, asked

    def _each_labelled(self, fold: Fold, table: str, labels: Collection[Row]) -> list[tuple[Row, int]]:
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


def unfolded(folds: Collection[Fold], before: Unfolding) -> dict[str, Rows]:
    """The change that stores what arrays stand for, and takes the arrays away. Law: ``Unfolding`` reads the same."""
    stored: dict[str, Rows] = {}
    for fold in folds:
        arrays = before.tables.scan(fold.table)
        stored[fold.table] = arrays.negated().consolidated()
        for part, rows in fold.rows(arrays, fold.parts).items():
            stored[part] = rows.consolidated()
    return {table: rows for table, rows in stored.items() if not rows.is_empty}
