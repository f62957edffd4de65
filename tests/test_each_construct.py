"""Every case of every pass on 200 random instances of its own: terms whose root is the construct.

Random terms have each construct often, but seldom at the root, where the case of a pass meets all that may be below it.
The laws are those of the passes' own tests; here they are tried construct by construct.
"""

from collections import Counter
from typing import get_args

import pytest
from support.choices import Choices, seeded
from support.laws import law
from support.nesting import labels_in_use, nested, value_or_empty
from support.rooted import ELEMS, EXPRS, rooted
from support.schemas import random_database, random_schema
from support.updates import Batch, nested_database, random_batch, shredded_database

from ripplenest.cost.domains import at_most, bottom
from ripplenest.cost.interpret import cost, dict_cost, sizes_of
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.interpret import evaluate, look_up
from ripplenest.nrc.rewriting.normal import normal, term
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import DictEmpty, DictExpr, DictPlus, DictRel, DictUnion, Expr
from ripplenest.nrc.typecheck import check, dict_type
from ripplenest.nrc.types import Bag, Type
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.terms import Shredded, shred
from ripplenest.shred.values import Parts

ROOTS = sorted({**EXPRS, **ELEMS})


class Instance:
    """A term with the root, a database, and a batch against it."""

    def __init__(self, c: Choices, root: str) -> None:
        self.schema = random_schema(c)
        self.query = rooted(c, self.schema, root)
        self.parts = shredded_database(self.schema, random_database(c, self.schema, 3))
        self.batch = random_batch(c, self.schema, self.parts, most=2)

    @property
    def rows(self) -> dict[str, Type]:
        """The flat row type of each stored part."""
        return {part: t for name, row in self.schema.relations for part, t in stored_parts(name, row).items()}


def normal_term(s: Shredded) -> Expr:
    return term(normal(s.flat), check(s.flat).row)


def changes(s: Shredded, parts: Parts, batch: Batch) -> None:
    """h[R ⊎ ΔR] = h[R] ⊎ δ(h), in both forms, for the flat term and for the dictionaries at the labels in use."""
    state, after = batch.state(parts), batch.after(parts)
    old, new = evaluate(s.flat, parts), evaluate(s.flat, after)
    uses = labels_in_use(s, parts, after)
    for telescoped in (False, True):
        assert new == old + evaluate(delta(s.flat, batch.parts, telescoped), state)
        for d, labels in uses:
            definition_changes(d, list(labels), state, after, Scope(batch.parts, telescoped))


def definition_changes(d: DictExpr, labels: list[LabelValue], state: Parts, after: Parts, scope: Scope) -> None:
    """d[R ⊎ ΔR](l) = d[R](l) ⊎ δ(d)(l)"""
    change = delta_dict(d, scope)
    for label in labels:
        old, step = (value_or_empty(look_up(x, label, state, {}, {})) for x in (d, change))
        assert value_or_empty(look_up(d, label, after, {}, {})) == old + step


def costs(e: Expr, s: Shredded, i: Instance) -> None:
    """C is monotone in the sizes of the parts, and at least 1 of the type: for the term and its shredding."""
    both = _both(i.parts, i.batch.after(i.parts))
    small, large = (sizes_of(p, i.rows) for p in (i.parts, both))
    row = check(s.flat).row
    assert at_most(bottom(Bag(row)), cost(s.flat, small))
    assert at_most(cost(s.flat, small), cost(s.flat, large))
    for d in dictionaries(s.context):
        assert at_most(dict_cost(d, small), dict_cost(d, large))
    relations = dict(i.schema.relations)
    db, grown = (nested_database(i.schema, p) for p in (i.parts, both))
    assert at_most(cost(e, sizes_of(db, relations)), cost(e, sizes_of(grown, relations)))


def _both(old: Parts, new: Parts) -> Parts:
    """Parts that are at least as large as ``old`` in every row and label: what was there, and what is fresh."""
    out: Parts = {}
    for name, part in new.items():
        before = old[name]
        if isinstance(part, BagValue):
            assert isinstance(before, BagValue)
            out[name] = _larger(before, part)
        else:
            assert not isinstance(before, BagValue)
            out[name] = {x: _larger(before.get(x, BagValue()), part.get(x, BagValue())) for x in {**before, **part}}
    return out


