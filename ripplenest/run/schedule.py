"""What of a batch has to be known before the rest of it can be asked for.

Statements read the change of a map in two ways only: that of a map that passes on is read itself, or with the rows it
changes; an auxiliary map is read at the turn of a statement, with what the parts before that turn did to it
(``delta/program.py``). What a batch does to all other maps can be summed last, and at once.
"""

from collections.abc import Collection, Sequence

from ripplenest.delta.program import MapKind
from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Source
from ripplenest.run.joiner import Task

HERE = 10_000
"""Rows that this process joins before a job of Spark has begun."""


def awaited(plan: Plan, changed: Collection[str]) -> frozenset[str]:
    """The maps whose change some statement reads when the parts ``changed`` do.

    Law: whatever the changes of all other maps are taken to be while statements run, those of all maps are the same.
    """
    active, found = {*changed}, set[str]()
    for level in plan.levels:
        for m in level:
            statements = [(part, products) for part, products in m.triggers if part in active]
            read = ((part, s) for part, products in statements for p in products for s in p.sources)
            found.update(s.table for part, s in read if _changes(plan, s, part, active))
            if statements and m.kind.passes_on:
                active.add(m.name)
    return frozenset(found)


def _changes(plan: Plan, source: Source, part: str, active: Collection[str]) -> bool:
    """Whether a statement for ``part`` reads ``source`` with some change that a map has."""
    m = plan.by_name.get(source.table)
    if m is None:
        return False
    causes = [cause for cause, _ in m.triggers if cause in active]
    if m.kind is not MapKind.AUXILIARY:
        return source.at is not At.OLD and bool(causes)
    turn = plan.turns[part] + (source.at is At.NEW)
    return any(plan.turns[cause] < turn for cause in causes)


def rows_of(tasks: Sequence[Task]) -> int:
    """How many rows ``tasks`` read; what several of them read counts once."""
    return sum({id(rows): len(rows) for task in tasks for rows in task.inputs}.values())
