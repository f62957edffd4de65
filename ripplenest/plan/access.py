"""How a product reads its sources: from the change outwards, each next table only at the keys found so far.

This is what makes a batch cost what the change costs: a source that is joined by equality to a source already read is
*probed* at those keys, one that is only equated with constants is probed at these; a source without any such equality
is scanned, and explain says so.

What can fail is asked last. A combination of rows for which some condition is false or NULL is not in the result, and
nobody minds what the others are; a product has no value when for some combination one condition fails and no other is
false, or when all are true and the head fails. So conditions that can fail are asked about what fulfils all others. A
key that can fail is asked before, because without it there would be no join. Where it has no value for some row, the
product is read *cautiously* instead, with that condition among the last: the row may have no partner.
"""

from collections.abc import Iterator

from attrs import evolve, frozen

from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import nullable
from ripplenest.plan.product import Col, Op, Product, Scalar, is_total, sources_of


@frozen
class Key:
    """``column`` of the probed source is equated with ``scalar``; ``null_safe`` when NULL equals NULL."""

    column: int
    scalar: Scalar
    null_safe: bool


@frozen
class Step:
    """Read ``source``: the whole change, a probe with ``keys`` computed from the rows of ``via``, or a scan.

    Keys without ``via`` are constants.
    """

    source: int
    keys: tuple[Key, ...] = ()
    via: int | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(k.column for k in self.keys)


def access(p: Product) -> tuple[Step, ...]:
    """The order of reading: changes first; then the source with most keys, ties in the order of the product.

    Constants come last, because they are the same in every batch: what they find grows with the table.
    """
    changes = [i for i, s in enumerate(p.sources) if s.at is At.DELTA]
    steps = [Step(i) for i in changes]
    left = [i for i in range(len(p.sources)) if i not in changes]
    while left:
        seen = [s.source for s in steps]
        step = max((_best(p, i, seen) for i in left), key=lambda s: (s.via is not None, len(s.keys), -s.source))
        steps.append(step)
        left.remove(step.source)
    return tuple(steps)


def staged(p: Product) -> tuple[tuple[Step, tuple[Scalar, ...]], ...]:
    """The steps of ``access``, each with the conditions to check there: as early as their sources are known, but those
    that can fail last, so that they are asked only about rows that would otherwise be in the result."""
    seen: set[int] = set()
    waiting = [c for c in p.conditions if sources_of(c)]
    steps = access(p)
    found: list[tuple[Step, tuple[Scalar, ...]]] = []
    for i, step in enumerate(steps):
        seen.add(step.source)
        ready = [c for c in waiting if sources_of(c) <= seen and (is_total(c) or is_key(c, step))]
        waiting = [c for c in waiting if c not in ready]
        found.append((step, tuple(ready) if i < len(steps) - 1 else (*ready, *waiting)))
    return tuple(found)


def cautious(p: Product) -> Product:
    """``p`` with keys that cannot fail; ``p`` itself when it has no others.

    Law: where both have a value, it is the same, and the cautious product has one whenever what it stands for has.
    """
    keys = (k for step in access(p) for k in step.keys)
    return p if all(is_total(k.scalar) for k in keys) else evolve(p, cautious=True)


def is_key(c: Scalar, step: Step) -> bool:
    """True for an equality by which the step's source is probed."""
    if not (isinstance(c, Op) and c.fn in ("eq", "same")):
        return False
    keys = [(k.column, k.scalar) for k in step.keys]
    sides = ((own, other) for own, other in (c.args, c.args[::-1]) if isinstance(own, Col))
    return any(own.source == step.source and (own.column, other) in keys for own, other in sides)


def _best(p: Product, source: int, seen: list[int]) -> Step:
    probes = [Step(source, _keys(p, source, frozenset((via,))), via) for via in seen]
    probes = [s for s in probes if s.keys]
    return max(probes, key=lambda s: len(s.keys), default=Step(source, _keys(p, source, frozenset())))


def _alike(a: Scalar, b: Scalar) -> bool:
    return nullable(a.type) == nullable(b.type)


def _keys(p: Product, source: int, via: frozenset[int]) -> tuple[Key, ...]:
    """Columns of ``source`` that the conditions equate with scalars over exactly ``via``, sorted and each once.

    Only scalars of the column's own type can be looked up; other equations are left to the join.
    """
    found: dict[int, Key] = {}
    for key, sources in _equations(p, source):
        if sources == via and not (p.cautious and not is_total(key.scalar)):
            found.setdefault(key.column, key)
    return tuple(found[column] for column in sorted(found))


def _equations(p: Product, source: int) -> Iterator[tuple[Key, frozenset[int]]]:
    """What the conditions equate columns of ``source`` with, and the sources that this reads."""
    for c in p.conditions:
        if isinstance(c, Op) and c.fn in ("eq", "same"):
            for own, other in (c.args, c.args[::-1]):
                if isinstance(own, Col) and own.source == source and _alike(own, other):
                    yield Key(own.column, other, c.fn == "same"), sources_of(other)
