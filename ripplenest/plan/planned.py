"""A trigger program as plans: the products that build each map, those of its statements, and the indexes they need."""

from collections.abc import Iterator
from itertools import zip_longest

from attrs import frozen

from ripplenest.delta.program import Map, MapKind, TriggerProgram
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import Base
from ripplenest.plan.access import access
from ripplenest.plan.columns import base_types
from ripplenest.plan.lower import lower_all
from ripplenest.plan.product import Product

Index = tuple[int, ...]


@frozen
class PlannedMap:
    """One map: its columns, the products that build it and, by changed part, those that maintain it."""

    name: str
    kind: MapKind
    types: tuple[Base, ...]
    build: tuple[Product, ...]
    triggers: tuple[tuple[str, tuple[Product, ...]], ...]


@frozen
class PlannedProgram:
    """``levels`` in the order in which they run; ``indexes`` by table: the columns that probes look up."""

    program: TriggerProgram
    levels: tuple[tuple[PlannedMap, ...], ...]
    indexes: dict[str, tuple[Index, ...]]

    @property
    def maps(self) -> tuple[PlannedMap, ...]:
        return tuple(m for level in self.levels for m in level)

    @property
    def domains(self) -> frozenset[str]:
        return frozenset(m.name for m in self.maps if m.kind is MapKind.DOMAIN)


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
        # The count of a label before the batch is looked up by the whole label.
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


def merged(programs: tuple[PlannedProgram, ...]) -> Merged:
    """Level i of the result holds level i of every program; their maps have different names."""
    levels = zip_longest(*(p.levels for p in programs), fillvalue=())
    return Merged(
        tuple(tuple(m for level in group for m in level) for group in levels),
        frozenset().union(*(p.domains for p in programs)),
    )
