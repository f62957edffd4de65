"""What is left of a delta's product when its updates are taken out, as maps: factors of the join graph.

Theory of operation. A product of a delta joins updates with stored parts. With the updates' columns fixed, the other
generators fall into components: two belong together when a condition connects them other than through an update
(nrc-ivm, section 4.1: "factorise into subexpressions that depend on ΔR, and subexpressions that do not"). Each
component is a query of its own: its generators, the conditions on it alone, and the columns that the rest of the
product still needs; multiplicities of equal rows add up. Two components that differ in names of variables or in the
order of generators are one map. When you touch this: a condition that can fail stays outside, because a map evaluates
it for rows that no update meets, and so do times, whose product could be beyond 64 bits there; and a component must
read all its parts as of one moment. Rows that are asked for by what is computed of them may be a map by themselves, if
their component is none. Where rows are asked for by what is computed of them (``lower(e.mail)``, the start
of a window), a map holds it as a column, by which they are found: of what can fail, if the same rows compute it anyway,
as those of a group by it do. Products of columns that the reader only adds up (``delta/added.py``) are summed in
the map, which so has rows in proportion to what they are summed by.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, permutations, product
from typing import assert_never

from attrs import evolve, field, frozen

from ripplenest.cost.estimate import Keys, column_names, is_one
from ripplenest.delta.added import added, replaced
from ripplenest.delta.program import Map, MapKind
from ripplenest.delta.texts import Said, Text, oriented
from ripplenest.nrc.functions.folds import kept_sum
from ripplenest.nrc.functions.scalars import SCALARS
from ripplenest.nrc.paths import column_of, columns_read, map_columns, root
from ripplenest.nrc.rewriting.normal import Comprehension, is_total, term
from ripplenest.nrc.syntax import At, Call, Elem, InL, IsSite, Lit, OutL, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Record, Type
from ripplenest.nrc.walk import Names, free_vars, replace_elem

MAX_ORDERS = 120  # orders of generators that are tried to find the canonical one
TEXT = Text()
Generator = tuple[str, Rel]


@frozen
class Factor:
    """A component of a product that could be a map: the variables of its generators, and which of the map's fields
    stands for which column of them, and for the values at which places that the reader folds. ``at`` is the moment of
    the statement's own part that it reads."""

    variables: frozenset[str]
    fields: tuple[tuple[Elem, str], ...]
    folded: tuple[tuple[int, str], ...]
    map: Map
    at: At


def factors(c: Comprehension, part: str, reader: Map, asked: "Computed") -> Iterator[Factor]:
    """The components of a product of δ_part(``reader``) that say less than a stored part does, or hold what is computed
    of it; none is ``mixed``."""
    for component, computed in _with_computed(c, asked):
        moment = next((rel.at for var, rel in c.generators if var in component and rel.name == part), At.OLD)
        found = factor_of(c, component, moment, reader, computed)
        if found is not None:
            yield found


def _with_computed(c: Comprehension, asked: "Computed") -> Iterator[tuple[frozenset[str], tuple[Elem, ...]]]:
    """The components of ``c``, and what is computed of each by which it is asked for; behind them rows alone that are
    asked for like this. No map reads a fold that has a row for every place, as it would have no end."""
    totals = {var for var, rel in c.generators if isinstance(rel, Total)}
    for component in components(c):
        if not component & totals:
            yield component, asked.keys(c, component)
        rest = [var for var, _ in c.generators if var in component - totals] if len(component) > 1 else []
        for alone in (frozenset((var,)) for var in rest):
            if computed := tuple(t for t in asked.keys(c, alone) if isinstance(t, Call)):  # parts of labels tell places
                yield alone, computed


def mixed(c: Comprehension, part: str) -> str | None:
    """A generator R⁺ of the changed part in a component that also reads R; None when there is none."""
    for component in components(c):
        own = [(var, rel.at) for var, rel in c.generators if var in component and rel.name == part]
        if {at for _, at in own} == {At.OLD, At.NEW}:
            return next(var for var, at in own if at is At.NEW)
    return None


