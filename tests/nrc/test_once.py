"""Bags that are named and read once stand where they are read."""

from collections import Counter

from support.laws import law
from support.strategies import Case, cases

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.once import once
from ripplenest.nrc.syntax import Let, LetVar, Plus
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes, unique_binders

COUNTS: Counter[str] = Counter()


@law(cases(), examples=600)
def test_they_are_the_same_rows(case: Case) -> None:
    twice = Let("twice", case.query, Plus(LetVar("twice"), LetVar("twice")))
    found = once(twice)
    assert check(found) == check(twice)
    assert evaluate(found, case.db) == evaluate(twice, case.db)
    assert sum(isinstance(n, LetVar) for n in nodes(found)) >= 2  # of what is made once, and has its own labels
    assert all(reads(n) != 1 for n in nodes(found) if isinstance(n, Let))
    COUNTS["read once"] += any(reads(n) == 1 for n in nodes(unique_binders(case.query)) if isinstance(n, Let))


def reads(let: Let) -> int:
    """How often its name is read, which no other let has where binders are apart."""
    return sum(n == LetVar(let.name) for n in nodes(let.body))


def test_enough_was_met() -> None:
    if COUNTS:
        assert COUNTS["read once"] > 20, COUNTS
