"""Rows that are joined before windows of them are asked for, as maps of their own: J.

    for l in Dom union for c in C union for s in γ⟨c.k⟩ where c.r = l.r where s.t > l.t union sng(⟨l, ()⟩)
        ⟶  for l in Dom union for y in J where y.r = l.r where y.t > l.t union sng(⟨l, ()⟩)
    J = for c in C union for s in γ⟨c.k⟩ union sng(⟨r: c.r, t: s.t⟩)

What a place comes to is told by the one near it and the rows between the two, if these are rows of one table, in its
order (``plan/running.py``); the order of a join is in no table, and each batch read all rows of a key. So customers
that are ranked by what their orders come to are rows of J. And of those who ask for a place that is made of several
sources, each row of J says for which: when a place comes to something else, they are found there at once. Rows with
totals that are asked for by what is computed of them, by the month of a day, are rows of J as well.

J is a function of parts and of maps below it, has the columns that its readers need and no other, and is shared by
views as groups are (``groups/shared.py``). What readers see of it are the rows that are stored. What is one value for
all rows is not joined, as it moves by itself, nor a total for a place that others tell.

Law (joined): with J or without it, all other maps have the same rows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from ripplenest.delta.factor import Columns, Factor, components, in_one_order, named, substituted
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.paths import column_of, columns_read
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.equations import EQUALITIES, place_told
from ripplenest.nrc.rewriting.normal import Comprehension, is_total, term
from ripplenest.nrc.syntax import At, Call, Elem, Grouped, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.walk import free_vars, nodes, replace_elem
from ripplenest.shred.domains import binding

Key = tuple[str, int]  # of a product: its map, and its place there
NONE = Columns((), ())


@frozen
class Join:
    """Sources of a product that are joined: what their ``variables`` are called in ``own``, the same join by itself,
    which is equal for equal ones, and the ``columns`` of them that the rest of the product reads."""

    variables: Mapping[str, Elem]
    own: Comprehension
    columns: tuple[Elem, ...]
    name: str

    @property
    def read(self) -> frozenset[str]:
        return frozenset(self.variables)

    def is_scattered(self, asked: Sequence[Elem]) -> bool:
        """Whether no key finds the rows that are ``asked`` for by this, as it is computed, of several sources, or what
        a total comes to; and no map of what deltas join has them, as these have no totals (``factor.py``)."""
        totals = {var for var in self.read if isinstance(self._rel(var), Total)}
        of = {var for t in asked for var in free_vars(t)}
        computed = any(column_of(t) is None for t in asked)
        return bool(totals) and {*asked} <= {*self.columns} and (len(of) > 1 or bool(of & totals) or computed)

    def _rel(self, var: str) -> Rel:
        called = self.variables[var]
        return next(rel for name, rel in self.own.generators if Var(name) == called)

    def called(self, column: Elem) -> Elem:
        """A column under the names of ``own``."""
        return replace_elem(column, self.variables)


def with_joins(maps: Sequence[Map]) -> tuple[Map, ...]:
    """``maps`` that read the joins which windows among them ask for, and these joins behind them. Windows come behind
    those that they read."""
    for m in maps:
        if m.cut is not None:
            maps = _with_joins_of(m.name, _is_window(m, maps), maps)
    return tuple(maps)


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


def _with_joins_of(group: str, is_window: bool, maps: Sequence[Map]) -> Sequence[Map]:
    """``maps`` with the joins that ``group`` asks for, and of a window those who ask for places of it."""
    domains = {m.name: m.site for m in maps if m.kind is MapKind.DOMAIN}
    found: dict[Key, list[Join]] = {}
    for m in maps:
        for i, c in enumerate(m.products):
            joins = _asked(c, domains) if m.name == group else _asking(c, group, domains)
            found[m.name, i] = [j for j, own in joins if is_window or j.is_scattered(own)]
    wanted = {j.name for joins in found.values() for j in joins}
    for m in maps:
        if (site := domains.get(m.name)) is not None and site.name == group:
            for i, c in enumerate(m.products):
                found[m.name, i] = [j for j in _joins(c, c.variables(), domains) if j.name in wanted]
    every = [j for joins in found.values() for j in joins]
    made = {name: Made.of([j for j in every if j.name == name]) for name in sorted(wanted)}
    return [*(_reading(m, found, made) for m in maps), *(own.map for own in made.values())]


Asked = tuple[Join, tuple[Elem, ...]]  # what is joined, and by what of it rows are asked for


def _asked(c: Comprehension, domains: Collection[str]) -> Iterator[Asked]:
    """The rows of a group, which are asked for by places."""
    places = {var for var, rel in c.generators if rel.name in domains}
    for join in _joins(c, c.variables(), domains):
        yield join, tuple(own for own, other in _sides(c, join.read) if free_vars(other) & places)


def _asking(c: Comprehension, group: str, domains: Collection[str]) -> Iterator[Asked]:
    """What says together for which place of ``group`` a product asks."""
    taken: frozenset[str] = frozenset()
    for var, rel in c.generators:
        if isinstance(rel, Grouped) and rel.name == group:
            place = place_told(c, var, rel)
            args = () if place is None else tuple(t for _, t in place.args)
            read = frozenset[str]().union(*map(free_vars, args))
            for join in _joins(c, binding(c, read), domains):
                if not join.read & taken:
                    taken |= join.read
                    yield join, tuple(t for t in args if free_vars(t) & join.read)


def _joins(c: Comprehension, variables: Collection[str], domains: Collection[str]) -> Iterator[Join]:
    """The joins of several among ``variables``, as far as they are connected without domains, and without what is
    one for all."""
    generators = tuple((var, rel) for var, rel in c.generators if var in variables and rel.name not in domains)
    some = tuple((var, rel) for var, rel in generators if not isinstance(rel, Total) or rel.place.params)
    within = frozenset(var for var, _ in some)
    joined = evolve(c, generators=some, conditions=tuple(t for t in c.conditions if free_vars(t) <= within))
    for component in components(joined):
        if len(component) > 1 and (found := _join(c, component)) is not None:
            yield found


def _join(c: Comprehension, component: frozenset[str]) -> Join | None:
    """A component of ``c`` by itself; None where it reads a total for a place that it does not tell."""
    types = c.variables()
    inner = tuple(t for t in c.conditions if free_vars(t) <= component and is_total(t, types))
    own = Comprehension(tuple(g for g in c.generators if g[0] in component), inner, Tuple(()))
    if not all(_is_told(c, var, rel, own) for var, rel in own.generators if isinstance(rel, Total)):
        return None
    computed = [t for t, _ in _sides(c, component) if column_of(t) is None and is_total(t, types)]
    around = (*(t for t in c.conditions if t not in inner), *c.times, c.head)
    read = dict.fromkeys(column for t in around for column in columns_read(t, component, types, computed))
    order = in_one_order(own, NONE)
    variables: dict[str, Elem] = {var: Var(f"x{i}") for i, (var, _) in enumerate(order)}
    generators = tuple((f"x{i}", rel) for i, (_, rel) in enumerate(order))
    alike = Comprehension(generators, tuple(replace_elem(t, variables) for t in inner), Tuple(()))
    return Join(variables, alike, tuple(read), named(alike, NONE).map.name)


def _is_told(c: Comprehension, var: str, rel: Total, own: Comprehension) -> bool:
    """Whether ``own``, which is joined in ``c``, says for which place the total is read."""
    label = Proj(Var(var), "label")
    asked = (t for t in c.conditions if label in {*nodes(t)})
    place = place_told(c, var, rel)
    return place is not None and free_vars(place) <= own.variables().keys() and all(t in own.conditions for t in asked)


def _sides(c: Comprehension, component: frozenset[str]) -> Iterator[tuple[Elem, Elem]]:
    """What is compared of a component with something that reads nothing of it, and that."""
    calls = (n for t in c.conditions for n in nodes(t) if isinstance(n, Call) and n.fn in (*EQUALITIES, *SWAPPED))
    for a, b in (call.args for call in calls):
        for own, other in ((a, b), (b, a)):
            if free_vars(own) and free_vars(own) <= component and not free_vars(other) & component:
                yield own, other


@frozen
class Made:
    """The map of joins that are equal, and which of its fields each column is that is read of one of them, under the
    names that all have."""

    map: Map
    fields: Mapping[Elem, str]

    @classmethod
    def of(cls, joins: Sequence[Join]) -> "Made":
        columns = dict.fromkeys(j.called(t) for j in joins for t in j.columns)
        found = named(joins[0].own, Columns.of([*columns], ()))
        name = f"J/{found.map.name.partition('/')[2]}"
        why = "windows of its rows are asked for, or places by what is joined"
        return cls(evolve(found.map, name=name, kind=MapKind.JOINED, why=why), dict(found.kept))

    def factor(self, join: Join) -> Factor:
        """What one of them reads of it."""
        fields = tuple((t, self.fields[join.called(t)]) for t in join.columns)
        return Factor(join.read, fields, (), self.map, At.OLD)


def _reading(m: Map, found: Mapping[Key, Sequence[Join]], made: Mapping[str, Made]) -> Map:
    """``m``, of which products read what is ``made`` of the joins that were ``found`` in them."""
    if not any(found[m.name, i] for i, _ in enumerate(m.products)):
        return m
    products = [*m.products]
    for i, _ in enumerate(products):
        for join in found[m.name, i]:
            products[i] = substituted(products[i], made[join.name].factor(join), m)
    return evolve(m, products=tuple(products), term=term(tuple(products), m.made))
