"""Law: what tasks do key by key is what is done here, for random views with groups, first rows and domains, wherever
their rows are, and whatever becomes of attempts. The jobs are played here (``support/filing.py``);
``test_spark_inserts.py`` has Spark's."""

import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.choices import Choices
from support.correlated import correlated_query, folding_query
from support.filing import Filing
from support.joining import OF_FEW_DIGITS, grouped_chain
from support.laws import law
from support.nearest import nearest_query
from support.programs import Memory, changed_tables, part_tables, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import random_schema
from support.sizes import many
from support.states import MEMORY
from support.strategies import case_of

from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan
from ripplenest.run import handing, sizes
from ripplenest.run.build import build
from ripplenest.run.joiner import PythonJoiner
from ripplenest.run.propagate import Propagation, propagate
from ripplenest.spark import frames
from ripplenest.store import ranges
from ripplenest.store.files import Filed, divided_by_place
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.store import Store

COUNTS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _all_by_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)


@law(examples=many(25, 800), tries=20)
def test_steps_by_tasks_are_those_here(c: Choices) -> None:
    make = c.pick((random_query, correlated_query, folding_query, grouped_query, grouped_chain, nearest_query))
    schema = OF_FEW_DIGITS if make is grouped_chain else random_schema(c)
    body = make(c, schema)
    _, plan = planned(query_of(schema, body), Options(c.pick(MODES), force_domain=c.one_in(3)))
    case = case_of(c, schema, body, 1, c.pick((4, 20)))
    parts = part_tables(plan.program, case.parts)
    changes = changed_tables(plan.program, case.batches[0].delta)
    try:
        tables = {**parts, **build(plan, Memory(parts, {}), PythonJoiner())}
    except EvaluationError:
        return
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as parent,
        Store.open(parent) as store,
        ExitStack() as held,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sizes, "FEW", c.pick((0, sizes.FEW)))
        patch.setattr(handing, "LARGER", c.pick((0, handing.LARGER)))
        stored(store, c, plan, tables)
        version, filing = store.snapshot(), Filing.beside(store, Path(parent), c, held)
        wanted = outcome(plan, version, changes)
        given = {
            part: filing.filed(version.tables[part], rows) if c.number(5) else rows for part, rows in changes.items()
        }
        found = outcome(plan, version, given, filing)
        COUNTS.update(filing.met)
        assert (found is None) == (wanted is None)
        if found is None or wanted is None:
            COUNTS["no value"] += 1
            return
        assert {n: r.consolidated().counts() for n, r in found.changed.items()} == {
            n: r.consolidated().counts() for n, r in wanted.changed.items()
        }
        is_committed(store, tables, wanted, found)


def stored(store: Store, c: Choices, plan: Plan, tables: dict[str, Rows]) -> None:
    """``tables``, some of whose rows came later; now and then a map has an access key before those that a plan has, as
    of another view."""
    specs = []
    for name, rows in tables.items():
        own = plan.indexes.get(name, ())
        more = ((len(rows.types) - 1,),) if rows.types and c.one_in(3) else ()
        specs.append(TableSpec(name, rows.types, tuple(dict.fromkeys((*more, *own))), plan.orderings.get(name, ())))
    first = {name: Rows.of_pairs(r.types, [p for p in r.pairs() if c.number(3)]) for name, r in tables.items()}
    store.commit(Change(first, tables=tuple(specs)), store.version)
    rest = {name: rows.plus(first[name].negated()).consolidated() for name, rows in tables.items()}
    store.commit(Change(rest), store.version)


def outcome(
    plan: Plan, version: Snapshot, changes: dict[str, Rows], filing: Filing | None = None
) -> Propagation | None:
    """None where something has no value."""
    try:
        if filing is None:
            return propagate(plan, version, changes, PythonJoiner())
        return propagate(plan, version, changes, filing, handing=filing.handing)
    except EvaluationError:
        return None


def is_committed(store: Store, tables: dict[str, Rows], wanted: Propagation, found: Propagation) -> None:
    """What is in files can be named, and is found by all access keys then."""
    here, files = divided_by_place(found.changed)
    COUNTS["in files"] += any(isinstance(rows, Filed) for rows in found.changed.values())
    store.commit(Change(here, written=files), store.version)
    now = store.snapshot()
    for name, change in wanted.changed.items():
        after = tables[name].plus(change).consolidated().counts()
        assert now.scan(name).consolidated().counts() == after
        for columns in now.tables[name].indexes:
            keys = now.scan(name).select(columns)
            assert not columns or now.probe(name, columns, keys).consolidated().counts() == after


def test_it_meets_all_of_it() -> None:
    kinds = ("group", "first rows", "domain", "auxiliary", "merged", "several ranges", "in files", "one key")
    assert min(COUNTS[kind] for kind in (*kinds, "read where they are", "with a change", "looked up", "places")) > 0, (
        COUNTS
    )
