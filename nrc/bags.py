"""Values of the calculus: bags as maps value → multiplicity, records as tuples of (field, value) pairs.

Base values are plain Python values in canonical form (``nrc/values.py``): one NaN object, no -0.0, one Python type per
base type, so that ``1``, ``1.0`` and ``True`` never meet in one column. NULL is ``None``. A label is a ``LabelValue``.
"""

from collections.abc import Iterable, Iterator, Mapping

from attrs import field, frozen

from ripplenest.nrc.errors import EvaluationError

MAX_MULTIPLICITY = 2**63 - 1


@frozen(cache_hash=True)
class LabelValue:
    """⟨ι, ε⟩: the site and the values of its parameters, in the site's order."""

    site: str
    args: tuple["Value", ...]


@frozen(eq=False, repr=False)
class BagValue:
    """A finite map value → multiplicity ≠ 0: a commutative group under ⊎ with inverse ⊖ (nrc-ivm, section 3).

    The group is what deltas live in: for any two results there is a Δ with ``new = old ⊎ Δ``.
    """

    counts: Mapping["Value", int] = field(factory=dict)
    _hash: int | None = field(init=False, default=None)  # found once: bags are the keys of maps, at every level

    @classmethod
    def of(cls, rows: Iterable["Value"]) -> "BagValue":
        """The bag with each of ``rows`` once per occurrence."""
        return cls.weighted((row, 1) for row in rows)

    @classmethod
    def weighted(cls, pairs: Iterable[tuple["Value", int]]) -> "BagValue":
        """The sum of ``pairs`` of value and multiplicity; raises EvaluationError beyond 64 bits."""
        counts: dict[Value, int] = {}
        held = counts.get
        for row, weight in pairs:
            counts[row] = held(row, 0) + weight
        if 0 in counts.values():
            counts = {row: n for row, n in counts.items() if n}
        if counts:
            checked(max(counts.values()))
            checked(min(counts.values()))
        return cls(counts)

    def __add__(self, other: "BagValue") -> "BagValue":
        if not (self.counts and other.counts):
            return self if self.counts else other
        return BagValue.weighted([*self.counts.items(), *other.counts.items()])

    def __neg__(self) -> "BagValue":
        return BagValue({row: -n for row, n in self.counts.items()})

    def __sub__(self, other: "BagValue") -> "BagValue":
        return self + -other

    def __iter__(self) -> Iterator[tuple["Value", int]]:
        return iter(self.counts.items())

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BagValue) and self.counts == other.counts

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(frozenset(self.counts.items())))
        return self._hash  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{row}^{n}" if n != 1 else str(row) for row, n in self.counts.items()) + "}"


Value = object  # None, a base value, a tuple of (field, Value) pairs, a BagValue or a LabelValue
Row = tuple[tuple[str, Value], ...]

EMPTY = BagValue()


def checked(n: int) -> int:
    """``n`` if it is a 64-bit multiplicity, as it must be on every engine."""
    if -MAX_MULTIPLICITY - 1 <= n <= MAX_MULTIPLICITY:
        return n
    raise EvaluationError("multiplicity overflow", wanted="a 64-bit integer", got=n)


def field_of(row: Value, name: str) -> Value:
    """row.name for a record value."""
    assert isinstance(row, tuple)
    for key, value in row:
        if key == name:
            return value
    raise KeyError(name)
