"""Law 1 (nrc-ivm, proposition 4.1 and theorem 5): ``h[R ⊎ ΔR] = h[R] ⊎ δ(h)[R, ΔR]``, for h^F and every dictionary."""

import pytest
from support.counts import Counts
from support.laws import law
from support.nesting import agrees, labels_in_use, value_or_empty
from support.sizes import many
from support.strategies import Case, cases, weighed_cases
from support.updates import Batch

from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.interpret import evaluate, look_up
from ripplenest.nrc.rewriting.normal import normal
from ripplenest.nrc.rewriting.simplify import simplify_dict
from ripplenest.nrc.syntax import (
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
    Let,
    LetVar,
    Plus,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG as INTEGER
from ripplenest.nrc.types import Bag, Label, Record
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import dictionaries
from ripplenest.shred.terms import Shredded, shred
from ripplenest.shred.values import Parts

COUNTS = Counts()


def flat_law(s: Shredded, parts: Parts, batch: Batch, telescoped: bool) -> None:
    """h^F[R ⊎ ΔR] = h^F[R] ⊎ δ(h^F)"""
    change = delta(s.flat, batch.parts, telescoped)
    after = evaluate(s.flat, batch.after(parts))
    assert after == evaluate(s.flat, parts) + evaluate(change, batch.state(parts))
    assert agrees(check(change).row, check(s.flat).row)


def dictionary_law(s: Shredded, parts: Parts, batch: Batch, telescoped: bool) -> None:
    """d[R ⊎ ΔR](l) = d[R](l) ⊎ δ(d)(l) for every label in use before or after"""
    state, after = batch.state(parts), batch.after(parts)
    for d, labels in labels_in_use(s, parts, after):
        change = delta_dict(d, Scope(batch.parts, telescoped))
        for changed in (change, simplify_dict(change)):
            for label in labels:
                old, step = (value_or_empty(look_up(x, label, state, {}, {})) for x in (d, changed))
                assert value_or_empty(look_up(d, label, after, {}, {})) == old + step


def law_1(case: Case) -> None:
    s = shred(case.query)
    COUNTS.query(case.query)
    for parts, batch in case.steps():
        COUNTS.batch(batch)
        COUNTS.result(evaluate(s.flat, batch.after(parts)))
        for telescoped in (False, True):
            flat_law(s, parts, batch, telescoped)
            dictionary_law(s, parts, batch, telescoped)


@law(cases(), examples=many(70, 400))
def test_law_1(case: Case) -> None:
    """Proposition 4.1: h[R ⊎ ΔR] = h[R] ⊎ δ(h)[R, ΔR], for batches that change several parts at once."""
    law_1(case)


@law(weighed_cases(), examples=many(40, 400))
def test_law_1_with_weights(case: Case) -> None:
    """δ(w(t)) = ∅, at any place of a term."""
    law_1(case)


@pytest.mark.long
@law(cases(batches=5), examples=3000, fresh=True)
def test_law_1_long(case: Case) -> None:
    """As above, on more cases and longer histories."""
    law_1(case)


@law(cases(), examples=many(70, 400))
def test_law_1_part_by_part(case: Case) -> None:
    """h[P ⊎ ΔP] = h[P] ⊎ δ_P(h) for each single part P of the database, flat or dictionary."""
    s = shred(case.query)
    (batch,) = case.batches
    for part in batch.delta:
        flat_law(s, case.parts, batch.only(part), telescoped=False)


@law(cases(), examples=many(70, 400))
def test_terms_without_sites_need_no_shredding(case: Case) -> None:
    """Law 1 on the nested database itself, for terms whose sng_ι do not depend on what changes."""
    (batch,) = case.batches
    before, after = case.db, batch.nested_after(case.schema, case.parts)
    changed = frozenset(name for name in before if before[name] != after[name])
    try:
        change = delta(case.query, changed)
    except QueryError:  # a deep change
        return
    state = {**before, **{f"Δ{n}": after[n] - before[n] for n in changed}}
    assert evaluate(case.query, after) == evaluate(case.query, before) + evaluate(change, state)


@law(cases(), examples=many(70, 400))
def test_lemma_1(case: Case) -> None:
    """Lemma 1: δ(h) = ∅ for h^F and dictionaries that do not depend on what changes: nothing is left to run."""
    s = shred(case.query)
    (batch,) = case.batches
    independent = frozenset({"elsewhere"}) | batch.parts - reads(s.flat)
    for telescoped in (False, True):
        assert normal(delta(s.flat, independent, telescoped)) == ()
        for d in dictionaries(s.context):
            change = simplify_dict(delta_dict(d, Scope(independent - reads(d), telescoped)))
            assert all(holds_nothing(part) for part in leaves(change))
    COUNTS.labels += len(independent) > 1


def holds_nothing(d: DictExpr) -> bool:
    return isinstance(d, DictEmpty) or (isinstance(d, DictLit) and normal(d.body, {d.var: Label((d.site,))}) == ())


def reads(t: Expr | DictExpr) -> frozenset[str]:
    return frozenset(n.name for n in nodes(t) if isinstance(n, Rel | DictRel))


def leaves(d: DictExpr) -> list[DictExpr]:
    """The dictionaries whose union or sum ``d`` is."""
    return [*leaves(d.left), *leaves(d.right)] if isinstance(d, DictUnion | DictPlus) else [d]


# ---------------------------------------------------------------- single rules

ROW = Record((("a", INTEGER),))
R, S = Rel("R", ROW), Rel("S", ROW)


def test_a_deep_change_is_refused() -> None:
    """δ(sng*(e)) = ∅ holds only where e does not depend on the change."""
    with pytest.raises(QueryError, match="deep"):
        delta(SngBag("ι", R), frozenset({"R"}))
    assert isinstance(delta(SngBag("ι", R), frozenset({"S"})), Empty)


def test_a_let_that_shadows() -> None:
    """let X := e in let X := f(X) in g: the delta of f(X) is about the outer X."""
    e = Let("X", R, Let("X", For("x", LetVar("X"), S), For("y", LetVar("X"), LetVar("X"))))
    one, two = (("a", 1),), (("a", 2),)
    old = {"R": BagValue({one: 1}), "S": BagValue({two: 2})}
    changes = {"ΔR": BagValue({two: 1}), "ΔS": BagValue({one: 1})}
    new = {n: old[n] + changes[f"Δ{n}"] for n in old}
    state = {**old, **changes, **{f"{n}⁺": bag for n, bag in new.items()}}
    for telescoped in (False, True):
        change = delta(e, frozenset({"R", "S"}), telescoped)
        assert evaluate(e, new) == evaluate(e, old) + evaluate(change, state)


ORDERS = Rel("N", Record((("os", Bag(INTEGER)),)))
MADE = For("x", R, For("b", SngBag("ι", Sng(Proj(Var("x"), "a"))), Sng(Tuple((("os", Var("b")),)))))
HELD = LabelValue("N.os", ("1",))
PARTS: Parts = {
    "R": BagValue({(("a", 1),): 1}),
    "N": BagValue({(("os", HELD),): 1}),
    "N.os": {HELD: BagValue({1: 1})},
}


@pytest.mark.parametrize("flatten", [False, True])
def test_the_change_of_a_label_union(flatten: bool) -> None:
    """δ(d₁ ∪ d₂) = δ(d₁) ∪ δ(d₂): where both define a label its change counts once, in (N ⊎ e) ⊎ N."""
    both = Plus(Plus(ORDERS, MADE), ORDERS)
    s = shred(For("y", both, Flatten(Sng(Proj(Var("y"), "os")))) if flatten else both)
    batch = Batch({"N.os": {HELD: BagValue({7: 1})}})
    for telescoped in (False, True):
        flat_law(s, PARTS, batch, telescoped)
        dictionary_law(s, PARTS, batch, telescoped)


def test_coverage() -> None:
    """The cases above were not empty ones; some terms did not read a part that a batch changed."""
    COUNTS.check()
    assert COUNTS.labels > 20
