"""Folds over rings: what a view gives is what the same Python gives, and the laws of rings are asked."""


# mypy: disable-error-code="no-untyped-def, attr-defined, no-any-return, arg-type, misc"

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import LawBroken, QueryError
from ripplenest.nrc.surface.python import view

RINGS = (rn.MaxProduct, rn.MinPlus, rn.MaxPlus, rn.SumProduct)


@rn.record
class Arc:
    u: int
    v: int
    w: int


@rn.ring
class Spread:
    """The longest and the shortest path, and how far they are apart."""

    longest: int = rn.combine(max)
    shortest: int = rn.combine(min)

    @staticmethod
    def lift(x):
        return {"longest": x, "shortest": x}

    @staticmethod
    def times(a, b):
        return {"longest": a.longest + b.longest, "shortest": a.shortest + b.shortest}

    @staticmethod
    def answer(r):
        return {"longest": r.longest, "apart": r.longest - r.shortest if r.longest is not None else None}


def folded(A: Bag[Arc], B: Bag[Arc]):
    return [
        {
            "u": a.u,
            "best": rn.fold(rn.MaxProduct, ((a.w, b.w) for b in B if b.u == a.v)),
            "near": rn.fold(rn.MinPlus, ((a.w, b.w, c.w) for b in B if b.u == a.v for c in A if c.u == b.v)),
            "far": rn.fold(rn.MaxPlus, (b.w for b in B if b.u == a.v)),
            "sum": rn.fold(rn.SumProduct, ((a.w, b.w) for b in B if b.u == a.v)),
            "there": rn.fold(rn.Reach, ((a.w > 1, b.w > 1) for b in B if b.u == a.v)),
            "spread": rn.fold(Spread, ((a.w, b.w) for b in B if b.u == a.v)),
            "moments": rn.fold(rn.moments("x", "y"), ((a.w, b.w) for b in B if b.u == a.v)),
        }
        for a in A
    ]


arcs = st.lists(st.builds(Arc, st.integers(0, 2), st.integers(0, 2), st.integers(0, 4)), max_size=5)


@settings(max_examples=many(40, 500))
@given(a=arcs, b=arcs)
def test_a_view_gives_what_the_same_python_gives(a: list[Arc], b: list[Arc]) -> None:
    made: rn.View = view(folded)
    assert sorted(made(a, b), key=repr) == sorted(folded(a, b), key=repr)


@rn.record
class Film:
    budget: float | None
    gross: int | None


def test_moments_are_of_rows_without_a_gap() -> None:
    """All of them of the same rows: a mean is x / n, and a regression needs the products of the rows that it counts."""

    def of_films(A: Bag[Film]):
        return [rn.fold(rn.moments("x", "y"), ((a.budget, a.gross) for a in A))]

    films = [Film(budget=1.0, gross=2), Film(budget=3.0, gross=None), Film(budget=None, gross=7)]
    for rows, n in ((films, 1), (films[1:], 0)):
        (found,) = view(of_films)(rows)
        assert found == of_films(rows)[0] and found["n"] == n
    assert found == {"n": 0, "x": None, "y": None, "x_x": None, "x_y": None, "y_y": None}


@rn.ring
class Every:
    ok: bool = rn.combine(all)
    some: bool = rn.combine(any)

    @staticmethod
    def lift(x):
        return {"ok": x, "some": x}

    @staticmethod
    def times(a, b):
        return {"ok": a.ok and b.ok, "some": a.some and b.some}


@rn.record
class Answer:
    yes: bool | None


@pytest.mark.parametrize("answers", [[True, None], [None], [None, False], [], [True, True]])
def test_null_adds_nothing_to_truth(answers: list[bool | None]) -> None:
    def agreed(A: Bag[Answer]):
        return [rn.fold(Every, (a.yes for a in A))]

    given = [Answer(yes=answer) for answer in answers]
    assert view(agreed)(given) == agreed(given)


@pytest.mark.parametrize("ring", RINGS, ids=lambda r: r.name)
def test_ring_laws(ring: Any) -> None:
    """⊗ is associative and distributes over ⊕, of numbers that are not below 0.

    incremental-faq, section "Functional Aggregate Queries".
    """
    assert rn.testing.check_ring(ring, [0, 1, 2, 5]) == 3 * 4**3
    assert rn.testing.check_ring(ring, [0.5, 2.0, 0.1]) == 3 * 3**3


def test_ring_laws_of_truth_and_of_ones_own() -> None:
    """incremental-faq, section "Functional Aggregate Queries"."""
    assert rn.testing.check_ring(rn.Reach, [True, False]) == 24
    assert rn.testing.check_ring(Spread, [1, 2, -7]) == 81


