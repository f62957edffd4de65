"""Lemmas 7, 12 and 13 on any consistent shredded bags: shared labels, equal definitions, definitions that nobody holds.

``test_shred_laws.py`` has them on what shredding and valid batches make, where every label is held once.
"""

from collections.abc import Iterator

import pytest
from attrs import frozen
from support.choices import Choices
from support.counts import Counts
from support.laws import law
from support.nesting import collect, labels_in_use, nested, value_or_empty
from support.queries import random_query
from support.schemas import Schema, random_schema
from support.shared_labels import consistent_bags, consistent_update, shared
from support.updates import Batch, nested_database

from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate, look_up
from ripplenest.nrc.syntax import DictExpr, DictRel, DictUnion, Expr
from ripplenest.nrc.types import LONG as INTEGER
from ripplenest.shred.consistency import inconsistent_update, undefined
from ripplenest.shred.contexts import dictionaries
from ripplenest.shred.terms import Shredded, shred
from ripplenest.shred.values import Parts

COUNTS = Counts()


@frozen
class Instance:
    """A query over consistent shredded bags, and an update that is consistent with them."""

    schema: Schema
    query: Expr
    parts: Parts
    update: Batch


def instance(c: Choices) -> Instance:
    schema = random_schema(c)
    query = random_query(c, schema)
    parts = consistent_bags(c, schema)
    found = Instance(schema, query, parts, consistent_update(c, schema, parts))
    COUNTS.query(query)
    COUNTS.labels += shared(parts)
    return found


def universe(s: Shredded, *states: Parts) -> set[LabelValue]:
    """Every stored label, and those that the query makes."""
    stored = {label for parts in states for part in parts.values() if not isinstance(part, BagValue) for label in part}
    return stored | {label for _, labels in labels_in_use(s, *states) for label in labels}


def lemma_7(c: Choices) -> None:
    i = instance(c)
    s, nested_input = shred(i.query), nested_database(i.schema, i.parts)
    direct = evaluate(i.query, nested_input)
    assert nested(s, i.parts) == direct
    COUNTS.result(direct)


@law()
def test_lemma_7(c: Choices) -> None:
    """Lemma 7: let R := for r in R^F union u[R^Γ](r) in h[R]  =  for x in h^F union u[h^Γ](x)"""
    lemma_7(c)


@pytest.mark.long
@law(examples=3000, fresh=True)
def test_lemma_7_long(c: Choices) -> None:
    """Lemma 7, on more cases."""
    lemma_7(c)


@law()
def test_lemma_12_on_any_consistent_bags(c: Choices) -> None:
    """Lemma 12: ⟨h^F, h^Γ⟩ is consistent: each label has a definition, and no label union meets two that differ."""
    i = instance(c)
    s = shred(i.query)
    assert not list(undefined(i.parts))
    COUNTS.result(evaluate(s.flat, i.parts))
    labels = universe(s, i.parts)  # asserts the definitions of what the result holds
    for d in dictionaries(s.context):
        for label in labels:
            look_up(d, label, i.parts, {}, {})  # raises where d₁ ∪ d₂ is not defined


def supports(d: DictExpr, labels: set[LabelValue], state: Parts) -> set[LabelValue]:
    """supp(d) among ``labels``."""
    return {label for label in labels if look_up(d, label, state, {}, {}) is not None}


@law()
def test_lemma_13_on_any_consistent_bags(c: Choices) -> None:
    """Lemma 13: ⟨δ(h^F), δ(h^Γ)⟩ is consistent wrt. ⟨h^F, h^Γ⟩ (definition 2).

    A label that one dictionary of h^Γ has and updates is updated in each that has it; a label that is fresh in one is
    in none. Labels in δ(h^F) are defined afterwards.
    """
    i = instance(c)
    assert not list(inconsistent_update(i.parts, i.update.delta))
    s, state, after = shred(i.query), i.update.state(i.parts), i.update.after(i.parts)
    for row, _ in evaluate(delta(s.flat, i.update.parts), state):
        collect(row, s.context, after, "", {})
    labels = universe(s, i.parts, after)
    found = list(updated(s, i.update, labels, state))
    for old, new in found:
        for other_old, other_new in found:
            assert (new & old & other_old) <= other_new
            assert not (new - old) & other_old


def updated(
    s: Shredded, update: Batch, labels: set[LabelValue], state: Parts
) -> Iterator[tuple[set[LabelValue], set[LabelValue]]]:
    """supp(d) and supp(δ(d)) of each dictionary of h^Γ."""
    scope = Scope(update.parts, telescoped=False)
    for d in dictionaries(s.context):
        yield supports(d, labels, state), supports(delta_dict(d, scope), labels, state)


@law()
def test_proposition_4_1_on_any_consistent_bags(c: Choices) -> None:
    """Proposition 4.1: h[R ⊎ ΔR] = h[R] ⊎ δ(h)[R, ΔR], for h^F and for every label of every dictionary of h^Γ."""
    i = instance(c)
    s, state, after = shred(i.query), i.update.state(i.parts), i.update.after(i.parts)
    change = evaluate(delta(s.flat, i.update.parts), state)
    before = evaluate(s.flat, i.parts)
    assert evaluate(s.flat, after) == before + change
    COUNTS.result(before)
    labels = universe(s, i.parts, after)
    for d in dictionaries(s.context):
        step = delta_dict(d, Scope(i.update.parts, telescoped=False))
        for label in labels:
            old, new, ch = (
                value_or_empty(look_up(x, label, db, {}, {})) for x, db in ((d, state), (d, after), (step, state))
            )
            assert new == old + ch


# ---------------------------------------------------------------- label union (appendix C.2)

L1, L2, L3 = (LabelValue("l", (str(n),)) for n in (1, 2, 3))


def test_the_papers_label_unions() -> None:
    """[l₁ ↦ b₁, l₂ ↦ b₂] ∪ [l₂ ↦ b₂, l₃ ↦ b₄] has each once; where the definitions of l₂ differ it is an error."""
    b1, b2, b4, b5 = (BagValue({n: 1}) for n in (1, 2, 4, 5))
    both = DictUnion(DictRel("A", INTEGER), DictRel("B", INTEGER))
    agree: Parts = {"A": {L1: b1, L2: b2}, "B": {L2: b2, L3: b4}}
    assert [look_up(both, label, agree, {}, {}) for label in (L1, L2, L3)] == [b1, b2, b4]
    with pytest.raises(EvaluationError, match="disagree"):
        look_up(both, L2, {**agree, "B": {L2: b5}}, {}, {})


def test_coverage() -> None:
    """The cases above were not empty ones, and most of them share labels."""
    COUNTS.check()
    assert COUNTS.labels > COUNTS.queries / 5, COUNTS.labels
