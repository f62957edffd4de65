"""Which definitions have no value for some of their places: those that compute what has none, and what reads these.

    s has a place p without a value  ⟸  s computes one of a row of p, or asks a group for a place that has none

    sum(sum(10 // i.f | i in o.items) | o in c.orders)    the outer sum has none where an inner one has none

So neither is asked for places that the view does not ask for: both have a domain. That numbers grow too large is not
looked for here.

Law (left_out): a view has a value where Python has one.
"""

from collections.abc import Iterable, Mapping

from ripplenest.delta.groups.circles import Groups
from ripplenest.nrc.rewriting.normal import is_partial
from ripplenest.nrc.syntax import DictLit, GroupRel
from ripplenest.nrc.walk import nodes


def partial_sites(groups: Groups, sites: Iterable[DictLit] = ()) -> frozenset[str]:
    """The sites of such definitions, among those of ``groups`` and of inner bags."""
    of = {g.name: g.definition.site.name for g in groups}
    every = [*(g.definition for g in groups), *sites]
    reads = {d.site.name: _reads(d, of) for d in every}
    found = {d.site.name for d in every if is_partial(d.body)}
    while more := {site for site, read in reads.items() if read & found} - found:
        found |= more
    return frozenset(found)


def _reads(d: DictLit, of: Mapping[str, str]) -> set[str]:
    return {of[n.name] for n in nodes(d.body) if isinstance(n, GroupRel) and n.name in of}
