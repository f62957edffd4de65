"""Law 6 on Spark: the trigger program after batches = recomputation, for many databases in each query's jobs.

Families: the nested view = direct evaluation by the reference interpreter; every map = its definition computed from
scratch in Python. Packing is checked by running it in Python too. A pack that fails is narrowed to the case that does,
which is made small and kept like those of other laws.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice, pairwise
from pathlib import Path
from random import Random

import pytest
from attrs import frozen
from pyspark.sql import SparkSession
from support.choices import Choices, recorded, replayed
from support.correlated import correlated_query, folding_query
from support.cycles import NAMES, changes, random_rows, random_view
from support.joining import OF_FEW_DIGITS, grouped_chain
from support.laws import FAILURES, Law, law
from support.nearest import nearest_query
from support.packed import Packed
from support.programs import Running, planned, query_of
from support.queries import grouped_query, weighed_query
from support.schemas import random_schema
from support.shrink import Made
from support.strategies import Case, case_of
from support.summing import adding_up
from support.updates import nested_database

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.run import trees, upward
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Joiner, PythonJoiner
from ripplenest.spark import frames
from ripplenest.spark.joiner import Large, SparkJoiner
from ripplenest.tasks.joins import TaskJoins

BATCHES = 2
DATABASES = 30
COUNTS: Counter[str] = Counter()
MAKERS = (correlated_query, folding_query, grouped_query, weighed_query, grouped_chain, nearest_query)


@frozen
class Pack:
    """Databases with batches for one random query, and how its maps are kept."""

    mode: Materialize
    cases: tuple[Case, ...]


def pack_of(c: Choices, count: int, made: Made | None = None) -> tuple[Pack, list[Made]]:
    """``count`` databases; queries are correlated views, some with folds and first rows, or with those behind edges,
    have rows that are there as often as values say, or are groups of joins. Also what ``made`` records of each case."""
    made = [] if made is None else made
    mode, make = c.pick(MODES), c.pick(MAKERS)
    schema = OF_FEW_DIGITS if make is grouped_chain else random_schema(c)
    query = make(c, schema)
    cases, ends = [], [len(made)]
    for _ in range(count):
        cases.append(case_of(c, schema, query, BATCHES))
        ends.append(len(made))
    choices = [made[: ends[0]] + made[start:end] for start, end in pairwise(ends)]
    return Pack(mode, tuple(cases)), choices


def law_6(pack: Pack, joiner: Joiner, at: Callable[[int], object] = lambda _: None) -> int:
    """Checks one query on its databases; how many results have rows. ``at`` is told which case is asked. The engine is
    asked for each level of the first batch, and once for the second."""
    cases = pack.cases
    query = query_of(cases[0].schema, cases[0].query)
    _, program = planned(query, Options(pack.mode))
    COUNTS["sum maps"] += any(m.summed for m in program.program.maps)
    packed = Packed(program, [case.parts for case in cases], joiner)
    filled, states = 0, [case.parts for case in cases]
    for i in range(BATCHES):
        packed.apply([case.batches[i].delta for case in cases], PythonJoiner() if i else None)
        states = [case.batches[i].after(state) for case, state in zip(cases, states, strict=True)]
        for n, (case, state) in enumerate(zip(cases, states, strict=True)):
            at(n)
            own = packed.case(n, PythonJoiner())
            result = evaluate(query.body, nested_database(case.schema, state))
            assert own.nested() == result, f"case {n}, batch {i}"
            assert own.maps() == Running.start(program, state).maps(), f"case {n}, batch {i}"
            filled += bool(result)
    return filled


def law_6_packed(seed: int, count: int, joiner: Joiner, alone: Law) -> int:
    """A pack from a seed. When it fails, the law of its cases is asked about the one that failed, on its own."""
    c, made = recorded(Random(seed).randrange)
    pack, choices = pack_of(c, count, made)
    asked = list(range(count))  # what fails before any case is asked may be any of them

    def at(n: int) -> None:
        asked[:] = [n]

    try:
        return law_6(pack, joiner, at)
    except FAILURES as error:
        for n in asked:
            alone.ask(replayed(choices[n]))
        error.add_note(f"seed {seed}: no case fails on its own")
        raise


def one_case(c: Choices) -> Pack:
    return pack_of(c, 1)[0]


@law(one_case, examples=0, tries=500)
def test_what_failed_in_python(pack: Pack) -> None:
    """Cases that failed in a pack, and were kept."""
    law_6(pack, PythonJoiner())


@law(one_case, examples=0, tries=80)
def test_what_failed_on_spark(spark: SparkSession, pack: Pack) -> None:
    """As above."""
    law_6(pack, SparkJoiner(spark))


def on_spark(spark: SparkSession, first: int, queries: int, large: Large | None = None) -> None:
    """``queries`` queries on 30 databases each, with 2 batches, of which a third have rows at least."""
    alone = test_what_failed_on_spark.law(spark=spark)  # type: ignore[attr-defined]
    base = Random(first).randrange(2**32)
    filled = sum(law_6_packed(base + i, DATABASES, SparkJoiner(spark, large), alone) for i in range(queries))
    assert filled > queries * DATABASES * BATCHES / 3


def test_packing_changes_nothing() -> None:
    """The packed program in Python: the law holds for each case."""
    for seed in range(20):
        law_6_packed(seed, 4, PythonJoiner(), test_what_failed_in_python.law())  # type: ignore[attr-defined]


def test_law_6_on_spark(spark: SparkSession) -> None:
    """6 queries on 30 databases each."""
    on_spark(spark, 6, 6)


@pytest.mark.long
def test_law_6_by_files(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where rows are many, as if all were: a query."""
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    on_spark(spark, 20, 1, TaskJoins(spark, tmp_path, 1 << 24))


