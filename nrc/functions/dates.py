"""Which texts are dates for sure: those that are put together of parts of dates, as ``x.replace(day=1)`` is."""

import re
from collections.abc import Iterator, Mapping

from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Type

PARTS: dict[tuple[object, object], str] = {(1, 4): "2000", (6, 2): "01"}
"""Where years and months are in yyyy-MM-dd, and one that stands for all."""
ALWAYS = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])")  # there in all years and months


def is_date(t: Elem, types: Mapping[str, Type]) -> bool:
    """True for a text that is NULL or a date wherever it has a value; its variables have ``types``.

    Law: where it is true, ⟦to_date(t)⟧ has a value wherever ⟦t⟧ has one.
    """
    return ALWAYS.fullmatch("".join(_pieces(t, types))) is not None


def _pieces(t: Elem, types: Mapping[str, Type]) -> Iterator[str]:
    match t:
        case Call("concat", args):
            for a in args:
                yield from _pieces(a, types)
        case Lit(str() as text):
            yield text
        case Call("substring", (Call("to_string", (of,)), Lit(start), Lit(size))) if (start, size) in PARTS:
            found = elem_type(of, types)
            yield PARTS[start, size] if isinstance(found, Base) and found.kind == "date" else "?"
        case _:
            yield "?"
