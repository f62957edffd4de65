"""Bags that are named stand where they are read: those that are read once, and rows of stored bags."""

from collections import Counter

from support.laws import law
from support.strategies import Case, cases

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.once import once
from ripplenest.nrc.syntax import Group, Let, LetVar, Plus, SngBag, Top
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes, unique_binders

COUNTS: Counter[str] = Counter()


@law(cases(), examples=600)
def test_they_are_the_same_rows(case: Case) -> None:
    twice = Let("twice", case.query, Plus(LetVar("twice"), LetVar("twice")))
    found = once(twice)
    assert check(found) == check(twice)
    assert evaluate(found, case.db) == evaluate(twice, case.db)
    is_kept = any(n == LetVar("twice") for n in nodes(found))
    assert is_kept or not any(isinstance(n, SngBag | Group | Top) for n in nodes(case.query))  # told apart
    assert all(reads(n) != 1 for n in nodes(found) if isinstance(n, Let))
    COUNTS["kept"] += is_kept
    COUNTS["copied"] += not is_kept
    COUNTS["read once"] += any(reads(n) == 1 for n in nodes(unique_binders(case.query)) if isinstance(n, Let))


def reads(let: Let) -> int:
    """How often its name is read, which no other let has where binders are apart."""
    return sum(n == LetVar(let.name) for n in nodes(let.body))


def test_enough_was_met() -> None:
    if COUNTS:
        assert len(COUNTS) == 3 and min(COUNTS.values()) > 20, COUNTS
