"""What the statements of a level ask of the state at the same time is asked together.

Which keys a source is asked for is known when those before it were read. So each product is a *work* that asks, waits
and goes on with the answer, and all works of a level go on together, round by round. In a round there is one probe for
each table and columns that are asked: the lists that close a cycle, or statements of several views, search one index
for all of their keys at once, and find rows that have one index of their own (``vector/binding.py``).

A work is given what all of a probe asked for, its own rows among them: who joins looks them up by its own keys. To
ask costs as much as some thousand rows, so many keys are asked alone, and nobody is given many rows of others.
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from attrs import frozen

from ripplenest.data.index import Columns, Places
from ripplenest.data.rows import Rows, arrow_schema

T = TypeVar("T")
TOGETHER = 1 << 14  # keys that are looked up at once, if several ask


@frozen(eq=False)
class Lookup:
    """The rows of ``table`` whose ``columns`` are one of ``keys``; if ``counted``, only how many each key has."""

    table: str
    columns: Columns
    keys: Rows
    counted: bool = False

    @property
    def kind(self) -> Hashable:
        """Lookups of one kind can be one probe."""
        return self.table, self.columns, self.counted, arrow_schema(self.keys.types)

    @property
    def name(self) -> Hashable:
        """The same for lookups of the same keys."""
        return "looked up", self.table, self.columns, id(self.keys)


@frozen(eq=False)
class Looked:
    """What is found of a table: all ``rows`` of it that have one of ``keys``."""

    rows: Rows
    keys: Rows

    def __len__(self) -> int:
        return len(self.rows) + len(self.keys)


Work = Generator[Lookup, Any, T]  # asks; is sent ``Looked``, or how many by key; returns


def in_step(works: Iterable[Work[T]], answer: Callable[[Sequence[Lookup]], Sequence[object]]) -> list[T]:
    """What each of ``works`` returns; ``answer`` is asked what all of them ask in a round.

    Law: what each returns alone, if an answer may have more rows than were asked for.
    """
    every = [*works]
    done: dict[int, T] = {}
    told: Iterable[tuple[int, object]] = [(i, None) for i in range(len(every))]
    while True:
        asked: dict[int, Lookup] = {}
        for i, said in told:
            try:
                asked[i] = every[i].send(said)
            except StopIteration as end:
                done[i] = end.value
        if not asked:
            return [done[i] for i in range(len(every))]
        told = zip(asked, answer([*asked.values()]), strict=True)


def by_kind(asked: Sequence[Lookup]) -> Iterator[list[int]]:
    """The numbers of lookups of one kind."""
    found: dict[Hashable, list[int]] = {}
    for i, lookup in enumerate(asked):
        found.setdefault(lookup.kind, []).append(i)
    yield from found.values()


def sharing(asked: Sequence[Lookup]) -> Iterator[tuple[Rows, Sequence[Lookup]]]:
    """Lookups of one kind by what is one probe, with its keys: all, or those of the same keys where these are too many
    together."""
    by_keys: dict[int, list[Lookup]] = {}
    for lookup in asked:
        by_keys.setdefault(id(lookup.keys), []).append(lookup)
    each = [own[0].keys for own in by_keys.values()]
    if each and sum(map(len, each)) <= TOGETHER:
        yield each[0].plus(*each[1:]), asked
    else:
        yield from zip(each, by_keys.values(), strict=True)


def counts_of(asked: Sequence[Lookup], many: Callable[[Rows], Places]) -> list[Places]:
    """How many rows each key of each lookup has, of one kind; ``many`` says it of all keys."""
    first, *others = (lookup.keys for lookup in asked)
    found = many(first.plus(*others))
    ends = np.cumsum([0, *(len(lookup.keys) for lookup in asked)]).tolist()
    return [found[a:b] for a, b in pairwise(ends)]