def expanded(c: Comprehension, var: str) -> tuple[Comprehension, Comprehension]:
    """R⁺ = R ⊎ ΔR for one generator."""
    return _reading(c, var, At.OLD), _reading(c, var, At.DELTA)


def _reading(c: Comprehension, var: str, at: At) -> Comprehension:
    generators = tuple((v, evolve(rel, at=at) if v == var else rel) for v, rel in c.generators)
    return evolve(c, generators=generators)


def components(c: Comprehension) -> list[frozenset[str]]:
    """The connected components of the join graph without updates, in the order of the generators."""
    import networkx as nx  # noqa: PLC0415 - where programs are made, and not where rows of them are read

    stored = [var for var, rel in c.generators if rel.at is not At.DELTA]
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(stored)
    for condition in c.conditions:
        if is_total(condition, c.variables()):
            nx.add_path(graph, [var for var in stored if var in free_vars(condition)])
    return [frozenset(found) for found in nx.connected_components(graph)]


def substituted(c: Comprehension, factor: Factor, reader: Map) -> Comprehension:
    """``c``, a product of ``reader``, reading the map in the place of its component."""
    var = Names(frozenset(c.variables())).fresh("y")
    columns: Mapping[Elem, Elem] = {column: Proj(Var(var), field) for column, field in factor.fields}
    types = c.variables()

    def read(t: Elem) -> Elem:
        return map_columns(t, factor.variables, types, lambda column: columns[column], computed)

    computed = tuple(t for t in columns if column_of(t) is None)
    generators = tuple((v, rel) for v, rel in c.generators if v not in factor.variables)
    conditions = tuple(read(t) for t in c.conditions if not _inside(t, factor.variables, types))
    source = Rel(factor.map.name, factor.map.row, factor.at)
    head = read(replaced(reader, c.head, {i: Proj(Var(var), field) for i, field in factor.folded}))
    times = tuple(map(read, c.times))
    return evolve(c, generators=(*generators, (var, source)), conditions=conditions, head=head, times=times)


def _inside(t: Elem, component: frozenset[str], types: Mapping[str, Type]) -> bool:
    """True for a condition that the map itself makes true."""
    return free_vars(t) <= component and is_total(t, types)


Known = tuple[str, frozenset[Elem], Elem]  # of the rows of a part, under these conditions, a value
ANY = Var("·")  # a row of the part


@frozen
class Computed:
    """What is computed of rows of parts anyway, or of those that are ``joined``, by the name of its map: who has it by
    itself does not fail where nobody did. And by part which columns are ``unique``."""

    known: frozenset[Known] = frozenset()
    joined: frozenset[str] = frozenset()
    unique: Keys = field(factory=dict, eq=False)

    @classmethod
    def of(cls, maps: Iterable[Map], unique: Keys) -> "Computed":
        """By products that read one part alone, or beside maps whose one row is always there; and by joins."""
        known = tuple(maps)
        always = {m.name for m in known if m.products and not any(c.generators or c.conditions for c in m.products)}
        products = [c for m in known for c in m.products]
        joined = frozenset(name for c in products for name in _computed_of_joins(c))
        return cls(frozenset(found for c in products for found in _computed(c, always)), joined, unique)

    def keys(self, c: Comprehension, component: frozenset[str]) -> tuple[Elem, ...]:
        """What rows of a component are asked for by, where that is computed of them, and no columns that find one row
        are asked for: only a map that holds it can be looked up."""
        asked = [t for condition in c.conditions for t in _asked_for(condition, component)]
        columns = [t for t in asked if column_of(t) is not None]
        if any(self._is_one(var, columns, c) for var in component):
            return ()
        found = (t for t in asked if t not in columns and self.has(t, c, component))
        return tuple(dict.fromkeys(found))

    def has(self, t: Elem, c: Comprehension, component: frozenset[str]) -> bool:
        """Whether ``t`` has a value for all rows of a component, whatever these are joined with."""
        return is_total(t, c.variables()) or (bool(component) and self._has(t, c, component))

    def _is_one(self, var: str, columns: Iterable[Elem], c: Comprehension) -> bool:
        rel = next(rel for v, rel in c.generators if v == var)
        asked = frozenset(name for t in columns if root(t) == var for name in column_names(t, c))
        return bool(asked) and is_one(rel, asked, self.unique)

    def _has(self, t: Elem, c: Comprehension, component: frozenset[str]) -> bool:
        inner = [p for p in c.conditions if _inside(p, component, c.variables())]
        if len(component) > 1:
            generators = tuple(g for g in c.generators if g[0] in component)
            return _of_join(Comprehension(generators, tuple(inner), Tuple(())), t) in self.joined
        (var,) = component
        part = next(rel.name for v, rel in c.generators if v == var)
        own = frozenset(_of_row(p, var) for p in inner)
        value = _of_row(t, var)
        return any(part == name and value == v and conditions <= own for name, conditions, v in self.known)


