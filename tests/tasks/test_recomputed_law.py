"""Law: what tasks find when they compute maps anew is what is found here, for random views, whatever the maps held, and
whatever tables are made of. ``test_recomputed.py`` has the same through the public API."""

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.choices import Choices
from support.correlated import correlated_query, folding_query
from support.joining import OF_FEW_DIGITS, grouped_chain
from support.laws import law
from support.nearest import nearest_query
from support.programs import Memory, changed_tables, part_tables, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import random_schema
from support.sizes import many
from support.states import MEMORY
from support.strategies import Case, case_of
from support.summing import chained_case, joined_case

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan import pairs
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.run import build as building
from ripplenest.run import trees
from ripplenest.run.build import build, recomputed
from ripplenest.run.joiner import PythonJoiner
from ripplenest.run.propagate import Propagation
from ripplenest.state.tasks import Pending
from ripplenest.store import ranges
from ripplenest.store.ref import TableRef
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.staging import Staging
from ripplenest.store.store import Store
from ripplenest.tasks import builds, whole
from ripplenest.tasks.builds import TaskBuilds
from ripplenest.tasks.handed import Surroundings
from ripplenest.version.folding import Unfolding

COUNTS: Counter[str] = Counter()


def stored(store: Store, c: Choices, plan: Plan, tables: dict[str, Rows]) -> Unfolding:
    """``tables`` in some commits."""
    specs = tuple(TableSpec(name, rows.types, plan.indexes.get(name, ())) for name, rows in tables.items())
    store.commit(Change(tables=specs), store.version)
    for _ in range(1 + c.number(2)):
        some = {name: Rows.of_pairs(r.types, [p for p in r.pairs() if c.number(3)]) for name, r in tables.items()}
        store.commit(Change(some), store.version)
    now = store.snapshot()
    rest = {name: rows.plus(now.scan(name).negated()).consolidated() for name, rows in tables.items()}
    store.commit(Change(rest), store.version)
    return Unfolding(store.snapshot(), ())


def held(c: Choices, rows: Rows) -> Rows:
    """What a map holds: mostly what it should, and now and then less, or more."""
    if c.number(3):
        return rows
    pairs = [(row, n + c.pick((0, 1, -1))) for row, n in rows.consolidated().pairs()]
    return Rows.of_pairs(rows.types, [(row, n) for row, n in pairs if n])


def found_here(plan: Plan, version: Unfolding, changes: dict[str, Rows]) -> Propagation | None:
    """By definition: trees read other rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "chosen", lambda *_: None)
        try:
            return recomputed(plan, version, changes, PythonJoiner(), Room())
        except EvaluationError:
            return None


def some_case(c: Choices) -> Case:
    make = c.pick((random_query, correlated_query, folding_query, grouped_query, grouped_chain, nearest_query))
    schema = OF_FEW_DIGITS if make is grouped_chain else random_schema(c)
    return case_of(c, schema, make(c, schema), 1)


def summed_case(c: Choices) -> Case:
    return chained_case(c) if c.number(2) else joined_case(c)


def smaller(m: PlannedMap, size: Callable[[str], int], pairs: float) -> trees.Products | None:
    found = trees.smaller(m, size, pairs)
    COUNTS["trees"] += found is not None
    return found


def is_for_one(way: trees.Way, ref: Callable[[str], TableRef], here: Surroundings) -> bool:
    found = whole.is_for_one(way, ref, here)
    COUNTS["built whole"] += found
    return found


@pytest.mark.parametrize("has_trees", [False, True])
@law(examples=many(1, 40), tries=10)
def test_tasks_find_what_is_found_here(spark: SparkSession, has_trees: bool, c: Choices) -> None:
    case = (summed_case if has_trees else some_case)(c)
    _, plan = planned(query_of(case.schema, case.query), Options("full" if has_trees else c.pick(MODES)))
    parts = part_tables(plan.program, case.parts)
    changes = changed_tables(plan.program, case.batches[0].delta)
    try:
        maps = build(plan, Memory(parts, {}), PythonJoiner())
    except EvaluationError:
        maps = {m.name: Rows.empty(m.types) for m in plan.maps}
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        version = stored(store, c, plan, {**parts, **{name: held(c, rows) for name, rows in maps.items()}})
        wanted = found_here(plan, version, changes)
        with Staging.begin(Path(folder)) as staging, pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranges, "LEAST", 1 << 10)
            patch.setattr(trees, "HEAVIER", 0)
            patch.setattr(builds, "smaller", smaller if has_trees else lambda *_: None)
            patch.setattr(pairs, "PAIRS", c.pick((0, 1e9)))
            patch.setattr(pairs, "CROWD", 0)
            patch.setattr(builds, "is_for_one", is_for_one)
            work = plan, Pending(version, changes), staging, store.reserved()
            if wanted is None:
                COUNTS["no value"] += 1
                with pytest.raises(EvaluationError):
                    TaskBuilds(spark, 1 << 24).build(*work)
                return
            found = TaskBuilds(spark, 1 << 24).build(*work)
            store.commit(Change(written=found.written), version.version)
        assert found.rows_read == wanted.rows_read or has_trees
        assert {name: sum(s.rows for s in own) for name, own in found.written.segments.items()} == {
            name: len(rows) for name, rows in wanted.changed.items()
        }
        now = store.snapshot()
        for m in plan.maps:
            assert now.delta(m.name, version.version).consolidated().counts() == wanted.changes[m.name].counts()
            COUNTS["changed"] += len(wanted.changes[m.name]) > 0
            COUNTS["of later levels"] += m not in plan.levels[0] and len(wanted.changes[m.name]) > 0
        COUNTS["views"] += 1


def test_coverage() -> None:
    if COUNTS["views"] > 20:
        assert min(COUNTS[name] for name in ("changed", "of later levels", "trees", "built whole")) > 5, COUNTS
