"""How many rows a batch will look up, as far as that can be counted before it does."""

from collections.abc import Callable

from ripplenest.data.index import Columns, Places
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.product import Product, Step
from ripplenest.vector import join
from ripplenest.vector.binding import Binding, Input

Many = Callable[[str, Columns, Rows], Places | None]  # how many rows of a table each key has, where it says so
COUNTED = 1 << 14  # rows of a change that are asked for


def looked_up(p: Product, change: Rows, many: Many) -> dict[int, int]:
    """By source that ``p`` looks up for rows of a ``change`` alone, or for constants, how many rows it has for each of
    them, all together; nothing where a key has no value, and of a change of many rows."""
    alone = [s for s in p.steps if p.how(s) == "probe" and not s.place and {*s.via} <= {p.steps[0].source}]
    if not alone or len(change) > COUNTED:
        return {}
    try:
        first = p.steps[0].source
        rows = join.fulfilling(Binding.of(first, Input.of(change)), p.conditions_on(first))
        found = {step.source: _found(p, step, rows, many) for step in alone}
    except EvaluationError:
        return {}
    return {source: each for source, each in found.items() if each is not None}


def _found(p: Product, step: Step, rows: Binding, many: Many) -> int | None:
    keys, _ = join.keys_of(rows, step.keys)
    asked = Rows.of_columns(tuple(k.scalar.type for k in step.keys), keys)
    found = many(p.sources[step.source].table, step.columns, asked)
    return None if found is None else int(found.sum())
