"""What each pass makes of the views of ``support/examples.py``: the text as reviewed, and its meaning when it is run.

Each block of ``tests/golden/<pass>.txt`` is compared with what the pass says and then executed: the law of the pass is
checked on random databases. ``pytest --golden-update tests/test_golden.py`` writes the files anew.
"""

from collections.abc import Callable, Iterator

import pytest
from support.choices import seeded
from support.examples import QUERIES
from support.golden import blocks, write
from support.nesting import agrees, labels_in_use, nested, value_or_empty
from support.schemas import Schema, random_database
from support.updates import Batch, nested_database, random_batch, shredded_database

from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.interpret import evaluate, look_up
from ripplenest.nrc.printing.layout import layout, layout_dict
from ripplenest.nrc.rewriting.normal import normal, term
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import DictEmpty, DictExpr, DictLit, Empty, Expr, Query
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import Label
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.terms import Shredded, shred
from ripplenest.shred.values import Parts

DATABASES = 8


def databases(q: Query) -> Iterator[tuple[Parts, Batch]]:
    """Random shredded databases of a query's relations, each with a batch."""
    for seed in range(DATABASES):
        c, schema = seeded(seed), Schema(q.relations)
        parts = shredded_database(schema, random_database(c, schema))
        yield parts, random_batch(c, schema, parts)


def heading(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title}:", *(f"    {line}" for line in lines)])


def simple(s: Shredded) -> tuple[Expr, list[DictExpr]]:
    """h^F and the dictionaries of h^Γ, simplified; outer dictionaries first."""
    return simplify(s.flat), [simplify_dict(d) for d in dictionaries(s.context)]


def parts_of(q: Query) -> list[str]:
    return [part for name, row in q.relations for part in stored_parts(name, row)]


# ---------------------------------------------------------------- what each pass says


def simplified(q: Query) -> str:
    return heading("simplified", layout(simplify(q.body)))


def shredded(q: Query) -> str:
    flat, found = simple(shred(simplify(q.body)))
    return "\n".join([heading("flat", layout(flat)), *(heading("dictionary", layout_dict(d)) for d in found)])


def deltas(q: Query) -> str:
    """Untelescoped, as the paper derives them, for each stored part; ∅ is left out."""
    flat, found = simple(shred(simplify(q.body)))
    lines = []
    for part in parts_of(q):
        changed = frozenset((part,))
        change = delta(flat, changed)
        if not isinstance(change, Empty):
            lines.append(heading(f"δ flat, {part}", layout(change)))
        for d in found:
            inner = simplify_dict(delta_dict(d, Scope(changed, telescoped=False)))
            if not isinstance(inner, DictEmpty) and not (isinstance(inner, DictLit) and isinstance(inner.body, Empty)):
                lines.append(heading(f"δ dictionary, {part}", layout_dict(inner)))
    return "\n".join(lines)


def normal_forms(q: Query) -> str:
    flat, found = simple(shred(simplify(q.body)))
    lines = [heading("flat", layout(term(normal(flat), check(flat).row)))]
    for d in found:
        if isinstance(d, DictLit):
            lines.append(heading(f"definition of ι[{d.site.name}]", layout(normal_body(d))))
    return "\n".join(lines)


def normal_body(d: DictLit) -> Expr:
    free = {d.var: Label((d.site,))}
    return term(normal(d.body, free), check(d.body, None, free).row)


# ---------------------------------------------------------------- what it means


def run_simplified(q: Query) -> None:
    """⟦simplify(e)⟧ = ⟦e⟧"""
    for parts, _ in databases(q):
        db = nested_database(Schema(q.relations), parts)
        assert evaluate(simplify(q.body), db) == evaluate(q.body, db)
    assert agrees(check(simplify(q.body)).row, check(q.body).row)


def run_shredded(q: Query) -> None:
    """h[R] = for x in h^F union u[h^Γ](x)"""
    s = shred(simplify(q.body))
    for parts, _ in databases(q):
        assert nested(Shredded(simplify(s.flat), s.context), parts) == evaluate(
            q.body, nested_database(Schema(q.relations), parts)
        )


def run_deltas(q: Query) -> None:
    """h[P ⊎ ΔP] = h[P] ⊎ δ_P(h), part by part, for the flat query and each dictionary"""
    s = shred(simplify(q.body))
    for parts, batch in databases(q):
        for part in batch.delta:
            step = batch.only(part)
            before, after, state = parts, step.after(parts), step.state(parts)
            change = evaluate(delta(simplify(s.flat), step.parts), state)
            assert evaluate(s.flat, after) == evaluate(s.flat, before) + change
            _run_dictionaries(s, step, before)


def _run_dictionaries(s: Shredded, step: Batch, parts: Parts) -> None:
    state, after = step.state(parts), step.after(parts)
    for d, labels in labels_in_use(s, parts):
        change = simplify_dict(delta_dict(simplify_dict(d), Scope(step.parts, telescoped=False)))
        for label in labels:
            old, new = (value_or_empty(look_up(d, label, db, {}, {})) for db in (parts, after))
            assert new == old + value_or_empty(look_up(change, label, state, {}, {}))


def run_normal_forms(q: Query) -> None:
    """⟦h^F⟧ = ⊎ ⟦comprehensions⟧, and the same for each definition at every label in use"""
    s = shred(simplify(q.body))
    flat = simplify(s.flat)
    for parts, _ in databases(q):
        assert evaluate(term(normal(flat), check(flat).row), parts) == evaluate(s.flat, parts)
        for d, labels in labels_in_use(s, parts):
            own = simplify_dict(d)
            if isinstance(own, DictLit):
                for label in labels:
                    found = evaluate(normal_body(own), parts, None, {own.var: label})
                    assert found == value_or_empty(look_up(d, label, parts, {}, {}))


STAGES: dict[str, tuple[Callable[[Query], str], Callable[[Query], None]]] = {
    "simplify": (simplified, run_simplified),
    "shred": (shredded, run_shredded),
    "delta": (deltas, run_deltas),
    "normal": (normal_forms, run_normal_forms),
}


def text(stage: str, name: str) -> str:
    q = QUERIES[name]
    return f"{heading('query', layout(q.body))}\n{STAGES[stage][0](q)}"


@pytest.mark.parametrize("stage", STAGES)
def test_the_text(stage: str, golden_update: bool) -> None:
    """Each block says what the pass says, and no block is left over."""
    wanted = {name: text(stage, name) for name in QUERIES}
    if golden_update:
        write(stage, wanted)
    found = blocks(stage)
    assert list(found) == list(QUERIES)
    for name, block in found.items():
        assert block == wanted[name], f"{stage}.txt, {name}; pytest --golden-update tests/test_golden.py writes it anew"


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("stage", STAGES)
def test_the_meaning(stage: str, name: str) -> None:
    """The law of the pass, on random databases and batches, some of which give the query rows."""
    q = QUERIES[name]
    STAGES[stage][1](q)
    assert any(evaluate(q.body, nested_database(Schema(q.relations), parts)) for parts, _ in databases(q))
