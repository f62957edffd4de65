"""A trigger program as plans: the products that build each map, those of its statements, and the indexes they need."""

from collections.abc import Iterator
from functools import cached_property

import networkx as nx
from attrs import frozen

from ripplenest.data.columns import base_types
from ripplenest.delta.program import Map, MapKind, TriggerProgram
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import Base
from ripplenest.plan.access import access
from ripplenest.plan.lower import lower_all
from ripplenest.plan.product import Product

Index = tuple[int, ...]


@frozen
class Target:
    """Where rows of statements are summed: a map, or what the change of one ``part`` does to it."""

    name: str
    types: tuple[Base, ...]
    map: str
    part: str | None = None


@frozen(slots=False)
class PlannedMap:
    """One map: its columns, the products that build it and, by changed part, those that maintain it."""

    name: str
    kind: MapKind
    types: tuple[Base, ...]
    build: tuple[Product, ...]
    triggers: tuple[tuple[str, tuple[Product, ...]], ...]

    @cached_property
    def whole(self) -> Target:
        """The map as one target."""
        return Target(self.name, self.types, self.name)

    @cached_property
    def targets(self) -> dict[str, Target]:
        """By part, the target of its statement; what each does to an auxiliary map is read by others."""
        if self.kind is not MapKind.AUXILIARY:
            return {part: self.whole for part, _ in self.triggers}
        return {part: Target(f"{self.name} Δ{part}", self.types, self.name, part) for part, _ in self.triggers}


@frozen(slots=False)
class PlannedProgram:
    """``levels`` in the order in which they run; ``indexes`` by table: the columns that probes look up."""

    program: TriggerProgram
    levels: tuple[tuple[PlannedMap, ...], ...]
    indexes: dict[str, tuple[Index, ...]]

    @property
    def maps(self) -> tuple[PlannedMap, ...]:
        return tuple(m for level in self.levels for m in level)

    @cached_property
    def domains(self) -> frozenset[str]:
        return frozenset(m.name for m in self.maps if m.kind is MapKind.DOMAIN)

    @cached_property
    def auxiliaries(self) -> frozenset[str]:
        return frozenset(m.name for m in self.maps if m.kind is MapKind.AUXILIARY)

    @cached_property
    def turns(self) -> dict[str, int]:
        """The place of each part and domain in the order in which they take turns."""
        return {part: i for i, part in enumerate(self.program.turns)}


def plan(program: TriggerProgram) -> PlannedProgram:
    """The plans of a whole program."""
    levels = tuple(tuple(_map(m, program) for m in level) for level in program.levels)
    return PlannedProgram(program, levels, access_keys(levels))


def access_keys(levels: tuple[tuple[PlannedMap, ...], ...]) -> dict[str, tuple[Index, ...]]:
    """By table, the columns that statements probe, each once."""
    found: dict[str, dict[Index, None]] = {}
    for table, index in _probes(levels):
        found.setdefault(table, {})[index] = None
    for m in (m for level in levels for m in level if m.kind is MapKind.DOMAIN):
        # The count of a label before the batch is looked up by the whole label; one without parameters is all there is.
        if m.types:
            found.setdefault(m.name, {})[tuple(range(len(m.types)))] = None
    return {table: tuple(indexes) for table, indexes in found.items()}


def _map(m: Map, program: TriggerProgram) -> PlannedMap:
    triggers = tuple((s.part, lower_all(s.products, m.row)) for s in program.statements_of(m.name))
    return PlannedMap(m.name, m.kind, base_types(m.row), lower_all(m.products, m.row), triggers)


def _probes(levels: tuple[tuple[PlannedMap, ...], ...]) -> Iterator[tuple[str, Index]]:
    for m in (m for level in levels for m in level):
        for p in (p for _, products in m.triggers for p in products):
            for step in access(p):
                if step.keys and p.sources[step.source].at is not At.DELTA:
                    yield p.sources[step.source].table, step.columns


@frozen
class Merged:
    """The programs of all views of a database as one, so that a level of all of them is one job."""

    levels: tuple[tuple[PlannedMap, ...], ...]
    domains: frozenset[str]
    auxiliaries: frozenset[str]
    turns: dict[str, int]


def merged(programs: tuple[PlannedProgram, ...]) -> Merged:
    """All maps of all programs, each once: auxiliary maps of equal definitions have one name, and one is as good as
    the other. Parts take turns by name, as in each program, and domains, each of one view, after them."""
    maps = {m.name: m for p in reversed(programs) for m in p.maps}
    graph = nx.compose_all([nx.DiGraph(), *(p.program.graph for p in programs)])
    generations = ([maps[name] for name in found if name in maps] for found in nx.topological_generations(graph))
    parts = sorted({part for p in programs for part in p.program.parts})
    domains = [name for p in programs for name in p.program.turns if name not in p.program.parts]
    return Merged(
        tuple(tuple(level) for level in generations if level),
        frozenset().union(*(p.domains for p in programs)),
        frozenset().union(*(p.auxiliaries for p in programs)),
        {part: i for i, part in enumerate((*parts, *domains))},
    )
