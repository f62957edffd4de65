"""Sum-of-products plans: what is left of a query when labels and records have become columns.

A product joins stored tables: ``weight · Π times · [ head | sources, conditions ]``. It is engine-neutral: columns in
this process run it (``vector/join.py``), or Spark, and an evaluator over Python rows checks both.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import assert_never

from attrs import evolve, frozen

from ripplenest.nrc.rewriting.access import How, how
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import Base


@frozen(cache_hash=True)
class Col:
    """Column ``column`` of the product's source number ``source``."""

    source: int
    column: int
    type: Base


@frozen(cache_hash=True)
class Const:
    value: object
    type: Base


@frozen(cache_hash=True)
class Op:
    """A scalar function of the table in ``nrc/functions/scalars.py``."""

    fn: str
    args: tuple["Scalar", ...]
    type: Base


Scalar = Col | Const | Op
ByEdge = tuple[int | None, int | None]  # the column that has an upper edge, and the one that has a lower one
CONSTANTS = -1  # the source of the columns that stand for constants (``plan/families.py``)


@frozen
class Source:
    """A stored table in one of its states, with the types of its columns."""

    table: str
    at: At
    types: tuple[Base, ...]


@frozen(cache_hash=True)
class Key:
    """``column`` of the probed source is equated with ``scalar``; ``null_safe`` when NULL equals NULL."""

    column: int
    scalar: Scalar
    null_safe: bool


@frozen(cache_hash=True)
class Edge:
    """``column`` of the source that is read is at most, or at least, ``scalar``."""

    column: int
    scalar: Scalar


@frozen(cache_hash=True)
class Band:
    """Where rows of a source lie that can take part, as ``nrc/rewriting/bands.py`` has it: with a column ``upper``,
    ``lower``, or both, by values of what was read before."""

    upper: Edge | None = None
    lower: Edge | None = None

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(e for e in self.both if e is not None)

    def known(self, sources: Callable[[int], bool]) -> "Band | None":
        """What it is where only some ``sources`` were read before."""
        upper, lower = (e if e is not None and all(map(sources, sources_of(e.scalar))) else None for e in self.both)
        return self if (upper, lower) == self.both else Band(upper, lower) if upper or lower else None

    @property
    def both(self) -> "tuple[Edge | None, Edge | None]":
        return self.upper, self.lower

    @property
    def columns(self) -> ByEdge:
        upper, lower = (None if e is None else e.column for e in self.both)
        return upper, lower


@frozen(cache_hash=True)
class Step:
    """Read ``source``: the whole change, a probe with ``keys`` computed from the rows of ``via``, or a scan.

    Keys of several sources are joined from them; those of the first of ``via`` find all of these rows alone. Keys
    without ``via`` are constants, but for a fold that has a row for every place (``place``): there they say which,
    by all that was read before. ``ready`` and ``guarded`` are the conditions to ask here, as ``Read`` of
    ``nrc/rewriting/access.py`` has them; rows outside of its ``band`` need not be looked at, and not
    be read where it ``is_ranged``, or what is outside of one of those ``beside`` it.
    """

    source: int
    keys: tuple[Key, ...] = ()
    via: tuple[int, ...] = ()
    ready: tuple[Scalar, ...] = ()
    guarded: tuple[Scalar, ...] = ()
    place: bool = False
    band: Band | None = None
    is_ranged: bool = False
    beside: tuple[Band, ...] = ()

    @property
    def asks(self) -> tuple[Scalar, ...]:
        """What says which rows it reads."""
        edges = () if self.band is None else self.band.edges
        return (*(k.scalar for k in self.keys), *(e.scalar for e in edges))

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(k.column for k in self.keys)

    @property
    def alone(self) -> "Step | None":
        """The same by the keys of one source, the first of ``via``; None where each key takes several."""
        keys = tuple(k for k in self.keys if sources_of(k.scalar) <= {*self.via[:1]})
        return evolve(self, keys=keys, via=self.via[:1]) if keys else None