def _computed(c: Comprehension, always: Collection[str]) -> Iterator[Known]:
    match [(var, rel) for var, rel in c.generators if rel.name not in always]:
        case [(var, rel)]:
            conditions = frozenset(_of_row(t, var) for t in c.conditions)
            for t in _worked_out(c.head):
                if free_vars(t) == {var}:
                    yield rel.name, conditions, _of_row(t, var)


def _computed_of_joins(c: Comprehension) -> Iterator[str]:
    types = c.variables()
    if len(types) > 1:
        rows = evolve(c, head=Tuple(()))
        yield from (_of_join(rows, t) for t in _worked_out(c.head) if not is_total(t, types))


def _of_join(rows: Comprehension, *of: Elem) -> str:
    """The name of the map of what is ``of`` joined rows, as they are stored."""
    generators = tuple((var, evolve(rel, at=At.OLD)) for var, rel in rows.generators)
    return named(evolve(rows, generators=generators), Columns.of(of, ())).map.name


def _worked_out(t: Elem) -> Iterator[Call]:
    """The calls in ``t`` that are worked out for every row: of ``a if p else b`` neither side is."""
    asked: Iterable[Elem] = ()
    match t:
        case Call(fn, args):
            yield t
            asked = args[:1] if SCALARS[fn].lazy else args
        case Tuple(fields) | InL(_, fields):
            asked = (own for _, own in fields)
        case Proj(of) | OutL(of) | IsSite(of):
            asked = (of,)
        case Var() | Lit():
            pass
        case _:
            assert_never(t)
    for own in asked:
        yield from _worked_out(own)


def _of_row(t: Elem, var: str) -> Elem:
    return replace_elem(t, {var: ANY})


def _asked_for(condition: Elem, component: frozenset[str]) -> Iterator[Elem]:
    """The side of an equality that reads the component, where the other one reads other rows."""
    match condition:
        case Call("eq" | "same", (a, b)):
            for own, other in ((a, b), (b, a)):
                read = free_vars(own)
                if read and read <= component and free_vars(other) and not free_vars(other) & component:
                    yield own


def factor_of(
    c: Comprehension, component: frozenset[str], at: At, reader: Map, computed: tuple[Elem, ...] = ()
) -> Factor | None:
    """A component of ``c``, a product of ``reader``, as of a moment, with what is ``computed`` of its rows; None when
    it says as much as a stored part."""
    types = c.variables()
    inner = tuple(t for t in c.conditions if _inside(t, component, types))
    around = (*(t for t in c.conditions if t not in inner), *c.times)
    head = added(reader, c.head, component, types, _columns(around, component, types, computed))
    needed = _columns((*around, *head.rest), component, types, computed)
    generators = tuple((var, evolve(rel, at=At.OLD)) for var, rel in c.generators if var in component)
    if len(generators) == 1 and not inner and not computed and _covers(needed, generators[0]):
        return None
    monomials = {m: tuple(head.values[i] for i in m) for m in head.summed}
    made = named(Comprehension(generators, inner, Tuple(())), Columns.of(needed, monomials.values()))
    folded = {i: field for m, factors in monomials.items() for i, field in zip(m, made.factors(factors), strict=True)}
    return Factor(component, made.kept, tuple(folded.items()), made.map, at)


