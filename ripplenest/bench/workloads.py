"""What is measured: one entry for each workload. A rival has a query for each that it can answer."""

from collections.abc import Callable, Mapping
from functools import partial

import pyarrow as pa
from attrs import frozen

import ripplenest as rn
from ripplenest.bench import balances, between, firsts, gaps, rings, totals, views
from ripplenest.bench.changes import Changes, DeepItems, Documents, Edges, Items, Pairs, Sides
from ripplenest.bench.data import Data, documents

USUAL = (1, 10, 100, 1_000, 10_000, 100_000)
TENTH = 10


@frozen
class Relation:
    """A relation of a workload, its record and key."""

    name: str
    record: type
    key: tuple[str, ...]


@frozen
class Workload:
    """A view, what it reads, and batches that change it: ``counted`` of its rows, called ``unit``, so many at a time
    as ``sizes`` says, but at most one of ``share``. Batches on a small state and on a large one are compared at
    ``states``, which are times the largest scale that is asked for, up to 1. ``fans_out``: it has prices of parts,
    whose change reaches many rows. ``limit``: how many first rows it shows of each group."""

    name: str
    title: str
    view: rn.View
    relations: tuple[Relation, ...]
    tables: Callable[[Data], Mapping[str, pa.Table]]
    changes: Callable[[Data], Changes]
    counted: Callable[[Data], int] = lambda data: data.items.num_rows
    unit: str = "items"
    sizes: tuple[int, ...] = USUAL
    share: int = TENTH
    states: tuple[float, float] | None = None
    fans_out: bool = False
    limit: int = 0

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The fields of its key, by relation."""
        return {r.name: r.key for r in self.relations}


def _flat_tables(data: Data) -> dict[str, pa.Table]:
    return {"C": data.customers, "O": data.orders, "L": data.items}


def _nested_tables(data: Data) -> dict[str, pa.Table]:
    return {"D": documents(data.customers, data.orders, data.items), "P": data.parts}


def _item_changes(data: Data) -> Changes:
    return Changes.of("L", Items(data))


def _document_changes(data: Data) -> Changes:
    return Changes.of("D", Documents(data), DeepItems.of(data))


def _pair_tables(data: Data) -> dict[str, pa.Table]:
    return {"S": data.pairs}


def _side_tables(data: Data) -> dict[str, pa.Table]:
    return {"X": data.left, "Y": data.right}


FLAT = (
    Relation("C", views.Customer, ("custkey",)),
    Relation("O", views.Order, ("orderkey",)),
    Relation("L", views.Item, ("orderkey", "line")),
)
DOCUMENTS = (Relation("D", views.Document, ("custkey",)), Relation("P", views.Part, ("partkey",)))

F2 = Workload(
    "f2", "flat to nested, three levels", views.f2, FLAT, _flat_tables, _item_changes, states=(0.02, 1.0)
)
OF_DOCUMENTS = (1, 100, 1_000, 10_000, 60_000)  # the last is one percent of scale 1

NESTED = Workload(
    "nested", "nested to nested, with a join inside", views.nested, DOCUMENTS, _nested_tables, _document_changes
)
JOIN = Workload("flat", "a flat join of the same relations", views.flat, FLAT, _flat_tables, _item_changes)

NN2 = Workload(
    "nn2", "nested to nested, with a total of each part of each order", totals.nn2, DOCUMENTS, _nested_tables,
    _document_changes, sizes=OF_DOCUMENTS,
)  # fmt: skip
NF2 = Workload(
    "nf2", "nested to flat, the total of each customer and part", totals.nf2, DOCUMENTS, _nested_tables,
    _document_changes, sizes=OF_DOCUMENTS, fans_out=True,
)  # fmt: skip
GROUPBY = Workload(
    "groupby", "the average of each group of pairs", totals.groupby, (Relation("S", totals.Pair, ("id",)),),
    _pair_tables, lambda data: Changes.of("S", Pairs(data)), lambda data: data.pair_count, "pairs", states=(0.1, 10.0),
)  # fmt: skip
JOINGROUP = Workload(
    "joingroup", "the average of each group of a join of pairs", totals.joingroup,
    (Relation("X", totals.Pair, ("id",)), Relation("Y", totals.Pair, ("id",))), _side_tables,
    lambda data: Changes(Sides(data).fresh), lambda data: 2 * data.side_count, "pairs",
    sizes=(100, 1_000, 10_000, 20_000, 30_000, 40_000), share=5,
)  # fmt: skip

TOP10 = Workload(
    "top10", "the ten greatest pairs of each group", firsts.top10, (Relation("S", totals.Pair, ("id",)),),
    _pair_tables, lambda data: Changes.of("S", Pairs(data)), lambda data: data.pair_count, "pairs",
    sizes=OF_DOCUMENTS[:-1], limit=firsts.LIMIT,
)  # fmt: skip
MOST = Workload(
    "most", "the greatest of each group of pairs", firsts.most, (Relation("S", totals.Pair, ("id",)),),
    _pair_tables, lambda data: Changes.of("S", Pairs(data)), lambda data: data.pair_count, "pairs",
    sizes=OF_DOCUMENTS[:-1], limit=1,
)  # fmt: skip
TRIANGLES = Workload(
    "triangles", "how many triangles a skewed graph has", totals.triangles,
    (Relation("E", totals.Edge, ("x", "y")),), lambda data: {"E": data.edges},
    lambda data: Changes.of("E", Edges(data)), lambda data: data.edge_count, "edges", sizes=(1, 10, 100, 1_000, 10_000),
)  # fmt: skip
def _chain(name: str, each: int) -> Workload:
    """A product of matrices that have so many entries in each row and column."""
    return Workload(
        name, f"the product of three matrices of {MANY[each]} a row", rings.chain,
        tuple(Relation(name, rings.Entry, ("id",)) for name in "ABC"), partial(rings.matrices, each=each),
        lambda data: Changes(rings.Entries(data, each).fresh), lambda data: 3 * data.pair_count, "entries",
        sizes=OF_DOCUMENTS[:-1],
    )  # fmt: skip


MANY = {1: "one entry", 4: "four entries"}
CHAIN, PATHS = _chain("chain", 1), _chain("paths", 4)
MOMENTS = Workload(
    "moments", "the moments of five variables of a snowflake join, by region", rings.moments,
    (Relation("F", rings.Fact, ("id",)), Relation("B", rings.Brand, ("brand",)), Relation("S", rings.Shop, ("shop",)),
     Relation("R", rings.Region, ("region",)), Relation("T", rings.Town, ("town",))),
    rings.snowflake, lambda data: Changes.of("F", rings.Facts(data)), rings.fact_count, "facts",
    sizes=OF_DOCUMENTS[:-1],
)  # fmt: skip

SESSIONS = Workload(
    "sessions", "visits with the hits of their visitor between their ends", between.sessions,
    (Relation("V", between.Visit, ("id",)), Relation("H", between.Hit, ("id",))), between.tables,
    lambda data: Changes(between.Fresh(data, between.both).fresh), lambda data: data.pair_count, "hits",
    sizes=OF_DOCUMENTS[:-1],
)  # fmt: skip

GAPS = Workload(
    "gaps", "hits by sessions, which end where a pause is long", gaps.gaps, (Relation("H", between.Hit, ("id",)),),
    gaps.tables, lambda data: Changes(between.Fresh(data, gaps.new).fresh), lambda data: data.pair_count, "hits",
    sizes=OF_DOCUMENTS[:-1],
)  # fmt: skip

BALANCES = Workload(
    "balances", "entries, each with what its account had come to", balances.balances,
    (Relation("N", balances.Entry, ("id",)),), balances.tables,
    lambda data: Changes(between.Fresh(data, balances.new).fresh), lambda data: data.pair_count, "entries",
    sizes=OF_DOCUMENTS[:-1],
)  # fmt: skip

PEAKS = Workload(
    "peaks", "entries, each with the largest amount of its account so far", balances.peaks,
    (Relation("N", balances.Entry, ("id",)),), balances.tables,
    lambda data: Changes(between.Fresh(data, balances.new).fresh), lambda data: data.pair_count, "entries",
    sizes=OF_DOCUMENTS[:-1],
)  # fmt: skip

EVERY = (
    F2, NESTED, JOIN, NN2, NF2, GROUPBY, JOINGROUP, TRIANGLES, TOP10, MOST, CHAIN, PATHS, MOMENTS, SESSIONS, GAPS,
    BALANCES, PEAKS,
)  # fmt: skip
WORKLOADS: Mapping[str, Workload] = {w.name: w for w in EVERY}
