"""Changes of parts as they are stored: those of folded bags as changes of their arrays (``folding.py``).

An array changes when a row of its bag does, or a row of a bag in one of its rows, however deep: an upsert may leave the
rows above as they were. By columns where they are many, and else one by one.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.argsort import argsort
from ripplenest.data.columnar import among
from ripplenest.data.columns import from_leaves
from ripplenest.data.grouping import Ints
from ripplenest.data.naming import Numbers, array_numbers
from ripplenest.data.order import key_numbers
from ripplenest.data.rows import Row, Rows
from ripplenest.data.texts import to_text
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import LawBroken
from ripplenest.schema.relation import Part
from ripplenest.shred.values import nest
from ripplenest.version.arrays import Bags, Texts, Unclear, is_much
from ripplenest.version.folding import Fold, Unfolding, all_among
from ripplenest.version.version import Version


def folded(
    changes: Mapping[str, Rows], before: Unfolding, folds: Collection[Fold], numbers: Numbers | None = None
) -> dict[str, Rows]:
    """Changes of parts as they are stored: those of folded bags as changes of their arrays.

    Law: what ``Unfolding`` reads afterwards is what it read before, plus ``changes`` (up to the names of labels below
    the root). Raises LawBroken for rows of a bag that no row holds. ``numbers`` are those that
    changes before these of the same version have left.
    """
    stored, numbers = dict(changes), array_numbers(before.version + 1) if numbers is None else numbers
    for fold in folds:
        own = {part: stored.pop(part) for part in fold.parts if part in stored}
        if own:
            stored[fold.table] = _arrays(fold, own, before, numbers)
    return {table: rows for table, rows in stored.items() if not rows.is_empty}


def _arrays(fold: Fold, came: Mapping[str, Rows], before: Unfolding, numbers: Numbers) -> Rows:
    """The change of the arrays in which rows change."""
    labels = _labels(fold, came, before)
    if is_much(came):
        with suppress(Unclear):
            return _all_arrays(fold, came, labels, before.tables, numbers)
    changes = {part: rows.counts() for part, rows in came.items()}
    return _each_array(fold, changes, [row for row, _ in labels.pairs()], before.tables, numbers)


def _labels(fold: Fold, came: Mapping[str, Rows], before: Unfolding) -> Rows:
    """The labels of these arrays, each once: of the rows that change in the order of these, and then of those that hold
    bags, of which only what is in them changes. Raises LawBroken for a bag that no row holds."""
    within: dict[str, list[Rows]] = {}
    for name, part in reversed(fold.parts.items()):
        own = came.get(name, Rows.empty(part.types)).consolidated().select(part.label)
        labels = _each_once(own.plus(*within.get(name, ())))
        if name == fold.root:
            return labels
        holder = fold.holder(name)
        moved = came.get(holder.name, Rows.empty(holder.types)).select(holder.held[name])
        asked = pc.invert(among(labels, part.label, moved))
        kept = Rows(labels.types, table=labels.arrow().filter(asked))
        if len(kept):
            found = before.holding(fold, name, kept)
            if not all_among(kept, found.select(holder.held[name])):
                raise LawBroken("rows of a folded bag change that no row holds", where=name)
            within.setdefault(holder.name, []).append(found.select(holder.label))
    raise AssertionError("the root is the first of its parts")


def _each_once(rows: Rows) -> Rows:
    """Rows of any weights, each once, in the order in which they come first."""
    table = rows.arrow().combine_chunks()
    firsts = np.unique(key_numbers(table, range(len(rows.types))), return_index=True)[1]
    return Rows.of_columns(rows.types, [c.combine_chunks() for c in table.take(pa.array(np.sort(firsts))).columns[:-1]])


def _all_arrays(fold: Fold, came: Mapping[str, Rows], labels: Rows, before: Version, numbers: Numbers) -> Rows:
    """The change of all arrays at once. Raises Unclear where columns do not say it."""
    held = Rows.empty(fold.types)
    if before.size(fold.table):
        held = before.probe(fold.table, fold.label, labels).consolidated()
    after = came
    if len(held):
        known = fold.standing(held)
        after = {part: rows.plus(came[part]) if part in came else rows for part, rows in known.items()}
    made = Texts(fold.parts, after).bags(fold.root)
    order, old = _places(fold, labels, made, held)
    texts, starts = made.texts.cast(pa.string()), np.zeros(len(made.texts), np.int64)
    width, given = len(fold.label), held.arrow().combine_chunks()
    as_was = pc.equal(texts, given.column(width).take(pa.array(old, mask=old < 0)).combine_chunks())
    same = as_was.fill_null(False).to_numpy(zero_copy_only=False)
    starts[same] = given.column(width + 1).to_numpy()[old[same]]
    new = np.flatnonzero(~same)
    new = new[argsort(order[new])]
    taken = numbers.take(int(made.numbers[new].sum()))
    starts[new] = taken.start + np.cumsum(made.numbers[new]) - made.numbers[new]
    columns = [*(c.combine_chunks() for c in made.labels.columns), texts, pa.array(starts)]
    return held.negated().plus(Rows.of_columns(fold.types, columns)).consolidated()


def _places(fold: Fold, labels: Rows, made: Bags, held: Rows) -> tuple[Ints, Ints]:
    """Of each bag that was made the place of its label, and its place in ``held``, -1 if it has none."""
    width, n, m = len(fold.label), len(labels), len(made.texts)
    of = [labels.arrow(), made.labels, held.arrow()]
    names = [str(i) for i in range(width)]
    own = key_numbers(pa.concat_tables([t.select(list(fold.label)).rename_columns(names) for t in of]), range(width))
    first, place = np.full(len(own), -1), np.full(len(own), -1)
    first[own[:n]] = np.arange(n)
    place[own[n + m :]] = np.arange(len(held))
    return first[own[n : n + m]], place[own[n : n + m]]


def _each_array(
    fold: Fold, changes: Mapping[str, Mapping[Row, int]], labels: list[Row], before: Version, numbers: Numbers
) -> Rows:
    """The same one by one: an array that is not equal to what was there is numbered anew."""
    width = len(fold.label)
    held = before.probe(fold.table, fold.label, labels).counts()
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
