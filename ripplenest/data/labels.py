"""How a label is laid out in columns. Whoever reads or writes labels as columns asks here.

A label of several sites begins with its *tag*, the column that names the site which made it; then come the columns of
each site's parameters, in the order of the sites. A label of one site has no tag. NULL stands

- in the columns of the parameters of every site but the one that made the label, which may be NULL for that reason;
- in all columns, the tag among them, for a label that is NULL.

So a tag tells who made the label. Without one, a label is of its one site, or NULL where it may be: such labels are
stored, with an id as their one parameter, which is not NULL (``SiteColumns.mark``).
"""

from collections.abc import Iterator
from typing import assert_never

from attrs import frozen

from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Site, Type, nullable

SITE = Base("string", True)  # of a tag
SHOWN = "site"  # what users call it


@frozen
class Named:
    """The label is of the site where ``column`` holds its name."""

    column: int
    site: str


@frozen
class Filled:
    """The label is of the site where ``column`` is not NULL."""

    column: int


Mark = Named | Filled | None  # None: every label is of the site, and none is NULL


@frozen
class SiteColumns:
    """The columns of one site of a label: those of its parameters, and before them the tag of the label if it has one.

    ``mark`` is how columns say that the site made the label. Laws: columns(label)[i] for i in ``params`` are the
    columns of the record of the site's parameters, in order; ``mark`` holds for to_leaves(v, label) just where v.site
    is the site's name.
    """

    site: Site
    tag: int | None
    params: range
    mark: Mark

    @property
    def label(self) -> tuple[int, ...]:
        """All columns that tell a label of this site from every other: the tag, and the parameters."""
        return (*(() if self.tag is None else (self.tag,)), *self.params)


def is_tagged(label: Label) -> bool:
    """Whether a column says which site made the label."""
    return len(label.sites) > 1


def param_type(label: Label, t: Type) -> Type:
    """The type of the columns of a parameter of type ``t``: they may be NULL where another site may have made the
    label, or none."""
    return nullable(t) if label.nullable or is_tagged(label) else t


def param_name(label: Label, site: Site, param: str) -> str:
    """What users call a parameter, in which sites may share names; the tag is ``SHOWN``."""
    return f"{site.name}.{param}" if is_tagged(label) else param


def shows_site(label: Label) -> bool:
    """Whether users see the site of a label, as ``SHOWN``: where there are several, and where there is nothing else."""
    return is_tagged(label) or not any(site.params for site in label.sites)


def site_columns(label: Label, start: int = 0) -> Iterator[SiteColumns]:
    """The columns of each site, of a label whose columns begin at ``start``."""
    tag = start if is_tagged(label) else None
    at = start + is_tagged(label)
    for site in label.sites:
        end = at + sum(width(t) for _, t in site.params)
        params = range(at, end)
        yield SiteColumns(site, tag, params, _mark(label, site, tag, params))
        at = end


def _mark(label: Label, site: Site, tag: int | None, params: range) -> Mark:
    if tag is not None:
        return Named(tag, site.name)
    return Filled(params.start) if label.nullable and params else None


def width(t: Type) -> int:
    """How many columns a flat type has. Law: width(t) = len(columns(t))."""
    match t:
        case Base():
            return 1
        case Record(fields):
            return sum(width(inner) for _, inner in fields)
        case Label(sites):
            return is_tagged(t) + sum(width(inner) for site in sites for _, inner in site.params)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


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
