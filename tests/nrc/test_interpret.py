"""The reference interpreter on cases worked out by hand, first of all the paper's own (nrc-ivm, section 2)."""

import pytest
from support.related import BODY, JARHEAD, MOVIES, RELATED, bag, related_rows

from ripplenest.nrc.bags import MAX_MULTIPLICITY, BagValue, LabelValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import Database, elem, evaluate, look_up
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    DictEmpty,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    Flatten,
    For,
    InL,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
    dict_row,
)
from ripplenest.nrc.types import BOOL, LONG, STRING, Bag, Site

R, S, NESTED = Rel("R", LONG), Rel("S", LONG), Rel("N", Bag(LONG, nullable=True))
INNER = BagValue({1: 2, 2: 1})
DB: Database = {"R": BagValue({1: 2, 2: 1}), "S": BagValue({2: 1, 3: -1}), "N": BagValue({INNER: 2, None: 1})}
ONE, TWO = Lit(1, LONG), Lit(2, LONG)


def test_the_papers_related_before_the_update() -> None:
    """related[M] is the table of example 1."""
    assert evaluate(RELATED, {"M": MOVIES}) == related_rows(("Drive",), ("Skyfall", "Rush"), ("Rush", "Skyfall"))


def test_the_papers_related_after_jarhead() -> None:
    """related[M ⊎ ΔM] with ΔM = {⟨Jarhead, Drama, Mendes⟩} is the second table."""
    assert evaluate(RELATED, {"M": MOVIES + JARHEAD}) == related_rows(
        ("Drive", "Jarhead"), ("Skyfall", "Rush", "Jarhead"), ("Rush", "Skyfall"), ("Jarhead", "Drive", "Skyfall")
    )


def test_null_relates_nothing() -> None:
    """A predicate that is NULL is not true: films without genre or director are related to none."""
    unknown = bag(("A", None, None), ("B", None, None), ("C", None, "D"))
    assert evaluate(BODY, {"M": MOVIES}, None, {"m": next(iter(unknown))[0]}) == BagValue()
    assert evaluate(RELATED, {"M": unknown}) == related_rows(("A",), ("B",), ("C",))


@pytest.mark.parametrize(
    ("e", "wanted"),
    [
        (R, {1: 2, 2: 1}),
        (Let("X", R, Plus(LetVar("X"), LetVar("X"))), {1: 4, 2: 2}),
        (For("x", R, For("y", S, Sng(Var("x")))), {}),  # S has 1 - 1 rows
        (For("x", R, Sng(ONE)), {1: 3}),
        (Plus(R, S), {1: 2, 2: 2, 3: -1}),
        (Plus(R, Neg(R)), {}),
        (Product(Sng(ONE), S), {(("_1", 1), ("_2", 2)): 1, (("_1", 1), ("_2", 3)): -1}),
        (SngBag("ι", R), {INNER: 1}),
        (SngBag("ι", Plus(R, Neg(R))), {BagValue(): 1}),  # the empty bag is a value
        (Flatten(NESTED), {1: 4, 2: 2}),  # NULL adds nothing
        (Empty(LONG), {}),
        (Pred(Lit(True, BOOL)), {(): 1}),
        (Pred(Lit(None, BOOL)), {}),
        (For("_", Pred(Call("eq", (ONE, ONE))), R), {1: 2, 2: 1}),
        (Sng(Tuple((("a", ONE), ("b", Proj(Tuple((("c", TWO),)), "c"))))), {(("a", 1), ("b", 2)): 1}),
    ],
)
def test_constructs(e: Expr, wanted: dict[object, int]) -> None:
    """Figure 3, one line a construct."""
    assert evaluate(e, DB) == BagValue(wanted)


def test_let_and_for_shadow() -> None:
    """The innermost binding counts, and the bound term does not see its own variable."""
    assert evaluate(Let("X", R, Let("X", Neg(LetVar("X")), LetVar("X"))), DB) == -evaluate(R, DB)
    assert evaluate(For("x", R, For("x", Sng(TWO), Sng(Var("x")))), DB) == BagValue({2: 3})


