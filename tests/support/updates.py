"""Shredded databases and random valid batches against them.

A batch inserts and deletes flat rows (with their dictionaries, or leaving those of deleted rows behind), and changes
inner bags that some row still holds. Fresh places get labels that no other row has, as the store gives them.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from hashlib import blake2b

from attrs import field, frozen

from ripplenest.data.naming import Numbers
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import NUMBERED, Bag, Record, Type
from ripplenest.shred.consistency import add, labels_of
from ripplenest.shred.places import Place, child_path
from ripplenest.shred.values import Parts, gather, has_bag, nest, resolver, shred_relation, shred_rows
from support.choices import Choices
from support.schemas import Database, Schema, random_value

KINDS = ("insert", "deep insert", "delete", "deep delete", "deep empty", "delete and drop")


def numbered(tag: str) -> Numbers:
    """Numbers of rows, in the order of asking; other tags give others."""
    return Numbers(int.from_bytes(blake2b(tag.encode(), digest_size=4).digest(), "big") << 20)


def shredded_database(schema: Schema, db: Database) -> Parts:
    """⟨R^F, R^Γ⟩ of every relation, in one map of parts."""
    parts: Parts = {}
    for name, row in schema.relations:
        parts |= shred_relation(db[name], row, name, (), numbered(f"{name}-"))
    return parts


def nested_database(schema: Schema, parts: Parts) -> Database:
    """u: the database that ``parts`` stand for."""
    rows: dict[str, BagValue] = {}
    for name, row in schema.relations:
        flat = parts[name]
        assert isinstance(flat, BagValue)
        rows[name] = nest(flat, row, resolver(parts))
    return rows


@frozen
class Batch:
    """ΔR^F and ΔR^Γ of the parts that change, and what kinds of change are in it."""

    delta: Parts
    kinds: frozenset[str] = field(factory=frozenset)

    @property
    def parts(self) -> frozenset[str]:
        return frozenset(self.delta)

    def only(self, part: str) -> "Batch":
        """The change of one part, without the rest."""
        return Batch({part: self.delta[part]})

    def after(self, parts: Parts) -> Parts:
        return add(parts, self.delta)

    def nested_after(self, schema: Schema, parts: Parts) -> Database:
        """The nested database after the batch."""
        return nested_database(schema, self.after(parts))

    def state(self, parts: Parts) -> Parts:
        """What deltas read: R, and ΔR and R⁺ of what changes."""
        new = self.after(parts)
        changes = {At.DELTA.show(p): change for p, change in self.delta.items()}
        return {**parts, **changes, **{At.NEW.show(p): new[p] for p in self.delta}}


def bag_rows(path: str, row: Type) -> Iterator[tuple[str, Type]]:
    """(path, nested row type) of every bag stored below the rows of ``path``."""
    yield from _bags(row, child_path(path, "[]") if isinstance(row, Bag) else path)


def _bags(t: Type, path: str) -> Iterator[tuple[str, Type]]:
    if isinstance(t, Record):
        for name, f in t.fields:
            yield from _bags(f, child_path(path, name))
    elif isinstance(t, Bag):
        yield path, t.row
        yield from bag_rows(path, t.row)


def held(parts: Parts, rows: BagValue) -> Iterator[LabelValue]:
    """The labels that ``rows`` hold, directly or in the bags of labels they hold; each once, in a fixed order."""
    found: set[LabelValue] = set()
    todo = deque([rows])
    while todo:
        for row, _ in todo.popleft():
            for label in labels_of(row):
                if label not in found:
                    found.add(label)
                    yield label
                    todo.append(definition(parts, label))


def definition(parts: Parts, label: LabelValue) -> BagValue:
    part = parts[label.site]
    assert isinstance(part, Mapping)
    return part[label]


class _Updates:
    """A batch in the making: the state that it has reached, and the change so far."""

    def __init__(self, c: Choices, schema: Schema, parts: Parts, tag: str) -> None:
        self.c, self.schema, self.now = c, schema, parts
        self.delta: Parts = {}
        self.kinds: set[str] = set()
        self.names = numbered(tag)
        self.rows = {p: t for name, row in schema.relations for p, t in ((name, row), *bag_rows(name, row))}

    def change(self, kind: str, delta: Parts) -> None:
        self.now, self.delta = add(self.now, delta), add(self.delta, delta)
        self.kinds.add(kind)

    def step(self) -> None:
        some = any(True for _ in self.labels())
        kinds = KINDS if some else ("insert", "delete", "delete and drop")
        kind = self.c.pick(kinds)
        if kind.startswith("deep"):
            self.deep(kind, self.c.pick(list(self.labels())))
        else:
            self.top(kind, self.c.pick(self.schema.names))

    def labels(self) -> Iterator[LabelValue]:
        return (label for name in self.schema.names for label in held(self.now, self.flat(name)))

    def flat(self, name: str) -> BagValue:
        bag = self.now[name]
        assert isinstance(bag, BagValue)
        return bag

    def top(self, kind: str, name: str) -> None:
        bag = self.flat(name)
        if kind == "insert" or not bag:
            row, below = self.fresh(name)
            self.change("insert", {name: row, **below})
            return
        gone = self.some_of(bag)  # rows with labels are there once: nobody else holds what they hold
        drop: dict[str, dict[LabelValue, BagValue]] = {}
        for label in held(self.now, gone) if kind == "delete and drop" else ():
            drop.setdefault(label.site, {})[label] = -definition(self.now, label)
        self.change(kind, {name: gone, **drop})

    def deep(self, kind: str, label: LabelValue) -> None:
        bag = definition(self.now, label)
        if kind == "deep insert" or not bag:
            row, below = self.fresh(label.site)
            self.change("deep insert", {label.site: {label: row}, **below})
        else:
            self.change(kind, {label.site: {label: -bag if kind == "deep empty" else self.some_of(bag)}})

    def fresh(self, path: str) -> tuple[BagValue, Parts]:
        """A new row for the bag under ``path``, and the dictionary entries that come with it."""
        row = self.rows[path]
        place = Place(path, child_path(path, "[]") if isinstance(row, Bag) else path, NUMBERED, ())
        ((flat, _, entries),) = shred_rows([(random_value(self.c, row, 2), 1)], row, place, (), self.names)
        return BagValue({flat: 1 if has_bag(row) else 1 + self.c.number(2)}), {**gather(entries)}

    def some_of(self, bag: BagValue) -> BagValue:
        """⊖ of one row of ``bag``, all or some of its occurrences."""
        row, n = self.c.pick(list(bag))
        return BagValue({row: -n if self.c.number(2) == 0 else -1})


def random_batch(c: Choices, schema: Schema, parts: Parts, tag: str = "Δ", most: int = 4) -> Batch:
    """1 to ``most`` changes, each valid after those before it. ``tag`` must differ from batch to batch."""
    updates = _Updates(c, schema, parts, tag)
    for _ in range(1 + c.number(most)):
        updates.step()
    return Batch(updates.delta, frozenset(updates.kinds))
