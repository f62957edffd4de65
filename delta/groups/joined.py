"""Rows that are joined before windows of them are asked for, as maps of their own: J.

    for l in Dom union for c in C union for s in γ⟨c.k⟩ where c.r = l.r where s.t > l.t union sng(⟨l, ()⟩)
        ⟶  for l in Dom union for y in J where y.r = l.r where y.t > l.t union sng(⟨l, ()⟩)
    J = for c in C union for s in γ⟨c.k⟩ union sng(⟨r: c.r, t: s.t⟩)

What a place comes to is told by the one near it and the rows between the two, if these are rows of one table, in its
order (``plan/running.py``); the order of a join is in no table, and each batch read all rows of a key. So customers
that are ranked by what their orders come to are rows of J. And of those who ask for a place that is made of several
sources, each row of J says for which: when a place comes to something else, they are found there at once. Rows with
totals that are asked for by what is computed of them, by the month of a day, are rows of J as well, and so are rows of
one table that are compared by what is computed of them, ``2 * b.n > 2 * a.n``, which is in no order of a column.

J is a function of parts and of maps below it, has the columns that its readers need and no other, and is shared by
views as groups are (``groups/shared.py``). What readers see of it are the rows that are stored. What is one value for
all rows is not joined, as it moves by itself, nor a total for a place that others tell.

Law (joined): with J or without it, all other maps have the same rows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import frozen

from ripplenest.cost.estimate import Keys
from ripplenest.delta.groups.joins import Join, Made, join_of, joins, never, reading_joins, sides
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.computed import by_computed, within_computed
from ripplenest.nrc.rewriting.equations import place_told
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, Grouped, Tuple
from ripplenest.nrc.walk import free_vars, nodes, read_by
from ripplenest.shred.domains import binding


def with_joins(maps: Sequence[Map], keys: Keys) -> tuple[Map, ...]:
    """``maps`` that read the joins which windows among them ask for, and these joins behind them; joins of joins, too,
    so as long as there are some. ``keys``: by part the sets of columns that are unique."""
    found = tuple(maps)
    while (more := _with_more(found, keys)) is not found:
        found = more
    return found


def _with_more(maps: tuple[Map, ...], keys: Keys) -> tuple[Map, ...]:
    windows = {m.name: _is_window(m, maps) for m in maps if m.cut is not None}
    domains = {m.name for m in maps if m.kind is MapKind.DOMAIN}
    known = frozenset(own for m in maps if m.name in domains for c in m.products for own in _worked_out(c))
    among = Maps(windows, domains, known, keys)
    found = {(m.name, i): [*among.asked(m, c)] for m in maps for i, c in enumerate(m.products)}
    wanted = {j.name for some in found.values() for j in some}
    for m in (m for m in maps if m.name in domains):
        for i, c in enumerate(m.products):
            every = among.joins(c, c.variables(), [*_made(c)])
            found[m.name, i] = found[m.name, i] or [j for j in every if j.name in wanted]
    all_of_them = [j for some in found.values() for j in some]
    made = {name: Made.of([j for j in all_of_them if j.name == name]) for name in sorted(wanted)}
    return (*(reading_joins(m, found, made) for m in maps), *(own.map for own in made.values())) if made else maps


def _is_window(m: Map, maps: Sequence[Map]) -> bool:
    """Whether what places of ``m`` come to is told by how rows compare with them."""
    if m.ranking is not None:
        return m.ranking.edge is not None
    places = {d.name for d in maps if d.kind is MapKind.DOMAIN and d.site == m.site}
    return any(_compares(c, frozenset(var for var, rel in c.generators if rel.name in places)) for c in m.products)


def _compares(c: Comprehension, places: frozenset[str]) -> bool:
    """Whether some comparison reads places, and something else."""
    calls = (n for t in c.conditions for n in nodes(t) if isinstance(n, Call) and n.fn in SWAPPED)
    return any(free_vars(n) & places and free_vars(n) - places for n in calls)


Asked = tuple[Join, Sequence[Elem]]  # what is joined, and by what of it rows are asked for


@frozen
class Maps:
    """The groups, and whether they are ``windows``, the names of ``domains``, and what is ``known`` to have a value for
    all rows of a join: what places are made of by who asks for them. ``keys``: by part what is unique."""

    windows: Mapping[str, bool]
    domains: Collection[str]
    known: frozenset[tuple[str, Elem]]
    keys: Keys

    def asked(self, m: Map, c: Comprehension) -> Iterator[Join]:
        """The joins that are asked for in a product of ``m``, the smaller ones first; of those that share a source the
        first."""
        own = ((j, asked, m.name) for j, asked in _own(c, self)) if m.name in self.windows else ()
        every = [(j, group) for j, asked, group in (*own, *_others(c, self)) if self._is_asked(group, j, asked)]
        taken: frozenset[str] = frozenset()
        for join, _ in sorted(every, key=lambda found: len(found[0].read)):
            if not join.read & taken:
                taken |= join.read
                yield join

    def _is_asked(self, group: str, join: Join, asked: Sequence[Elem]) -> bool:
        return self.windows[group] or join.is_scattered(asked)

    def joins(self, c: Comprehension, variables: Collection[str], asked: Collection[Elem] = ()) -> Iterator[Join]:
        """Those of some sources of ``c``, of which something is ``asked``."""
        return joins(c, variables, self.domains, self.keys, lambda t, join: (join, t) in self.known, asked)


def _worked_out(c: Comprehension) -> Iterator[tuple[str, Elem]]:
    """What is computed of all rows of a join, if ``c`` is one."""
    assert isinstance(c.head, Tuple)
    found = join_of(c, frozenset(c.variables()), never) if len(c.generators) > 1 else None
    if found is not None and len(found.own.conditions) == len(c.conditions):
        yield from ((found.name, found.called(t)) for _, t in c.head.fields)


def _made(c: Comprehension) -> Iterator[Elem]:
    """What a row is made of."""
    yield from (t for _, t in c.head.fields) if isinstance(c.head, Tuple) else ()


def _own(c: Comprehension, among: Maps) -> Iterator[Asked]:
    """The rows of a group, which are asked for by places."""
    places = {var for var, rel in c.generators if rel.name in among.domains}
    own = c.variables().keys() - places
    compared = [x for x, _ in (*by_computed(c.conditions, own), *within_computed(c.conditions, own))]
    for join in among.joins(c, c.variables(), compared):
        yield join, [own for own, other in sides(c, join.read) if free_vars(other) & places]


def _others(c: Comprehension, among: Maps) -> Iterator[tuple[Join, Sequence[Elem], str]]:
    """What says together for which place of a group a product asks, and of which group."""
    for var, rel in c.generators:
        if isinstance(rel, Grouped) and rel.name in among.windows:
            place = place_told(c, var, rel)
            args = dict(place.args) if place is not None else {}
            alone = [t for p, t in args.items() if p not in rel.computed] if among.windows[rel.name] else []
            read = read_by(args.values())
            for join in among.joins(c, binding(c, read), alone):
                yield join, [t for t in args.values() if free_vars(t) & join.read], rel.name
