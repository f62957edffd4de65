"""What to write in place of what decimals have in Python and not here: rounding, remainders and whole quotients."""

from collections.abc import Sequence

from ripplenest.nrc.functions.signatures import to_decimal
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import MAX_DIGITS

PLACES = 2  # behind the point, where nobody says how many


def rounded(t: Base, places: object = PLACES) -> str:
    """For round(x, places) of a number, and .quantize of a decimal."""
    if not isinstance(places, int) or places > MAX_DIGITS - 2:
        places = PLACES
    unit = 10 ** abs(places)
    if places < 0:
        return f"`round(x / {unit}) * {unit}`, of which the quotient is a double"
    if t.kind == "double":
        return f"`round(x * {unit}) / {unit}`, of which the product is rounded, too"
    if t.kind == "decimal":
        return f"`rn.decimal(x, {_digits(t, places)}, {places})`, away from 0 where two are as near"
    return "the number itself"


def whole(op: str, t: Base) -> str:
    """For round, floor and ceil of a decimal: where rn.decimal or // does it, no digit is lost."""
    if op == "round":
        return f"`int(rn.decimal(x, {_digits(t, 0)}))`, away from 0 where two are as near"
    unit = 10**t.scale
    return f"`int(x * {unit}) // {unit}`" if op == "floor" else f"`-(int(x * -{unit}) // {unit})`"


def divided(op: str, types: Sequence[Base]) -> str:
    """For a % b and a // b of decimals, as whole numbers of the least unit of both."""
    scale = max((found.scale for t in types if (found := to_decimal([t])) is not None), default=0)
    a, b = (f"int({name} * {10**scale})" if scale else f"int({name})" for name in "ab")
    if op == "quotient":
        return f"`{a} // {b}`, which is rounded down, where decimals of Python cut toward 0"
    unit = f' * decimal.Decimal("{10.0**-scale:.{scale}f}")' if scale else ""
    return f"`rn.decimal({a} % {b}, 18){unit}`, of what has at most 18 digits"


def _digits(t: Base, places: int) -> int:
    """Of what is rounded to so many places: one more before the point, which 9.9 needs."""
    return min(t.precision - t.scale + places + (places < t.scale), MAX_DIGITS)
