"""Which rows of a view a change touches, however deep inside them it happened (nrc-ivm, appendix C.3, read backwards).

Theory of operation. The change of a view is signed rows of its flat part and of each dictionary. A nested row is
touched when its flat row comes, goes or changes its multiplicity, or when it holds a label, at any depth, whose
definition changes. Labels are followed from the inside out: the labels in a dictionary's own change, then the rows
that *hold* one of them, whose own label has changed thereby, up to the rows of the flat part.

All labels of a site are followed at once, as columns. Every lookup is a probe where the table has the access key for
it: a dictionary by its label, a holder by the columns of the label that it holds, the flat part by the whole row.
``wanted_keys`` lists them all. A table without its key is scanned, once, and ``Touched.missed`` names the key, so that
whoever declares tables can add it. When you touch this: sites are visited after all that they hold, because a label
that changes late would find its holders visited already.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.canonical import arranged, summed, unequal
from ripplenest.data.columns import base_types
from ripplenest.data.index import Places
from ripplenest.data.labels import SITE, labels, site_columns, width
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Type
from ripplenest.reading.arrow import nester
from ripplenest.reading.ends import Before, Searched
from ripplenest.schema.shape import OutputShape
from ripplenest.store.specs import Columns
from ripplenest.version.version import Version

Mask = npt.NDArray[np.bool_]


@frozen
class Place:
    """Where labels of one site are held: in ``columns`` of ``table``, the dictionary of ``holder`` (None: the flat
    part). Labels of several sites say in a column of their own which site made them; ``tag`` is what it says. Rows are
    ``found_by`` these columns, or by those of the key that the label is made of, which are in no other row."""

    table: str
    holder: str | None
    columns: Columns
    tag: tuple[str, ...]
    found_by: Columns


@frozen(slots=False, eq=False)
class Touched:
    """The flat ``rows`` that changed, or hold something that changed, in the versions (since, version] of a view, each
    once, with its multiplicities ``before`` and ``after``. A row that has one at both ends is touched inside, or has
    another multiplicity. ``deep`` are the rows that hold a label whose definition changed.
    """

    shape: OutputShape
    rows: Rows
    before: Places
    after: Places
    deep: Mask
    _old: Searched
    _new: Searched

    def changed(self) -> tuple[pa.Array, Places]:
        """The nested values that went or came, each once and ``arranged``, with the change of their multiplicities,
        below 0 for those that went. Law: old ⊎ these = new. Raises EvaluationError where an inner bag has a row less
        than 0 times."""
        went = np.flatnonzero(self.before)
        values = pa.concat_arrays([arranged(self._values(self._old, went), self.shape.shown), self._came])
        kept, change = summed(values, np.concatenate([-self.before[went], self.after[self.after != 0]]))
        return values.take(pa.array(kept)), change

    def updated(self) -> Places:
        """The places of rows that are there before and after with another nested value. Most deep rows are: not those
        that only got other labels for what they held."""
        inside = np.flatnonzero((self.before != 0) & (self.after != 0) & self.deep)
        old = arranged(self._values(self._old, inside), self.shape.shown)
        found: Places = inside[unequal(old, self.nested_after(inside))]
        return found

    def nested_after(self, places: Places) -> pa.Array:
        """The nested values, ``arranged``, that the rows at ``places`` have after the change, which all have one."""
        came = np.cumsum(self.after != 0) - 1
        return self._came.take(pa.array(came[places]))

    @cached_property
    def _came(self) -> pa.Array:
        """The nested values, ``arranged``, of all rows that are there after the change."""
        return arranged(self._values(self._new, np.flatnonzero(self.after)), self.shape.shown)

    @property
    def missed(self) -> dict[str, tuple[Columns, ...]]:
        """The access keys for want of which tables were scanned."""
        found: dict[str, dict[Columns, None]] = defaultdict(dict)
        for tables in (self._new, self._old):
            for table, columns in tables.lookups.missed.items():
                found[table].update((c, None) for c in columns if c)
        return {table: tuple(columns) for table, columns in found.items() if columns}

    def _values(self, tables: Searched, places: Places) -> pa.Array:
        flat = Rows(self.rows.types, table=self.rows.arrow().take(pa.array(places)), summed=True)
        return nester(self.shape, tables).values(flat)


def touched(shape: OutputShape, after: Version, since: int) -> Touched:
    """The flat rows of a view that a change after version ``since`` touches, at any depth, before and after it.

    Costs what the change and the rows that hold it
    cost, where all of ``wanted_keys`` are there.
    """
    return _Search(shape, after, since).touched()


def wanted_keys(shape: OutputShape) -> dict[str, tuple[Columns, ...]]:
    """By table, the access keys by which nothing is scanned here."""
    found: dict[str, dict[Columns, None]] = defaultdict(dict)
    found[shape.flat.table][_whole(shape)] = None
    for site, held in places(shape).items():
        d = shape.dictionary(site)
        found[d.table][tuple(range(d.label_width))] = None
        for place in held:
            found[place.table][place.found_by] = None
    return {table: tuple(c for c in columns if c) for table, columns in found.items() if any(columns)}


def places(shape: OutputShape) -> dict[str, tuple[Place, ...]]:
    """By site, where its labels are held; every site after all sites whose labels its rows hold."""
    found: dict[str, list[Place]] = {site: [] for site in shape.sites}
    below: dict[str, set[str]] = {site: set() for site in found}
    for site, place in _held(shape, shape.flat.table, None, shape.flat.row, 0):
        found[site].append(place)
    for outer in found:
        d = shape.dictionary(outer)
        for site, place in _held(shape, d.table, outer, d.row, d.label_width):
            found[site].append(place)
            below[outer].add(site)
    return {site: tuple(found[site]) for site in TopologicalSorter(below).static_order()}


def _held(shape: OutputShape, table: str, holder: str | None, t: Type, start: int) -> Iterator[tuple[str, Place]]:
    """The sites whose labels are in the flat type ``t``, whose columns begin at ``start``, with their places."""
    for at, label in labels(t, start):
        for s in site_columns(label, at):
            name, tag = s.site.name, () if s.tag is None else (s.site.name,)
            stored = name in shape.inputs and table in shape.inputs
            yield name, Place(table, holder, s.label, tag, shape.found_by.get(name, s.label) if stored else s.label)


def _whole(shape: OutputShape) -> Columns:
    return tuple(range(width(shape.flat.row)))


class _Search:
    """One search for the rows that a change touches."""

    def __init__(self, shape: OutputShape, after: Version, since: int) -> None:
        self.shape, self.flat = shape, shape.flat.table
        tables = (self.flat, *(shape.dictionary(site).table for site in shape.sites))
        self.deltas = {t: after.delta(t, since).consolidated() for t in tables}
        self.places = places(shape)
        self.new = Searched.of(after)
        self.old = Searched.of(Before(after, self.deltas, self._gone()))

    def touched(self) -> Touched:
        deep, change, whole = self._deep(), self.deltas[self.flat], _whole(self.shape)
        rest = columnar.others(columnar.distinct(change, whole), whole, deep)
        after = deep.plus(self.new.rows_of(self.flat, rest))
        rows = columnar.distinct(after.plus(rest), whole)
        counts, came = (_counts(rows, own) for own in (after, change))
        inside = _counts(rows, columnar.each_once(deep)) != 0
        return Touched(self.shape, rows, counts - came, counts, inside, self.old, self.new)

    def _deep(self) -> Rows:
        """The flat rows, as they are after, that hold a label whose definition changed."""
        found = Rows.empty(base_types(self.shape.flat.row))
        changed: dict[str, Rows] = {}
        for site, held in self.places.items():
            d = self.shape.dictionary(site)
            own = columnar.distinct(self.deltas[d.table], d.label_columns)
            labels = columnar.distinct(own.plus(changed[site]), d.label_columns) if site in changed else own
            for place in held if len(labels) else ():
                rows = self._holders(site, place, labels)
                if place.holder is None:
                    found = found.plus(columnar.others(rows, _whole(self.shape), found))
                else:
                    outer = columnar.distinct(rows, self.shape.dictionary(place.holder).label_columns)
                    changed[place.holder] = changed[place.holder].plus(outer) if place.holder in changed else outer
        return Rows(found.types, table=found.arrow(), summed=True)

    def _holders(self, site: str, place: Place, labels: Rows) -> Rows:
        """The rows at ``place`` that hold one of ``labels`` after the change. Those that held one before it and do so
        no longer are in the change of that table."""
        if site in self.shape.inputs and place.table in self.shape.inputs:
            labels = columnar.others(labels, tuple(range(len(labels.types))), self._moved(place))
        if labels.is_empty:
            return Rows.empty(self.deltas[place.table].types)
        keys = _tagged(place.tag, labels)
        return self.new.probe(place.table, place.found_by, keys).consolidated()

    def _moved(self, place: Place) -> Rows:
        """The labels at ``place`` of the rows that came or went. Inside a relation a label is in one row only, so
        nobody else holds them; and no access key leads to the labels inside bags that are stored as arrays."""
        return columnar.distinct(self.deltas[place.table], place.columns)

    def _gone(self) -> dict[str, Rows]:
        """By dictionary of a relation, labels that went with the rows that held them: nothing is stored of them."""
        found: dict[str, Rows] = {}
        for site, held in self.places.items():
            for place in held if site in self.shape.inputs else ():
                if place.table in self.shape.inputs:
                    came = columnar.distinct(columnar.positive(self.deltas[place.table]), place.columns)
                    gone = columnar.others(self._moved(place), tuple(range(len(place.columns))), came)
                    found[site] = found[site].plus(gone) if site in found else gone
        return found


def _tagged(tag: tuple[str, ...], labels: Rows) -> Rows:
    """``labels`` behind the name of the site that made them, where it is said."""
    if not tag:
        return labels
    columns = [c.combine_chunks() for c in labels.arrow().columns[:-1]]
    names = [pa.repeat(pa.scalar(name, pa.string()), len(labels)) for name in tag]
    return Rows.of_columns((*(SITE for _ in tag), *labels.types), [*names, *columns])


def _counts(rows: Rows, counted: Rows) -> Places:
    """How often each of ``rows`` is among those that are ``counted``, which are a sum."""
    which, found = columnar.places_in(rows, counted)
    counts = np.zeros(len(rows), np.int64)
    counts[found] = columnar.weights(counted).to_numpy()[which]
    return counts