def test_a_law_that_does_not_hold_is_named_with_the_values() -> None:
    with pytest.raises(LawBroken) as caught:
        rn.testing.check_ring(rn.MaxProduct, [1, -2])
    assert "(a ⊕ b) ⊗ c = a ⊗ c ⊕ b ⊗ c" in str(caught.value) or "a ⊗ (b ⊕ c)" in str(caught.value)
    assert "MaxProduct" in caught.value.where

    @rn.ring
    class Minus:
        m: Any = rn.combine(sum)

        @staticmethod
        def lift(x):
            return {"m": x}

        @staticmethod
        def times(a, b):
            return {"m": a.m - b.m}

    with pytest.raises(LawBroken, match="a ⊗ b"):
        rn.testing.check_ring(Minus, [1, 2])


def test_what_is_no_ring_is_refused_with_what_is() -> None:
    def of(function: Any) -> str:
        with pytest.raises(QueryError) as caught:
            function()
        return str(caught.value)

    class Nothing:
        m: int = rn.combine(max)

    class Bare:
        m: int = 1

        @staticmethod
        def lift(x):
            return {"m": x}

        times = lift

    @rn.ring
    class Texts:
        m: str = rn.combine(max)

        @staticmethod
        def lift(x):
            return {"m": x}

        @staticmethod
        def times(a, b):
            return {"n": a.m + b.m}

    def of_texts(A: Bag[Arc]):
        return [rn.fold(Texts, (a.w for a in A))]

    def of_others(A: Bag[Arc]):
        return [rn.fold(Texts, (("x", "y") for a in A))]

    def of_no_ring(A: Bag[Arc]):
        return [rn.fold(max, (a.w for a in A))]

    def of_moments(A: Bag[Arc]):
        return [rn.fold(rn.moments("x"), ((a.w, a.u) for a in A))]

    assert "no lift, no times" in of(lambda: rn.ring(Nothing)) and "m without a ⊕" in of(lambda: rn.ring(Bare))
    assert "possible sum, max, min, any, all" in of(lambda: rn.combine(len))
    own: Any = rn
    assert "a ring is made of a class" in of(lambda: own.ring(3))
    assert "a fold is over a ring" in of(lambda: own.fold(3, [1]))
    assert "the column m of the ring Texts is of another type than it says" in of(lambda: view(of_texts))
    assert "make a dict of its columns" in of(lambda: view(of_others))
    assert "a fold is over a ring" in of(lambda: view(of_no_ring))
    assert "moments of other factors than variables" in of(lambda: view(of_moments))
    for names in (("x", "x"), (3,)):
        assert "moments are of variables with names" in of(lambda names=names: own.moments(*names))
    for names in (("kg", "n"), ("a", "b", "a_b")):
        assert "is called like a column of them" in of(lambda names=names: own.moments(*names))


W, OTHER = rn.ring_variable("w"), rn.ring_variable("other")


def left_open(A: Bag[Arc]):
    return [{"u": a.u, "at": rn.fold(W, ((a.w, b.w) for b in A if b.u == a.v))} for a in A]


def over_the_least_sums(A: Bag[Arc]):
    return [{"u": a.u, "at": rn.fold(rn.MinPlus, ((a.w, b.w) for b in A if b.u == a.v))} for a in A]


def test_swap() -> None:
    """Law (swap): the view over w, with R for w, is the view over R; and so is every view that uses it."""
    paths = view(left_open)
    swapped, written = paths.over("over_the_least_sums", w=rn.MinPlus).query, view(over_the_least_sums).query
    assert str(swapped) == str(written) != str(paths.over(w=rn.MaxPlus).query)
    path = [Arc(u=1, v=2, w=3), Arc(u=2, v=2, w=5)]

    def outer(A: Bag[Arc]):
        return [p.at for p in paths(A) if p.u == 1]

    found = {r.name: view(outer).over(r.name, w=r)(path) for r in RINGS}
    assert found == {"MaxProduct": [15], "MinPlus": [8], "MaxPlus": [8], "SumProduct": [15]}
    assert view(outer).over(w=rn.moments("x", "y"))(path)[0]["x_y"] == 15


def test_a_ring_that_is_left_open_is_asked_for() -> None:
    def of(function: Any) -> str:
        with pytest.raises(QueryError) as caught:
            function()
        return str(caught.value)

    def of_two(A: Bag[Arc]):
        return [{"w": rn.fold(W, (a.w for a in A)), "other": rn.fold(OTHER, (a.w for a in A))}]

    paths, two = view(left_open), view(of_two)
    assert "the view leaves a ring open" in of(lambda: paths([])) and "view.over(w=R)" in of(lambda: paths([]))
    half = two.over(w=rn.MaxPlus)
    assert "wanted   other\n  got      w" in of(lambda: half.query)
    assert half.over(other=rn.MinPlus)([Arc(u=0, v=0, w=2)]) == [{"w": 2, "other": 2}]
    assert "no such ring variable" in of(lambda: paths.over(w=rn.MaxPlus, v=rn.MinPlus))
    assert "got      w=builtin_function" in of(lambda: paths.over(w=max))
    assert "a ring variable has a name" in of(lambda: rn.ring_variable("a b"))
    assert "a fold is over a ring" in of(lambda: rn.fold(W, [1]))
