"""Which rows of a view a change touches, however deep inside them it happened (nrc-ivm, appendix C.3, read backwards).

Theory of operation. The change of a view is signed rows of its flat part and of each dictionary. A nested row is
touched when its flat row comes, goes or changes its multiplicity, or when it holds a label, at any depth, whose
definition changes. Labels are followed from the inside out: the labels in a dictionary's own change, then the rows
that *hold* one of them, whose own label has changed thereby, up to the rows of the flat part.

The state before is never read: before = after ⊎ ⊖δ, for a table and for the rows of a key alike. Every lookup is a
probe where the table has the access key for it: a dictionary by its label, a holder by the columns of the label that
it holds, the flat part by the whole row. ``wanted_keys`` lists them all. A table without its key is scanned, once, and
``Touched.missed`` names the key, so that whoever declares tables can add it. When you touch this: sites are visited
after all that they hold, because a label that changes late would find its holders visited already.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from graphlib import TopologicalSorter

from attrs import frozen

from ripplenest.data.index import Places, Wanted, key_rows
from ripplenest.data.labels import labels, site_columns, width
from ripplenest.data.order import First, Firsts
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.types import Type
from ripplenest.reading.nested import missed, nested_rows
from ripplenest.schema.shape import OutputShape
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Found, Overlay
from ripplenest.version.version import AccessKeys, Version


@frozen
class Place:
    """Where labels of one site are held: in ``columns`` of ``table``, the dictionary of ``holder`` (None: the flat
    part). Labels of several sites say in a column of their own which site made them; ``tag`` is what it says. Rows are
    ``found_by`` these columns, or by those of the key that the label is made of."""

    table: str
    holder: str | None
    columns: Columns
    tag: tuple[str, ...]
    found_by: Columns


@frozen(slots=False)
class Touched:
    """The flat rows that changed, or hold something that changed, in the versions (since, version] of a view.

    ``before`` and ``after`` are ⟨flat row with its labels, multiplicity ≠ 0⟩ at both ends; a row that is in both is
    touched inside or has another multiplicity. ``deep`` are the rows that hold a label whose definition changed.
    """

    shape: OutputShape
    before: list[tuple[Row, int]]
    after: list[tuple[Row, int]]
    deep: frozenset[Row]
    _old: Overlay
    _new: Overlay

    def nested(self) -> tuple[BagValue, BagValue]:
        """The nested rows that went and those that came, without what is in both. Law: old ⊎ ⊖went ⊎ came = new."""
        change = self._bag(self._new, self.after) - self._bag(self._old, self.before)
        went = BagValue({value: -n for value, n in change if n < 0})
        return went, BagValue({value: n for value, n in change if n > 0})

    def updated(self) -> dict[Row, Value]:
        """The rows that are there before and after with another nested value, and what that is now. Most deep rows
        are: not those that only got other labels for what they held."""
        before = {row for row, _ in self.before}
        inside = [row for row, _ in self.after if row in self.deep and row in before]
        old, new = nested_rows(self.shape, self._old, inside), self.nested_after(inside)
        return {row: value for row, value in new.items() if value != old[row]}

    def nested_after(self, rows: Iterable[Row]) -> dict[Row, Value]:
        """The nested value of each of ``rows``, which are flat rows of ``after``."""
        return nested_rows(self.shape, self._new, rows)

    @property
    def missed(self) -> dict[str, tuple[Columns, ...]]:
        """The access keys for want of which tables were scanned."""
        return missed(self._new, self._old)

    def _bag(self, overlay: Overlay, rows: list[tuple[Row, int]]) -> BagValue:
        nested = nested_rows(self.shape, overlay, [row for row, _ in rows])
        return BagValue.weighted((nested[row], n) for row, n in rows)


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
        self.deltas: dict[str, Found] = {t: after.delta(t, since).consolidated().counts() for t in tables}
        self.new = Overlay(after)
        self.old = Overlay(_Before(after, self._gone()))
        for table, rows in self.deltas.items():
            for row, n in rows.items():
                self.old.add(table, row, -n)

    def touched(self) -> Touched:
        after = self._deep()
        deep, change = frozenset(after), self.deltas[self.flat]
        rest = [row for row in change if row not in deep]
        self.new.fetch(self.flat, _whole(self.shape), rest)
        for row in rest:
            after[row] = self.new.rows(self.flat, _whole(self.shape), row).get(row, 0)
        before = {row: n - change.get(row, 0) for row, n in after.items()}
        return Touched(self.shape, _present(before), _present(after), deep, self.old, self.new)

    def _deep(self) -> Found:
        """The flat rows, as they are after, that hold a label whose definition changed."""
        found: Found = {}
        changed: dict[str, dict[Row, None]] = defaultdict(dict)
        for site, held in self._places.items():
            d = self.shape.dictionary(site)
            changed[site].update((row[: d.label_width], None) for row in self.deltas[d.table])
            for place in held:
                rows = self._holders(site, place, changed[site])
                if place.holder is None:
                    found.update(rows)
                else:
                    wide = self.shape.dictionary(place.holder).label_width
                    changed[place.holder].update((row[:wide], None) for row in rows)
        return found

    @cached_property
    def _places(self) -> dict[str, tuple[Place, ...]]:
        return places(self.shape)

    def _holders(self, site: str, place: Place, labels: Iterable[Row]) -> Found:
        """The rows at ``place`` that hold one of ``labels`` after the change. Those that held one before it and do so
        no longer are in the change of that table."""
        known = self._moved(place) if site in self.shape.inputs and place.table in self.shape.inputs else set()
        keys = [(*place.tag, *label) for label in labels if label not in known]
        self.new.fetch(place.table, place.found_by, keys)
        found = ((key, self.new.rows(place.table, place.found_by, key)) for key in keys)
        return {r: n for key, rows in found for r, n in rows.items() if tuple(r[c] for c in place.columns) == key}

    def _moved(self, place: Place) -> set[Row]:
        """The labels at ``place`` of the rows that came or went. Inside a relation a label is in one row only, so
        nobody else holds them; and no access key leads to the labels inside bags that are stored as arrays."""
        return {tuple(row[c] for c in place.columns) for row in self.deltas[place.table]}

    def _gone(self) -> dict[str, set[Row]]:
        """By dictionary of a relation, labels that went with the rows that held them: nothing is stored of them."""
        found: dict[str, set[Row]] = defaultdict(set)
        for site, held in self._places.items():
            for place in held if site in self.shape.inputs else ():
                if place.table in self.shape.inputs:
                    rows = self.deltas[place.table].items()
                    came = {tuple(row[c] for c in place.columns) for row, n in rows if n > 0}
                    found[site] |= self._moved(place) - came
        return found


@frozen
class _Before:
    """The tables after a change, for whoever also asks for labels that went with it."""

    after: Version
    gone: Mapping[str, set[Row]]

    @property
    def access_keys(self) -> AccessKeys:
        return self.after.access_keys

    def scan(self, table: str) -> Rows:
        return self.after.scan(table)

    def size(self, table: str) -> int:
        return self.after.size(table)

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """As ``after`` has it; a bag that is stored as an array would be looked for in all arrays."""
        gone = self.gone.get(table, set())
        label = tuple(range(len(next(iter(gone), ()))))
        return self.after.probe(table, columns, [k for k in key_rows(keys) if columns != label or k not in gone])

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:
        return self.after.many(table, columns, keys)

    def first(self, table: str, asked: Firsts) -> First:
        return self.after.first(table, asked)


def _present(rows: Found) -> list[tuple[Row, int]]:
    return [(row, n) for row, n in rows.items() if n]
