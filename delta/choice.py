"""Which maps pay: the rows that statements no longer read, against the rows that keeping the map reads and writes.

Both sides are estimates of ``cost/estimate.py`` for one batch that changes each part once. They are compared with a
margin, because they are rough: a map that is not kept costs time, a map that is kept costs time and space.

Which maps are kept is ``materialize="none" | "first" | "full" | "cost"``; "cost" compares estimates
(``cost/estimate.py``) made with the rows that relations have when a view is created, or with what they may grow to
(``grown``). Options are stored with the view, so that it is compiled to the same program whenever its state is opened.
"""

from collections.abc import Collection, Iterable, Mapping

from ripplenest.cost.estimate import Estimate, Keys, different, estimate, estimate_all, is_one_row
from ripplenest.delta.factor import joined_rows
from ripplenest.delta.groups.near import tells_moved, tells_near
from ripplenest.delta.materialize import Candidate, Decide
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At

UNKNOWN_ROWS = 1_000_000  # rows of a stored part of which nothing is said
UNKNOWN_CHANGES = 100  # changed rows of a part in a batch
JOB = 10_000  # rows that could be read while one more Spark job starts (about 30 ms)
MARGIN = 2  # how many times its upkeep a map saves at least: it takes space, too
BLOW_UP = 4  # a map holds at most this many times the rows of what it is made of


def grown(rows: Mapping[str, int]) -> dict[str, int]:
    """The rows of parts where the largest has at least as many as are assumed where nothing is said. A view stays when
    its tables grow, and while they are small no choice matters.

    Law: maps do not depend on how many rows there are, but on how many there are of one part beside another.
    """
    more = max(1.0, UNKNOWN_ROWS / max(rows.values(), default=UNKNOWN_ROWS))
    return {part: round(n * more) for part, n in rows.items()}


def by_cost(
    maps: Iterable[Map], parts: Iterable[str], rows: Mapping[str, int], changes: Mapping[str, int], keys: Keys
) -> Decide:
    """The decision of ``materialize="cost"`` for stored ``parts`` with ``rows``, batches with ``changes``, and columns
    that are declared to be ``keys`` (by part).

    A map is kept when what it saves is much more than its upkeep and one more job, and it does not blow up; rows that a
    group joins are looked at one by one anyway, so what is computed of them may be kept. Of a sum map the rows that
    change are read as well, and each of its rows is as much work as it has sums.
    """
    every = tuple(maps)
    sizes = sizes_of(every, parts, rows, changes, keys)
    groups = frozenset(m.name for m in every if m.kind is MapKind.GROUP)
    grouped = frozenset(joined_rows(c) for m in every if m.name in groups for c in m.products if len(c.generators) > 1)
    return lambda candidate: _told(candidate, groups, keys) or _decide(candidate, sizes, keys, grouped)


def sizes_of(
    maps: Iterable[Map],
    parts: Iterable[str],
    rows: Mapping[str, int],
    changes: Mapping[str, int],
    keys: Keys | None = None,
) -> dict[str, float]:
    """The rows of parts and of maps that pass on, and of their changes, by key: those that are known, else estimates.
    """
    sizes: dict[str, float] = {}
    for part in parts:
        sizes[part] = rows.get(part, UNKNOWN_ROWS)
        sizes[At.DELTA.show(part)] = changes.get(part, UNKNOWN_CHANGES)
    for m in maps:
        if m.kind.passes_on:
            sizes[m.name] = max(estimate_all(m.products, sizes, keys).out, 1)
            sizes[At.DELTA.show(m.name)] = UNKNOWN_CHANGES
    return sizes


def _told(candidate: Candidate, groups: Collection[str], keys: Keys) -> tuple[bool, str] | None:
    """A map is not kept that only totals would read which are told by those near them, nor one of rows that are read
    as far as a value moves, but where they are found by what is computed of them, nor of one row, as of a clock, nor
    one that would be read whole where what it is made of is not: maps are in no order."""
    if all(use.map in groups and tells_near(use.before, use.part) for use in candidate.uses):
        return False, "what a place comes to is told by the one near it, and the rows between"
    if not candidate.is_looked_up and all(tells_moved(use.before, use.part) for use in candidate.uses):
        return False, "what lies between a value and the one that it was is read in order"
    if is_one_row(candidate.map.products[0], keys):
        return False, "it would be one row, which its key finds"
    in_order = (u for u in candidate.uses if not _grows(u.before) or tells_moved(u.before, u.part))
    if any(_grows(use.after) for use in in_order):
        return False, "what lies between two values is read in order, and all of the map would be"
    return None


def _grows(c: Comprehension) -> bool:
    """Whether more is read when tables grow, whatever changes."""
    return any(r.grows for j in joins(c) for r in j.reads())


def _lies_between(c: Comprehension) -> bool:
    """Whether rows of a table are found by two values between which they lie, and by nothing else."""
    return any(len(r.ends) == 2 and not r.keys for j in joins(c) for r in j.reads())


def _decide(
    candidate: Candidate, sizes: Mapping[str, float], keys: Keys, grouped: Collection[str]
) -> tuple[bool, str]:
    product, summed = candidate.map.products[0], bool(candidate.map.summed)
    sums = max(len(candidate.map.summed), 1)
    held = different(product, candidate.map.keys, sizes, keys) if summed else _estimate(product, sizes, keys).out
    made_of = sum(sizes[rel.name] for _, rel in product.generators)
    is_grouped = candidate.is_looked_up and joined_rows(product) in grouped
    if held > BLOW_UP * made_of and not is_grouped:
        return False, f"it would hold about {held:,.0f} rows, made of {made_of:,.0f}"
    if candidate.is_looked_up and any(_grows(use.before) for use in candidate.uses):
        return True, "its rows are found by what is computed of them, where else all would be read"
    if candidate.is_looked_up and any(_lies_between(u.before) and not _lies_between(u.after) for u in candidate.uses):
        return True, "its rows are found by what is computed of them, where else all between two values would be read"
    with_map = {**sizes, candidate.map.name: max(held, 1)}
    saved = sum(_work(use.before, sizes, keys) - sums * _work(use.after, with_map, keys) for use in candidate.uses)
    upkeep = sums * sum(_work(c, sizes, keys) + summed * _estimate(c, sizes, keys).out for c in candidate.upkeep)
    why = f"a batch would read about {max(saved, 0):,.0f} rows less, for {upkeep:,.0f} rows of upkeep"
    return saved > MARGIN * upkeep + JOB, why


def _work(c: Comprehension, sizes: Mapping[str, float], keys: Keys) -> float:
    """Rows read and rows made by one product."""
    found = _estimate(c, sizes, keys)
    return found.read + found.out


def _estimate(c: Comprehension, sizes: Mapping[str, float], keys: Keys) -> Estimate:
    """A map is kept for the change that meets many rows, not for the usual one."""
    return estimate(c, sizes, keys, skewed=True)
