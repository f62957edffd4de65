"""What random tests covered. A law that only ever saw empty bags holds for nothing: the last test of a module asks."""

from collections import Counter
from itertools import product
from typing import get_args

import pytest

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.syntax import Expr
from ripplenest.nrc.walk import children
from support.updates import Batch

CONSTRUCTS = frozenset(c.__name__ for c in get_args(Expr)) - {
    "Apply",
    "Group",
    "Top",
    "Weigh",
}  # Apply comes from shredding only, and terms with groups and weights have counts of their own
LEAVES = frozenset({"Rel", "LetVar", "Empty", "Pred", "Sng"})  # terms without terms inside
PAIRS = frozenset(product(CONSTRUCTS - LEAVES, CONSTRUCTS))
ENOUGH = 100
MANY = 3000  # queries: the rarest pair is in one of 230


class Counts:
    """Counts what the tests of one module met."""

    def __init__(self) -> None:
        self.queries = self.results = self.filled = self.batches = self.labels = 0
        self.constructs: Counter[str] = Counter()
        self.pairs: set[tuple[str, str]] = set()  # (construct, one somewhere inside it)
        self.kinds: Counter[str] = Counter()

    def query(self, e: Expr) -> None:
        self.queries += 1
        self.constructs.update(self._names(e))

    def _names(self, e: Expr) -> set[str]:
        """The constructs of ``e``; those inside a construct are paired with it."""
        inner: set[str] = set()
        for child in children(e):
            if isinstance(child, Expr):
                inner |= self._names(child)
        name = type(e).__name__
        self.pairs.update((name, other) for other in inner)
        return inner | {name}

    def result(self, bag: BagValue) -> None:
        self.results += 1
        self.filled += bool(bag)

    def batch(self, batch: Batch) -> None:
        self.batches += 1
        self.kinds.update(batch.kinds)
        self.kinds["deletes"] += any(k.startswith(("delete", "deep delete", "deep empty")) for k in batch.kinds)
        self.kinds["deep"] += any(k.startswith("deep") for k in batch.kinds)

    def add(self, other: "Counts") -> None:
        """What others met, as well."""
        for name in ("queries", "results", "filled", "batches", "labels"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.constructs.update(other.constructs)
        self.pairs |= other.pairs
        self.kinds.update(other.kinds)

    def share(self, kind: str) -> float:
        return self.kinds[kind] / self.batches

    def check(self) -> None:
        """What R5 asks of the queries, results and batches that a module met; skips when only some of its tests ran."""
        if max(self.queries, self.results, self.batches) < ENOUGH:
            pytest.skip("the tests of this module did not all run")
        self.check_queries()
        self.check_results()

    def check_queries(self) -> None:
        """Every construct in 1 % of the queries; every pair of them nested in some, where there are enough of them."""
        rare = {c for c in CONSTRUCTS if self.constructs[c] < self.queries / 100}
        assert not rare, f"{rare} in less than 1 % of {self.queries} queries"
        if self.queries >= MANY:
            assert self.pairs >= PAIRS, f"never nested: {PAIRS - self.pairs}"

    def check_results(self) -> None:
        """At least half of the results have rows, 30 % of the batches delete, 10 % reach inner bags."""
        assert self.filled >= self.results / 2, f"{self.filled} of {self.results} results have rows"
        if self.batches:
            assert self.share("deletes") >= 0.3 and self.share("deep") >= 0.1, self.kinds
