"""A list of choices that fails is made small: fewer choices first, then smaller ones.

A choice that is 0 is the simplest, and what a shorter list does not say is 0 (``support/choices.py``), so that any list
of numbers is a case. Nothing is drawn here: the same failure becomes the same small case.
"""

from collections.abc import Callable, Iterator

Made = list[int]
Fails = Callable[[Made], Made | None]  # the choices that were asked for when it failed; None when it did not
TRIES = 1500


def shrink(made: Made, fails: Fails, tries: int = TRIES) -> Made:
    """The smallest list found that fails, by size: fewer numbers, then the numbers in their order.

    ``made`` itself is a list that fails. Stops when no candidate fails, or after so many ``tries``.
    """
    best, seen = made, {tuple(made)}
    smaller: Made | None = made
    while smaller is not None:
        smaller = None
        for candidate in _candidates(best):
            if tuple(candidate) in seen:
                continue
            if len(seen) > tries:
                return best
            seen.add(tuple(candidate))
            found = fails(candidate)
            if found is not None and _size(found) < _size(best):
                best = smaller = found
                break
    return best


def _size(made: Made) -> tuple[int, Made]:
    return len(made), made


def _candidates(made: Made) -> Iterator[Made]:
    """Without a block, with zeros for a block, with a lower number; large steps before small ones."""
    width = len(made)
    while width:
        for start in range(0, len(made), width):
            end = start + width
            yield made[:start] + made[end:]
            if any(made[start:end]):
                yield made[:start] + [0] * len(made[start:end]) + made[end:]
        width //= 2
    for i, n in enumerate(made):
        for lower in sorted({n // 2, n - 1} - {n, 0, -1}):
            yield [*made[:i], lower, *made[i + 1 :]]
    for i, n in enumerate(made):  # how many there are, and one of them less
        for j in range(i + 1, len(made)) if n else ():
            yield [*made[:i], n - 1, *made[i + 1 : j], *made[j + 1 :]]
