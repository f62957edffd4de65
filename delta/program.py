"""A trigger program is data: maps, statements ``map += δ``, and the graph that says in which order they run.

Theory of operation. A batch may change several parts. They take *turns*, in the order of ``turns``: the parts by name,
then the maps that pass on a change of their own (domains, groups), which change because parts do: by how far they are
from the parts, and by name, so that maps which views share are in one order in all programs. The statement of a map for
a part adds what that part's change does to the map, so it reads every part before it in the order after the batch (R⁺),
its own as it says, and every part behind it before the batch; there are no cross terms. An auxiliary map is read *at
the statement's turn*: with what the parts before it did to the map, and ``M⁺`` with what its own part did, too. Changes
of auxiliary maps are therefore kept apart by the part that caused them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from graphlib import TopologicalSorter

from attrs import evolve, field, frozen

from ripplenest.delta.groups.ranking import Ranking
from ripplenest.delta.groups.strata import Cut
from ripplenest.nrc.printing.pretty import show, sorted_by
from ripplenest.nrc.printing.text import path, show_type
from ripplenest.nrc.rewriting.normal import Comprehension, term
from ripplenest.nrc.syntax import Elem, Expr, Keys, Lit, Sorting, Tuple
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import LONG, Record, Site, Type
from ripplenest.shred.contexts import Relations


class MapKind(Enum):
    """FLAT: the view's flat part. DICTIONARY: rows ⟨label, row⟩ of one site. DOMAIN: labels in use, with a count.
    AUXILIARY: what is left of a delta when its updates are taken out, kept so that statements need not join it. GROUP:
    what rows of a definition fold to, by place and key. ORDERED: rows of a definition, in an order, by place. TOP: the
    first of them. JOINED: rows of several sources together, of which windows are asked for."""

    FLAT = "flat"
    DICTIONARY = "dictionary"
    DOMAIN = "domain"
    AUXILIARY = "auxiliary"
    GROUP = "group"
    ORDERED = "ordered"
    TOP = "top"
    JOINED = "joined"

    @property
    def passes_on(self) -> bool:
        """Whether statements see something else of such a map than its stored rows. It takes a turn like a part, and
        passes on how what they see changes: ``ripplenest/run/passing.py`` has the rule of each kind."""
        return self in (MapKind.DOMAIN, MapKind.GROUP, MapKind.ORDERED, MapKind.TOP, MapKind.JOINED)

    @property
    def is_plain(self) -> bool:
        """Whether statements see the rows of such a map that are stored."""
        return self in (MapKind.ORDERED, MapKind.JOINED)


Ways = tuple[tuple[Comprehension, ...], ...]
"""Each product, and behind it others that make the same of other maps."""


@frozen
class Map:
    """A stored bag that the program keeps: ``name`` = ``term``, a flat bag with rows ``row``.

    A map of kind DOMAIN is stored as counts; statements that read it see each label with a count above 0 once. ``term``
    of a map of kind GROUP makes rows ⟨label, row: ⟨k, v⟩⟩, which ``group`` folds to what readers see; that of one of
    kind TOP makes all rows, of which ``ranking`` keeps the first. A map of kind AUXILIARY may be a *sum map*: its last
    columns are the factors of what is ``summed``, so that it is stored as one row for each value of the others, and
    read as rows that add up to the same. ``apart``: where the factors of each answer of a group are in the rows that
    statements make, where these have values several times. ``why`` says why it is kept as it is; a group stands ``at``
    a site of the view, whatever its map is called. ``trees``: each product as statements make it, and behind it those
    that make its rows of other maps (``delta/groups/trees.py``).
    """

    name: str
    kind: MapKind
    row: Type
    term: Expr
    products: tuple[Comprehension, ...]
    site: Site | None = None
    why: str = ""
    group: Cut | None = None
    ranking: Ranking | None = None
    summed: tuple[tuple[str, ...], ...] = ()
    apart: tuple[tuple[int, ...], ...] = ()
    at: str = field(default="", eq=False)
    trees: Ways = field(default=(), eq=False)

    @property
    def is_folded(self) -> bool:
        """Whether rows that are made are added up by key."""
        return self.group is not None or bool(self.summed)

    @property
    def factors(self) -> tuple[str, ...]:
        """The columns of a sum map whose products are added up."""
        return tuple(name for monomial in self.summed for name in monomial)

    @property
    def sums(self) -> str:
        """What a sum map adds up, and by what, for users."""
        keys = [path(name) for name, _ in _fields(self.row) if name not in self.factors]
        what = ", ".join("·".join(map(path, monomial)) for monomial in self.summed)
        return f"sums of {what}" + (f" by {', '.join(keys)}" if keys else "")

    @property
    def cut(self) -> Cut | Ranking | None:
        """What it is the map of, if that was cut."""
        return self.group or self.ranking

    @property
    def made(self) -> Type:
        """The rows of ``term``."""
        if self.summed:
            (c,) = self.products
            return elem_type(c.head, c.variables())
        return self.row if self.cut is None else self.cut.made

    @property
    def origins(self) -> tuple[int, ...]:
        """Which value of its definition each value is that statements of a group make."""
        assert self.group is not None
        found = {i: i for i in range(self.group.width)}
        for a, own in zip(self.group.answers, self.apart, strict=True):
            found |= zip(own, a.args, strict=True)
        return tuple(found[i] for i in range(len(found)))

    @property
    def keys(self) -> tuple[Elem, ...]:
        """What a sum map has a row for each value of, in terms of its product."""
        (c,) = self.products
        assert isinstance(c.head, Tuple)
        return tuple(t for name, t in c.head.fields if name not in self.factors)

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts and domains that the definition reads, in order of first use."""
        return _read(self.products)

    @property
    def splits(self) -> tuple[tuple[str, ...], ...]:
        """The pairs of tables that it can be built of, instead of all that a product of it joins."""
        return tuple(dict.fromkeys(_read((c,)) for _, *others in self.trees for c in others))

    @property
    def built_of(self) -> tuple[str, ...]:
        """What its trees read."""
        return _read(tuple(c for splits in self.trees for c in splits))


