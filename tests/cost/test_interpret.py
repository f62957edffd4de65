"""C[[e]], rule by rule (nrc-ivm, figure 5 and section 5.2), example 6, what costs bound,
and what the theorems need."""

import pytest
from support.laws import law
from support.related import BODY, HEAD, JARHEAD, MOVIE, MOVIES, RELATED, M
from support.strategies import Case, cases

from ripplenest.cost.domains import ONE, BagCost, Cost, RecordCost, at_most, bag_size, bottom, less, tcost
from ripplenest.cost.interpret import cost, dict_cost, lookup_key, sizes_of
from ripplenest.delta.rules import delta
from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue
from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import (
    TRUE,
    UNIT_ELEM,
    Apply,
    At,
    Call,
    DictEmpty,
    DictExpr,
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
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Record, Site
from ripplenest.nrc.walk import rebuild, rebuild_dict
from ripplenest.shred.contexts import BagContext, RecordContext, stored_parts
from ripplenest.shred.terms import shred


def test_example_6() -> None:
    """C[[related[M]]] = |M|{⟨1, |M|{1}⟩}, and tcost is |M|(1 + |M|)."""
    for n in (1, 3, 1000):
        films = BagCost(n, RecordCost(tuple((name, ONE) for name in MOVIE.names)))
        found = cost(RELATED, {"M": films})
        assert found == BagCost(n, RecordCost((("name", ONE), ("related", BagCost(n, ONE)))))
        assert tcost(found) == n * (1 + n)
    assert str(cost(RELATED, sizes_of({"M": MOVIES}, {"M": MOVIE}))) == "3{⟨1, 3{1}⟩}"


def test_example_6_shredded() -> None:
    """C[[related^F]] = |M|{⟨1, 1⟩} and C[[[l ↦ relB](l')]] = |M|{1}; both deltas are cheaper for one film."""
    s, sizes = shred(RELATED), sizes_of({"M": MOVIES, "ΔM": JARHEAD}, {"M": MOVIE})
    assert isinstance(s.context, RecordContext)
    inner = s.context.get("related")
    assert isinstance(inner, BagContext)
    d = inner.dictionary
    assert isinstance(d, DictLit)
    assert str(cost(s.flat, sizes)) == "3{⟨1, 1⟩}"
    assert str(dict_cost(d, sizes)) == "3{1}"
    assert str(cost(delta(s.flat, frozenset({"M"})), sizes)) == "{⟨1, 1⟩}"
    change = DictLit(d.site, d.var, Rel("M", MOVIE, At.DELTA))
    assert str(dict_cost(change, sizes)) == "{⟨1, 1, 1⟩}"


def test_filter_is_efficiently_incrementalizable() -> None:
    """C[[filter_p[R]]] = C[[R]] (section 4.2), and its delta costs C[[ΔR]]."""
    h = For("x", M, For("_", Pred(Call("is_null", (Proj(Var("x"), "gen"),))), Sng(Var("x"))))
    sizes = sizes_of({"M": MOVIES, "ΔM": JARHEAD}, {"M": MOVIE})
    assert cost(h, sizes) == sizes["M"]
    assert cost(delta(h, frozenset({"M"})), sizes) == sizes["ΔM"]
    assert less(sizes["ΔM"], sizes["M"])


ROW = Record((("a", LONG), ("b", Bag(LONG))))
R, X, Y = Rel("R", ROW), LetVar("X"), LetVar("Y")
SITE, OTHER = Site("ι", (("p", LONG),)), Site("κ", ())
D = DictRel("R.b", LONG)
SIZES = {
    "R": BagCost(5, RecordCost((("a", ONE), ("b", BagCost(3, ONE))))),
    "ΔR": BagCost(2, RecordCost((("a", ONE), ("b", BagCost(7, ONE))))),
    "R.b(l)": BagCost(3, ONE),
    "ΔR.b(l)": BagCost(1, ONE),
}
GAMMA = {"X": BagCost(4, BagCost(6, ONE)), "Y": BagCost(11, BagCost(2, ONE))}
PI: dict[str, Cost] = {"x": RecordCost((("a", ONE), ("b", BagCost(9, ONE)))), "l": ONE}
LABEL = InL("ι", (("p", Lit(1, LONG)),))


@pytest.mark.parametrize(
    ("e", "wanted"),
    [
        (R, "5{⟨1, 3{1}⟩}"),
        (Rel("R", ROW, At.DELTA), "2{⟨1, 7{1}⟩}"),
        (Rel("R", ROW, At.DELTA, 2), "2{⟨1, 7{1}⟩}"),  # ΔʹR, of a delta of second order
        (Rel("R", ROW, At.NEW), "5{⟨1, 7{1}⟩}"),  # R⁺ = R ⊎ ΔR
        (X, "4{6{1}}"),
        (Let("X", R, Product(X, Y)), "55{⟨⟨1, 3{1}⟩, 2{1}⟩}"),
        (Let("X", Y, X), "11{2{1}}"),
        (For("y", R, Sng(Proj(Var("y"), "b"))), "5{3{1}}"),
        (For("y", R, Product(R, Sng(Proj(Var("y"), "b")))), "25{⟨⟨1, 3{1}⟩, 3{1}⟩}"),
        (For("x", X, Sng(Var("x"))), "4{6{1}}"),  # shadows the outer x
        (Pred(TRUE), "{1}"),
        (Sng(Var("x")), "{⟨1, 9{1}⟩}"),
        (Sng(Proj(Var("x"), "b")), "{9{1}}"),
        (Sng(UNIT_ELEM), "{1}"),
        (Sng(Tuple((("f", Var("x")), ("g", Lit(1, LONG)), ("h", Call("neg_long", (Lit(1, LONG),)))))),
         "{⟨⟨1, 9{1}⟩, 1, 1⟩}"),
        (Sng(LABEL), "{1}"),
        (Sng(Tuple((("p", OutL(Var("l"), SITE, "p")), ("q", IsSite(Var("l"), "ι"))))), "{⟨1, 1⟩}"),
        (SngBag("ι", R), "{5{⟨1, 3{1}⟩}}"),
        (Flatten(X), "24{1}"),
        (Flatten(SngBag("ι", R)), "5{⟨1, 3{1}⟩}"),
        (Product(X, R), "20{⟨6{1}, ⟨1, 3{1}⟩⟩}"),
        (Plus(X, Y), "11{6{1}}"),
        (Neg(X), "4{6{1}}"),
        (Empty(ROW), "{⟨1, {1}⟩}"),
        (Apply(D, Var("l")), "3{1}"),
        (Apply(DictRel("R.b", LONG, At.DELTA), Var("l")), "{1}"),
        (Apply(DictRel("R.b", LONG, At.NEW), Var("l")), "3{1}"),
        (For("y", R, Apply(DictLit(SITE, "l", X), LABEL)), "20{6{1}}"),
        (Apply(DictLit(OTHER, "x", For("_", Sng(Var("x")), X)), LABEL), "4{6{1}}"),
        (Apply(DictUnion(D, DictLit(SITE, "l", Product(R, R))), Var("l")), None),
        (Apply(DictUnion(DictLit(SITE, "l", X), DictLit(OTHER, "l", Y)), Var("l")), "11{6{1}}"),
        (Apply(DictPlus(DictLit(SITE, "l", Y), DictLit(OTHER, "l", X)), Var("l")), "11{6{1}}"),
        (Apply(DictEmpty(ROW), Var("l")), "{⟨1, {1}⟩}"),
    ],
)  # fmt: skip
def test_rules(e: Expr, wanted: str | None) -> None:
    """Figure 5, one construct a row; ``None``: rows of different types have no sup."""
    if wanted is None:
        with pytest.raises(TypeMismatch, match="one type"):
            cost(e, SIZES, GAMMA, PI)
    else:
        assert str(cost(e, SIZES, GAMMA, PI)) == wanted


@pytest.mark.parametrize("d", [D, DictLit(SITE, "l", Flatten(X)), DictEmpty(LONG), DictUnion(D, DictEmpty(LONG))])
def test_a_definition_costs_what_its_application_does(d: DictExpr) -> None:
    assert dict_cost(d, SIZES, GAMMA, PI) == cost(Apply(d, Var("l")), SIZES, GAMMA, PI)


def test_plus_charges_the_larger_summand_only() -> None:
    """Figure 5's sup is no bound of the cardinality of M ⊎ M, which has 6 rows: it is one up to a factor of 2."""
    both = Plus(M, M)
    assert bag_size(evaluate(both, {"M": MOVIES}), MOVIE).count == 6
    assert cost(both, sizes_of({"M": MOVIES}, {"M": MOVIE})).count == 3


def test_a_given_size_after_the_batch_is_used() -> None:
    """sup(size(R), size(ΔR)) is only for want of a size of R⁺."""
    assert cost(Rel("R", ROW, At.NEW), {**SIZES, "R⁺": GAMMA["X"]}) == GAMMA["X"]


@pytest.mark.parametrize(
    ("e", "named"),
    [
        (Rel("S", ROW), "size of the part 'S'"),
        (Rel("S", ROW, At.NEW), "size of the part 'S'"),
        (Apply(DictRel("S.b", LONG), Var("l")), r"size of the part 'S.b\(l\)'"),
        (LetVar("Z"), "let variable 'Z'"),
        (Sng(Var("z")), "variable 'z'"),
        (Sng(Proj(Var("x"), "z")), "field 'z'"),
    ],
)
def test_unknown_names(e: Expr, named: str) -> None:
    with pytest.raises(UnknownName, match=named) as caught:
        cost(e, SIZES, GAMMA, PI)
    assert caught.value.possible


def test_ill_typed_terms() -> None:
    with pytest.raises(TypeMismatch, match="flatten"):
        cost(Flatten(R), SIZES)
    with pytest.raises(TypeMismatch, match="fields"):
        cost(Sng(Proj(TRUE, "a")), SIZES)


def test_sizes_of_every_kind_of_part() -> None:
    """A dictionary has two sizes: all rows ⟨label, row⟩, and the sup over its labels; empty ones cost the least."""
    one, two = LabelValue("R.b", ("1",)), LabelValue("R.b", ("2",))
    d = {one: BagValue({1: 2, 2: 1}), two: BagValue({3: -2}), LabelValue("R.b", ("3",)): EMPTY}
    found = sizes_of({"R": EMPTY, "R.b": d, "ΔR.b": {one: EMPTY}, "R.b⁺": {}}, {"R": ROW, "R.b": LONG})
    assert {key: str(c) for key, c in found.items()} == {
        "R": "{⟨1, {1}⟩}",
        "R.b": "5{⟨1, 1⟩}",
        "R.b(l)": "3{1}",
        "ΔR.b": "{⟨1, 1⟩}",
        "ΔR.b(l)": "{1}",
        "R.b⁺": "{⟨1, 1⟩}",
        "R.b⁺(l)": "{1}",
    }
    assert lookup_key("ΔR.b") in found
    with pytest.raises(UnknownName, match="row type of a part 'S'"):
        sizes_of({"S": EMPTY}, {"R": ROW})


def test_the_head_of_related_alone() -> None:
    """Open terms take ε° from the caller: HEAD and BODY are what the fors of example 6 range over."""
    films = BagCost(3, RecordCost(tuple((name, ONE) for name in MOVIE.names)))
    inner = cost(BODY, {"M": films}, pi={"m": films.inner})
    assert str(inner) == "3{1}"
    assert str(cost(HEAD, {}, pi={"m": films.inner, "b": inner})) == "{⟨1, 3{1}⟩}"


# ---------------------------------------------------------------- C is a bound


def without_plus(e: Expr) -> Expr:
    """e₁ for every e₁ ⊎ e₂."""
    if isinstance(e, Plus):
        return without_plus(e.left)
    return rebuild(e, without_plus, lambda t: t, lambda d: rebuild_dict(d, without_plus, lambda x: x))


@law(cases(), examples=80)
def test_costs_are_bounds(case: Case) -> None:
    """size([[h]]) ≤ C[[h]] for terms without ⊎, nested and shredded, and C[[h]] has the type's shape."""
    rows = dict(case.schema.relations)
    flat_rows = {part: t for name, row in rows.items() for part, t in stored_parts(name, row).items()}
    h = without_plus(case.query)
    nested = cost(h, sizes_of(case.db, rows))
    assert at_most(bag_size(evaluate(h, case.db), check(h).row), nested)
    flat = shred(h).flat
    assert at_most(bag_size(evaluate(flat, case.parts), check(flat).row), cost(flat, sizes_of(case.parts, flat_rows)))
    assert at_most(bottom(check(case.query)), cost(case.query, sizes_of(case.db, rows)))


# ---------------------------------------------------------------- what the theorems need


def test_where_the_telescoped_form_rests_on_the_cost_of_plus() -> None:
    """|R × S| = 9 and |ΔR × S ⊎ R⁺ × ΔS| = 10 when R⁺ has 5 rows; it is 6 when R⁺ costs what R ⊎ ΔR does."""
    h, three, two = Product(Rel("R", LONG), Rel("S", LONG)), BagCost(3, ONE), BagCost(2, ONE)
    sizes = {"R": three, "S": three, "ΔR": two, "ΔS": two}
    change = delta(h, frozenset({"R", "S"}), telescoped=True)
    assert (cost(h, sizes).count, cost(change, sizes).count) == (9, 6)
    assert cost(change, {**sizes, "R⁺": BagCost(5, ONE)}).count == 10


def test_an_update_that_is_not_incremental() -> None:
    """size(ΔR) < size(R) is needed: fewer rows with larger inner bags, or as many rows, need not be cheaper."""
    nested = Bag(LONG)
    r, dr = Rel("R", nested), frozenset({"R"})
    whole = BagCost(5, BagCost(2, ONE))
    for update_size in (BagCost(4, BagCost(3, ONE)), BagCost(5, whole.inner)):
        sizes = {"R": whole, "ΔR": update_size}
        assert not less(update_size, whole)
        assert tcost(cost(delta(Flatten(r), dr), sizes)) >= tcost(cost(Flatten(r), sizes))
