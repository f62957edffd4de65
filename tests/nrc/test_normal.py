"""The normal form: ``⟦e⟧ = ⊎ ⟦comprehensions⟧`` for every flat term that shredding makes."""

from collections.abc import Callable
from functools import reduce

import pytest
from support.choices import Choices
from support.counts import Counts
from support.laws import law
from support.nesting import agrees, labels_in_use
from support.strategies import Case, cases, weighed_cases

from ripplenest.delta.rules import delta
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.errors import QueryError, TooBig
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.normal import Comprehension, normal, term
from ripplenest.nrc.syntax import (
    TRUE,
    Apply,
    At,
    Call,
    DictEmpty,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Elem,
    Flatten,
    For,
    InL,
    IsSite,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Proj,
    Rel,
    Sng,
    SngBag,
    Total,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import BOOL, LONG, Label, Record, Site, nullable
from ripplenest.nrc.walk import free_vars
from ripplenest.shred.terms import shred

COUNTS = Counts()
MAKERS: dict[str, Callable[[Choices], Case]] = {"plain": cases(), "weighed": weighed_cases()}


def well_formed(c: Comprehension, free: frozenset[str] = frozenset()) -> bool:
    """Generators have different names, and nothing else is free."""
    names = [name for name, _ in c.generators]
    used = free_vars(c.head).union(*(free_vars(t) for t in (*c.conditions, *c.times)))
    return len(set(names)) == len(names) and used <= free.union(names)


@pytest.mark.parametrize("kind", MAKERS)
@law()
def test_normal_form_of_flat_terms(kind: str, c: Choices) -> None:
    """⟦h^F⟧ = ⊎ᵢ ⟦wᵢ · (for x₁ in R₁, … where c₁ … union w(t₁) × … × sng(t))⟧, of the same
    type."""
    case = MAKERS[kind](c)
    flat = shred(case.query).flat
    row = check(flat).row
    comprehensions = normal(flat)
    again = term(comprehensions, row)
    direct = evaluate(flat, case.parts)
    assert evaluate(again, case.parts) == direct
    assert agrees(check(again).row, row)
    assert all(well_formed(c) for c in comprehensions)
    COUNTS.query(case.query)
    COUNTS.result(direct)


@pytest.mark.parametrize("kind", MAKERS)
@law()
def test_normal_form_of_definitions(kind: str, c: Choices) -> None:
    """The same for the body of [(ι,Π) ↦ e], whose label is free, at every label in use."""
    case = MAKERS[kind](c)
    for d, labels in labels_in_use(shred(case.query), case.parts):
        if isinstance(d, DictLit):
            free = {d.var: Label((d.site,))}
            row = check(d.body, None, free).row
            comprehensions = normal(d.body, free)
            again = term(comprehensions, row)
            assert agrees(check(again, None, free).row, row)
            assert all(well_formed(c, frozenset(free)) for c in comprehensions)
            for label in labels:
                assert isinstance(label, LabelValue)
                pi = {d.var: label}
                assert evaluate(again, case.parts, None, pi) == evaluate(d.body, case.parts, None, pi)


@pytest.mark.parametrize("kind", MAKERS)
@law()
def test_normal_form_of_deltas(kind: str, c: Choices) -> None:
    """The same for δ(h^F), telescoped: what trigger statements are planned from."""
    case = MAKERS[kind](c)
    (batch,) = case.batches
    change = delta(shred(case.query).flat, batch.parts, telescoped=True)
    row, state = check(change).row, batch.state(case.parts)
    again = term(normal(change), row)
    assert evaluate(again, state) == evaluate(change, state)
    assert agrees(check(again).row, row)
    COUNTS.query(case.query)


# ---------------------------------------------------------------- by hand

ROW = Record((("a", LONG),))
R, A = Rel("R", ROW), Proj(Var("m"), "a")
SMALL, LARGE = Call("lt", (A, Lit(1, LONG))), Call("gt", (A, Lit(5, LONG)))


def test_a_conjunction_is_split_and_repetitions_go() -> None:
    """t is true ⇔ every conjunct is true; p and p is p; the constant true is no condition."""
    cond = Call("and", (SMALL, Call("and", (LARGE, SMALL))))
    (found,) = normal(For("m", R, For("_", Pred(cond), For("_", Pred(TRUE), Sng(A)))))
    assert found == Comprehension((("m", R),), (SMALL, LARGE), A)


@pytest.mark.parametrize("value", [False, None])
def test_what_can_never_be_true_is_dropped(value: bool | None) -> None:
    """A predicate that is false or NULL adds nothing."""
    assert normal(For("m", R, For("_", Pred(Lit(value, BOOL)), Sng(A)))) == ()


NONE, ONE, TWO = Lit(None, nullable(LONG)), Lit(1, LONG), Lit(2, LONG)
FAILING = Call("quotient_long", (ONE, A))


@pytest.mark.parametrize(
    ("condition", "is_kept"),
    [
        (Call("eq", (A, NONE)), False),
        (Call("lt", (Call("add_double", (NONE, A)), A)), False),
        (Call("not", (Call("eq", (NONE, A)),)), False),
        (Call("gt", (ONE, TWO)), False),
        (Call("and", (TRUE, Call("gt", (ONE, TWO)))), False),
        (Call("same", (A, NONE)), True),
        (Call("or", (Call("eq", (A, NONE)), Call("eq", (A, ONE)))), True),
        (Call("eq", (A, A)), True),
        (Call("eq", (NONE, FAILING)), True),
        (Call("eq", (FAILING, ONE)), True),
    ],
    ids=str,
)
def test_what_constants_make_never_true_is_dropped_unless_it_can_fail(condition: Elem, is_kept: bool) -> None:
    e = For("m", R, For("_", Pred(condition), Sng(A)))
    assert bool(normal(e)) is is_kept


def test_weights_multiply() -> None:
    """for m in ⊖R union ⊖sng(m) = R"""
    assert [c.weight for c in normal(For("m", Neg(R), Neg(Sng(A))))] == [1]
    assert [c.weight for c in normal(For("m", Neg(R), Sng(A)))] == [-1]


@pytest.mark.parametrize("e", [SngBag("ι", R), Flatten(SngBag("ι", R))])
def test_only_shredded_terms_have_one(e: SngBag | Flatten) -> None:
    with pytest.raises(QueryError, match="shredded"):
        normal(e)


def test_a_label_union_takes_one_definition_and_a_sum_takes_both() -> None:
    """(d₁ ∪ d₂)(l) = d₁(l) where both define l; (d₁ ⊎ d₂)(l) = d₁(l) ⊎ d₂(l)"""
    stored, label = DictRel("N", LONG), Label((DictRel("N", LONG).site, DictRel("S", LONG).site))
    other = DictRel("S", LONG)
    for d, wanted in (
        (DictUnion(DictUnion(stored, other), stored), ["N", "S"]),
        (DictPlus(stored, DictPlus(stored, other)), ["N", "N", "S"]),
        (DictPlus(stored, DictEmpty(LONG)), ["N"]),
    ):
        found = normal(Apply(d, Var("l")), {"l": label})
        assert sorted(rel.name for c in found for _, rel in c.generators) == wanted


def test_a_label_that_cannot_have_been_made_there_makes_no_product() -> None:
    """(R ∪ S)(l) with l made at R alone reads R alone; by its type, so also where l is a column."""
    both, label = DictUnion(DictRel("N", LONG), DictRel("S", LONG)), Label((DictRel("N", LONG).site,))
    held = Rel("H", Record((("l", label), ("none", Label(())))))
    for e, free in (
        (Apply(both, Var("l")), {"l": label}),
        (For("h", held, Apply(both, Proj(Var("h"), "l"))), {}),
    ):
        (c,) = normal(e, free)
        assert "S" not in {rel.name for _, rel in c.generators}
        assert not any(isinstance(t, IsSite) for t in c.conditions)
    assert normal(For("h", held, Apply(both, Proj(Var("h"), "none")))) == ()


def test_labels_are_resolved_statically() -> None:
    """[(ι,Π) ↦ e](⟨ι,ε⟩) = e[ε]; a label that is made elsewhere joins with nothing, and is not planned at all."""
    site = Site("ι", (("p", LONG),))
    d = DictUnion(DictLit(site, "l", Sng(OutL(Var("l"), site, "p"))), DictRel("N", LONG))
    assert normal(Apply(d, InL("ι", (("p", Lit(7, LONG)),)))) == (Comprehension((), (), Lit(7, LONG)),)
    assert normal(Apply(d, InL("κ", ()))) == ()


def total(at: At, *params: str) -> Total:
    """A fold for the places that ``params`` tell apart."""
    label = Label((Site("α", tuple((p, LONG) for p in params)),))
    row = Record((("label", label), ("row", Record((("n", LONG),)))))
    return Total("α", row, at, nothing=Tuple((("n", Lit(0, LONG)),)))


@pytest.mark.parametrize(
    ("rel", "read", "left"),
    [
        (total(At.OLD), False, False),
        (total(At.NEW), False, False),
        (total(At.OLD), True, True),
        (total(At.DELTA), False, True),  # what comes and what goes, which are two rows
        (total(At.OLD, "k"), False, True),
        (Rel("R", LONG), False, True),
    ],
)
def test_of_a_total_of_all_rows_there_is_one(rel: Rel, read: bool, left: bool) -> None:
    row = Proj(Proj(Var("s"), "row"), "n")
    e = For("x", Rel("S", LONG), For("s", rel, Sng(row if read else Var("x"))))
    (found,) = normal(e)
    assert [r.name for _, r in found.generators] == ["S", rel.name][: 1 + left]


def test_many_summands_do_not_exhaust_the_stack() -> None:
    """A sum of hundreds of comprehensions is a term that passes can walk; it means the same."""
    many = For("y", R, reduce(lambda e, _: Plus(e, e), range(9), Sng(Proj(Var("y"), "a"))))
    comprehensions = normal(many)
    assert len(comprehensions) == 512
    change = delta(term(comprehensions, LONG), frozenset(("R",)), telescoped=True)
    one = BagValue({(("a", 7),): 1})
    nothing = {"R": BagValue(), "ΔR": one, "R⁺": one}
    assert evaluate(change, nothing) == evaluate(many, {"R": one}) == BagValue({7: 512})


def test_too_many_summands_are_refused() -> None:
    """A for over ⊎ doubles the summands: forty of them are a short term and no program."""
    with pytest.raises(TooBig, match="combinations"):
        normal(reduce(lambda e, _: For("y", Plus(R, R), e), range(40), Sng(Proj(Var("y"), "a"))))


def test_coverage() -> None:
    """The cases above were not empty ones."""
    COUNTS.check()
