"""Random functional aggregate queries, as text, as SQL and by brute force.

φ(x_F) = ⊕_{x_B} ⊗_S ψ_S(x_S): a factor ψ is a table whose rows have the values of its variables and a weight.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, pairwise, product
from typing import Any

from attrs import evolve, frozen

from support.choices import Choices

ARITY = {"R": 2, "S": 2, "T": 3, "U": 1}  # variables of the factors of a table
COLUMNS = "xyz"
NODES = "N"  # a table of values, around which a query may stand
VALUES = 3  # of each variable
RELATIONS = "\n".join(
    [f"relation {t} : Bag(⟨{', '.join(f'{x}: long' for x in COLUMNS[:n])}, w: long⟩)" for t, n in ARITY.items()]
    + [f"relation {NODES} : Bag(⟨x: long⟩)"]
)
Rows = tuple[int, ...]
Tables = Mapping[str, Sequence[Rows]]


@frozen
class Semiring:
    """⊕ and ⊗, as a fold and an operator in text and in SQL, and in Python; what a weight is in it, and what nothing
    comes to. ``picks``: ⊕ is one of its arguments, so that it has no inverse, and derivations are kept in order."""

    fold: str
    sql: str
    times: str
    stars: str
    plus: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    lift: str = "{}"
    lifted: Callable[[int], Any] = int
    nothing: Any = None
    picks: bool = False


RINGS = {
    "SumProduct": Semiring("sum", "sum({})", " · ", " * ", lambda a, b: a + b, lambda a, b: a * b),
    "MaxProduct": Semiring("max", "max({})", " · ", " * ", max, lambda a, b: a * b, picks=True),
    "MinPlus": Semiring("min", "min({})", " + ", " + ", min, lambda a, b: a + b, picks=True),
    "MaxPlus": Semiring("max", "max({})", " + ", " + ", max, lambda a, b: a + b, picks=True),
    "Reach": Semiring(
        "any", "coalesce(bool_or({}), false)", " and ", " and ",
        lambda a, b: a or b, lambda a, b: a and b, "{} > 2", lambda w: w > 2, nothing=False,
    ),
}  # fmt: skip


@frozen
class Faq:
    """A query: factors by their tables and variables; ``free`` variables are kept. ``inside``: it stands in a nested
    view, in an inner bag of each value that its variable 0 may have, or as one value where none is free."""

    factors: tuple[tuple[str, tuple[int, ...]], ...]
    free: tuple[int, ...]
    inside: bool = False

    @property
    def variables(self) -> tuple[int, ...]:
        return tuple(sorted({v for _, own in self.factors for v in own}))

    @property
    def is_cyclic(self) -> bool:
        """Whether ears can not be taken off until nothing is left (Graham; Yu and Ozsoyoglu)."""
        edges = [set(own) for _, own in self.factors]
        while True:
            many = Counter(v for e in edges for v in e)
            lonely = [{v for v in e if many[v] > 1} for e in edges]
            left = [
                e for i, e in enumerate(lonely) if not any(e < f or (e == f and i < j) for j, f in enumerate(lonely))
            ]
            if left == edges:
                return len(edges) > 1
            edges = left

    # ------------------------------------------------------------ as text, and as SQL

    def text(self, ring: Semiring) -> str:
        """The view as a term of the text language."""
        weights = ring.times.join(ring.lift.format(f"e{i}.w") for i in range(len(self.factors)))
        around = [f"{self._columns(0)[0]} = n.x"] if self.inside else []
        froms = [f"e{i} in {t}" for i, (t, _) in enumerate(self.factors)]
        head = ", ".join([*(f"k{v}: {self._columns(v)[0]}" for v in self.free), f"w: {weights}"])
        rows = f"[⟨{head}⟩ | {', '.join([*froms, *self._equal(), *around])}]"
        if self.free:
            keys = ", ".join(f"k{v}: x.k{v}" for v in self.free)
            found = f"group[g](x in {rows} by {keys} of f: {ring.fold}(x.w))"
            return f"[⟨n: n.x, of: {found}⟩ | n in N]" if self.inside else found
        found = f"{ring.fold}(x.w | x in {rows})"
        return f"[⟨n: n.x, f: {found}⟩ | n in N]" if self.inside else f"[⟨f: {found}⟩ | u in [⟨one: 1⟩]]"

    def sql(self, ring: Semiring) -> str:
        """The same for DuckDB, of a query that stands in no other."""
        weights = ring.stars.join(ring.lift.format(f"e{i}.w") for i in range(len(self.factors)))
        keys = [self._columns(v)[0] for v in self.free]
        froms = ", ".join(f"{t} e{i}" for i, (t, _) in enumerate(self.factors))
        where = f"select {', '.join([*keys, ring.sql.format(weights)])} from {froms} where true"
        return " and ".join([where, *self._equal()]) + (f" group by {', '.join(keys)}" if keys else "")

    def inside_out(self, ring: Semiring, order: Sequence[int]) -> str:
        """The same, variable by variable: factors that have the next one of ``order`` are joined, and it is folded."""
        tables = [_Factor(t, own, COLUMNS, ring.lift.format("{}.w")) for t, own in self.factors]
        for n, v in enumerate(order):
            joined, tables = [f for f in tables if v in f.variables], [f for f in tables if v not in f.variables]
            left = tuple(sorted({u for f in joined for u in f.variables} - {v}))
            if not left:  # nothing is left to fold by
                tables = [*joined, *tables]
                break
            tables.append(_Factor(_folded(joined, left, ring, f"v{n}"), left, [f"k{u}" for u in left], "{}.w"))
        if self.free:
            return _folded(tables, self.free, ring, "last")
        return f"[⟨f: {ring.fold}(x.w | x in {_joined(tables, (), ring)})⟩ | u in [⟨one: 1⟩]]"

    def _columns(self, v: int) -> list[str]:
        return [f"e{i}.{COLUMNS[at]}" for i, (_, own) in enumerate(self.factors) for at, u in enumerate(own) if u == v]

    def _equal(self) -> list[str]:
        return [f"{a} = {b}" for v in self.variables for a, b in pairwise(self._columns(v))]

    # ------------------------------------------------------------ by brute force

    def answers(self, ring: Semiring, tables: Tables) -> Counter[Any]:
        """Rows that the view has, as tuples; inner bags as sets."""
        if self.inside:
            return Counter((n, self._at(ring, tables, n)) for (n,) in tables[NODES])
        return Counter(self._rows(self._sums(ring, tables)))

    def _at(self, ring: Semiring, tables: Tables, n: int) -> Any:
        found = self._sums(ring, tables, n)
        return frozenset(self._rows(found)) if self.free else found[()]

    def _rows(self, found: Mapping[Rows, Any]) -> Iterator[tuple[Any, ...]]:
        yield from ((*key, total) for key, total in found.items())

    def _sums(self, ring: Semiring, tables: Tables, at: int | None = None) -> dict[Rows, Any]:
        """⊕ over all values of all variables, of which 0 may be given; without free ones also of nothing."""
        found: dict[Rows, Any] = {} if self.free else {(): ring.nothing}
        weights = {t: _weights(rows) for t, rows in tables.items()}
        for values in product(range(VALUES), repeat=len(self.variables)):
            env = dict(zip(self.variables, values, strict=True))
            if at is None or env[0] == at:
                lists = [weights[t].get(tuple(env[v] for v in own), ()) for t, own in self.factors]
                for chosen in product(*lists):
                    key, made = tuple(env[v] for v in self.free), reduce(ring.multiply, map(ring.lifted, chosen))
                    known = found.get(key, ring.nothing)
                    found[key] = made if known is None else ring.plus(known, made)
        return found


@frozen
class _Factor:
    """A table, or a term, with a column for each of its variables, and its weight by the name of a row."""

    term: str
    variables: tuple[int, ...]
    columns: Sequence[str]
    weight: str


def _joined(factors: Sequence[_Factor], free: Sequence[int], ring: Semiring) -> str:
    places: dict[int, list[str]] = {}
    for i, f in enumerate(factors):
        for v, column in zip(f.variables, f.columns, strict=False):
            places.setdefault(v, []).append(f"e{i}.{column}")
    equal = [f"{a} = {b}" for own in places.values() for a, b in pairwise(own)]
    weight = ring.times.join(f.weight.format(f"e{i}") for i, f in enumerate(factors))
    head = ", ".join([*(f"k{v}: {places[v][0]}" for v in free), f"w: {weight}"])
    return f"[⟨{head}⟩ | {', '.join([*(f'e{i} in {f.term}' for i, f in enumerate(factors)), *equal])}]"


def _folded(factors: Sequence[_Factor], free: Sequence[int], ring: Semiring, site: str) -> str:
    keys = ", ".join(f"k{v}: x.k{v}" for v in free)
    return f"group[{site}](x in {_joined(factors, free, ring)} by {keys} of w: {ring.fold}(x.w))"


def _weights(rows: Sequence[Rows]) -> dict[Rows, list[int]]:
    """The listing representation: the weights of each value of the variables."""
    found: dict[Rows, list[int]] = {}
    for *values, weight in rows:
        found.setdefault(tuple(values), []).append(weight)
    return found


def random_faq(c: Choices, inside: bool = False, variables: int | None = None, cyclic: bool = False) -> Faq:
    """Two to six variables that hang together, or so many; with factors more that close a cycle, if it is to be
    ``cyclic``."""
    many = max(variables or 2 + c.number(5), 3 if cyclic else 2)
    factors = [_factor(c, (v, c.number(v))) for v in range(1, many)]
    if many > 2 + cyclic and c.one_in(4):
        v = 2 + c.number(many - 2)
        factors.append(("T", (v, v - 1, v - 2)))
    if c.one_in(5):
        factors.append(("U", (c.number(many),)))
    free = tuple(sorted({c.number(many) for _ in range(c.number(3))}))
    found = Faq(tuple(factors), free, inside)
    pairs = [p for p in combinations(range(many), 2) if all({*p} != {*own} for _, own in factors)]
    for at in range(c.number(max(len(pairs), 1)), 2 * len(pairs)):
        if found.is_cyclic or not cyclic:
            break
        found = evolve(found, factors=(*found.factors, _factor(c, pairs[at % len(pairs)])))
    return found


def _factor(c: Choices, ends: tuple[int, int]) -> tuple[str, tuple[int, ...]]:
    return c.pick("RS"), ends if c.number(2) else ends[::-1]


def around(q: Faq) -> Faq:
    """The same query inside of a nested view."""
    return evolve(q, inside=True)


def random_row(c: Choices, table: str) -> Rows:
    values = tuple(c.number(VALUES) for _ in range(ARITY.get(table, 1)))
    return values if table == NODES else (*values, c.number(6))


def named(table: str, row: Rows) -> dict[str, int]:
    """A row as a relation has it."""
    names = ("x",) if table == NODES else (*COLUMNS[: ARITY[table]], "w")
    return dict(zip(names, row, strict=True))