def strata(maps: Sequence[Map]) -> dict[str, int]:
    """Of each map that passes on one more than the highest that it reads; those that read parts alone are 1."""
    passing, found = {m.name: m for m in maps if m.kind.passes_on}, dict[str, int]()

    def of(name: str) -> int:
        if name not in found:
            found[name] = 1 + max((of(read) for read in passing[name].reads if read in passing), default=0)
        return found[name]

    return {name: of(name) for name in passing}


Reading = Mapping[str, Iterable[str]]
"""By name what is read for it."""


def generations(reading: Reading) -> Iterator[tuple[str, ...]]:
    """All names, each behind what is read for it, and as early as that allows."""
    order = TopologicalSorter(reading)
    order.prepare()
    while order.is_active():
        yield (found := order.get_ready())
        order.done(*found)


def in_turn(found: Mapping[str, int]) -> tuple[str, ...]:
    """Maps that pass on in the order of their turns: behind those that they read, and the same in every program."""
    return tuple(sorted(found, key=lambda name: (found[name], name)))


@frozen
class Statement:
    """``map += δ_part(map)``: runs when ``part`` changes. It reads parts and domains as of its turn, written out, and
    auxiliary maps, which are as of its turn by themselves. ``each``: the same as products that read the change once,
    where ``products`` are fewer and some read it several times. ``ways``: each product, and behind it those that read
    what the part changes in a sum map (``delta/groups/upward.py``)."""

    map: str
    part: str
    term: Expr
    products: tuple[Comprehension, ...]
    each: tuple[Comprehension, ...] = ()
    ways: Ways = field(default=(), eq=False)

    @classmethod
    def of(
        cls, m: Map, part: str, products: tuple[Comprehension, ...], each: tuple[Comprehension, ...] = ()
    ) -> "Statement":
        """That of a map. Its term says how often a product counts, and does not repeat it."""
        return cls(m.name, part, term(tuple(map(_counted, products)), m.made), products, each)

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts and maps that it reads, in order of first use."""
        return _read((*self.products, *self.each))


def _counted(c: Comprehension) -> Comprehension:
    """w·e = for _ in w(w) union e: the same rows, each as often."""
    if abs(c.weight) < 2:
        return c
    return evolve(c, weight=1 if c.weight > 0 else -1, times=(Lit(abs(c.weight), LONG), *c.times))


def _fields(row: Type) -> tuple[tuple[str, Type], ...]:
    assert isinstance(row, Record)
    return row.fields


def _read(products: tuple[Comprehension, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rel.name for c in products for _, rel in c.generators))


@frozen
class TriggerProgram:
    """How one view is kept fresh. ``parts`` are the stored parts of the relations that it reads, with flat row types;
    ``row`` is the nested row type of the view; ``turns`` is the order of the parts and domains in a batch; labels of
    parts are made of ``keys``. ``shown``: how the rows of bags are sorted where they are shown, by site, and those of
    the view itself, whose site is "". ``unique``: by part the columns by which a row is the only one, where they are
    known; which rows there are does not depend on it."""

    view: str
    row: Type
    parts: dict[str, Type]
    maps: tuple[Map, ...]
    statements: tuple[Statement, ...]
    turns: tuple[str, ...]
    relations: Relations = ()
    keys: Keys = ()
    shown: tuple[tuple[str, tuple[Sorting, ...]], ...] = ()
    unique: Keys = ()

    @cached_property
    def by_name(self) -> dict[str, Map]:
        return {m.name: m for m in self.maps}

    @cached_property
    def strata(self) -> dict[str, int]:
        """How far the maps that pass on are from the parts."""
        return strata(self.maps)

    @cached_property
    def reading(self) -> Reading:
        """By part and map what is read for it: by its definition, or by a statement of it."""
        found: dict[str, dict[str, None]] = {name: {} for name in (*self.parts, *self.by_name)}
        for m in self.maps:
            found[m.name] |= dict.fromkeys((*m.reads, *m.built_of))
        for s in self.statements:
            found[s.map] |= dict.fromkeys(s.reads)
        return found

    @cached_property
    def levels(self) -> tuple[tuple[Map, ...], ...]:
        """The maps in the order in which they run; maps of one level do not read each other."""
        named = ([m for m in self.maps if m.name in found] for found in map(set, generations(self.reading)))
        return tuple(tuple(level) for level in named if level)

    @property
    def flat(self) -> Map:
        return next(m for m in self.maps if m.kind is MapKind.FLAT)

    @property
    def dictionaries(self) -> tuple[Map, ...]:
        return self.of_kind(MapKind.DICTIONARY)

    def of_kind(self, kind: MapKind) -> tuple[Map, ...]:
        return tuple(m for m in self.maps if m.kind is kind)

    def statements_of(self, name: str) -> tuple[Statement, ...]:
        return tuple(s for s in self.statements if s.map == name)

    def changes(self, part: str) -> bool:
        """Whether a part changes: a map does that anything changes, and not one whose rows are always there."""
        return part not in self.by_name or part in self._moving

    @cached_property
    def _moving(self) -> frozenset[str]:
        """The maps that are made of parts, however many maps are between."""
        found = set(self.parts)
        while more := {s.map for s in self.statements if s.part in found} - found:
            found |= more
        return frozenset(found)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the text of every definition, and of what is made of its rows: equal fingerprints mean equal
        stored states, shown in equal orders."""
        lines = [f"{self.view}: {show_type(self.row)}"]
        lines += [f"{name}: {show_type(row)}" for name, row in self.relations]
        lines += [f"key {part}: {', '.join(fields)}" for part, fields in self.keys]
        lines += [f"{m.kind.value} {m.name}: {show_type(m.row)} = {show(m.term)}" for m in self.maps]
        lines += [f"{m.name} {m.cut.rule}" for m in self.maps if m.cut is not None]
        lines += [f"shown {site}{sorted_by(order)}" for site, order in self.shown if order]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
