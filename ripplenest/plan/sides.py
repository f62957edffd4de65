"""How a row of one source compares with one of another: by one value after another, as tuples do.

    b < a        b < a or b = a and (q < p or q = p and …)

The latter says it of those where what is compared first is no NULL, and nothing else may be one.
"""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.types import may_be_null, nullable
from ripplenest.plan.product import Op, Scalar, sources_of

UPPER, STRICT = ("lt", "le"), ("lt", "gt")


@frozen
class Side:
    """How what a row has ``by``, one value after another, compares with those ``of`` another; those that are ``turned``
    compare the other way round."""

    fn: str
    by: tuple[Scalar, ...]
    turned: tuple[bool, ...]
    of: tuple[Scalar, ...]


def side_of(c: Scalar, rows: int) -> Side | None:
    """What ``c`` says of the source ``rows``; None of what says something else."""
    found = _compared([[c]], rows)
    if not found or any(may_be_null(t.type) for _, *pair in found[1:] for t in pair):
        return None
    is_upper = [fn in UPPER for fn, _, _ in found]
    fn = next(f for f in SWAPPED if (f in UPPER) == is_upper[0] and (f in STRICT) == (found[-1][0] in STRICT))
    turned = tuple(up != is_upper[0] for up in is_upper)
    return Side(fn, tuple(by for _, by, _ in found), turned, tuple(of for *_, of in found))


def _compared(ways: list[list[Scalar]], rows: int) -> list[tuple[str, Scalar, Scalar]]:
    """The comparisons of which one after the other decides, if ``ways``, of which one must be true in all that it is
    made of, say that: a < p, or a = p and b < q, and so on. None where they do not."""
    ways = [own for way in ways for own in _alternatives(way)]
    if len(ways) == 1:
        return [*_comparison(ways[0], rows)]
    for i, way in enumerate(ways):
        for fn, by, of in _comparison(way, rows):
            others = (*ways[:i], *ways[i + 1 :])
            ties = [[t for t in other if not _says_tie(t, by, of)] for other in others]
            are_ties = all(0 < len(tie) < len(other) for tie, other in zip(ties, others, strict=True))
            if fn in STRICT and are_ties and (rest := _compared(ties, rows)):
                return [(fn, by, of), *rest]
    return []


def _alternatives(way: list[Scalar]) -> Iterator[list[Scalar]]:
    """``way`` as several, if it is an ``or`` alone; each without ``and``."""
    match [t for own in way for t in _parts(own, "and")]:
        case [Op("or") as either]:
            for t in _parts(either, "or"):
                yield from _alternatives([t])
        case every:
            yield every


def _parts(t: Scalar, fn: str) -> Iterator[Scalar]:
    if isinstance(t, Op) and t.fn == fn:
        for a in t.args:
            yield from _parts(a, fn)
    else:
        yield t


def _comparison(way: list[Scalar], rows: int) -> Iterator[tuple[str, Scalar, Scalar]]:
    """A comparison of a value of a row with one of a place, if ``way`` is that alone."""
    match way:
        case [Op(fn, (a, b))] if fn in SWAPPED and are_alike(a, b):
            own, other = sources_of(a), sources_of(b)
            if len(own) == len(other) == 1 and own != other and rows in own | other:
                yield (fn, a, b) if rows in own else (SWAPPED[fn], b, a)


def _says_tie(t: Scalar, by: Scalar, of: Scalar) -> bool:
    return isinstance(t, Op) and t.fn == "eq" and t.args in ((by, of), (of, by))


def are_alike(a: Scalar, b: Scalar) -> bool:
    """Whether two values are compared as they are."""
    return nullable(a.type) == nullable(b.type)
