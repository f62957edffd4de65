"""What is said where the terms that are made of a view are beyond the limits (``nrc/limits.py``): of which view, and
what makes it larger than it looks."""

from collections.abc import Iterator
from contextlib import contextmanager

from ripplenest.nrc.errors import TooBig, TooDeep

POSSIBLE = (
    "two views, each with some of the columns: totals, conditions, outer joins and groups of groups beside each other"
    " make it large",
    "for an outer join that finds one row, min((d for d in D if d.id == f.k), key=lambda d: d.id).name, which is less",
)


@contextmanager
def limited(view: str) -> Iterator[None]:
    """Raises TooDeep or TooBig of what is made of ``view`` with its name, and with ways round."""
    try:
        yield
    except (TooBig, TooDeep) as error:
        error.where = ", ".join(filter(None, (f"view {view}", error.where)))
        error.possible = POSSIBLE if error.possible is None else error.possible
        raise
