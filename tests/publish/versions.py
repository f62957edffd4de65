"""Random views over random nested relations, version by version, as tables in memory."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from attrs import evolve, field, frozen
from support.choices import seeded
from support.correlated import correlated_query, folding_query
from support.programs import Running, Tables, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import Schema, random_database, random_schema
from support.updates import add, held, random_batch, shredded_database

from ripplenest.data.index import Wanted, key_rows
from ripplenest.data.rows import Rows
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.syntax import Rel
from ripplenest.nrc.types import Type
from ripplenest.schema.shape import OutputShape, shape_of
from ripplenest.shred.values import Parts


@frozen
class Versions:
    """Tables at the newest of several versions (a ``Version``). With ``keys``, nothing else may be probed, and
    only what no key can help with is scanned: ``scanned`` counts the tables that were, with rows."""

    history: tuple[Tables, ...]
    keys: Mapping[str, tuple[tuple[int, ...], ...]]
    scanned: list[str] = field(factory=list)

    @property
    def access_keys(self) -> Mapping[str, tuple[tuple[int, ...], ...]]:
        return self.keys

    @property
    def version(self) -> int:
        return len(self.history) - 1

    def scan(self, table: str) -> Rows:
        rows = self.history[-1][table]
        if not rows.is_empty:
            self.scanned.append(table)
        return rows

    def size(self, table: str) -> int:
        return len(self.history[-1][table])

    def probe(self, table: str, columns: tuple[int, ...], keys: Wanted) -> Rows:
        assert columns in self.keys[table], f"{table} has no key {columns}"
        wanted, rows = set(key_rows(keys)), self.history[-1][table]
        found = ((row, n) for row, n in rows.counts().items() if tuple(row[c] for c in columns) in wanted)
        return Rows.of_pairs(rows.types, found)

    def delta(self, table: str, since: int) -> Rows:
        return self.history[-1][table].plus(self.history[since][table].negated())

    def at(self, version: int) -> "Versions":
        return Versions(self.history[: version + 1], self.keys)


def consistent(schema: Schema, parts: Parts) -> Parts:
    """``parts`` without definitions of labels that nobody holds (definition 1), as a database has them."""
    flats = [parts[name] for name in schema.names]
    labels = {label for flat in flats if isinstance(flat, BagValue) for label in held(parts, flat)}
    return {
        name: {label: bag for label, bag in part.items() if label in labels} if isinstance(part, Mapping) else part
        for name, part in parts.items()
    }


def minus(parts: Parts) -> Parts:
    return {
        name: {label: -bag for label, bag in part.items()} if isinstance(part, Mapping) else -part
        for name, part in parts.items()
    }


def passed_on(row: Type, *bags: BagValue) -> tuple[OutputShape, tuple[Tables, ...]]:
    """The view that is the relation R, with the rows of each of ``bags`` in turn."""
    schema = Schema((("R", row),))
    _, program = planned(query_of(schema, Rel("R", row)))
    parts = [shredded_database(schema, {"R": bag}) for bag in bags]
    running = [Running.start(program, parts[0])]
    for old, new in pairwise(parts):
        running.append(running[-1].apply(add(new, minus(old))))
    return shape_of(program.program), tuple(state.tables for state in running)


def random_versions(seed: int, batches: int, databases: int = 1) -> Iterator[tuple[OutputShape, tuple[Tables, ...]]]:
    """A random view over several databases, each with the tables that it has after each of its batches."""
    c = seeded(seed)
    schema = random_schema(c)
    query = (random_query, correlated_query, grouped_query, folding_query)[seed % 4](c, schema)
    _, program = planned(query_of(schema, query))
    for _ in range(databases):
        parts = consistent(schema, shredded_database(schema, random_database(c, schema)))
        running = [Running.start(program, parts)]
        for i in range(batches):
            after = consistent(schema, random_batch(c, schema, parts, f"Δ{i}-").after(parts))
            running.append(running[-1].apply(add(after, minus(parts))))
            parts = after
        # The keys that labels are made of here are made up: rows are not found by columns that hold them.
        shape = evolve(shape_of(program.program), found_by={})
        yield shape, tuple(state.tables for state in running)
