"""Products of a statement that differ in names and in the order of generators alone are one, which counts as often.

    δ(R ⋈ R) = ΔR ⋈ R ⊎ R⁺ ⋈ ΔR = 2·(ΔR ⋈ R) ⊎ ΔR ⋈ ΔR        where R ⋈ R is the same from both sides

Theory of operation. A self join that looks alike from several of its generators, as a triangle does from each edge, has
a product for the change of each of them; these differ in the moments at which they read R. By R⁺ = R ⊎ ΔR all read it
as it is before, and are one product; the others join several changes, and read less. So R is looked up by the change
once, and not once for each generator. What can fail stays as it is: R and ΔR have rows that R⁺ has not.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from attrs import evolve

from ripplenest.delta.factor import Generator, expanded, orders
from ripplenest.delta.texts import EQUATIONS, Text, oriented
from ripplenest.nrc.rewriting.normal import Comprehension, is_total
from ripplenest.nrc.syntax import At, Elem, Rel

MOST = 32  # products that a statement may have meanwhile
JOINED = 6  # generators of a product that is looked at: 5! orders, if it reads one table alone
KINDS = ("int", "long", "double", "decimal")
COMMUTING = EQUATIONS | {"and", "or"} | {f"{fn}_{kind}" for fn in ("add", "mul") for kind in KINDS}
TEXT = Text()


def alike_once(products: Sequence[Comprehension], part: str) -> tuple[Comprehension, ...]:
    """``products`` of a statement for ``part``, those that are alike once; as they are where that would not be less.

    Law (symmetric): ⊎ products = ⊎ alike_once(products).
    """
    every = tuple(products)
    alike = _alike(every, part) if 1 < len(every) <= MOST else []
    if not any(alike):
        return every
    parts = (s for c, is_alike in zip(every, alike, strict=True) for s in (_split(c, part) if is_alike else (c,)))
    split = [*islice(parts, MOST + 1)]
    found = _summed(split) if len(split) <= MOST else every
    return found if _many(found) < _many(every) and len(found) < 2 * len(every) else every


def _alike(products: Sequence[Comprehension], part: str) -> list[bool]:
    """Whether each is like another one, read at one moment. Looks are for those that read the same few tables."""
    before = [_read_before(c, part) for c in products]
    tables = [tuple(sorted(map(_kind, c.generators))) for c in before]
    often = Counter(t for t in tables if len(t) <= JOINED)
    looks = [_look(c) if often[t] > 1 else None for c, t in zip(before, tables, strict=True)]
    many = Counter(look for look in looks if look is not None)
    return [many[look] > 1 for look in looks]


def _many(products: Sequence[Comprehension]) -> int:
    """How many read what one change finds."""
    return sum(sum(rel.at is At.DELTA for _, rel in c.generators) == 1 for c in products)


def _read_before(c: Comprehension, part: str) -> Comprehension:
    generators = tuple((var, evolve(rel, at=At.OLD) if _is_after(rel, part) else rel) for var, rel in c.generators)
    return evolve(c, generators=generators)


def _is_after(rel: Rel, part: str) -> bool:
    return type(rel) is Rel and rel.name == part and rel.at is At.NEW


def _split(c: Comprehension, part: str) -> Iterator[Comprehension]:
    """``c`` by R⁺ = R ⊎ ΔR for each of its generators, if nothing in it can fail."""
    types = c.variables()
    after = next((var for var, rel in c.generators if _is_after(rel, part)), None)
    if after is None or not all(is_total(t, types) for t in (*c.conditions, *c.times, c.head)):
        yield c
    else:
        for summand in expanded(c, after):
            yield from _split(summand, part)


def _summed(products: Sequence[Comprehension]) -> tuple[Comprehension, ...]:
    """Each of those that are equal once, with the sum of their weights."""
    first: dict[Hashable, Comprehension] = {}
    weights = Counter[Hashable]()
    for c in products:
        look = _look(c)
        first.setdefault(look, c)
        weights[look] += c.weight
    return tuple(evolve(c, weight=weights[look]) for look, c in first.items() if weights[look])


def _look(c: Comprehension) -> Hashable:
    """What is equal of products that differ in names and orders alone, but for the weight. It may differ of some that
    read a table very often."""
    return min(_text(evolve(c, generators=order, weight=1)) for order in orders(c.generators, _kind))


def _kind(g: Generator) -> tuple[str, str, str]:
    """What it reads, and as of when."""
    _, rel = g
    return type(rel).__name__, rel.name, rel.at.name


def _text(c: Comprehension) -> str:
    types, place = c.variables(), {var: i for i, (var, _) in enumerate(c.generators)}

    def said(t: Elem) -> Elem:
        return oriented(t, lambda a: TEXT.elem(a, types, place), COMMUTING)

    conditions, times = (tuple(map(said, terms)) for terms in (c.conditions, c.times))
    return TEXT.product(evolve(c, conditions=conditions, times=times, head=said(c.head)))
