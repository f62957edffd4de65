"""Rings: what a fold adds up, and how factors are multiplied (Khamis, Ngo, Rudra, FAQ, PODS 2016; Nikolic, Olteanu,
F-IVM, SIGMOD 2018).

A fold over a ring is ⊕_{rows} ⊗_{factors} lift(x). Its values are records of columns, each with a ⊕ of its own: they
are added up, or the greatest or the least is taken, or it is asked whether one or all are true. So the fold is one fold
for each column, of what ⊗ makes of the factors of a row, and rows that go are rows that go: a ring needs no inverse.
The functions of a ring are plain Python, which a view reads as it reads helper functions.
"""

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import isclose
from types import SimpleNamespace
from typing import Any

from attrs import frozen

from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import LawBroken, TypeMismatch

COMBINES: dict[object, str] = {sum: "sum", max: "max", min: "min", any: "any", all: "all"}  # ⊕, and the fold that it is
MEANINGS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "sum": lambda found: sum(found) if found else None,
    "max": lambda found: max(found, default=None),
    "min": lambda found: min(found, default=None),
    "any": any,
    "all": all,
}
CLOSE = 1e-9  # how near doubles are that laws call equal
NEAREST = "@rn.ring on a class with fields `x: T = rn.combine(max)` and the static methods lift(x) and times(a, b)"


@frozen
class Combine:
    """The ⊕ of a column, by the name of its fold."""

    fold: str


def combine(plus: Callable[..., Any]) -> Any:
    """The ⊕ of a column of a ring: ``sum``, ``max``, ``min``, ``any`` or ``all``. Raises TypeMismatch for another."""
    if plus not in COMBINES:
        got = getattr(plus, "__name__", kind(plus))
        raise TypeMismatch("no ⊕ of a column", got=got, possible=[f.__name__ for f in COMBINES])  # type: ignore[attr-defined]
    return Combine(COMBINES[plus])


@frozen
class Column:
    """A column of a ring, its ⊕, and the annotation that says what type it has; Any for that of what is lifted."""

    name: str
    fold: str
    annotation: object = Any