def _larger(a: BagValue, b: BagValue) -> BagValue:
    return BagValue({row: max(a.counts.get(row, 0), b.counts.get(row, 0)) for row in {**a.counts, **b.counts}})


@pytest.mark.parametrize("root", ROOTS)
@law()
def test_each_case_keeps_its_law(root: str, c: Choices) -> None:
    """Theorem 8, proposition 4.1, lemma 10, and the laws of simplifier and normal form, for terms with this root."""
    i = Instance(c, root)
    s, db = shred(i.query), nested_database(i.schema, i.parts)
    direct = evaluate(i.query, db)
    assert evaluate(simplify(i.query), db) == direct
    assert nested(s, i.parts) == nested(Shredded(simplify(s.flat), s.context), i.parts) == direct
    assert evaluate(normal_term(s), i.parts) == evaluate(s.flat, i.parts)
    changes(s, i.parts, i.batch)
    costs(i.query, s, i)


def test_the_instances_have_their_root() -> None:
    """The construct is in the term, in its shredding, or in its normal form, and results have rows."""
    for root in ROOTS:
        met: Counter[str] = Counter()
        filled = 0
        for seed in range(30):
            i = Instance(seeded(seed), root)
            s = shred(i.query)
            terms = (i.query, s.flat, *dictionaries(s.context), normal_term(s))
            met.update({type(n).__name__ for t in terms for n in nodes(t)})
            filled += bool(evaluate(i.query, nested_database(i.schema, i.parts)))
        least = 2 if root == "IsSite" else 10  # which is asked only of labels of bags that can be NULL
        assert met[root] > least, (root, met)
        assert root != "Flatten" or met["Apply"] > 15, met
        assert root == "Empty" or filled > 8, (root, filled)


# ---------------------------------------------------------------- dictionaries


def rooted_dictionary(c: Choices, i: Instance, s: Shredded, root: str) -> DictExpr | None:
    """A dictionary with the root, made of the first one of ``s``; None where nothing stored has inner bags."""
    made = next(dictionaries(s.context))
    row = dict_type(made, {}, {}).row
    stored = [DictRel(part, t) for name, of in i.schema.relations for part, t in [*stored_parts(name, of).items()][1:]]
    match root:
        case "DictLit":
            return made
        case "DictEmpty":
            return DictEmpty(row)
        case "DictRel":
            return c.pick(stored) if stored else None
        case "DictUnion":
            return DictUnion(made, c.pick((made, DictEmpty(row))))
        case _:
            return DictPlus(made, c.pick((made, DictEmpty(row))))


@pytest.mark.parametrize("root", sorted(c.__name__ for c in get_args(DictExpr)))
@law()
def test_each_case_of_a_dictionary_keeps_its_law(root: str, c: Choices) -> None:
    """d[R ⊎ ΔR](l) = d[R](l) ⊎ δ(d)(l), ⟦simplify(d)⟧(l) = ⟦d⟧(l), at the labels in use and stored; C is monotone."""
    i = Instance(c, "SngBag")
    s = shred(i.query)
    d = rooted_dictionary(c, i, s, root)
    if d is None:
        return
    assert type(d).__name__ == root
    state, after = i.batch.state(i.parts), i.batch.after(i.parts)
    labels = [label for _, found in labels_in_use(s, i.parts, after) for label in found]
    labels += [x for part in after.values() if not isinstance(part, BagValue) for x in part]
    simple = simplify_dict(d)
    for label in labels:
        plain, simpler = (value_or_empty(look_up(x, label, i.parts, {}, {})) for x in (d, simple))
        assert plain == simpler
    for telescoped in (False, True):
        definition_changes(d, labels, state, after, Scope(i.batch.parts, telescoped))
    assert at_most(dict_cost(d, sizes_of(i.parts, i.rows)), dict_cost(d, sizes_of(_both(i.parts, after), i.rows)))
