"""How many cases a law asks: some in ``make test`` and ``make test-wide``, all of them in ``make test-long``.

What the project demands of those (2,000 sequences, 200 instances of each construct, …) stands in the tests as a
number. The rest is divided: a law that costs seconds asks as many cases there as still meet what its module counts.
"""


class _Run:
    """Whether this run has the long tests; ``tests/conftest.py`` says so before a test is collected."""

    long = False


RUN = _Run()


def many(some: int, every: int) -> int:
    """``some`` cases, or ``every`` one in ``make test-long``."""
    return every if RUN.long else some
