"""The products of a level together: what several of them read alike is joined once.

Theory of operation. Combinations of rows are a function of the steps that made them: which inputs they read, by which
keys and under which conditions. So steps that agree in these from the first one on are made once
(``combinations.py``), for products of different views and of one. Products that differ in nothing but constants
(``plan/families.py``) are one join with the table of their constants, which comes in where a scalar first reads it, so
that what is before that is shared with other families; then combinations stay in the order of members, and the head is
cut into theirs.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ripplenest.data import columnar
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.data.sums import summed
from ripplenest.nrc.types import LONG
from ripplenest.plan.families import member
from ripplenest.plan.product import CONSTANTS, Const, Product, Scalar, Step, sources_of
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.combinations import Combinations
from ripplenest.vector.computed import with_computed
from ripplenest.vector.join import head, parts
from ripplenest.vector.unread import without_unread

TOGETHER = 2**17  # rows that members of a family join at once; where each has many, there is nothing to gain
MANY = 2**21  # combinations at once: several columns of such numbers stay in the cache of a processor
COMBINED = 512  # bytes of memory for each of them
NO_INPUTS: Mapping[int, tuple[Rows, Input]] = {}
Asked = tuple[Product, Sequence[Rows]]  # a product, and the rows of its sources


def joined(
    asked: Sequence[Asked], room: Room, combinations: Combinations | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of products as they come, some at a time, each with the number of its product: the head's columns c0…,
    and w. Some of their ``combinations`` may be known.

    Law: those that it has alone. Raises EvaluationError where a product has no value.
    """
    joins = Joins(room, combinations=combinations)
    families: dict[Hashable, tuple[Product, Sequence[Rows], dict[tuple[Const, ...], list[int]]]] = {}
    for place, (p, sources) in enumerate(asked):
        own = member(p)
        key = (id(own.family), *map(id, sources))
        _, _, members = families.setdefault(key, (own.family, sources, {}))
        members.setdefault(own.constants, []).append(place)
    for family, sources, members in families.values():
        every, most = list(members), max(1, TOGETHER // (1 + sum(map(len, sources))))
        for several in (every[i : i + most] for i in range(0, len(every), most)):
            if len(several) == 1:
                places = members[several[0]]
                for table in joins.alone(asked[places[0]][0], sources):
                    yield from ((place, table) for place in places)
            else:
                for constants, rows in zip(several, joins.together(family, sources, several), strict=True):
                    if rows is not None:
                        yield from ((place, rows) for place in members[constants])


class Joins:
    """The products of one level, by inputs and ``combinations`` that they share."""

    def __init__(
        self,
        room: Room,
        inputs: Mapping[int, tuple[Rows, Input]] = NO_INPUTS,
        combinations: Combinations | None = None,
    ) -> None:
        self._room, self._most = room, min(MANY, room.memory // COMBINED)
        self._inputs: dict[int, tuple[Rows, Input]] = dict(inputs)
        self._combinations = Combinations() if combinations is None else combinations

    def alone(self, p: Product, sources: Sequence[Rows]) -> Iterator[pa.Table]:
        """The rows of one product; of one that reads many, those of a chunk of its first source at a time."""
        count = max((-(-len(rows) // self._room.rows(rows.types)) for rows in sources), default=0)
        if p.steps and count > 1:
            yield from self._chunked(p, sources, p.steps[0].source, count)
            return
        yield from self._rows(p, sources, self._started(p, None), 0)

    def _rows(
        self, p: Product, sources: Sequence[Rows], binding: Binding, at: int, is_fewer: bool = False
    ) -> Iterator[pa.Table]:
        """The rows of what is read up to step number ``at``; of a step of very many combinations a part at a time, or
        of fewer rows, without what is not read of them."""
        for i, step in enumerate(p.steps[at:], at):
            asked = with_computed(p, binding, step, self._input(sources[step.source]))
            some = parts(binding, *asked, self._most) if len(binding) else []
            if len(some) != 1:
                fewer = without_unread(p, sources, self._room) if some and not at and not is_fewer else None
                if fewer is not None:
                    yield from Joins(self._room)._rows(p, fewer, self._started(p, None), 0, is_fewer=True)
                    return
                for part in some:
                    yield from Joins(self._room, self._inputs)._rows(p, sources, part, i)
                    self._room.release()
                return
            binding = self._fulfilling(self._combinations.extended(binding, *asked), p, step.ready, None)
        binding = self._ended(p, binding, None)
        if len(binding):
            yield head(p, binding)

    def _chunked(self, p: Product, sources: Sequence[Rows], first: int, count: int) -> Iterator[pa.Table]:
        """p(c₁ ⊎ c₂ ⊎ …, …) = p(c₁, …) ⊎ p(c₂, …) ⊎ …: a product is linear in each of its sources."""
        others = {id(rows): (rows, self._input(rows)) for i, rows in enumerate(sources) if i != first}
        for chunk in columnar.chunks(summed(sources[first], self._room), count):
            own = Joins(self._room, others)
            given = [chunk if i == first else rows for i, rows in enumerate(sources)]
            yield from own._rows(p, given, own._started(p, None), 0)
            self._room.release()

    def together(
        self, family: Product, sources: Sequence[Rows], members: Sequence[tuple[Const, ...]]
    ) -> list[pa.Table | None]:
        """The rows of each of ``members``."""
        constants = _table(members)
        binding = self._with_constants(self._bound(family, sources, constants), constants)
        if not len(binding):
            return [None] * len(members)
        rows = head(family, binding)
        ends = np.searchsorted(binding.places(CONSTANTS), np.arange(len(members) + 1))
        return [rows.slice(a, b - a) if b > a else None for a, b in pairwise(ends.tolist())]

    def _bound(self, p: Product, sources: Sequence[Rows], constants: Input | None) -> Binding:
        """The combinations of rows for which every condition of ``p`` is true."""
        binding = self._started(p, constants)
        for step in p.steps:
            if not len(binding):
                return binding
            binding = self._read(p, binding, step, sources, constants)
        return self._ended(p, binding, constants)

    def _started(self, p: Product, constants: Input | None) -> Binding:
        return self._fulfilling(self._combinations.nothing, p, [c for c in p.constant if c not in p.partial], constants)

    def _read(
        self, p: Product, binding: Binding, step: Step, sources: Sequence[Rows], constants: Input | None
    ) -> Binding:
        binding = self._reading(binding, step.asks, constants)
        asked = with_computed(p, binding, step, self._input(sources[step.source]))
        binding = self._combinations.extended(binding, *asked)
        return self._fulfilling(binding, p, step.ready, constants)

    def _ended(self, p: Product, binding: Binding, constants: Input | None) -> Binding:
        last = p.steps[-1].guarded if p.steps else ()
        return self._fulfilling(binding, p, [*last, *(c for c in p.constant if c in p.partial)], constants)

    def _input(self, rows: Rows) -> Input:
        if id(rows) not in self._inputs:
            self._inputs[id(rows)] = (rows, Input.of(summed(rows, self._room)))
        return self._inputs[id(rows)][1]

    def _fulfilling(
        self, binding: Binding, p: Product, conditions: Sequence[Scalar], constants: Input | None
    ) -> Binding:
        """The combinations for which every condition is true: those that read no constant first, which others may
        share, unless one of them can fail and so must be asked with all others."""
        others = list(conditions)
        if constants is not None and not any(c in p.partial for c in conditions):
            binding = self._combinations.where(binding, [c for c in conditions if not _is_own(c)])
            others = [c for c in conditions if _is_own(c)]
        return self._combinations.where(self._reading(binding, others, constants), others)

    def _reading(self, binding: Binding, scalars: Sequence[Scalar], constants: Input | None) -> Binding:
        """``binding`` with the constants, if one of ``scalars`` reads them."""
        if constants is None or not any(map(_is_own, scalars)):
            return binding
        return self._with_constants(binding, constants)

    def _with_constants(self, binding: Binding, constants: Input) -> Binding:
        """Each combination for each member, in the order of members."""
        if binding.reads(CONSTANTS):
            return binding
        n, members = len(binding), len(constants)
        every, each = np.tile(np.arange(n), members), np.repeat(np.arange(members), n)
        key = (id(binding), id(constants))
        made = lambda: binding.extended(every, CONSTANTS, constants, each)  # noqa: E731
        return self._combinations.once(key, (binding, constants), made)


@lru_cache(maxsize=1 << 16)
def _is_own(s: Scalar) -> bool:
    """Whether a scalar of a family is another one for each member."""
    return CONSTANTS in sources_of(s)


def _table(members: Sequence[tuple[Const, ...]]) -> Input:
    """The constants of each of ``members``, after its number."""
    types = (LONG, *(c.type for c in members[0]))
    return Input.of(Rows.of_pairs(types, [((i, *(c.value for c in own)), 1) for i, own in enumerate(members)]))
