"""The order of whole numbers, several times faster than by a stable sort of numpy.

Numpy sorts 64-bit numbers by value with vector instructions; its stable sorts, and those that give places, do without.
So a number is cut to the bits that there is room for, and its place is packed behind it: sorted by value, these are the
places in order. Neighbours that agree in what was left of them, and differ, are sorted again.

Those instructions are slow on some processors (numpy/x86-simd-sort, issue 6). What numpy sorts by radix, numbers of 16
bits, does without: of some ten thousand it is taken everywhere, of very many, which do not fit a cache, nowhere.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.unsignedinteger] | Ints

FEW = 1 << 11  # below, numpy's own is as fast
MANY = 1 << 17  # beyond, nothing is sorted by radix
DIGIT, DIGITS = 16, 4  # bits of a number that are sorted by radix at once, and how many of these it has
WIDTH = 64
LEAST = 8  # bits of a number that tell enough of them apart
SIGN = np.uint64(1 << 63)


def argsort(numbers: Numbers) -> Ints:
    """As ``np.argsort(numbers, kind="stable")``."""
    if ascends(numbers):
        return np.arange(len(numbers))
    if len(numbers) < FEW:
        return np.argsort(numbers, kind="stable")
    return _packed(np.zeros(1, np.uint64), _scaled(numbers))


def argsort_by(first: Numbers, *others: Numbers) -> Ints:
    """As ``np.lexsort((…, second, first))``: by ``first``, what agrees in it by the next one, and so on; and what
    agrees in all as it comes."""
    if len(first) < FEW:
        return np.lexsort((*others[::-1], first))
    order = argsort(first)
    ties = _ties(first[order])
    for i, numbers in enumerate(others):
        order = order[_packed(ties, _scaled(numbers)[order])]
        if i + 1 < len(others):
            ties = _ties(ties, numbers[order])
    return order


def ascends(numbers: Numbers) -> bool:
    """Whether they are in order as they come."""
    return bool((numbers[1:] >= numbers[:-1]).all())


def ranks(numbers: Numbers) -> Ints:
    """As the inverse of ``np.unique``: how many different numbers are less than each."""
    order = argsort(numbers)
    found = np.empty(len(numbers), np.int64)
    found[order] = _ties(numbers[order]).view(np.int64)
    return found


def searched(ascending: U64, asked: U64, side: Literal["left", "right"]) -> Ints:
    """As ``np.searchsorted``: many that are asked in order are neighbours in memory."""
    if len(asked) < FEW or ascends(asked):
        return np.searchsorted(ascending, asked, side)
    order, _ = _nearly(asked)
    found = np.empty(len(asked), np.int64)
    found[order] = np.searchsorted(ascending, asked[order], side)
    return found


def searched_within(ascending: Numbers, first: Ints, end: Ints, asked: Numbers) -> Ints:
    """In each span of numbers that ascend, the first that is at least the one ``asked``; the end of the span where
    there is none. A binary search of all at once."""
    low, high = first.copy(), end.copy()
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) >> 1
        less = ascending[middle] < asked[open_]
        low[open_[less]] = middle[less] + 1
        high[open_[~less]] = middle[~less]
    return low


def _packed(ties: U64, numbers: U64) -> Ints:
    """The places in the order of ``ties``, which ascend from 0 on, then of ``numbers``, then as they come."""
    taken, room = int(ties[-1]).bit_length(), _room(len(numbers))
    if WIDTH - taken - room < LEAST:
        return np.lexsort((numbers, np.broadcast_to(ties, numbers.shape)))
    keys = numbers >> np.uint64(taken)
    if taken:
        keys |= ties << np.uint64(WIDTH - taken)
    return _settled(*_nearly(keys), numbers)


def _room(size: int) -> int:
    """How many of the lowest bits of so many numbers are not looked at to find their order nearly."""
    return WIDTH - 2 * DIGIT if size <= MANY else size.bit_length()


def _nearly(numbers: U64) -> tuple[Ints, U64]:
    """The places in the order of the bits above the lowest ``_room``, then as they come; and these bits, in order."""
    behind = np.uint64((1 << _room(len(numbers))) - 1)
    if len(numbers) <= MANY:
        order = _by_digits(numbers)
        return order, numbers[order] & ~behind
    keys = (numbers & ~behind) | np.arange(len(numbers), dtype=np.uint64)
    keys.sort()
    return (keys & behind).view(np.int64), keys & ~behind


def _by_digits(numbers: U64) -> Ints:
    """The places in the order of their two highest digits, then as they come."""
    digits = numbers.astype("<u8", copy=False).view("<u2").reshape(-1, DIGITS)
    order = np.argsort(digits[:, -2], kind="stable")
    return order[np.argsort(digits[order, -1], kind="stable")]


def _settled(order: Ints, keys: U64, numbers: U64) -> Ints:
    """``order``, in which ``keys`` ascend, with the places of keys in order that leave numbers open."""
    same = keys[1:] == keys[:-1]
    agree = np.flatnonzero(same)
    differ = agree[numbers[order[agree + 1]] != numbers[order[agree]]]
    if len(differ):
        open_ = _spans_of(differ, np.flatnonzero(~same) + 1, len(order))
        among = order[open_]  # which ascends where keys agree
        order[open_] = among[np.lexsort((numbers[among], keys[open_]))]
    return order


def _spans_of(places: Ints, starts: Ints, size: int) -> Ints:
    """All places of the spans, which begin at 0 and at each of ``starts``, that have one of ``places``."""
    ends = np.concatenate([[0], starts, [size]])
    span = np.unique(np.searchsorted(ends, places, "right"))
    steps = np.zeros(size + 1, np.int64)
    np.add.at(steps, ends[span - 1], 1)
    np.add.at(steps, ends[span], -1)
    return np.flatnonzero(np.cumsum(steps[:-1]))


def _ties(*ascending: Numbers) -> U64:
    """By place how many different ones come before it, of numbers in this order."""
    found = np.zeros(len(ascending[0]), np.uint64)
    np.cumsum(np.logical_or.reduce([n[1:] != n[:-1] for n in ascending]), out=found[1:])
    return found


def _scaled(numbers: Numbers) -> U64:
    """The same order, from 0 on, and with what tells numbers apart in the highest bits."""
    signed = numbers.dtype.kind == "i"
    found: U64 = numbers.astype(np.int64).view(np.uint64) ^ SIGN if signed else numbers.astype(np.uint64)
    found = found - found.min()
    return found << np.uint64(WIDTH - max(int(found.max()).bit_length(), 1))
