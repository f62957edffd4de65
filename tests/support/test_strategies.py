"""The strategies themselves: what they make is valid, and reaches every construct, every pair of them, every change."""

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import SngBag
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import Bag, Record, Type
from ripplenest.nrc.walk import nodes
from ripplenest.shred.consistency import undefined
from support.choices import seeded
from support.counts import PAIRS, Counts
from support.schemas import MAX_DEPTH
from support.sizes import many
from support.strategies import random_case

CASES = many(500, 1000)


def depth(t: Type) -> int:
    """How deep bags nest in a row of ``t``."""
    match t:
        case Bag(row):
            return 1 + depth(row)
        case Record(fields):
            return max((depth(f) for _, f in fields), default=0)
        case _:
            return 0


def test_what_the_strategies_make() -> None:
    """Terms are well-typed and small, sites unique, multiplicities positive after every batch; all kinds occur."""
    counts, depths = Counts(), set()
    for seed in range(CASES):
        case = random_case(seeded(seed))
        depths.add(depth(check(case.query).row))
        sites = [node.site for node in nodes(case.query) if isinstance(node, SngBag)]
        assert len(set(sites)) == len(sites)
        counts.query(case.query)
        counts.result(evaluate(case.query, case.db))
        for parts, batch in case.steps():
            counts.batch(batch)
            assert not list(undefined(batch.after(parts)))
            nested = batch.nested_after(case.schema, parts)
            assert all(n > 0 for bag in nested.values() for _, n in bag)
    counts.check()
    assert counts.pairs >= PAIRS
    assert depths >= set(range(MAX_DEPTH + 1))
    assert all(counts.share(kind) > 0.1 for kind in ("insert", "delete", "deep insert", "deep delete", "deep empty"))