def _columns(
    terms: Iterable[Elem], component: frozenset[str], types: Mapping[str, Type], computed: Collection[Elem]
) -> tuple[Elem, ...]:
    """Every column of the component that ``terms`` read, what is ``computed`` of them among these."""
    return tuple(dict.fromkeys(column for t in terms for column in columns_read(t, component, types, computed)))


def _covers(needed: Collection[Elem], generator: tuple[str, Rel]) -> bool:
    """True when every column of the stored part is needed: the map would be that part."""
    var, rel = generator
    return {*columns_read(Var(var), frozenset((var,)), {var: rel.row})} <= {*needed}


# ---------------------------------------------------------------- one name for equal maps


@frozen
class Columns:
    """The columns of a component that the rest of a product needs: as they are, or as factors of what is ``summed``."""

    kept: tuple[Elem, ...]
    summed: tuple[tuple[Elem, ...], ...]

    @classmethod
    def of(cls, kept: Sequence[Elem], monomials: Iterable[Sequence[Elem]]) -> "Columns":
        """Of equal products one."""
        return cls(tuple(kept), tuple(dict.fromkeys(tuple(sorted(m, key=repr)) for m in monomials)))

    @property
    def every(self) -> tuple[Elem, ...]:
        return (*self.kept, *(t for monomial in self.summed for t in monomial))


@frozen
class Named:
    """A map, and which of its fields stands for which column: of those that are kept, and of the factors of each
    product that is summed."""

    map: Map
    kept: tuple[tuple[Elem, str], ...]
    summed: tuple[tuple[tuple[Elem, str], ...], ...]

    def factors(self, wanted: Sequence[Elem]) -> Sequence[str]:
        """The fields of the factors ``wanted`` of a product."""
        own = next(m for m in self.summed if Counter(t for t, _ in m) == Counter(wanted))
        fields = {t: [field for column, field in own if column == t] for t in wanted}
        return [fields[t].pop() for t in wanted]


def named(c: Comprehension, columns: Columns) -> Named:
    """The map of a component: equal components give equal maps, whatever their variables are called."""
    order = in_one_order(c, columns)
    said = _said(c, {var: i for i, (var, _) in enumerate(order)})
    names = Names()
    variables: dict[str, Elem] = {var: Var(names.fresh(_hint(rel.name))) for var, rel in order}
    fields = Names()

    def named(terms: Sequence[Elem]) -> tuple[tuple[Elem, str], ...]:
        return tuple((t, fields.fresh(t.field if isinstance(t, Proj) else "value")) for t in _ranked(terms, said))

    kept = named(columns.kept)
    summed = tuple(map(named, sorted(columns.summed, key=lambda m: _texts(m, said))))
    head = (*kept, *(factor for monomial in summed for factor in monomial))
    made = Comprehension(
        tuple((_name(variables[var]), rel) for var, rel in order),
        tuple(replace_elem(oriented(t, said), variables) for t in _ranked(c.conditions, said)),
        Tuple(tuple((name, replace_elem(t, variables)) for t, name in head)),
    )
    return Named(_map(made, tuple(tuple(name for _, name in monomial) for monomial in summed)), kept, summed)


def in_one_order(c: Comprehension, columns: Columns) -> tuple[Generator, ...]:
    """The generators of a component in an order that is the same for equal ones."""
    return min(_orders(c, columns), key=lambda order: _signature(c, columns, order))


