"""The strategies that tests draw from: a schema, a query over it, a shredded database and batches against it."""

from collections.abc import Callable

from attrs import frozen
from hypothesis import settings
from hypothesis import strategies as st

from ripplenest.nrc.syntax import Expr
from ripplenest.shred.values import Parts
from support.choices import Choices, Draw, drawn
from support.queries import FUEL, random_query, weighed_query
from support.schemas import Database, Schema, random_database, random_schema
from support.updates import Batch, nested_database, random_batch, shredded_database

LAW = settings(max_examples=200, deadline=None, print_blob=True)
EXPLORE = settings(LAW, max_examples=3000, derandomize=False)  # the fast run never varies


@frozen
class Case:
    """One instance of a law: ``batches`` apply one after the other, from ``parts`` on."""

    schema: Schema
    query: Expr
    parts: Parts
    batches: tuple[Batch, ...]

    @property
    def db(self) -> Database:
        """The nested database before the batches."""
        return nested_database(self.schema, self.parts)

    def steps(self) -> list[tuple[Parts, Batch]]:
        """Each batch with the parts that it meets."""
        found, parts = [], self.parts
        for batch in self.batches:
            found.append((parts, batch))
            parts = batch.after(parts)
        return found


def case_of(c: Choices, schema: Schema, query: Expr, batches: int, size: int = 4) -> Case:
    """``query`` with a random database, of at most ``size`` different rows in a bag, and batches against it."""
    parts = shredded_database(schema, random_database(c, schema, size))
    found: list[Batch] = []
    now = parts
    for i in range(batches):
        found.append(random_batch(c, schema, now, f"Δ{i}-"))
        now = found[-1].after(now)
    return Case(schema, query, parts, tuple(found))


def random_case(c: Choices, batches: int = 1, fuel: int = FUEL) -> Case:
    """A case with exactly ``batches`` batches."""
    schema = random_schema(c)
    return case_of(c, schema, random_query(c, schema, fuel), batches)


SEEDS = st.integers(0, 2**32 - 1)


def cases(batches: int = 1) -> Callable[[Choices], Case]:
    """Makes random cases."""
    return lambda c: random_case(c, batches)


def weighed_cases(batches: int = 1) -> Callable[[Choices], Case]:
    """The same with rows that are there as often as values say."""

    def made(c: Choices) -> Case:
        schema = random_schema(c)
        return case_of(c, schema, weighed_query(c, schema), batches)

    return made


@st.composite
def schemas(draw: Draw) -> Schema:
    return random_schema(drawn(draw))


@st.composite
def queries(draw: Draw, schema: Schema) -> Expr:
    return random_query(drawn(draw), schema)


@st.composite
def databases(draw: Draw, schema: Schema) -> Database:
    return random_database(drawn(draw), schema)


@st.composite
def batches(draw: Draw, schema: Schema, parts: Parts) -> Batch:
    return random_batch(drawn(draw), schema, parts)