@frozen(slots=False, cache_hash=True)
class Product:
    """``weight`` times the rows ``head`` of every combination of source rows for which all conditions are true.

    A combination counts as often as the product of its rows' weights and of its own ``times`` says, integers that are
    not 0 where all conditions are true. ``steps`` read each source once, in the
    order of ``nrc/rewriting/access.py``; ``cautious_steps`` by no key that can fail. ``partial``: the conditions that
    can fail. ``others``: steps in other orders, among which rows of the change choose, or of the source that a build
    reads first.
    """

    sources: tuple[Source, ...]
    conditions: tuple[Scalar, ...]
    head: tuple[Scalar, ...]
    weight: int
    steps: tuple[Step, ...]
    cautious_steps: tuple[Step, ...]
    partial: tuple[Scalar, ...]
    times: tuple[Scalar, ...] = ()
    others: tuple[tuple[Step, ...], ...] = ()

    @cached_property
    def constant(self) -> tuple[Scalar, ...]:
        """The conditions that read no source."""
        return tuple(c for c in self.conditions if sources_of(c) <= {CONSTANTS})

    def conditions_on(self, *sources: int) -> tuple[Scalar, ...]:
        """The conditions on these sources alone that cannot fail."""
        return tuple(c for c in self.conditions if sources_of(c) == {*sources} and c not in self.partial)

    @cached_property
    def columns_read(self) -> tuple[tuple[int, ...], ...]:
        """By source, the columns on which depends what it makes."""
        return tuple(self._read(i, self.conditions) for i in range(len(self.sources)))

    @cached_property
    def columns_joined(self) -> tuple[tuple[int, ...], ...]:
        """By source, the same of rows that fulfil the conditions on it alone which cannot fail."""
        every = ((i, self.conditions_on(i)) for i in range(len(self.sources)))
        return tuple(self._read(i, [c for c in self.conditions if c not in own]) for i, own in every)

    def _read(self, source: int, conditions: Sequence[Scalar]) -> tuple[int, ...]:
        read = (c for s in (*self.head, *self.times, *conditions) for c in cols(s))
        return tuple(sorted({c.column for c in read if c.source == source}))

    @cached_property
    def keeps_apart(self) -> bool:
        """Whether different combinations have different heads: every column of every source stands in the head, or is
        equated with one that does."""
        known = {(s.source, s.column) for s in self.head if isinstance(s, Col)}
        equal = [((step.source, k.column), k.scalar) for step in self.steps for k in step.keys]
        pairs = [(a, (s.source, s.column)) for a, s in equal if isinstance(s, Col)]
        for _ in pairs:
            known |= {a if b in known else b for a, b in pairs if a in known or b in known}
        every = {(i, column) for i, source in enumerate(self.sources) for column in range(len(source.types))}
        return every <= known

    def how(self, step: Step) -> How:
        """How ``step`` reads its source."""
        return how(self.sources[step.source].at, bool(step.keys))

    def cautious(self) -> "Product":
        """The same product by keys that cannot fail; itself when it has no others."""
        return evolve(self, steps=self.cautious_steps, others=())

    @cached_property
    def orders(self) -> tuple["Product", ...]:
        """The same product in each order among which rows of the change choose: itself, and those in another."""
        return (self, *(evolve(self, steps=steps, others=()) for steps in self.others))

    def behind(self, step: Step) -> tuple[Step, ...]:
        """The steps whose rows the keys of ``step`` come from, directly or by keys of these, in their order."""
        wanted = {i for k in step.keys for i in sources_of(k.scalar)}
        found: list[Step] = []
        for before in reversed(self.steps[: self.steps.index(step)]):
            if before.source in wanted:
                found.append(before)
                wanted.update(i for k in before.keys for i in sources_of(k.scalar))
        return tuple(reversed(found))


@lru_cache(maxsize=1 << 16)
def interned(p: Product) -> Product:
    """One object for equal products, of whatever view, so that who meets both need not compare them."""
    return p


def sources_of(s: Scalar) -> frozenset[int]:
    """The numbers of the sources that a scalar reads."""
    return frozenset(c.source for c in cols(s))


def within(s: Scalar) -> Iterator[Scalar]:
    """A scalar and all that it is made of."""
    yield s
    if isinstance(s, Op):
        for a in s.args:
            yield from within(a)


def cols(s: Scalar) -> Iterator[Col]:
    """Every column that a scalar reads."""
    match s:
        case Col():
            yield s
        case Const():
            return
        case Op(_, args):
            for a in args:
                yield from cols(a)
        case _:
            assert_never(s)
