"""Incremental = recompute after every batch: 2,000 pairs of a query over one database and five batches (10,000 long).

Compiling costs most, so each compiled program meets several databases. ``python: assert`` messages name the seed of the
query and the number of the database; ``instances(Random, seed, …)`` makes the same again.
"""

from collections.abc import Callable

import pytest
from support.choices import Choices, seeded
from support.correlated import correlated_query
from support.counts import Counts
from support.programs import Running, planned, query_of
from support.queries import random_query
from support.schemas import Schema, random_schema
from support.strategies import case_of

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import Expr

Maker = Callable[[Choices, Schema], Expr]
MAKERS: dict[str, Maker] = {"random": random_query, "correlated": correlated_query}
BATCHES = 5
DATABASES = 8


def sequences(make: Maker, seed: int, counts: Counts) -> None:
    """One query, ``DATABASES`` databases, each with its batches."""
    c = seeded(seed)
    schema = random_schema(c)
    query = query_of(schema, make(c, schema))
    _, program = planned(query)
    counts.query(query.body)
    for n in range(DATABASES):
        case = case_of(c, schema, query.body, BATCHES)
        running = Running.start(program, case.parts)
        assert running.nested() == evaluate(query.body, case.db), f"seed {seed}, database {n}"
        for i, (parts, batch) in enumerate(case.steps()):
            running = running.apply(batch.delta)
            wanted = evaluate(query.body, batch.nested_after(schema, parts))
            assert running.nested() == wanted, f"seed {seed}, database {n}, batch {i}"
            counts.batch(batch)
            counts.result(wanted)


def run(kind: str, first: int, queries: int) -> Counts:
    counts = Counts()
    for seed in range(first, first + queries):
        sequences(MAKERS[kind], seed, counts)
    counts.check_results()
    return counts


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("first", [0, 1_000_000])
def test_incremental_is_recompute_after_every_batch(kind: str, first: int) -> None:
    """Proposition 4.1, theorem 8: after each batch, the view = the query on the accumulated input. 4 · 63 · 8 pairs."""
    run(kind, first, 63)


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("first", range(2_000_000, 2_010_000, 1_000))
def test_incremental_is_recompute_after_every_batch_long(kind: str, first: int) -> None:
    """As above, 2 · 10 · 63 · 8 = 10,080 pairs; and each share of the random queries has what queries should have."""
    counts = run(kind, first, 63)
    assert counts.batches == 63 * DATABASES * BATCHES
