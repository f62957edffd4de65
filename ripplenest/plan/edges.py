"""What a comparison asks of a column, in whatever form ``nrc/rewriting/bands.py`` knows."""

from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.rewriting.bands import AFTER, CASTS, MOVES
from ripplenest.nrc.types import LONG
from ripplenest.plan.narrow import narrowed
from ripplenest.plan.product import Col, Const, Op, Scalar, sources_of


def compared(condition: Scalar, source: int) -> tuple[str, int, Scalar] | None:
    """How, which column of ``source``, and with what; None where it is compared in another way, or not at all."""
    if not isinstance(condition, Op) or len(condition.args) != 2:
        return None
    own, other = condition.args if source in sources_of(condition.args[0]) else condition.args[::-1]
    match col := _plain(own):
        case Col():
            other = narrowed(other, col.type)
        case Op(fn, (Col() as inner,)) if fn in CASTS:
            col, other = inner, narrowed(other, inner.type)
        case Op(fn, (Col() as inner, Const(int() as n, t))) if fn in MOVES:
            col, other = inner, _moved(fn, other, Const(-n, t))
        case Op(fn, (p, q)) if fn in AFTER and isinstance(other, Const) and isinstance(other.value, int):
            is_first = source in sources_of(p)
            col, from_, by = (p, q, other.value) if is_first else (q, p, -other.value)
            other = _moved(AFTER[fn], from_, Const(by, LONG))
        case _:
            return None
    return (condition.fn, col.column, other) if isinstance(col, Col) and col.source == source else None


def _plain(own: Scalar) -> Scalar:
    """What lies between two values, of which a long is compared."""
    match own:
        case Op("to_long", (Op(fn) as inner,)) if fn in AFTER:
            return inner
    return own


def _moved(fn: str, other: Scalar, by: Const) -> Scalar:
    return Op(fn, (other, by), result_type(fn, [other.type, by.type]))
