"""What Spark would run for a batch: the physical plans of a program's joins, one for each level."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from pyspark.sql import DataFrame, SparkSession

from ripplenest.data.rows import Rows
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Source
from ripplenest.spark.frames import frame, join_of, layout, together

EXCLUDED = "spark.sql.optimizer.excludedRules"
# With these rules Spark sees that the inputs have no rows, and plans nothing.
FOLDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("ConvertToLocalRelation", "PropagateEmptyRelation")
)


def plans(spark: SparkSession, plan: Plan) -> str:
    """The plan of each level as Spark formats it, for small changes of all parts at once; nothing is computed.

    When a batch runs, statements of parts that do not change are left out, and those whose probes find nothing; and
    levels that no statement waits for are one plan (``ripplenest/run/schedule.py``).
    """
    with _unfolded(spark):
        return "\n".join(_level(spark, number, level) for number, level in enumerate(plan.levels, 1))


def _level(spark: SparkSession, number: int, level: tuple[PlannedMap, ...]) -> str:
    targets = [t for m in level for t in dict.fromkeys(m.targets.values())]
    shared = layout(targets)
    joins = [join_of(p, m.targets[of].name, shared) for m in level for of, products in m.triggers for p in products]
    heading = f"step {number}: " + ", ".join(f"{part(t.map)} (tag {shared.tags[t.name]})" for t in targets)
    if not joins:
        return f"{heading}\nnothing to join\n"
    made = [j.frame(spark, [_nothing(spark, s) for s in j.product.sources], True) for j in joins]
    return f"{heading}\n{_plan(together(made))}"


def _nothing(spark: SparkSession, source: Source) -> DataFrame:
    return frame(spark, Rows.empty(source.types))


def _plan(df: DataFrame) -> str:
    """What ``DataFrame.explain`` prints: the one way to a plan that Spark Connect has, too. It shows constants as they
    are."""
    out = io.StringIO()
    with redirect_stdout(out):
        df.explain(mode="formatted")
    return "\n".join(map(printable, out.getvalue().split("\n")))


@contextmanager
def _unfolded(spark: SparkSession) -> Iterator[None]:
    """The session without the rules that answer from empty inputs; its setting is as it was afterwards."""
    before = spark.conf.get(EXCLUDED, None)
    spark.conf.set(EXCLUDED, f"{before},{FOLDING}" if before else FOLDING)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(EXCLUDED)
        else:
            spark.conf.set(EXCLUDED, before)
