"""Integers without end as bytes: sums that may have more digits than a decimal.

In two's complement, the highest byte first: 8 bytes for what 64 bits hold, else as few as can be. So equal integers
have equal bytes, and those of 64 bits are read at once (``ripplenest/vector/integers.py``).
"""

LEAST = 8  # bytes


def encoded(n: int) -> bytes:
    """Law: decoded(encoded(n)) = n."""
    bits = (n if n >= 0 else ~n).bit_length()
    return n.to_bytes(max(bits // 8 + 1, LEAST), "big", signed=True)


def decoded(stored: bytes) -> int:
    """The integer that the bytes stand for."""
    return int.from_bytes(stored, "big", signed=True)
