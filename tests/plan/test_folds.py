"""The per-key step: a row at a time, by columns and by Spark, it makes what the folds mean, however rows come and go.

Families: histories of rows at the edges of every type, of which each step is folded onto what is stored; all rows at
once, on Spark. What a fold means is said by its entry in the table alone.
"""

from collections import Counter

import pyarrow as pa
import pytest
from attrs import frozen
from pyspark.sql import SparkSession
from support.behind import rows_over_edges
from support.choices import Choices
from support.edges import EDGES
from support.laws import law
from support.programs import planned, query_of
from support.schemas import Schema
from support.sizes import many

from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions import folds
from ripplenest.nrc.syntax import Fold, Group, Proj, Rel, Var
from ripplenest.nrc.types import LONG, Record, nullable
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import PlannedMap
from ripplenest.run import answers, groups, sizes
from ripplenest.spark.groups import folded as folded_by_spark
from ripplenest.spark.joiner import evaluation

COUNTS: Counter[str] = Counter()
TYPES = {f"a{i}": t for i, t in enumerate(EDGES)}
ROW = Record((("k", nullable(LONG)), *TYPES.items()))
SCHEMA = Schema((("R", ROW),))
SUMMED = [name for name, t in TYPES.items() if t.kind in folds.SUMMED]
EXACT = [name for name in SUMMED if TYPES[name].kind != "double"]
TRUTHS = [name for name, t in TYPES.items() if t.kind == "bool"]


@frozen
class Made:
    """A group by ``k``, or of everything, and its folds."""

    group: Group
    planned: PlannedMap
    folding: Folding

    @property
    def args(self) -> list[str]:
        """The columns of contributions behind the key."""
        found = dict.fromkeys(a.field for f in self.group.folds for a in f.args if isinstance(a, Proj))
        return list(found)

    def meaning(self, rows: Counter[Row]) -> dict[Row, int]:
        """The rows that readers see: ``rows`` are a key and arguments."""
        found: dict[Row, list[tuple[Row, int]]] = {}
        for row, n in rows.items():
            if n:
                found.setdefault(row[: self.folding.keys], []).append((row[self.folding.keys :], n))
        return {(*key, *(self._answer(f, members) for f in self.group.folds)): 1 for key, members in found.items()}

    def _answer(self, f: Fold, members: list[tuple[Row, int]]) -> object:
        places = [self.args.index(a.field) for a in f.args if isinstance(a, Proj)]
        return folds.answer(f.fn, [(tuple(row[i] for i in places), n) for row, n in members], f.type)


def made(c: Choices) -> Made:
    found = [_fold(c, f"f{i}") for i in range(1 + c.number(3))]
    keys = (("k", Proj(Var("x"), "k")),) if c.number(4) else None
    group = Group("g", "x", Rel("R", ROW), keys, tuple(found))
    _, plan = planned(query_of(SCHEMA, group))
    (m,) = (m for m in plan.maps if m.folding is not None)
    assert m.folding is not None
    return Made(group, m, m.folding)


def _fold(c: Choices, name: str) -> Fold:
    fn = c.pick(("count", "sum", "sum", "avg", "any", "all"))
    args = {
        "count": lambda: [c.pick([*TYPES])] if c.number(2) else [],
        "sum": lambda: [c.pick(SUMMED)] if c.number(4) else [c.pick(EXACT[:3]), c.pick(EXACT[:3])],
        "avg": lambda: [c.pick(SUMMED)],
        "any": lambda: [c.pick(TRUTHS)] if c.number(2) else [],
        "all": lambda: [c.pick(TRUTHS)],
    }[fn]()
    COUNTS.update([fn, *(f"{fn} {TYPES[a].kind}" for a in args)])
    types = [TYPES[a] for a in args]
    return Fold(name, fn, tuple(Proj(Var("x"), a) for a in args), folds.result_type(fn, types))


def value(c: Choices, name: str) -> object:
    if c.one_in(5):
        return None
    edges = EDGES[TYPES[name]]
    return c.pick(edges if c.one_in(4) else edges[:3])


def changes(c: Choices, m: Made) -> list[Counter[Row]]:
    """Rows that come, and some that go again: never more than there are."""
    held: Counter[Row] = Counter()
    found = []
    for _ in range(4):
        step: Counter[Row] = Counter()
        for _ in range(1 + c.number(12)):
            key = (c.pick((None, 0, 1, 2)),) if m.folding.keys else ()
            step[(*key, *(value(c, a) for a in m.args))] += 1 + c.number(3)
        for row in [row for row in held if held[row] and c.number(2)]:
            step[row] -= held[row] if c.number(2) else 1
        held.update(step)
        found.append(step)
    return found


@law(examples=many(150, 2000))
def test_a_history_folds_to_what_it_means(c: Choices) -> None:
    """Law (fold_any_order): whatever came and went, the rows are those of what is there; by rows and by columns, whose
    NULLs may have anything behind them."""
    m = made(c)
    held: Counter[Row] = Counter()
    stored = Rows.empty(m.planned.types)
    for step in changes(c, m):
        held.update(step)
        contributions = Rows.of_counts(m.folding.made, {row: n for row, n in step.items() if n})
        try:
            wanted = m.meaning(held)
        except EvaluationError:
            for few in (0, 10**9):
                with pytest.raises(EvaluationError):
                    _folded(m, contributions, stored, few)
            COUNTS["no value"] += 1
            return
        by_columns = _folded(m, rows_over_edges(contributions), rows_over_edges(stored), 0)
        by_rows = _folded(m, contributions, stored, 10**9)
        assert by_columns.change.counts() == by_rows.change.counts()
        assert by_columns.seen.counts() == by_rows.seen.counts()
        assert all(rows.consolidated().counts() == rows.counts() for rows in (by_columns.change, by_columns.seen))
        stored = stored.plus(by_rows.change).consolidated()
        assert answers.seen(m.folding, stored).counts() == wanted
        COUNTS["steps"] += 1
        COUNTS["keys"] += len(wanted)


def _folded(m: Made, rows: Rows, stored: Rows, few: int) -> groups.Folded:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", few)
        return groups.folded(m.planned, m.folding, rows, stored)


@law(examples=many(3, 40), tries=6)
def test_spark_folds_to_what_is_folded_here(spark: SparkSession, c: Choices) -> None:
    m = made(c)
    rows: Counter[Row] = Counter()
    for step in changes(c, m):
        rows.update(step)
    contributions = Rows.of_counts(m.folding.made, {row: n for row, n in rows.items() if n})
    try:
        wanted = _folded(m, contributions, Rows.empty(m.planned.types), 0).change
    except EvaluationError:
        with pytest.raises(EvaluationError), evaluation():
            folded_by_spark(m.folding, spark.createDataFrame(contributions.arrow())).toArrow()
        return
    found: pa.Table = folded_by_spark(m.folding, spark.createDataFrame(contributions.arrow())).toArrow()
    assert Rows.of_arrow(m.planned.types, found).counts() == wanted.counts()
    COUNTS["on Spark"] += len(wanted) > 0


def test_coverage() -> None:
    if COUNTS["steps"]:
        assert COUNTS["steps"] > 200 and COUNTS["keys"] > 500 and COUNTS["no value"] > 5, COUNTS
        assert min(COUNTS[fn] for fn in folds.FOLDS if fn not in folds.EXTREME) > 20, COUNTS
        assert min(COUNTS[f"sum {kind}"] for kind in folds.SUMMED) > 5, COUNTS
        assert COUNTS["on Spark"] > 0 or not COUNTS["no value"], COUNTS
