"""Trigger programs as plans: the products that build each map, those of its statements, and the indexes they need."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import networkx as nx
from attrs import evolve, frozen

from ripplenest.data.columns import base_types
from ripplenest.delta.program import Map, MapKind, TriggerProgram
from ripplenest.nrc.normal import Comprehension
from ripplenest.nrc.types import Base, Type
from ripplenest.plan.groups import Folding, folding
from ripplenest.plan.lower import lower_all
from ripplenest.plan.product import Product, interned

Index = tuple[int, ...]


@frozen
class Target:
    """Where rows of statements are summed: a map, or what the change of one ``part`` does to it. Those that are
    to be ``folded`` may come several times, and should come in the order of the hash of these columns."""

    name: str
    types: tuple[Base, ...]
    map: str
    part: str | None = None
    folded: Index | None = None


@frozen(slots=False)
class PlannedMap:
    """One map: its columns, the products that build it and, by changed part, those that maintain it. Stored rows of a
    group lie in the order of the hash of the columns ``near`` of its key."""

    name: str
    kind: MapKind
    types: tuple[Base, ...]
    build: tuple[Product, ...]
    triggers: tuple[tuple[str, tuple[Product, ...]], ...]
    folding: Folding | None = None
    near: Index = ()

    @cached_property
    def whole(self) -> Target:
        """The map as one target; of a group what is folded."""
        f = self.folding
        if f is None:
            return Target(self.name, self.types, self.name)
        return Target(self.name, f.made, self.name, folded=self.near or self.own_key)

    @property
    def own_key(self) -> Index:
        """The columns that tell stored rows of a map that passes on apart: of a group its key, else all."""
        return tuple(range(len(self.types) if self.folding is None else self.folding.keys))

    @cached_property
    def targets(self) -> dict[str, Target]:
        """By part, the target of its statement; what each does to an auxiliary map is read by others."""
        if self.kind is not MapKind.AUXILIARY:
            return {part: self.whole for part, _ in self.triggers}
        return {part: Target(f"{self.name} Δ{part}", self.types, self.name, part) for part, _ in self.triggers}

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

    @property
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
    def auxiliaries(self) -> frozenset[str]:
        return frozenset(m.name for m in self.maps if m.kind is MapKind.AUXILIARY)

    @cached_property
    def turns(self) -> dict[str, int]:
        """The order in which they take turns: each part, by name, and then each map that passes on."""
        parts = sorted({part for p in self.programs for part in p.parts})
        passing = [name for p in self.programs for name in p.turns if name not in p.parts]
        return {name: i for i, name in enumerate((*parts, *passing))}

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
            own = () if m.folding is None else (m.folding,)
            text = repr((m.kind.value, m.types, sorted(map(repr, products)), *own))
            found[m.name] = hashlib.sha256(text.encode()).hexdigest()
        return found

    def only(self, names: Collection[str]) -> "Plan":
        """The part of the plan that keeps the maps ``names``."""
        levels = tuple(tuple(m for m in level if m.name in names) for level in self.levels)
        return evolve(self, levels=levels, others=tuple(m for m in self.maps if m.name not in names))


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
    """``m``, which knows how its rows are stored, if it is a group."""
    near = indexes.get(m.name, ((),))[0]
    return evolve(m, near=near) if m.folding is not None and {*near} <= {*m.own_key} else m


def merged(plans: Sequence[Plan]) -> Plan:
    """The plans of several views as one, so that a level of all of them is one job.

    Each map is in it once: auxiliary maps of equal definitions have one name, and one is as good as the other.
    """
    maps = {m.name: m for p in reversed(plans) for m in p.maps}
    programs = tuple(program for p in plans for program in p.programs)
    graph = nx.compose_all([nx.DiGraph(), *(program.graph for program in programs)])
    generations = ([maps[name] for name in found if name in maps] for found in nx.topological_generations(graph))
    levels = tuple(tuple(level) for level in generations if level)
    return Plan(programs, levels, access_keys(levels))


def access_keys(levels: tuple[tuple[PlannedMap, ...], ...]) -> dict[str, tuple[Index, ...]]:
    """By table, the columns that statements probe, each once."""
    found: dict[str, dict[Index, None]] = {}
    for table, index in _probes(levels):
        found.setdefault(table, {})[index] = None
    for m in (m for level in levels for m in level if m.kind.passes_on):
        # What a row was before the batch is looked up by what tells it apart; one without columns is all there is.
        if own := m.own_key:
            found.setdefault(m.name, {})[own] = None
    return {table: tuple(indexes) for table, indexes in found.items()}


def _map(m: Map, program: TriggerProgram) -> PlannedMap:
    triggers = tuple((s.part, _products(s.products, m.made)) for s in program.statements_of(m.name))
    own = None if m.group is None else folding(m.group)
    types = base_types(m.row) if own is None else own.types
    return PlannedMap(m.name, m.kind, types, _products(m.products, m.made), triggers, own)


def _products(found: Sequence[Comprehension], row: Type) -> tuple[Product, ...]:
    return tuple(map(interned, lower_all(found, row)))


def _probes(levels: tuple[tuple[PlannedMap, ...], ...]) -> Iterator[tuple[str, Index]]:
    for m in (m for level in levels for m in level):
        every = [p for _, products in m.triggers for p in products]
        for p in (order for one in every for order in one.orders):
            for step in p.steps:
                if p.how(step) == "probe":
                    if step.alone is not None:
                        yield p.sources[step.source].table, step.alone.columns
                    yield p.sources[step.source].table, step.columns
