"""Stored documents: rows with all that is below them, read, written and taken away on an overlay.

A nested row is its flat row plus the rows of its bags' dictionaries, at every depth. A part is worked on as the rows of
one bag: of the relation, which has no label, or of an inner bag.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from ripplenest.data.columns import from_leaves, to_leaves
from ripplenest.data.rows import Row
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.types import Bag, Record, Type
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.places import Place
from ripplenest.shred.values import Namer, nest, shred_rows
from ripplenest.version.overlay import Overlay

Shredded = Sequence[tuple[str, Row, int]]  # part, stored row and multiplicity


@frozen
class Documents:
    """The documents of one relation, as they are on an overlay."""

    relation: Relation
    overlay: Overlay

    def shredded(self, part: Part, label: Row, values: Iterable[Value], name: Namer) -> Shredded:
        """The rows of all parts that ``values`` are, as rows of the bag with this ``label``."""
        r, found = self.relation, Counter[tuple[str, Row]]()
        bag = Counter(values).items()
        for flat, n, below in shred_rows(bag, part.row, r.rows_of(part), label, name):
            found[part.name, (*label, *to_leaves(flat, part.flat))] += n
            for e in below:
                if e.count:
                    found[e.part, (*e.label.args, *to_leaves(e.row, r.parts[e.part].flat))] += e.count
        return [(name_, row, n) for (name_, row), n in found.items()]

    def add(self, rows: Shredded) -> None:
        """Put rows of parts where they belong."""
        for part, row, n in rows:
            self.overlay.add(part, row, n)

    def remove(self, part: Part, stored: Row, n: int) -> None:
        """Take ``n`` of a stored row away, and with it everything below it."""
        self.overlay.add(part.name, stored, -n)
        for below, label in self.bags(part, stored):
            for row, m in self.overlay.rows(below.name, below.label, label).items():
                self.remove(below, row, m)

    def fetch_below(self, part: Part, rows: Iterable[Row]) -> None:
        """Read all that is below stored rows, level by level, for what follows."""
        labels: dict[str, dict[Row, None]] = {}
        for row in rows:
            for below, label in self.bags(part, row):
                labels.setdefault(below.name, {})[label] = None
        for name, keys in labels.items():
            below = self.relation.parts[name]
            self.overlay.fetch(name, below.label, keys)
            self.fetch_below(below, [row for key in keys for row in self.overlay.rows(name, below.label, key)])

    def bags(self, part: Part, stored: Row) -> Iterator[tuple[Part, Row]]:
        """The dictionary and the label of every inner bag of a stored row."""
        for site, held in part.held.items():
            label = tuple(stored[c] for c in held)
            if None not in label:
                yield self.relation.parts[site], label

    def nested(self, part: Part, stored: Row) -> Value:
        """The nested row that a stored row and the dictionaries below it stand for."""
        flat = from_leaves(stored, part.stored)
        own = field_of(flat, "row") if part.inner else flat
        return next(iter(nest(BagValue({own: 1}), part.row, self._definition).counts))

    def _definition(self, label: LabelValue) -> BagValue:
        part = self.relation.parts[label.site]
        rows = self.overlay.rows(part.name, part.label, label.args)
        return BagValue.weighted((field_of(from_leaves(row, part.stored), "row"), n) for row, n in rows.items())


def outline(label: Row, value: Value, part: Part) -> Row:
    """The columns of the stored row of ``value``, without the labels of inner bags."""
    return (*label, *_leaves(value, part.row, part.flat))


def _leaves(value: Value, t: Type, flat: Type) -> Row:
    match t:
        case Record(fields):
            assert isinstance(flat, Record)
            inner = zip(fields, flat.fields, strict=True)
            return tuple(leaf for (name, a), (_, b) in inner for leaf in _leaves(field_of(value, name), a, b))
        case Bag():
            return to_leaves(None, flat)
        case _:
            return (value,)


class Reused:
    """The numbers of the rows that a document has, for those that come in its place (a ``Namer``): of those with equal
    contents, then of those with equal base fields; any other row gets a new one.

    What comes into ``part`` comes in the place of ``held``, the row with its key, and has its number; below it, the
    rows of each bag are those that are there now.
    """

    def __init__(self, documents: Documents, part: Part, held: Sequence[Row], fresh: Namer) -> None:
        self._documents, self._part, self._held, self._fresh = documents, part, held, fresh

    def numbers(self, place: Place, outer: Row, rows: Sequence[Value]) -> list[int]:
        """A number for each of ``rows``. Law: a bag that comes again gets the labels that it has."""
        part = self._documents.relation.parts[place.part]
        if part is self._part and (own := [n for row in self._held if (n := _number(part, row)) is not None]):
            return own
        free = self._numbered(part, outer)
        found: dict[int, int] = {}
        contents = _by((self._documents.nested(part, row), row) for row in free)
        outlines = _by((tuple(row[c] for c in part.scalars), row) for row in free)
        for i, value in enumerate(rows):
            if (row := _next(contents, value, free)) is not None:
                found[i] = free.pop(row)
        for i, value in enumerate(rows):
            wanted = outline(outer, value, part)
            scalars = tuple(wanted[c] for c in part.scalars)
            if i not in found and (row := _next(outlines, scalars, free)) is not None:
                found[i] = free.pop(row)
        new = [i for i in range(len(rows)) if i not in found]
        found.update(zip(new, self._fresh.numbers(place, outer, [rows[i] for i in new]), strict=True))
        return [found[i] for i in range(len(rows))]

    def _numbered(self, part: Part, outer: Row) -> dict[Row, int]:
        """The stored rows of a bag that have inner bags, in the order of their numbers."""
        there = self._documents.overlay.rows(part.name, part.label, outer)
        found = {row: number for row in there if (number := _number(part, row)) is not None}
        return dict(sorted(found.items(), key=lambda pair: pair[1]))


def _number(part: Part, row: Row) -> int | None:
    numbers = (row[columns[0]] for columns in part.held.values())
    return next((n for n in numbers if isinstance(n, int)), None)


def _by(pairs: Iterable[tuple[Value, Row]]) -> dict[Value, list[Row]]:
    found: dict[Value, list[Row]] = {}
    for value, row in pairs:
        found.setdefault(value, []).append(row)
    return found


def _next(rows: Mapping[Value, list[Row]], value: Value, free: Mapping[Row, int]) -> Row | None:
    """A free row of those of ``value``, the first that came."""
    return next((row for row in rows.get(value, ()) if row in free), None)
