"""What a batch takes by triggers and recomputed, beside what ``policy="auto"`` estimates of both.

    python -P scripts/both_ways.py [VIEW ...]

For each view and share of its rows that come, or go, prints the milliseconds of the views phase both ways, the rows of
work of ``run/policy.py``, and how many times as much triggers take as recomputation: measured, and at least and at most
as estimated.
"""

import random
import sys
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import ripplenest as rn
from ripplenest import Bag
from ripplenest.run import policy
from ripplenest.state import fresh

SHARES = (0.02, 0.1, 0.3, 0.6)
LATER = 10_000_000


@rn.record
class E:
    id: int
    a: int
    b: int
    g: int
    x: float


@rn.view
def flat(E: Bag[E]) -> list[Any]:
    return [{"id": e.id, "v": e.a + e.b} for e in E if e.a > 10]


@rn.view
def pairs(E: Bag[E]) -> list[Any]:
    return [{"a": x.id, "b": y.id} for x in E for y in E if x.g == y.g]


@rn.view
def either(E: Bag[E]) -> list[Any]:
    return [{"a": x.id, "b": [y.id for y in E if x.id != y.id and (x.g == y.g or x.a == y.a)]} for x in E]


@rn.view
def circles(E: Bag[E]) -> list[Any]:
    return [{"a": x.a, "b": y.a, "c": z.a} for x in E for y in E if x.b == y.a for z in E if y.b == z.a and z.b == x.a]


@rn.view
def totals(E: Bag[E]) -> list[Any]:
    return [
        {"g": g, "n": len(es), "s": sum(e.x for e in es), "m": max(e.a for e in es)}
        for g, es in rn.group_by(E, lambda e: e.g)
    ]


@rn.view
def firsts(E: Bag[E]) -> list[Any]:
    return [{"g": g, "t": rn.top(3, es, key=lambda e: e.x)} for g, es in rn.group_by(E, lambda e: e.g)]


@rn.view
def places(E: Bag[E]) -> list[Any]:
    return [{"id": e.id, "n": len([f for f in E if f.g == e.g and f.x > e.x])} for e in E]


# Rows, groups of them, and values of their other columns.
VIEWS = {
    flat: (100_000, 30_000, 1000), pairs: (10_000, 200, 1000), either: (10_000, 500, 1000),
    circles: (20_000, 10, 3000), totals: (100_000, 30_000, 1000), firsts: (50_000, 20_000, 1000),
    places: (5000, 1000, 1000),
}  # fmt: skip


def rows(many: int, start: int, groups: int, values: int) -> list[dict[str, Any]]:
    r = random.Random(start)  # noqa: S311 - the same rows each time
    return [
        {"id": start + i, "a": r.randrange(values), "b": r.randrange(values), "g": r.randrange(groups), "x": r.random()}
        for i in range(many)
    ]


def both(db: rn.Database, is_new: bool, some: Sequence[dict[str, Any]]) -> str:
    """A line of one change, which is taken back each time."""
    took, seen = {}, list[policy.Work]()
    decide = policy.decide

    def listening(how: policy.Policy, work: policy.Work) -> policy.Decision:
        seen.append(work)
        return decide(how, work)

    for how in ("incremental", "full"):
        fresh.decide = listening  # type: ignore[assignment, attr-defined]
        with db.batch(policy=how) as b:
            (b.insert if is_new else b.delete)("E", some)
        fresh.decide = decide  # type: ignore[attr-defined]
        assert b.report is not None
        took[how] = b.report.phases["views"] * 1e3
        with db.batch(policy="full") as back:
            (back.delete if is_new else back.insert)("E", some)
    work, ratio = seen[0], took["incremental"] / took["full"]
    least, most, again = work.least(), work.incremental(), work.full()
    measured = f"{took['incremental']:8.1f} ms, recomputed {took['full']:8.1f} ms: {ratio:5.2f}"
    return f"{measured}; estimated {least / again:5.2f} to {most / again:5.2f} ({most:,.0f} and {again:,.0f} rows)"


def opened(folder: str, view: rn.View, held: Sequence[dict[str, Any]]) -> rn.Database:
    db = rn.open(folder, engine="local")
    db.relation("E", E, key="id")
    db.load("E", held)
    db.create(view)
    return db


def main() -> None:
    warnings.simplefilter("ignore")
    for view, (many, groups, values) in VIEWS.items():
        if sys.argv[1:] and view.name not in sys.argv[1:]:
            continue
        held = rows(many, 0, groups, values)
        for share in SHARES:
            changed = int(many * share)
            for is_new, some in ((True, rows(changed, LATER, groups, values)), (False, held[:changed])):
                with tempfile.TemporaryDirectory() as folder, opened(folder, view, held) as db:
                    print(f"{view.name:8} {share:4.0%} {'come' if is_new else 'go':4} {both(db, is_new, some)}")


if __name__ == "__main__":
    main()
