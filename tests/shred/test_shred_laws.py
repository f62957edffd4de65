"""Shredding keeps meaning (nrc-ivm, lemmas 6 and 7, theorem 8) and consistency (definitions 1, 2, lemmas 11 to 13)."""

from collections import Counter

import pytest
from support.choices import Choices
from support.counts import Counts
from support.laws import law
from support.nesting import agrees, collect, labels_in_use, nested
from support.schemas import random_database, random_schema
from support.strategies import Case, cases
from support.updates import nested_database, shredded_database

from ripplenest.delta.rules import delta
from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import Flatten, SngBag
from ripplenest.nrc.typecheck import check, dict_type
from ripplenest.nrc.types import Bag, Base, is_flat
from ripplenest.nrc.walk import nodes
from ripplenest.shred.consistency import inconsistent_update, labels_of, undefined
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.terms import shred
from ripplenest.shred.values import nest

COUNTS = Counts()


def shredding_keeps_meaning(case: Case) -> None:
    s = shred(case.query)
    direct = evaluate(case.query, case.db)
    assert nested(s, case.parts) == direct
    COUNTS.query(case.query)
    COUNTS.result(direct)


@law(cases())
def test_theorem_8(case: Case) -> None:
    """Theorem 8: h[R] = for x in h^F union u[h^Γ](x), with R shredded by s."""
    shredding_keeps_meaning(case)


@pytest.mark.long
@law(cases(), examples=3000, fresh=True)
def test_theorem_8_long(case: Case) -> None:
    """As above, on more cases."""
    shredding_keeps_meaning(case)


@law()
def test_lemma_6_and_lemma_11(c: Choices) -> None:
    """Lemma 6: u[s^Γ](s^F(v)) = v. Lemma 11: what s makes is consistent."""
    schema = random_schema(c)
    db = random_database(c, schema)
    parts = shredded_database(schema, db)
    assert nested_database(schema, parts) == db
    assert not list(undefined(parts))


@law()
def test_a_label_names_one_place(c: Choices) -> None:
    """Equal rows have labels of their own, so that a deep update reaches one of them."""
    schema = random_schema(c)
    parts = shredded_database(schema, random_database(c, schema))
    bags = [bag for part in parts.values() for bag in ([part] if isinstance(part, BagValue) else part.values())]
    holders = Counter(label for bag in bags for row, n in bag for label in labels_of(row) for _ in range(n))
    assert all(n == 1 for n in holders.values())


@law(cases())
def test_shredded_types(case: Case) -> None:
    """h : Bag(B) ⟹ h^F : Bag(B^F), flat, without sng_ι and flatten; every dictionary maps to flat rows too."""
    s, row = shred(case.query), check(case.query).row
    flat = check(s.flat).row
    assert is_flat(flat)
    assert agrees(flat, stored_parts("V", row)["V"])  # tighter where ∅ alone would allow NULL
    COUNTS.query(case.query)
    for term in (s.flat, *dictionaries(s.context)):
        assert not [node for node in nodes(term) if isinstance(node, SngBag | Flatten)]
    assert all(is_flat(dict_type(d, {}, {}).row) for d in dictionaries(s.context))


@law(cases())
def test_lemma_12(case: Case) -> None:
    """Lemma 12: results of shredded queries are consistent: each label in them, at any depth, has a definition."""
    s = shred(case.query)
    uses = labels_in_use(s, case.parts)  # asserts the definitions
    COUNTS.labels += sum(len(labels) for _, labels in uses)


@law(cases())
def test_lemma_13(case: Case) -> None:
    """Lemma 13: batches are consistent updates, and so are changes of results: labels in δ(h^F) are defined then."""
    s = shred(case.query)
    for parts, batch in case.steps():
        assert not list(inconsistent_update(parts, batch.delta))
        for row, _ in evaluate(delta(s.flat, batch.parts), batch.state(parts)):
            collect(row, s.context, batch.after(parts), "", {})
        COUNTS.batch(batch)


# ---------------------------------------------------------------- planted faults

LABEL = LabelValue("R.a", ("1",))
ROW = (("a", LABEL),)


def test_a_label_without_definition_is_found() -> None:
    """Definition 1, in a flat part and inside a definition."""
    assert len(list(undefined({"R": BagValue({ROW: 1}), "R.a": {}}))) == 1
    deeper = {"R": EMPTY, "R.a": {}, "S": EMPTY, "S.b": {LabelValue("S.b", ("1",)): BagValue({ROW: 1})}}
    assert len(list(undefined(deeper))) == 1
    assert not list(undefined({"R": BagValue({ROW: 1}), "R.a": {LABEL: EMPTY}}))


def test_an_inconsistent_update_is_found() -> None:
    """Definition 2: a fresh row without its definition, an update under another dictionary's label."""
    parts = {"R": EMPTY, "R.a": {}}
    assert list(inconsistent_update(parts, {"R": BagValue({ROW: 1})}))
    assert not list(inconsistent_update(parts, {"R": BagValue({ROW: 1}), "R.a": {LABEL: EMPTY}}))
    assert list(inconsistent_update(parts, {"R.a": {LabelValue("R.b", ("1",)): EMPTY}}))


def test_nesting_refuses_an_undefined_label() -> None:
    """u has no answer where definition 1 is broken."""
    with pytest.raises(CorruptState):
        nest(BagValue({LABEL: 1}), Bag(Base("long")), lambda _: None)


def test_coverage() -> None:
    """The cases above were not empty ones."""
    COUNTS.check()