@frozen(eq=False)
class Ring:
    """Columns, what a factor is in them, and how two values are multiplied; and what of a sum is the answer, if that is
    not all of it."""

    name: str
    columns: tuple[Column, ...]
    lift: Callable[..., Any]
    times: Callable[..., Any]
    answer: Callable[..., Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    def value(self, factors: Iterable[Any]) -> SimpleNamespace:
        """⊗ of the lifted factors of a row."""
        return reduce(self.multiplied, (_namespace(self.lift(x), self) for x in factors))

    def multiplied(self, a: SimpleNamespace, b: SimpleNamespace) -> SimpleNamespace:
        """a ⊗ b"""
        return _namespace(self.times(a, b), self)

    def added(self, values: Sequence[SimpleNamespace]) -> SimpleNamespace:
        """⊕ of ``values``, column by column; what is NULL adds nothing."""
        found = {c.name: [v for x in values if (v := getattr(x, c.name)) is not None] for c in self.columns}
        return SimpleNamespace(**{c.name: MEANINGS[c.fold](found[c.name]) for c in self.columns})

    def answered(self, total: SimpleNamespace) -> Any:
        """What a fold gives: its one column, a record of several, or what ``answer`` makes of them."""
        if self.answer is not None:
            return self.answer(total)
        return next(iter(vars(total).values())) if len(self.columns) == 1 else dict(vars(total))


@frozen(eq=False)
class Moments:
    """The ring of degree 2 over variables: how many rows there are, the sum of each variable, and of each product of
    two (F-IVM, section 5.2). Its factors are the variables, in their order. A row of which one is NULL adds nothing, so
    that all sums are over the same n rows, as means and regressions of them need it."""

    variables: tuple[str, ...]

    @property
    def columns(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """By name the fold of each column, and of which factors it is the product."""
        names = self.variables
        pairs = [(i, j) for i in range(len(names)) for j in range(i, len(names))]
        sums = [(name, "sum", (i,)) for i, name in enumerate(names)]
        return (("n", "count", ()), *sums, *((f"{names[i]}_{names[j]}", "sum", (i, j)) for i, j in pairs))

    def of(self, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """The columns of ``rows`` of factors."""
        whole = [row for row in rows if None not in row]
        found: dict[str, Any] = {}
        for name, _, which in self.columns:
            values = [reduce(lambda a, b: a * b, (row[i] for i in which), 1) for row in whole]
            found[name] = len(whole) if not which else sum(values) if whole else None
        return found


@frozen
class RingVariable:
    """A ring that a view leaves open: ``view.over(w=R)`` is the view over R."""

    name: str


def ring_variable(name: str) -> RingVariable:
    """A ring that a view leaves open, to be named by ``view.over``. Raises TypeMismatch for what is no name."""
    if not _is_name(name):
        raise TypeMismatch("a ring variable has a name", got=repr(name), possible=['rn.ring_variable("w")'])
    return RingVariable(name)


def moments(*variables: str) -> Moments:
    """The ring of degree 2 over ``variables``; ``x_y`` is the sum of x · y, from which a linear regression is solved.
    Raises TypeMismatch for names that are no variables, or come twice."""
    if not variables or len(set(variables)) < len(variables) or not all(_is_name(v) for v in variables):
        raise TypeMismatch("moments are of variables with names", got=variables, possible=['rn.moments("x", "y")'])
    found = Moments(variables)
    names = [name for name, *_ in found.columns]
    if taken := sorted({name for name in variables if names.count(name) > 1}):
        what, possible = "a variable of moments is called like a column of them", "another name"
        raise TypeMismatch(what, wanted="none of n, x_x and x_y", got=taken, possible=[possible])
    return found


def _is_name(v: object) -> bool:
    return isinstance(v, str) and v.isidentifier()


def ring(cls: type) -> Ring:
    """A class as a ring: fields with their ⊕, ``p: float = rn.combine(max)``, and static methods ``lift(x)``, which
    makes a dict of a factor, ``times(a, b)``, and ``answer(r)`` if not all columns are wanted.

    Raises TypeMismatch for a class without them.
    """
    if not isinstance(cls, type):
        raise TypeMismatch("a ring is made of a class", got=kind(cls), possible=[NEAREST])
    found = [(name, getattr(cls, name, None)) for name in typing.get_type_hints(cls)]
    odd = [name for name, value in found if not isinstance(value, Combine)]
    missing = [name for name in ("lift", "times") if not callable(getattr(cls, name, None))]
    if odd or missing or not found:
        what = f"the class {cls.__name__} is no ring"
        got = ", ".join([*(f"{n} without a ⊕" for n in odd), *(f"no {n}" for n in missing)]) or "no columns"
        raise TypeMismatch(what, got=got, possible=[NEAREST])
    hints = typing.get_type_hints(cls, include_extras=True)
    columns = tuple(Column(name, c.fold, hints[name]) for name, c in found if isinstance(c, Combine))
    return Ring(cls.__name__, columns, cls.lift, cls.times, getattr(cls, "answer", None))  # type: ignore[attr-defined]


def fold(over: Ring | Moments | RingVariable, rows: Iterable[Any]) -> Any:
    """⊕ over ``rows`` of ⊗ of their factors: a row is one factor, or a tuple of several. NULL of no rows.
    Raises TypeMismatch for what is no ring, and for a variable, which only a view has."""
    if not isinstance(over, Ring | Moments):
        raise TypeMismatch("a fold is over a ring", got=kind(over), possible=["rn.MaxProduct", "@rn.ring"])
    found = [row if isinstance(row, tuple) else (row,) for row in rows]
    if isinstance(over, Moments):
        return over.of(found)
    return over.answered(over.added([over.value(factors) for factors in found]))


def check_ring(over: Ring, values: Iterable[Any]) -> int:
    """The laws of a semiring on all triples of ``values``, which are lifted: ⊗ is associative, and distributes over ⊕
    from both sides. Returns how many were asked. Raises LawBroken with the values that break one."""
    lifted = [over.value([x]) for x in values]
    asked = 0
    for a, b, c in product(lifted, repeat=3):
        for law, left, right in _laws(over, a, b, c):
            asked += 1
            if not _equal(left, right):
                where = f"ring {over.name}, of {vars(a)}, {vars(b)} and {vars(c)}"
                raise LawBroken(law, where=where, wanted=vars(left), got=vars(right))
    return asked


Law = tuple[str, SimpleNamespace, SimpleNamespace]


def _laws(r: Ring, a: SimpleNamespace, b: SimpleNamespace, c: SimpleNamespace) -> Iterator[Law]:
    times, plus = r.multiplied, r.added
    yield "(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)", times(times(a, b), c), times(a, times(b, c))
    yield "a ⊗ (b ⊕ c) = a ⊗ b ⊕ a ⊗ c", times(a, plus([b, c])), plus([times(a, b), times(a, c)])
    yield "(a ⊕ b) ⊗ c = a ⊗ c ⊕ b ⊗ c", times(plus([a, b]), c), plus([times(a, c), times(b, c)])


def _equal(a: SimpleNamespace, b: SimpleNamespace) -> bool:
    pairs = [(vars(a)[name], vars(b)[name]) for name in vars(a)]
    return all(
        isclose(x, y, rel_tol=CLOSE) if isinstance(x, float) and isinstance(y, float) else x == y for x, y in pairs
    )


def _namespace(made: object, of: Ring) -> SimpleNamespace:
    if not isinstance(made, Mapping) or set(made) != set(of.names):
        got = ", ".join(map(str, made)) if isinstance(made, Mapping) else kind(made)
        what = f"lift and times of the ring {of.name} make a dict of its columns"
        raise TypeMismatch(what, wanted=", ".join(of.names), got=got)
    return SimpleNamespace(**made)


# ---------------------------------------------------------------- rings that there are


def _itself(x):  # type: ignore[no-untyped-def]
    return {"value": x}


def _product(a, b):  # type: ignore[no-untyped-def]
    return {"value": a.value * b.value}


def _sum(a, b):  # type: ignore[no-untyped-def]
    return {"value": a.value + b.value}


def _both(a, b):  # type: ignore[no-untyped-def]
    return {"value": a.value and b.value}


def _numbers(name: str, plus: str, times: Callable[..., Any]) -> Ring:
    return Ring(name, (Column("value", plus),), _itself, times)


MaxProduct = _numbers("MaxProduct", "max", _product)
"""The greatest product: of probabilities, that of the likeliest explanation."""
MinPlus = _numbers("MinPlus", "min", _sum)
"""The least sum: of lengths, that of the shortest path."""
MaxPlus = _numbers("MaxPlus", "max", _sum)
"""The greatest sum: of times, that of the longest chain."""
SumProduct = _numbers("SumProduct", "sum", _product)
"""The sum of products: of matrices, an entry of their product."""
Reach = Ring("Reach", (Column("value", "any", bool),), _itself, _both)
"""Whether there is a row all of whose factors are true."""
