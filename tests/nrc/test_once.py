"""Bags that are named and read once stand where they are read."""

from collections import Counter

from support.laws import law
from support.strategies import Case, cases

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.once import once
from ripplenest.nrc.syntax import Let, LetVar
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes, unique_binders

COUNTS: Counter[str] = Counter()


@law(cases(), examples=600)
def test_they_are_the_same_rows(case: Case) -> None:
    found = once(case.query)
    assert check(found) == check(case.query)
    assert evaluate(found, case.db) == evaluate(case.query, case.db)
    assert all(reads(n) != 1 for n in nodes(found) if isinstance(n, Let))
    COUNTS["read once"] += any(reads(n) == 1 for n in nodes(unique_binders(case.query)) if isinstance(n, Let))
    COUNTS["read more"] += any(isinstance(n, Let) for n in nodes(found))


def reads(let: Let) -> int:
    """How often its name is read, which no other let has where binders are apart."""
    return sum(n == LetVar(let.name) for n in nodes(let.body))


def test_enough_was_met() -> None:
    if COUNTS:
        assert COUNTS["read once"] > 20 and COUNTS["read more"] > 20, COUNTS