def test_law_6_with_sum_maps_on_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query whose groups read some, of products, are built of them, and hear of their changes."""
    monkeypatch.setattr(trees, "HEAVIER", 0)
    monkeypatch.setattr(trees, "LEAST", 0)
    taken: list[bool] = []
    least = upward._least

    def counted(run: Run, part: str, plain: upward.Products, others: Sequence[upward.Products]) -> upward.Products:
        found = least(run, part, plain, others)
        taken.append(found != plain)
        return found

    monkeypatch.setattr(upward, "_least", counted)
    met = COUNTS["sum maps"]
    with adding_up():
        on_spark(spark, 56, 1)
    assert COUNTS["sum maps"] > met and any(taken), taken


@pytest.mark.long
def test_law_6_on_spark_long(spark: SparkSession) -> None:
    """150 queries on 30 databases each."""
    on_spark(spark, 60, 150)


def test_a_pack_that_fails_is_narrowed_to_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourth case of a pack fails: it is asked on its own, as the same case, and kept."""
    met: list[Pack] = []

    def wrong(pack: Pack, _: Joiner, at: Callable[[int], object] = lambda _: None) -> int:
        met.append(pack)
        at(3)
        raise AssertionError("case 3")

    monkeypatch.setitem(globals(), "law_6", wrong)
    alone = Law(tmp_path / "law.json", {}, lambda c: wrong(one_case(c), PythonJoiner()) and None, str, 0)
    with pytest.raises(AssertionError, match="case 3") as caught:
        law_6_packed(7, 6, PythonJoiner(), alone)
    assert met[1] == Pack(met[0].mode, (met[0].cases[3],)) and len(met[0].cases) == 6
    assert alone.regressions() and "kept in" in str(caught.value.__notes__)


@pytest.mark.parametrize("by_files", [False, pytest.param(True, marks=pytest.mark.long)])
def test_cycles_on_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_files: bool) -> None:
    """Keys of several sources, and rows of a change that choose among orders: what Python makes of a batch of each
    view."""
    if by_files:
        monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    engine = SparkJoiner(spark, TaskJoins(spark, tmp_path, 1 << 24) if by_files else None)
    for running, delta, wanted in islice(cycles(), 2 if by_files else 4):
        assert Running(running.plan, running.tables, engine).apply(delta).maps() == wanted


def cycles() -> Iterator[tuple[Running, dict[str, BagValue], object]]:
    """Views in a state, batches that change them, and what their maps are then."""
    for seed in count():
        c = Choices(Random(seed).randrange)
        _, program = planned(random_view(c), Options("none"))
        held = {name: random_rows(c, 24) for name in NAMES}
        with suppress(EvaluationError):  # such a view is not asked for
            running = Running.start(program, held)
            delta = changes(c, held)
            wanted = running.apply(delta).maps()
            if wanted != running.maps():
                yield running, delta, wanted