def joined_rows(c: Comprehension) -> str:
    """What rows a product joins, whatever it makes of them: equal products give equal texts."""
    return _of_join(evolve(c, head=Tuple(())))


def map_of(c: Comprehension, factors: Sequence[Sequence[str]]) -> Map:
    """The map of what ``c`` makes, which sums products of the fields ``factors``."""
    assert isinstance(c.head, Tuple)
    summed = {name for monomial in factors for name in monomial}
    row = dict(c.head.fields)
    kept = [t for name, t in row.items() if name not in summed]
    return named(evolve(c, head=Tuple(())), Columns.of(kept, ([row[name] for name in m] for m in factors))).map


def _map(c: Comprehension, summed: tuple[tuple[str, ...], ...]) -> Map:
    types = c.variables()
    assert isinstance(c.head, Tuple)
    made = Record(tuple((name, elem_type(t, types)) for name, t in c.head.fields))
    factors = {name for monomial in summed for name in monomial}
    row = Record(tuple((name, _kept(t) if name in factors else t) for name, t in made.fields))
    sums = [[row.names.index(name) for name in monomial] for monomial in summed]
    text = repr((TEXT.product(c), TEXT.type(row), sums))
    name = f"M/{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return Map(name, MapKind.AUXILIARY, row, term((c,), made), (c,), summed=summed)


def _kept(t: Type) -> Base:
    """The type of a column that is summed."""
    found = kept_sum(t) if isinstance(t, Base) else None
    assert found is not None
    return found


def _orders(c: Comprehension, columns: Columns) -> Iterator[tuple[Generator, ...]]:
    """The orders of the generators by what they look like."""
    looks = {g: _look(g, c, columns) for g in c.generators}
    return orders(c.generators, looks.__getitem__)


Look = Callable[[Generator], tuple[str, ...]]


def orders(generators: Sequence[Generator], look: Look) -> Iterator[tuple[Generator, ...]]:
    """The generators by their looks, in all orders of those that look alike, up to a limit, above which equal products
    may get two names."""
    groups = [permutations(tuple(group)) for _, group in groupby(sorted(generators, key=look), key=look)]
    for order in islice(product(*(islice(group, MAX_ORDERS) for group in groups)), MAX_ORDERS):
        yield tuple(g for group in order for g in group)


def _look(g: Generator, c: Comprehension, columns: Columns) -> tuple[str, ...]:
    """The part of a generator and the terms about it, with the others known by their parts only."""
    said = _said(c, {var: "own" if var == g[0] else rel.name for var, rel in c.generators})
    own = (t for t in (*c.conditions, *columns.every) if g[0] in free_vars(t))
    return (g[1].name, *sorted(_text(t, said) for t in own))


def _signature(c: Comprehension, columns: Columns, order: tuple[Generator, ...]) -> tuple[str, ...]:
    said = _said(c, {var: i for i, (var, _) in enumerate(order)})
    products = sorted("·".join(_texts(m, said)) for m in columns.summed)
    return ("", *_texts(c.conditions, said), "", *_texts(columns.kept, said), "", *products)


def _said(c: Comprehension, place: Mapping[str, object]) -> Said:
    """How terms of ``c`` are told apart, whose variables are known by their ``place``."""
    types = c.variables()
    return lambda t: TEXT.elem(t, types, place)


def _ranked(terms: Sequence[Elem], said: Said) -> list[Elem]:
    return sorted(terms, key=lambda t: _text(t, said))


def _texts(terms: Sequence[Elem], said: Said) -> list[str]:
    return sorted(_text(t, said) for t in terms)


def _text(t: Elem, said: Said) -> str:
    return said(oriented(t, said))


def _hint(part: str) -> str:
    last = part.rsplit(".", maxsplit=1)[-1].lower()
    return last if last.isidentifier() else "x"


def _name(t: Elem) -> str:
    assert isinstance(t, Var)
    return t.name
