"""By which conversion values of several types become of one, as sides of ``a if c else b`` and rows of ⊎ must be, and
those of one type become of another, as the values of fields must be."""

from collections.abc import Sequence

from ripplenest.nrc.functions.signatures import maybe_null, to_decimal
from ripplenest.nrc.types import Base, Type
from ripplenest.nrc.values import MAX_DIGITS

LONG = "`int(x)`, which makes a long of an int"
DATE = "`t.date()`, the date of a timestamp"
ONE_OR_NONE = "`1 if x else 0`, the number of a condition"

EXACT = frozenset(("int", "long", "decimal"))
NUMBERS = EXACT | {"double"}
WITH_TEXT = frozenset(("int", "long", "bool", "date"))


def conversion(types: Sequence[Type]) -> str | None:
    """In Python; None where there is no such conversion."""
    bases = [maybe_null(t, False) for t in types if isinstance(t, Base)]
    kinds = {t.kind for t in bases}
    match kinds:
        case _ if len(bases) < len(types) or len({*bases}) < 2:
            return None
        case _ if kinds == {"int", "long"}:
            return LONG
        case _ if "decimal" in kinds and kinds <= EXACT:
            return _digits(bases)
        case _ if kinds <= NUMBERS:
            return f"`float(x)` of {_others(bases, Base('double'))}"
        case _ if "string" in kinds and kinds <= WITH_TEXT | {"string"}:
            return f"`str(x)` of {_others(bases, Base('string'))}"
        case _ if kinds == {"date", "timestamp"}:
            return DATE
        case _ if "bool" in kinds and kinds <= NUMBERS | {"bool"}:
            return ONE_OR_NONE
    return None


def towards(found: Type, wanted: Type) -> str | None:
    """As ``conversion``, where it is known which of both there must be."""
    match found, wanted:
        case Base(kind), Base(other) if kind == other != "decimal":
            return "`rn.coalesce(x, ...)`, what stands for NULL" if found.nullable > wanted.nullable else None
        case Base(kind), Base("decimal") if kind in EXACT:
            return f"`rn.decimal(x, {wanted.precision}, {wanted.scale})`"
        case Base(kind), Base("double") if kind in NUMBERS:
            return "`float(x)`"
        case Base(kind), Base("long") if kind in NUMBERS | {"string"}:
            return "`int(x)`"
        case Base(kind), Base("string") if kind in WITH_TEXT:
            return "`str(x)`"
        case Base("timestamp"), Base("date"):
            return DATE
    return None


def _digits(types: Sequence[Base]) -> str:
    """The least decimals that hold all of them, or those of most digits."""
    known = [found for t in types if (found := to_decimal([t])) is not None]
    scale = max(t.scale for t in known)
    digits = min(max(t.precision - t.scale for t in known) + scale, MAX_DIGITS)
    others = _others(types, Base("decimal", False, digits, scale))
    return f"`rn.decimal(x, {digits}, {scale})` of {others}; or fewer digits of each, where these are enough"


def _others(types: Sequence[Base], wanted: Base) -> str:
    """Which of ``types`` are converted, each once."""
    *first, last = dict.fromkeys(str(t) for t in types if t != wanted)
    return f"{', '.join(first)} and {last}" if first else last
