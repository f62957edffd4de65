"""Exact sums of doubles: every finite double is a multiple of 2⁻¹⁰⁷⁴, so a sum of doubles is an integer of these.

A sum that is rounded where it is answered, and only there, does not depend on the order of what is added, and what is
taken away again leaves nothing. Stored it is m · 2ᵉ with an odd m, as the bytes of e and of the shortest two's
complement of m, and no bytes for 0: equal sums have equal bytes.
"""

import math

from ripplenest.nrc.values import NAN

UNIT = 1074  # the smallest double is 2⁻¹⁰⁷⁴
EXPONENT = 2  # bytes


def units(x: float) -> int:
    """The finite double ``x`` in units of 2⁻¹⁰⁷⁴."""
    n, d = x.as_integer_ratio()
    return n << (UNIT - (d.bit_length() - 1))


def rounded(total: int, n: int = 1) -> float:
    """The double nearest to a sum in units, divided by ``n``; infinite beyond the largest."""
    try:
        return total / (n << UNIT) + 0.0
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def answer(total: int, n: int, nans: int, above: int, below: int) -> float:
    """A sum of finite doubles, NaN, ∞ and -∞, divided by ``n``."""
    if nans or (above and below):
        return NAN
    if above or below:
        return math.inf if above else -math.inf
    return rounded(total, n)


def encoded(total: int) -> bytes:
    """Law: decoded(encoded(n)) = n."""
    if not total:
        return b""
    e = (total & -total).bit_length() - 1
    m = total >> e
    return e.to_bytes(EXPONENT, "big") + m.to_bytes(m.bit_length() // 8 + 1, "big", signed=True)


def decoded(stored: bytes) -> int:
    """What the bytes of a sum stand for."""
    return int.from_bytes(stored[EXPONENT:], "big", signed=True) << int.from_bytes(stored[:EXPONENT], "big")
