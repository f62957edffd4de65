"""What a state of an older format holds, read for migration: relations with their nested rows, views, and batches.

In formats 2 and 3 every label of a relation was one text, and an array had a label and a text. Nothing else knows.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

from attrs import evolve, frozen

from ripplenest.data.columns import from_leaves
from ripplenest.data.naming import PLACES, Numbers
from ripplenest.data.rows import Rows
from ripplenest.data.texts import from_text
from ripplenest.delta.materialize import Materialize
from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.serial import query_from_json
from ripplenest.nrc.syntax import Keys, Query
from ripplenest.nrc.types import STRING, Bag, Params
from ripplenest.publish.target import Target
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.places import Place
from ripplenest.shred.values import Entry, gather, nest, shred_bag
from ripplenest.state.notes import named
from ripplenest.state.stored import StoredView, read, relation_of
from ripplenest.store.specs import Batch
from ripplenest.store.store import Store

TEXT: Params = (("id", STRING),)
Definitions = dict[str, dict[LabelValue, BagValue]]


@frozen
class OlderRelation(Relation):
    """A relation whose labels are texts."""

    @property
    def identities(self) -> Keys:
        """No label is made of keys."""
        return ()

    @cached_property
    def place(self) -> Place:
        """Its rows."""
        return Place.of(self.name, self.row, (), TEXT)


@frozen
class OlderView:
    """A view, and the maps that it was created with."""

    query: Query
    materialize: Materialize


@frozen
class Older:
    """A state of an older format."""

    store: Store

    @cached_property
    def _meta(self) -> Mapping[str, str]:
        return self.store.all_meta()

    def relations(self) -> Iterator[Relation]:
        """As they are declared."""
        return (relation_of(name, text) for name, text in named(self._meta, "relation").items())

    def views(self) -> Iterator[OlderView]:
        """As they were created. Raises CorruptState."""
        for name, text in named(self._meta, "view").items():
            stored = read(f"view:{name}", text, StoredView)
            yield OlderView(query_from_json(stored.query), stored.options.materialize)

    def publications(self) -> list[Target]:
        """The Delta tables that it publishes to."""
        return [Target.from_json(text) for text in named(self._meta, "publish").values()]

    def batches(self) -> list[Batch]:
        """Those that it knows as applied."""
        return self.store.batches()

    def rows(self, relation: Relation) -> BagValue:
        """The nested rows of a relation."""
        r = OlderRelation(relation.name, relation.row, relation.key, relation.immutable, relation.arrays)
        tables, flat = self.store.snapshot(), r.parts[r.name]
        found = self._definitions(r)
        rows = BagValue.weighted((from_leaves(row, flat.flat), n) for row, n in _counts(tables.scan(r.name)))
        return nest(rows, r.row, lambda label: found.get(label.site, {}).get(label, EMPTY))

    def _definitions(self, r: Relation) -> Definitions:
        """The flat bag of every label; labels of empty bags have none."""
        tables, known = self.store.snapshot(), self.store.tables()
        entries = [e for p in r.parts.values() if p.inner for e in _entries(p, tables.scan(p.name))]
        for root in r.arrays:
            if f"{root}/arrays" in known:
                entries += _array_entries(r, root, tables.scan(f"{root}/arrays"))
        return gather(entries)


def _counts(rows: Rows) -> Iterator[tuple[tuple[object, ...], int]]:
    return iter(rows.counts().items())


def _entries(p: Part, rows: Rows) -> Iterator[Entry]:
    for row, n in _counts(rows):
        value = from_leaves(row, p.stored)
        label = field_of(value, "label")
        assert isinstance(label, LabelValue)
        yield Entry(p.name, label, field_of(value, "row"), n)


def _array_entries(r: Relation, root: str, arrays: Rows) -> Iterator[Entry]:
    """What arrays stand for; the labels inside are numbers, which no stored label is."""
    part, place = r.parts[root], evolve(r.places[root], without_key=(("id", STRING),))
    for i, ((label, text), _) in enumerate(_counts(arrays)):
        bag: Value = from_text(str(text), Bag(part.row))
        if not isinstance(bag, BagValue):
            raise CorruptState("not the text of a bag", where=f"{root}/arrays")
        yield from shred_bag(bag, part.row, place, LabelValue(root, (label,)), Numbers(i * PLACES))
