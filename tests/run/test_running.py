"""Windows: what is folded of them without a join, and what places near those that change tell, is what a join makes."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
from support.choices import Choices
from support.joined import joined_case
from support.laws import law
from support.programs import Running, planned, query_of
from support.running import running_query
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.data.rows import Rows
from ripplenest.delta.program import MapKind
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product
from ripplenest.plan.running import Running as Told
from ripplenest.plan.windows import window
from ripplenest.run import running, sizes
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Joiner, PythonJoiner
from ripplenest.run.local import LocalJoiner
from ripplenest.vector import folding, windows

COUNTS: Counter[str] = Counter()
COMPUTED: set[str] = set()
NEVER = 1 << 60
ROWS_ONLY = 2.0  # where no larger sum fits, nothing is told
T = TypeVar("T")
TELL, FOLD = running.contributed, windows.folded


def running_case(c: Choices) -> tuple[Case, bool]:
    if c.one_in(3):
        return joined_case(c), False
    schema = random_schema(c)
    return case_of(c, schema, running_query(c, schema), 3), c.one_in(8)


def told(run: Run, m: PlannedMap, some: Sequence[tuple[Product, Told]]) -> Rows | None:
    """``contributed``, of which it is counted what it had to do with."""
    found, (_, r) = TELL(run, m, some), some[-1]
    if found is not None:
        COUNTS["of several tables"] += len(some) > 1
        rows = run.changes[r.asked].consolidated().counts()
        COUNTS["told"] += 1
        COUNTS["upper" if r.is_upper else "lower"] += 1
        COUNTS["open" if r.beyond in ("ge", "le") else "closed"] += 1
        COUNTS["of ties"] += len(r.edge) > 1
        COUNTS["of a key"] += bool(r.window.keys)
        COUNTS["come"] += any(n > 0 for n in rows.values())
        COUNTS["go"] += any(n < 0 for n in rows.values())
        COUNTS["rows change"] += r.of in run.changes
        COUNTS["of joins"] += r.of.startswith("J/")
        COUNTS["computed"] += r.of in COMPUTED
        COUNTS["doubles compared"] += any(t.type.kind == "double" for t in r.window.by)
        COUNTS["of groups"] += r.of.startswith("G/") or "/G[" in r.of
        COUNTS["rows come later"] += not r.have_changed
        COUNTS["something"] += any(found.counts().values())
        COUNTS["of doubles"] += any(a.of == "real" for a in m.adding.accumulators)
    return found


def folded(p: Product, f: Folding, *given: Any) -> Rows | None:
    """``folded``, of which it is counted what it found."""
    found, own = FOLD(p, f, *given), window(p, f.keys)
    assert own is not None
    COUNTS["folded"] += found is not None and len(found) > 0
    COUNTS["both edges"] += found is not None and len(found) > 0 and len(own.edges) > 1
    return found


@pytest.mark.xdist_group("windows")
@law(running_case, examples=many(400, 6000))
def test_told_is_joined(given: tuple[Case, bool]) -> None:
    """Laws (windows) and (running = joined): all that is stored is the same, after each batch; and where one way has no
    value, the other has none."""
    case, by_rows = given
    stages, plan = planned(query_of(case.schema, case.query))
    alone = [m for m in stages.program.of_kind(MapKind.JOINED) if len(m.products[0].generators) == 1]
    COMPUTED.update(m.name for m in alone)
    assert in_windows(by_rows, lambda: states(plan, case, LocalJoiner())) == joined(
        lambda: states(plan, case, PythonJoiner())
    )


def states(plan: Plan, case: Case, joiner: Joiner) -> list[object]:
    """All that is stored, and where that ends."""
    found: list[object] = []
    try:
        own = Running.start(plan, case.parts, joiner)
        found.append(own.everything())
        for batch in case.batches:
            own = own.apply(batch.delta)
            found.append(own.everything())
    except EvaluationError:
        found.append(None)
    return found


def in_windows(by_rows: bool, work: Callable[[], T]) -> T:
    """What is done where windows are worth it, however small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", 0)
        patch.setattr(windows, "WORTH", 0)
        patch.setattr(windows, "TIMES", 0)
        patch.setattr(running, "WORTH", 0)
        patch.setattr(running, "contributed", told)
        patch.setattr(windows, "folded", folded)
        patch.setattr(folding, "SAFE", ROWS_ONLY if by_rows else folding.SAFE)
        return work()


def joined(work: Callable[[], T]) -> T:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "contributed", lambda *_: None)
        patch.setattr(windows, "WORTH", NEVER)
        return work()


@pytest.mark.xdist_group("windows")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    ways = ("told", "upper", "lower", "open", "closed", "of a key", "come", "go", "something", "folded")
    assert all(COUNTS[what] > many(4, 200) for what in (*ways, "rows change", "of joins")), COUNTS
    kinds = ("computed", "doubles compared")
    seldom = (*kinds, "of doubles", "of ties", "both edges", "of groups", "rows come later", "of several tables")
    assert all(COUNTS[what] > many(0, 50) for what in seldom), COUNTS


