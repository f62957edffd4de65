"""Which stored rows a scalar without a value was made of: by their keys, as messages show those.

Rows of a bag without keys are told by the place of the bag, and rows that nothing tells apart are not told.
"""

from ripplenest.data.rows import Row
from ripplenest.nrc.errors import EvaluationError, shown
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Col, Product, Scalar, within


def blamed(error: EvaluationError, found: Product, plan: Plan) -> str:
    """``C.orders.items custkey 2, orderkey 20``: the rows that its scalar reads, or else all of the combination, with
    ``; `` between them. Of a row and one of its own bags only the latter is told. Empty where none is."""
    told = {n: _told(plan, found.sources[n].table, row) for n, row in sorted(error.rows.items())}
    read = [told[n] for n in told if n in _read(error.about) and told[n]] or [t for t in told.values() if t]
    deepest = (t for t in read if not any(t != other and _is_of(t, other) for other in read))
    return "; ".join(dict.fromkeys(f"{t[0]} {', '.join(t[1:])}" for t in deepest))


def _read(scalar: object) -> set[int]:
    return {t.source for t in within(scalar) if isinstance(t, Col)} if isinstance(scalar, Scalar) else set()


def _told(plan: Plan, table: str, row: Row) -> tuple[str, ...]:
    """The part, and the columns that tell the row apart; nothing of the tables of maps."""
    names = plan.telling.get(table, {})
    return (table, *(f"{name} {shown(row[c])}" for c, name in names.items())) if names else ()


def _is_of(holder: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    """Whether ``inner`` is in a bag of ``holder``."""
    return inner[0].startswith(f"{holder[0]}.") and {*holder[1:]} <= {*inner[1:]}
