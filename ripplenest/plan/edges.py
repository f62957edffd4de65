"""What a comparison asks of a column, in whatever form ``nrc/rewriting/bands.py`` knows."""

from collections.abc import Sequence

from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.rewriting.bands import AFTER, CASTS, MOVES, SWAPPED
from ripplenest.nrc.rewriting.sums import SIGNS, solved
from ripplenest.nrc.types import LONG
from ripplenest.nrc.values import INT_BITS
from ripplenest.plan.narrow import narrowed
from ripplenest.plan.product import Col, Const, Op, Scalar, cols, sources_of


def compared(condition: Scalar, source: int) -> tuple[str, int, Scalar] | None:
    """How, which column of ``source``, and with what; None where it is compared in another way, or not at all."""
    if not isinstance(condition, Op) or len(condition.args) != 2:
        return None
    own, other = _sides(condition, source)
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
        case Op(fn) if fn in SIGNS:
            found = ((x, y) for x, y, _ in solved(own, other, _moved) if isinstance(x, Col))
            col, other = next((pair for pair in found if source not in sources_of(pair[1])), (own, other))
            other = narrowed(other, col.type)
        case _:
            return None
    return (condition.fn, col.column, other) if isinstance(col, Col) and col.source == source else None


def decided_by(condition: Scalar, source: int) -> tuple[Scalar, ...]:
    """What other sources than ``source`` have that says of which of its rows a comparison is true: their columns in it,
    but of a double beside whole numbers its floor or its ceiling, whichever the comparison comes to."""
    if isinstance(condition, Op) and condition.fn in SWAPPED:
        own, other = _sides(condition, source)
        if other.type.kind == "double" and isinstance(own, Op) and own.fn == "to_double" and _is_whole(own.args[0]):
            fn = condition.fn if own is condition.args[0] else SWAPPED[condition.fn]
            rounded = "floor" if fn in ("le", "gt") else "ceil"
            return (Op(rounded, (other,), result_type(rounded, [other.type])),)
    return tuple(c for c in cols(condition) if c.source != source)


def _is_whole(t: Scalar) -> bool:
    return isinstance(t, Col) and t.type.kind in INT_BITS


def _sides(condition: Op, source: int) -> Sequence[Scalar]:
    """The side of ``source``, and the other one."""
    return condition.args if source in sources_of(condition.args[0]) else condition.args[::-1]


def _plain(own: Scalar) -> Scalar:
    """What lies between two values, of which a long is compared."""
    match own:
        case Op("to_long", (Op(fn) as inner,)) if fn in AFTER:
            return inner
    return own


def _moved(fn: str, other: Scalar, by: Scalar) -> Scalar:
    return Op(fn, (other, by), result_type(fn, [other.type, by.type]))
