"""A trigger program is data: maps, statements ``map += δ``, and the graph that says in which order they run."""

import hashlib
from enum import Enum
from functools import cached_property

import networkx as nx
from attrs import field, frozen

from ripplenest.nrc.normal import Comprehension
from ripplenest.nrc.pretty import show
from ripplenest.nrc.syntax import Expr
from ripplenest.nrc.types import Site, Type


class MapKind(Enum):
    """FLAT: the view's flat part. DICTIONARY: rows ⟨label, row⟩ of one site. DOMAIN: labels in use, with a count."""

    FLAT = "flat"
    DICTIONARY = "dictionary"
    DOMAIN = "domain"


@frozen
class Map:
    """A stored bag that the program keeps: ``name`` = ``term``, a flat bag with rows ``row``.

    A map of kind DOMAIN is stored as counts; statements that read it see each label with a count above 0 once.
    """

    name: str
    kind: MapKind
    row: Type
    term: Expr
    products: tuple[Comprehension, ...]
    site: Site | None = None
    why: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts and maps that the definition reads, in order of first use."""
        return tuple(dict.fromkeys(rel.name for c in self.products for _, rel in c.generators))


@frozen
class Statement:
    """``map += δ_part(map)``: runs when ``part`` changes. Parts before it in the program's order are read after the
    batch, parts behind it before the batch, which needs no cross terms."""

    map: str
    part: str
    term: Expr
    products: tuple[Comprehension, ...]


@frozen
class TriggerProgram:
    """How one view is kept fresh. ``parts`` are the stored parts of the relations that it reads, with flat row types;
    ``row`` is the nested row type of the view."""

    view: str
    row: Type
    parts: dict[str, Type]
    maps: tuple[Map, ...]
    statements: tuple[Statement, ...]
    relations: tuple[tuple[str, Type], ...] = field(factory=tuple)

    @cached_property
    def by_name(self) -> dict[str, Map]:
        return {m.name: m for m in self.maps}

    @cached_property
    def graph(self) -> "nx.DiGraph[str]":
        """Edges from what is read to the map that reads it."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from([*self.parts, *self.by_name])
        graph.add_edges_from((read, m.name) for m in self.maps for read in m.reads)
        return graph

    @cached_property
    def levels(self) -> tuple[tuple[Map, ...], ...]:
        """The maps in the order in which they run; maps of one level do not read each other."""
        generations = nx.topological_generations(self.graph)
        named = ([m for m in self.maps if m.name in set(g)] for g in generations)
        return tuple(tuple(level) for level in named if level)

    @property
    def flat(self) -> Map:
        return next(m for m in self.maps if m.kind is MapKind.FLAT)

    @property
    def dictionaries(self) -> tuple[Map, ...]:
        return tuple(m for m in self.maps if m.kind is MapKind.DICTIONARY)

    def statements_of(self, name: str) -> tuple[Statement, ...]:
        return tuple(s for s in self.statements if s.map == name)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the text of every definition: equal fingerprints mean equal stored states."""
        lines = [f"{self.view}: {self.row}"]
        lines += [f"{name}: {row}" for name, row in self.relations]
        lines += [f"{m.kind.value} {m.name}: {m.row} = {show(m.term)}" for m in self.maps]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
