"""What is measured: one entry for each workload. A rival has a query for each that it can answer."""

from collections.abc import Callable, Mapping

import pyarrow as pa
from attrs import frozen

import ripplenest as rn
from ripplenest.bench import views
from ripplenest.bench.changes import Changes, DeepItems, Documents, Items
from ripplenest.bench.data import Data, documents


@frozen
class Relation:
    """A relation of a workload, its record and key."""

    name: str
    record: type
    key: tuple[str, ...]


@frozen
class Workload:
    """A view, what it reads, and batches that change it."""

    name: str
    title: str
    view: rn.View
    relations: tuple[Relation, ...]
    tables: Callable[[Data], Mapping[str, pa.Table]]
    changes: Callable[[Data], Changes]

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The fields of its key, by relation."""
        return {r.name: r.key for r in self.relations}


def _flat_tables(data: Data) -> dict[str, pa.Table]:
    return {"C": data.customers, "O": data.orders, "L": data.items}


def _nested_tables(data: Data) -> dict[str, pa.Table]:
    return {"D": documents(data.customers, data.orders, data.items), "P": data.parts}


def _item_changes(data: Data) -> Changes:
    return Changes("L", Items(data).fresh)


def _document_changes(data: Data) -> Changes:
    return Changes("D", Documents(data).fresh, DeepItems.of(data))


FLAT = (
    Relation("C", views.Customer, ("custkey",)),
    Relation("O", views.Order, ("orderkey",)),
    Relation("L", views.Item, ("orderkey", "line")),
)
NESTED = (Relation("D", views.Document, ("custkey",)), Relation("P", views.Part, ("partkey",)))

F2 = Workload("f2", "flat to nested, three levels", views.f2, FLAT, _flat_tables, _item_changes)
NF2 = Workload("nf2", "nested to nested, with a join inside", views.nf2, NESTED, _nested_tables, _document_changes)
JOIN = Workload("flat", "a flat join of the same relations", views.flat, FLAT, _flat_tables, _item_changes)

WORKLOADS: Mapping[str, Workload] = {w.name: w for w in (F2, NF2, JOIN)}
