"""The products of a level's statements, with the rows that they join.

Tasks read some tables by themselves, as ``run/handing.py`` says. For all others the rows of a change choose the orders
in which they are read (``run/orders.py``), and what then is looked up, all products of the level ask together, source
by source (``run/rounds.py``).
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from attrs import frozen

from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Product, Source
from ripplenest.run.handing import Came, Handing
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Task
from ripplenest.run.one_state import SIGNS, Sign
from ripplenest.run.orders import chosen
from ripplenest.run.rounds import in_step


@frozen
class Asked:
    """A product of a statement for ``part``, whose rows are for the target of that name; rows that came and rows that
    went may be joined ``apart``."""

    target: str
    product: Product
    part: str
    apart: bool = False

    @property
    def signs(self) -> tuple[Sign | None, ...]:
        """What of the change is joined at a time."""
        return SIGNS if self.apart else (None,)


def tasks(run: Run, asked: Iterable[Asked]) -> list[Task]:
    """The products with the rows of each source that can take part; none of a product that is empty. One task of each,
    or one for each order that rows of the change choose: p(c₁ ⊎ c₂) = p(c₁) ⊎ p(c₂)."""
    handed: list[Task] = []
    here: list[Asked] = []
    came = Came(run.changes, run.moved, run.caused)
    for a in asked:
        how = None if run.handing is None else run.handing.how(a.product, run.plan, came)
        if run.handing is None or how is None:
            here.append(a)
        else:
            handed += _handed(run, run.handing, a, came, how)
            run.by_tasks.append(a.target)
    orders = chosen(run, [a.product for a in here])
    each = ((a, p, change) for a, own in zip(here, orders, strict=True) for p, change in own)
    works = [run.task(a.target, p, a.part, change, sign) for a, p, change in each for sign in a.signs]
    return [*handed, *(task for task in in_step(works, run.probes.answers) if task is not None)]


def _handed(
    run: Run, handing: Handing, a: Asked, came: Came, how: Literal["whole", "looked up"]
) -> Iterator[Task]:
    """A product whose sources tasks read."""
    p, totals = a.product, tuple(_total(run, s) for s in a.product.sources)
    rows = tuple(run.handed(handing, s, came, how) for s in p.sources)
    if not any(own.is_empty and total is None for own, total in zip(rows, totals, strict=True)):
        yield Task(a.target, p, rows, how == "looked up", totals, run.combinations)


def _total(run: Run, source: Source) -> PlannedMap | None:
    """The map of a source that has a row for every place."""
    m = run.plan.passing.get(source.table)
    return None if m is None or m.answers is None or m.answers.nothing is None else m
