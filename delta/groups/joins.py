"""The joins of a product: sources of it that are joined without domains, and the map J of those that are equal.

A join is a query of its own, as factors of deltas are (``delta/factor.py``): its generators, the conditions on these
alone that always have a value, and the columns that the rest of the product reads, computed ones, too. Two that differ
in names of variables or in the order of generators are one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations

from attrs import evolve, frozen

from ripplenest.cost.estimate import Keys
from ripplenest.cost.pairs import met
from ripplenest.delta.factor import Columns, Factor, components, in_one_order, named, substituted
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.paths import column_of, columns_read
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.computed import by_computed
from ripplenest.nrc.rewriting.equations import EQUALITIES, place_told
from ripplenest.nrc.rewriting.normal import Comprehension, is_total, term
from ripplenest.nrc.syntax import At, Call, Elem, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.walk import free_vars, nodes, replace_elem

NONE = Columns((), ())
Known = Callable[[Elem, str], bool]
"""Whether an element of the names of a join, which is told by its own, has a value for all rows of it."""


def never(t: Elem, join: str) -> bool:  # noqa: ARG001
    """Of nothing that can fail it is known."""
    return False


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


def joins(
    c: Comprehension,
    variables: Collection[str],
    domains: Collection[str],
    keys: Keys,
    known: Known,
    asked: Collection[Elem] = (),
) -> Iterator[Join]:
    """The joins of several among ``variables``, as far as equalities connect them without domains, and without what is
    one for all: rows that are compared alone would be pairs, and so would those of inner bags that have what many
    others have. ``keys``: by part the sets of columns that are unique. And of one of which something is ``asked`` that
    is computed, so that no column finds its rows."""
    generators = tuple((var, rel) for var, rel in c.generators if var in variables and rel.name not in domains)
    some = tuple((var, rel) for var, rel in generators if not isinstance(rel, Total) or rel.place.params)
    within = frozenset(var for var, _ in some)
    equated = [t for t in c.conditions if _equates(t, within)]
    c = evolve(c, conditions=tuple(dict.fromkeys((*c.conditions, *_implied(c, within)))))
    joined = evolve(c, generators=some, conditions=tuple(t for t in equated if met(c, t, keys)))
    for component in components(joined):
        computed = {t for t in asked if column_of(t) is None and free_vars(t) == component}
        found = join_of(c, component, known) if computed or len(component) > 1 else None
        if found is not None and (len(component) > 1 or computed & {*found.columns}):
            yield found


def _implied(c: Comprehension, within: frozenset[str]) -> Iterator[Elem]:
    """What sources ``within`` a join are equated by what they are equated with outside: both are of one place. That
    joins none that nothing else joins."""
    equal: dict[Elem, dict[Elem, str]] = {}
    for t in c.conditions:
        match t:
            case Call(fn, (a, b)) if fn in EQUALITIES:
                for own, other in ((a, b), (b, a)):
                    if len(free_vars(own) & within) == 1 and free_vars(other) and not free_vars(other) & within:
                        equal.setdefault(other, {})[own] = fn
    for columns in equal.values():
        for (a, f), (b, g) in combinations(sorted(columns.items(), key=repr), 2):
            if free_vars(a) != free_vars(b):
                yield Call("same" if f == g == "same" else "eq", (a, b))


def _equates(t: Elem, within: frozenset[str]) -> bool:
    return isinstance(t, Call) and t.fn in EQUALITIES and free_vars(t) <= within


def join_of(c: Comprehension, component: frozenset[str], known: Known) -> Join | None:
    """A component of ``c`` by itself; None where it reads a total for a place that it does not tell."""
    types = c.variables()
    inner = tuple(t for t in c.conditions if free_vars(t) <= component and is_total(t, types))
    own = Comprehension(tuple(g for g in c.generators if g[0] in component), inner, Tuple(()))
    if not all(_is_told(c, var, rel, own) for var, rel in own.generators if isinstance(rel, Total)):
        return None
    order = in_one_order(own, NONE)
    variables: dict[str, Elem] = {var: Var(f"x{i}") for i, (var, _) in enumerate(order)}
    generators = tuple((f"x{i}", rel) for i, (_, rel) in enumerate(order))
    alike = Comprehension(generators, tuple(replace_elem(t, variables) for t in inner), Tuple(()))
    name = named(alike, NONE).map.name
    sure = (t for t in _computed(c, component) if is_total(t, types) or known(replace_elem(t, variables), name))
    computed = [*sure]
    around = (*(t for t in c.conditions if t not in inner), *c.times, c.head)
    read = dict.fromkeys(column for t in around for column in columns_read(t, component, types, computed))
    return Join(variables, alike, tuple(read), name)


def _computed(c: Comprehension, component: frozenset[str]) -> Iterator[Elem]:
    """What is computed of a component and compared, or a place is made of."""
    made = (t for _, t in c.head.fields if isinstance(t, Call)) if isinstance(c.head, Tuple) else ()
    compared = (t for t, _ in by_computed(c.conditions, component))
    for t in (*(t for t, _ in sides(c, component, EQUALITIES)), *compared, *made):
        if column_of(t) is None and free_vars(t) and free_vars(t) <= component:
            yield t


def _is_told(c: Comprehension, var: str, rel: Total, own: Comprehension) -> bool:
    """Whether ``own``, which is joined in ``c``, says for which place the total is read."""
    label = Proj(Var(var), "label")
    asked = (t for t in c.conditions if label in {*nodes(t)})
    place = place_told(c, var, rel)
    return place is not None and free_vars(place) <= own.variables().keys() and all(t in own.conditions for t in asked)


def sides(
    c: Comprehension, component: frozenset[str], how: Collection[str] = (*EQUALITIES, *SWAPPED)
) -> Iterator[tuple[Elem, Elem]]:
    """What is compared of a component with something that reads nothing of it, and that."""
    calls = (n for t in c.conditions for n in nodes(t) if isinstance(n, Call) and n.fn in how)
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


def reading_joins(m: Map, found: Mapping[tuple[str, int], Sequence[Join]], made: Mapping[str, Made]) -> Map:
    """``m``, of which products read what is ``made`` of the joins that were ``found`` in them, by map and place."""
    if not any(found[m.name, i] for i, _ in enumerate(m.products)):
        return m
    products = [*m.products]
    for i, _ in enumerate(products):
        for join in found[m.name, i]:
            products[i] = substituted(products[i], made[join.name].factor(join), m)
    return evolve(m, products=tuple(products), term=term(tuple(products), m.made))
