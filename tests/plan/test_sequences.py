"""Incremental = recompute after every batch: 2,000 pairs of a query over one database and five batches (10,000 long).

Compiling costs most, so each compiled program meets several databases.
"""

from collections import defaultdict
from collections.abc import Callable

import pytest
from support.choices import Choices
from support.correlated import correlated_query
from support.counts import Counts
from support.laws import law
from support.programs import ASKED, KEYED, Running, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import Schema, random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import Expr

Maker = Callable[[Choices, Schema], Expr]
MAKERS: dict[str, Maker] = {"random": random_query, "correlated": correlated_query}
BATCHES = 5
DATABASES = 8
QUERIES = 63
GROUPED, FEW = many(63, 126), 2  # queries with groups, and the databases of each
COUNTS: defaultdict[tuple[str, int], Counts] = defaultdict(Counts)  # by kind and share


def sequences(make: Maker, c: Choices, counts: Counts, databases: int = DATABASES) -> None:
    """One query over some databases, each with its batches."""
    schema = random_schema(c)
    query = query_of(schema, make(c, schema))
    _, program = planned(query)
    counts.query(query.body)
    for n in range(databases):
        case = case_of(c, schema, query.body, BATCHES)
        running = Running.start(program, case.parts)
        assert running.nested() == evaluate(query.body, case.db), f"database {n}"
        for i, (parts, batch) in enumerate(case.steps()):
            running = running.apply(batch.delta)
            wanted = evaluate(query.body, batch.nested_after(schema, parts))
            assert running.nested() == wanted, f"database {n}, batch {i}"
            counts.batch(batch)
            counts.result(wanted)


def shown(c: Choices, kind: str, share: int) -> Case:  # noqa: ARG001
    """The query on its first database, on which small cases fail."""
    schema = random_schema(c)
    return case_of(c, schema, MAKERS[kind](c, schema), BATCHES)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("share", range(2))
@law(examples=QUERIES, shown=shown)
def test_incremental_is_recompute_after_every_batch(kind: str, share: int, c: Choices) -> None:
    """Proposition 4.1, theorem 8: after each batch, the view = the query on the accumulated input. 4 · 63 · 8 pairs."""
    sequences(MAKERS[kind], c, COUNTS[kind, share])


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("share", range(2, 12))
@law(examples=QUERIES, fresh=True, shown=shown)
def test_incremental_is_recompute_after_every_batch_long(kind: str, share: int, c: Choices) -> None:
    """As above, 2 · 10 · 63 · 8 = 10,080 pairs."""
    sequences(MAKERS[kind], c, COUNTS[kind, share])


def shown_grouped(c: Choices) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, grouped_query(c, schema), BATCHES)


@law(examples=GROUPED, shown=shown_grouped)
def test_incremental_is_recompute_with_groups(c: Choices) -> None:
    sequences(grouped_query, c, COUNTS["grouped", 0], FEW)


@pytest.mark.long
@pytest.mark.parametrize("share", range(1, 12))
@law(examples=GROUPED, fresh=True, shown=lambda c, share: shown_grouped(c))  # noqa: ARG005
def test_incremental_is_recompute_with_groups_long(share: int, c: Choices) -> None:
    """12 · 126 · 2 pairs."""
    sequences(grouped_query, c, COUNTS["grouped", share], FEW)


def test_coverage() -> None:
    """The queries of each kind have what queries should have; each share of them is a sample."""
    kinds: defaultdict[str, Counts] = defaultdict(Counts)
    for (kind, _), counts in COUNTS.items():
        queries, databases = (GROUPED, FEW) if kind == "grouped" else (QUERIES, DATABASES)
        assert counts.queries >= queries and counts.batches >= queries * databases * BATCHES
        kinds[kind].add(counts)
    for kind, counts in kinds.items():
        counts.check_results()
        assert kind != "grouped" or counts.constructs["Group"] > counts.queries / 3
    if COUNTS:
        assert min(KEYED["keys"], KEYED["numbers"]) > 10_000, KEYED
        assert ASKED["nested by columns"] > 20, ASKED
