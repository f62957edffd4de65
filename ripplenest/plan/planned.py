"""Trigger programs as plans: the products that build each map, those of its statements, and the indexes they need."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import evolve, field, frozen

from ripplenest.data.columns import base_types, columns
from ripplenest.data.labels import width
from ripplenest.data.order import Ordering
from ripplenest.delta.program import Map, MapKind, TriggerProgram, generations, in_turn
from ripplenest.nrc.paths import labels_held
from ripplenest.nrc.printing.text import part, path
from ripplenest.nrc.reserved import is_shared
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.types import Base, Label, Type
from ripplenest.plan.groups import Folding, contributed, folding_of, of_statements
from ripplenest.plan.lower import lower_all
from ripplenest.plan.product import Product, interned
from ripplenest.plan.ranges import is_one, pays, ranged
from ripplenest.plan.ranking import Ranked, ranked
from ripplenest.plan.running import Running, running, together
from ripplenest.plan.telling import telling
from ripplenest.shred.contexts import stored_rows

Index = tuple[int, ...]
# of which columns are stored as statements see them
READABLE = (MapKind.DOMAIN, MapKind.GROUP, MapKind.TOP, MapKind.JOINED)
Names = Mapping[str, tuple[str, ...]]  # of the columns of tables


@frozen
class Target:
    """Where rows of statements are summed: a map, or what the change of one ``part`` does to it. Those that are
    to be ``folded`` may come several times, and should come in the order of the hash of these columns; so should those
    of a sum map in files, ``near`` each other by its key, each once. Of those that know how they ``fold``, who makes
    very many may do so piece by piece, and hands out rows ``in_pieces``. Messages name the ``view``."""

    name: str
    types: tuple[Base, ...]
    map: str
    part: str | None = None
    folded: Index | None = None
    near: Index | None = None
    view: str = field(default="", eq=False)
    fold: Folding | None = field(default=None, eq=False)
    in_pieces: bool = False


@frozen
class Called:
    """What messages call a group: its view, each of its folds, and the columns of its key."""

    view: str
    folds: tuple[str, ...]
    key: tuple[str, ...]


Triggers = tuple[tuple[str, tuple[Product, ...]], ...]  # by changed part
Ways = tuple[tuple[tuple[Product, ...], ...], ...]  # each product, and behind it what makes its rows of other maps


@frozen(slots=False)
class PlannedMap:
    """One map: its columns, the products that build it and, by changed part, those that maintain it. A group and a sum
    map are folded: stored rows lie in the order of the hash of the columns ``near`` of the key, and those that products
    for changed parts make, of types ``made``, may hold sums where those of a build hold values, and are folded as
    ``told``. ``keys`` columns are the place of a row, of a map of first rows and of that in which all are. A build may
    take one of the ``trees`` of each product, which make what statements make. It is of a ``view``, perhaps of others,
    too. Some triggers read a change several times; ``once`` are those that do the same and read it once. Some have
    other ``ways``, which read what the part changes in a sum map."""

    name: str
    kind: MapKind
    types: tuple[Base, ...]
    build: tuple[Product, ...]
    triggers: Triggers
    made: tuple[Base, ...] = ()
    folding: Folding | None = None
    near: Index = ()
    ranked: Ranked | None = None
    keys: int | None = None
    told: Folding | None = None
    called: Called | None = field(default=None, eq=False)
    trees: Ways = field(default=(), eq=False)
    view: str = field(default="", eq=False)
    once: Triggers = ()
    ways: Mapping[str, Ways] = field(factory=dict, eq=False)

    @property
    def answers(self) -> Folding | Ranked | None:
        """What readers see of stored rows, where it is something else."""
        return self.folding or self.ranked

    @cached_property
    def whole(self) -> Target:
        """The map as one target of a build; of what is folded the rows that are."""
        if self.answers is None:
            return Target(self.name, self.types, self.name, view=self.view)
        made = self.made if self.folding is None else self.folding.made
        return Target(self.name, made, self.name, folded=self.near or self.together, view=self.view)

    @cached_property
    def alternatives(self) -> Counter[str]:
        """By table, how many of the products that build it read the table: their rows are its rows together."""
        return Counter(t for p in self.build for t in {s.table for s in p.sources})

    @property
    def adding(self) -> Folding:
        """How the rows of statements are folded."""
        assert self.told is not None
        return self.told

    @property
    def own_key(self) -> Index:
        """The columns by which stored rows are looked up, of a map that passes on or is folded: the key, else all."""
        if self.keys is not None:
            return tuple(range(self.keys))
        return tuple(range(len(self.types) if self.folding is None else self.folding.keys))

    @property
    def together(self) -> Index:
        """The columns of rows that are stepped together if they agree in them: of those behind edges not the edge."""
        return self.own_key if self.ranked is None else self.ranked.group

    @cached_property
    def targets(self) -> dict[str, Target]:
        """By part, the target of its statement; what each does to an auxiliary map is read by others."""
        if self.kind is not MapKind.AUXILIARY:
            whole = evolve(self.whole, types=self.made, fold=self.told)
            return {part: whole for part, _ in self.triggers}
        near = None if self.folding is None else self.near or self.own_key
        name, made, view = self.name, self.made, self.view
        return {p: Target(f"{name} Δ{p}", made, name, p, near=near, view=view) for p, _ in self.triggers}

    @cached_property
    def running(self) -> dict[str, tuple[Running, ...]]:
        """By part whose change are places of it, how what they come to is told by those near them, by product. Not of a
        sum map, of which others read what each part has done to it."""
        if self.kind is not MapKind.GROUP or self.told is None:
            return {}
        known, own = self.told.keys, ((part, some) for part, some in self.triggers if part not in self.ways)
        every = ((part, some) for part, some in own if len(some) == len(self.build))
        found = ((part, together([running(p, known) for p in some])) for part, some in every)
        return {part: some for part, some in found if any(r.asked == part for r in some)}

    @cached_property
    def summed(self) -> tuple[Target, ...]:
        """The targets of all its statements, each once."""
        return tuple(dict.fromkeys(self.targets.values()))


@frozen(slots=False)
class Plan:
    """How the maps of ``programs``, one view's or those of several, are kept: ``levels`` in the order in which they
    run; ``indexes`` by table: the columns that probes look up; ``others`` are maps that these read, and that somebody
    else keeps."""

    programs: tuple[TriggerProgram, ...]
    levels: tuple[tuple[PlannedMap, ...], ...]
    indexes: dict[str, tuple[Index, ...]]
    others: tuple[PlannedMap, ...] = ()

    @property
    def program(self) -> TriggerProgram:
        """The program of a plan that is one view's."""
        (program,) = self.programs
        return program

    @cached_property
    def maps(self) -> tuple[PlannedMap, ...]:
        return tuple(m for level in self.levels for m in level)

    @cached_property
    def by_name(self) -> dict[str, PlannedMap]:
        return {m.name: m for m in self.maps}

    @cached_property
    def passing(self) -> dict[str, PlannedMap]:
        """The maps that pass on a visible change (``MapKind.passes_on``), whoever keeps them."""
        return {m.name: m for m in (*self.maps, *self.others) if m.kind.passes_on}

    @cached_property
    def orderings(self) -> dict[str, tuple[Ordering, ...]]:
        """By table, the orders in which its rows are read."""
        found: dict[str, dict[Ordering, None]] = {}
        for m in self.maps:
            if m.ranked is not None:
                for table, order in m.ranked.orders(len(m.types)):
                    found.setdefault(table, {})[order] = None
        for r in self.running:
            found.setdefault(r.asked, {})[r.near] = None
        for table, orders in self.ranges.items():
            found.setdefault(table, {}).update(dict.fromkeys(orders))
        return {table: tuple(orders) for table, orders in found.items()}

    @cached_property
    def ranges(self) -> dict[str, tuple[Ordering, ...]]:
        """By table, the orders in which it is read between values: not where a key finds one row, and only where what
        statements see is stored, and where that pays."""
        unique: dict[str, set[frozenset[int]]] = {}
        for name, key in (pair for program in self.programs for pair in _unique(program)):
            unique.setdefault(name, set()).add(key)
        found: dict[str, dict[Ordering, None]] = {}
        for p in (p for made in _made(self.levels) for p in made.orders):
            for step in p.steps:
                table, ways = p.sources[step.source].table, ranged(step)
                if not ways or is_one(table, step, unique):
                    continue
                shown = self.shown.get(table)
                paid = [r.order for r in ways if pays(p, step, r, shown is not None)]
                if paid and (shown is None or shown.kind in READABLE):
                    found.setdefault(table, {}).update(dict.fromkeys(paid))
        for r in self.running:
            found.setdefault(r.asked, {})[r.in_order] = None
            found.setdefault(r.of, {})[r.rows] = None
        return {table: tuple(orders) for table, orders in found.items()}

    @cached_property
    def running(self) -> tuple[Running, ...]:
        """How running totals are told by those near them, of places that are a domain, and rows of parts."""
        return tuple(r for m in self.maps for some in m.running.values() if self.tells(some) for r in some)

    def tells(self, some: Sequence[Running]) -> bool:
        """Whether what ``some`` read is stored as statements see it."""
        return bool(some) and all(map(self._tells, some))

    def _tells(self, r: Running) -> bool:
        asked = self.passing.get(r.asked)
        of = self.shown.get(r.of)
        is_stored = of.kind in READABLE if of is not None else r.of not in self.auxiliaries
        return asked is not None and asked.kind is MapKind.DOMAIN and is_stored

    @cached_property
    def shown(self) -> dict[str, PlannedMap]:
        """The maps of which statements see something else than what is stored, whoever keeps them: those that pass on,
        and sum maps."""
        return self.passing | {m.name: m for m in (*self.maps, *self.others) if m.folding is not None}

    @cached_property
    def auxiliaries(self) -> frozenset[str]:
        return frozenset(m.name for m in self.maps if m.kind is MapKind.AUXILIARY)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The maps that views share: they are called by what they are."""
        return frozenset(m.name for m in self.maps if is_shared(m.name))

    @cached_property
    def columns(self) -> Names:
        """What users call the columns of stored parts, and the parameters of labels in domains."""
        stored = (pair for p in self.programs for pair in stored_rows(p.relations, p.keys).items())
        parts = {name: _called_columns(row, f"{part(name)}.") for name, row in stored}
        maps = (m for p in self.programs for m in p.of_kind(MapKind.DOMAIN))
        return parts | {m.name: _called_columns(m.row, "") for m in maps}

    @cached_property
    def telling(self) -> dict[str, dict[int, str]]:
        """By stored part the columns that tell its rows apart for users, by what they call them: those of the key, and
        of the keys of the rows that the bag is of. Rows without a key are told by none."""
        return {part: own for p in self.programs for part, own in telling(p).items()}

    @cached_property
    def turns(self) -> dict[str, int]:
        """The order in which they take turns: each part, by name, and then each map that passes on. It is that of each
        program."""
        parts = sorted({part for p in self.programs for part in p.parts})
        passing = {name: stratum for p in self.programs for name, stratum in p.strata.items()}
        return {name: i for i, name in enumerate((*parts, *in_turn(passing)))}

    @cached_property
    def digests(self) -> dict[str, str]:
        """By map, what its stored rows are a function of: equal digests, equal rows over the same parts.

        Products name columns by position, and maps that they read by their digests, so that no name of a field or of a
        view is in it.
        """
        found: dict[str, str] = {}
        for m in self.maps:
            read = [[found.get(s.table, s.table) for s in p.sources] for p in m.build]
            products = [(tables, *_rows_made(p)) for tables, p in zip(read, m.build, strict=True)]
            n = None if m.ranked is None else m.ranked.nearest
            edge = () if n is None else (n.open, n.by, None if n.until is None else ("until", n.until))
            own = tuple(rule for rule in (m.folding, _apart_from_names(m.ranked), *edge) if rule is not None)
            text = repr((m.kind.value, m.types, sorted(map(repr, products)), *own))
            found[m.name] = hashlib.sha256(text.encode()).hexdigest()
        return found

    def reached(self, changed: Iterable[str]) -> "Plan":
        """The part of the plan whose maps may change when these parts do."""
        found = {*changed}
        for m in self.maps:
            if any(part in found for part, _ in m.triggers):
                found.add(m.name)
        return self.only(found)

    def only(self, names: Collection[str]) -> "Plan":
        """The part of the plan that keeps the maps ``names``."""
        levels = tuple(tuple(m for m in level if m.name in names) for level in self.levels)
        return evolve(self, levels=levels, others=tuple(m for m in self.maps if m.name not in names))


def _apart_from_names(r: Ranked | None) -> Ranked | None:
    return None if r is None else evolve(r, kept="")


def _rows_made(p: Product) -> tuple[object, ...]:
    """Which rows ``p`` makes of those of its sources. Its times only where it has some: other products keep the digests
    that states have of them."""
    made = (p.conditions, p.head, p.weight)
    return (*made, p.times) if p.times else made


def plan(program: TriggerProgram) -> Plan:
    """The plans of a whole program."""
    levels = tuple(tuple(_map(m, program) for m in level) for level in program.levels)
    indexes = access_keys(levels)
    return Plan((program,), tuple(tuple(_ordered(m, indexes) for m in level) for level in levels), indexes)


def _ordered(m: PlannedMap, indexes: dict[str, tuple[Index, ...]]) -> PlannedMap:
    """``m``, which knows how its rows are stored, if it is folded."""
    near = indexes.get(m.name, ((),))[0]
    return evolve(m, near=near) if m.answers is not None and {*near} <= {*m.together} else m


def merged(plans: Sequence[Plan]) -> Plan:
    """The plans of several views as one, so that a level of all of them is one job.

    Each map is in it once: maps that views share have one name for equal definitions, and one is as good as the other.
    """
    maps = {m.name: m for p in reversed(plans) for m in p.maps}
    programs = tuple(program for p in plans for program in p.programs)
    reading: dict[str, dict[str, None]] = {}
    for name, read in (pair for program in programs for pair in program.reading.items()):
        reading[name] = reading.get(name, {}) | dict.fromkeys(read)
    found = (tuple(maps[name] for name in some if name in maps) for some in generations(reading))
    levels = tuple(level for level in found if level)
    return Plan(programs, levels, access_keys(levels))


def access_keys(levels: tuple[tuple[PlannedMap, ...], ...]) -> dict[str, tuple[Index, ...]]:
    """By table, the columns that statements probe, each once."""
    found: dict[str, dict[Index, None]] = {}
    for table, index in _probes(levels):
        found.setdefault(table, {})[index] = None
    looked_up = (m for level in levels for m in level if m.kind.passes_on or m.folding is not None)
    for m in (m for m in looked_up if m.kind is not MapKind.JOINED):
        # What a row was before the batch is looked up by what tells it apart; one without columns is all there is.
        if own := m.own_key:
            found.setdefault(m.name, {})[own] = None
    return {table: tuple(indexes) for table, indexes in found.items()}


def _map(m: Map, program: TriggerProgram) -> PlannedMap:
    statements = program.statements_of(m.name)
    every = (*m.trees, *(own for s in statements for own in s.ways))
    row = contributed(m, [*(c for s in statements for c in s.products), *(c for own in every for c in own)])
    triggers = tuple((s.part, _products(s.products, row)) for s in statements)
    once = tuple((s.part, _products(s.each, row)) for s in statements if s.each)
    own, build = folding_of(m), _products(m.products, m.made, whole=True)
    types = base_types(row if m.ranking is None else m.ranking.stored) if own is None else own.types
    first = None if m.ranking is None else ranked(m.ranking, m.reads[-1])
    of_places = m.kind in (MapKind.ORDERED, MapKind.TOP)
    keys = width(Label((m.site,))) if of_places and m.site is not None else None
    made = base_types(row)
    told = None if own is None else of_statements(own, m, made)
    called = _called(m, program)
    trees, ways = _ways(m.trees, row), {s.part: _ways(s.ways, row) for s in statements if s.ways}
    known = PlannedMap(m.name, m.kind, types, build, triggers, made, own, (), first, keys, told, called, trees)
    return evolve(known, view=program.view, once=once, ways=ways)


def _called_columns(row: Type, table: str) -> tuple[str, ...]:
    return tuple(table + path(c.path.removeprefix(".").removeprefix("row.")) for c in columns(row))


def _called(m: Map, program: TriggerProgram) -> Called | None:
    if m.group is None:
        return None
    key = columns(m.group.visible)[: len(columns(m.group.visible)) - len(m.group.shown)]
    return Called(program.view, m.group.folds, tuple(c.path.rpartition(".")[2] for c in key))


def _products(found: Sequence[Comprehension], row: Type, whole: bool = False) -> tuple[Product, ...]:
    return tuple(map(interned, lower_all(found, row, whole)))


def _ways(found: Iterable[Sequence[Comprehension]], row: Type) -> Ways:
    return tuple(tuple(_products([c], row) for c in own) for own in found)


def _unique(program: TriggerProgram) -> Iterator[tuple[str, frozenset[int]]]:
    """By which columns a row of a stored part is the only one: those of its key, and of each label that it holds."""
    declared = dict(program.unique)
    for name, row in stored_rows(program.relations, program.keys).items():
        every = columns(row)
        yield name, frozenset(i for i, c in enumerate(every) if c.path in declared.get(name, ()))
        for held, _ in labels_held(row, name):
            yield name, frozenset(i for i, c in enumerate(every) if c.path == held or c.path.startswith(f"{held}."))


def _made(levels: tuple[tuple[PlannedMap, ...], ...]) -> Iterator[Product]:
    """The products that statements read tables for."""
    for m in (m for level in levels for m in level):
        others = (way for found in m.ways.values() for _, *others in found for way in others)
        yield from (p for products in (*(own for _, own in (*m.triggers, *m.once)), *others) for p in products)


def _probes(levels: tuple[tuple[PlannedMap, ...], ...]) -> Iterator[tuple[str, Index]]:
    for p in _made(levels):
        yield from _asked(p)


def _asked(p: Product) -> Iterator[tuple[str, Index]]:
    """What a product looks up, in all of its orders."""
    for order in p.orders:
        for step in order.steps:
            if order.how(step) == "probe":
                if step.alone is not None:
                    yield order.sources[step.source].table, step.alone.columns
                yield order.sources[step.source].table, step.columns
