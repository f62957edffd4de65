"""Where the columns of labels are: the layout that ``data/columns.py`` gives a label, read by position.

A label of several sites begins with its tag, the column that names the site; then come the columns of each site's
parameters, in the order of the sites. A label of one site has no tag.
"""

from collections.abc import Iterator
from typing import assert_never

from attrs import frozen

from ripplenest.data.columns import width
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Site, Type


@frozen
class SiteColumns:
    """The columns of one site of a label: those of its parameters, and before them the tag of the label if it has one.

    Law: columns(label)[i] for i in ``params`` are the columns of the record of the site's parameters, in order.
    """

    site: Site
    tag: int | None
    params: range

    @property
    def label(self) -> tuple[int, ...]:
        """All columns that tell a label of this site from every other: the tag, and the parameters."""
        return (*(() if self.tag is None else (self.tag,)), *self.params)


def is_tagged(label: Label) -> bool:
    """Whether a column says which site made the label."""
    return len(label.sites) > 1


def site_columns(label: Label, start: int = 0) -> Iterator[SiteColumns]:
    """The columns of each site, of a label whose columns begin at ``start``."""
    tag = start if is_tagged(label) else None
    at = start + is_tagged(label)
    for site in label.sites:
        end = at + sum(width(t) for _, t in site.params)
        yield SiteColumns(site, tag, range(at, end))
        at = end


def labels(t: Type, start: int = 0) -> Iterator[tuple[int, Label]]:
    """The labels in a flat type whose columns begin at ``start``, each with its first column; not those inside of
    other labels, which are parameters there."""
    match t:
        case Base():
            return
        case Record(fields):
            for _, inner in fields:
                yield from labels(inner, start)
                start += width(inner)
        case Label():
            yield start, t
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)