def test_multiplicities_are_64_bit() -> None:
    """Overflow raises, as on every engine."""
    many: Database = {"R": BagValue({1: MAX_MULTIPLICITY})}
    with pytest.raises(EvaluationError, match="overflow"):
        evaluate(Plus(R, R), many)
    with pytest.raises(EvaluationError, match="overflow"):
        evaluate(Product(R, R), many)


# ---------------------------------------------------------------- labels and dictionaries

SITE = Site("ι", (("p", LONG), ("q", STRING)))
IOTA = LabelValue("ι", (1, "a"))
STORED = LabelValue("N", ("7",))
PARTS: Database = {"R": BagValue({1: 2, 2: 1}), "N": {STORED: INNER, LabelValue("N", ("8",)): BagValue()}}
HALF = DictLit(SITE, "l", For("x", R, For("_", Pred(Call("eq", (Var("x"), OutL(Var("l"), SITE, "p")))), Sng(Var("x")))))


def test_labels_are_variants() -> None:
    """outL reads the parameters of its own site; of a label made elsewhere, or of NULL, it is NULL."""
    label = InL("ι", (("p", ONE), ("q", Lit("a", STRING))))
    assert elem(label, {}) == IOTA
    assert [elem(OutL(label, SITE, p), {}) for p in ("p", "q")] == [1, "a"]
    assert elem(IsSite(label, "ι"), {}) is True and elem(IsSite(label, "κ"), {}) is False
    nothing = {"l": None, "n": STORED}
    assert elem(OutL(Var("l"), SITE, "p"), nothing) is None and elem(OutL(Var("n"), SITE, "p"), nothing) is None
    assert elem(IsSite(Var("l"), "ι"), nothing) is False


def test_undefined_is_not_empty() -> None:
    """supp([]) = ∅ and supp([l ↦ ∅]) = {l}, so look_up tells None from {}."""
    stored = DictRel("N", LONG)
    for d, label, wanted in (
        (stored, STORED, INNER),
        (stored, LabelValue("N", ("8",)), BagValue()),
        (stored, LabelValue("N", ("9",)), None),
        (HALF, IOTA, BagValue({1: 2})),
        (HALF, LabelValue("ι", (9, "a")), BagValue()),
        (HALF, STORED, None),
        (DictEmpty(LONG), IOTA, None),
        (DictPlus(HALF, HALF), IOTA, BagValue({1: 4})),
        (DictPlus(HALF, DictEmpty(LONG)), IOTA, BagValue({1: 2})),
        (DictUnion(HALF, HALF), IOTA, BagValue({1: 2})),
        (DictUnion(HALF, stored), STORED, INNER),
    ):
        assert look_up(d, label, PARTS, {}, {}) == wanted
    assert look_up(stored, None, PARTS, {}, {}) is None


def test_union_of_definitions_that_disagree() -> None:
    """(d₁ ∪ d₂)(l) = error when both define l, and differently."""
    with pytest.raises(EvaluationError, match="disagree"):
        look_up(DictUnion(HALF, DictPlus(HALF, HALF)), IOTA, PARTS, {}, {})


def test_application() -> None:
    """d(l), {} for NULL; a stored dictionary is also one bag of rows ⟨label, row⟩."""
    stored = DictRel("N", LONG)
    here = {"l": STORED, "n": None}
    assert evaluate(Apply(stored, Var("l")), PARTS, None, here) == INNER
    assert evaluate(Apply(stored, Var("n")), PARTS, None, here) == BagValue()
    assert evaluate(Rel("N", dict_row(LONG, "N")), PARTS) == BagValue(
        {(("label", STORED), ("row", 1)): 2, (("label", STORED), ("row", 2)): 1}
    )
    assert stored.site == Site("N", (("id", LONG),))
