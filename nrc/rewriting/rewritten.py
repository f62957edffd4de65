"""The rules that say otherwise what rows are asked for, in their order, so that it costs what changes.

Each of them asks which stored rows are around a place, and which are the only ones with their keys (``keyed.py``).

Law: ⟦rewritten e⟧ = ⟦e⟧.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from ripplenest.nrc.rewriting import alternatives, extremes
from ripplenest.nrc.rewriting.absent import apart
from ripplenest.nrc.rewriting.apiece import apiece
from ripplenest.nrc.rewriting.aside import aside
from ripplenest.nrc.rewriting.beyond import beyond
from ripplenest.nrc.rewriting.cases import in_cases
from ripplenest.nrc.rewriting.distinct import distinct
from ripplenest.nrc.rewriting.exact import exact_again
from ripplenest.nrc.rewriting.greatest import greatest
from ripplenest.nrc.rewriting.keyed import Keys
from ripplenest.nrc.rewriting.latest import latest
from ripplenest.nrc.rewriting.measured import measured
from ripplenest.nrc.rewriting.once import everywhere
from ripplenest.nrc.rewriting.others import others
from ripplenest.nrc.rewriting.rekey import rekeyed
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.rewriting.spread import spread
from ripplenest.nrc.rewriting.stepped import stepped
from ripplenest.nrc.rewriting.valid import valid
from ripplenest.nrc.syntax import Expr, For, Group, Plus, Top
from ripplenest.nrc.syntax import Keys as Unique
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import free_vars, nodes


def rewritten(
    nested: Expr, relations: Mapping[str, Type], unique: Unique, fused: Callable[[Expr], Expr]
) -> Expr:
    """``nested``, a closed simplified term over ``relations``, with rows read by their keys, and where they lie for
    what moves. ``unique`` columns of a part that is a dictionary are those of its label and of the fields that are the
    key of a row there. Rows with totals that have a name stand where they are read if a rule wants that. What folds
    rows of groups is ``fused`` with them before the rows are made in cases, as it is not the same rows afterwards."""
    inner = {part: tuple(c.removeprefix("row.") for c in columns if c.startswith("row.")) for part, columns in unique}
    keys = {part: columns if part in relations else inner[part] for part, columns in unique}
    counted = stepped(measured(nested), keys)
    united = _by_unions(counted, keys)
    told = spread(united)
    copied = everywhere(told)
    if copied is not told:
        copied = greatest(exact_again(simplify(copied)))
    if _in_cases_by_key(told, keys):
        return simplify(_by_rules(simplify(fused(copied)), keys))
    found = _by_rules(told, keys)
    if copied is not told:
        other = _by_rules(copied, keys)
        if _changed(copied, other) - _changed(told, found):
            return simplify(other)
    if found is told:
        return nested if united is nested else simplify(united)
    return simplify(found)


def _by_unions(e: Expr, keys: Keys) -> Expr:
    """``e`` by the rules that look at rows of ⊎ as at those of one relation: where it is spread, no fold is of both."""
    if not any(isinstance(n, For) and isinstance(n.source, Plus) for n in nodes(e)):
        return e
    return others(beyond(distinct(latest(e, keys, True), keys, True), keys, True), keys, True)


def _by_rules(told: Expr, keys: Keys) -> Expr:
    first = others(beyond(distinct(latest(told, keys), keys), keys), keys)
    by_rows = in_cases(extremes.asked(alternatives.chosen(first, keys), keys), keys)
    return rekeyed(apart(alternatives.split(valid(apiece(aside(by_rows, keys), keys), keys), keys), keys), keys)


def _in_cases_by_key(e: Expr, keys: Keys) -> bool:
    """Whether rows are made in cases that groups by key are of."""
    found = in_cases(e, keys)
    changed = _changed(e, found) if found is not e else ()
    return any(n.site in changed for n in nodes(e) if isinstance(n, Group) and n.keys)


def _changed(before: Expr, after: Expr) -> set[str]:
    """The sites of groups that rules have made others of."""
    old, new = _looks(before), _looks(after)
    return {site for site in old.keys() | new.keys() if old.get(site) != new.get(site)}


def _looks(e: Expr) -> Mapping[str, list[tuple[int, int]]]:
    """By site how much groups read of what is around them, and how much they are, whatever variables are called."""
    found = defaultdict[str, list[tuple[int, int]]](list)
    for n in nodes(e):
        if isinstance(n, Group | Top):
            found[n.site].append((len(free_vars(n)), sum(1 for _ in nodes(n))))
    return {site: sorted(looks) for site, looks in found.items()}
