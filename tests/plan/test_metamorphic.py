"""What must be the same said in another way (design law 8): 500 instances of each, on a program that is compiled once.

Any split of a batch; a batch and its negation; two batches in either order, or as one; p ⊎ not p ⊎ p-is-null = all;
simplified = unsimplified.
"""

from support.choices import Choices
from support.correlated import correlated_query
from support.counts import Counts
from support.laws import law
from support.programs import Running, planned, query_of
from support.queries import Queries, Scope, random_query, weighed_query
from support.schemas import Schema, random_database, random_schema
from support.sizes import many
from support.strategies import case_of

from ripplenest.delta.rules import delta
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import Call, Expr, For, Plus, Pred, Sng, Var
from ripplenest.nrc.typecheck import check
from ripplenest.shred.consistency import add
from ripplenest.shred.terms import shred
from ripplenest.shred.values import Parts

COUNTS = Counts()
DATABASES = 5


def rows_of(delta: Parts) -> list[Parts]:
    """A batch as one batch per row that changes."""
    found: list[Parts] = []
    for name, part in delta.items():
        if isinstance(part, BagValue):
            found += [{name: BagValue({row: n})} for row, n in part]
        else:
            found += [{name: {label: BagValue({row: n})}} for label, bag in part.items() for row, n in bag]
    return found


def split(c: Choices, delta: Parts) -> list[Parts]:
    """The rows of a batch in 1 to 3 batches, in any order."""
    batches: list[Parts] = [{} for _ in range(1 + c.number(3))]
    for row in rows_of(delta):
        i = c.number(len(batches))
        batches[i] = {**add(batches[i], row)}
    return batches


def negated(delta: Parts) -> Parts:
    return {
        name: -part if isinstance(part, BagValue) else {label: -bag for label, bag in part.items()}
        for name, part in delta.items()
    }


@law(examples=many(32, 100))
def test_law_8(c: Choices) -> None:
    """One batch = any split of it; a batch and its negation = nothing; two batches commute, and are one: same maps."""
    schema = random_schema(c)
    law_8(c, schema, correlated_query(c, schema) if c.number(2) else random_query(c, schema))


@law(examples=many(16, 100))
def test_law_8_with_weights(c: Choices) -> None:
    """As law 8, of views whose rows are there as often as values say."""
    schema = random_schema(c)
    law_8(c, schema, weighed_query(c, schema))


def law_8(c: Choices, schema: Schema, e: Expr) -> None:
    query = query_of(schema, e)
    _, program = planned(query)
    for _ in range(DATABASES):
        case = case_of(c, schema, query.body, 2)
        first, second = (batch.delta for batch in case.batches)
        start = Running.start(program, case.parts)
        once = start.apply(first)
        assert once.apply(negated(first)).everything() == start.everything()
        twice = once.apply(second).everything()
        assert start.apply(add(first, second)).everything() == twice
        assert start.apply(second).apply(first).everything() == twice
        pieces = start
        for piece in split(c, first):
            pieces = pieces.apply(piece)
        assert pieces.everything() == once.everything()
        for batch in case.batches:
            COUNTS.batch(batch)
        COUNTS.result(once.nested())


@law(examples=many(150, 500))
def test_a_condition_its_negation_and_null_are_all(c: Choices) -> None:
    """for x in e where p ⊎ for x in e where not p ⊎ for x in e where p is null = e"""
    schema = random_schema(c)
    source = random_query(c, schema)
    bound = Scope(schema).bind("x", check(source).row)
    p = Queries(c, schema).condition(bound, 2)

    def where(cond: Call) -> Expr:
        return For("x", source, For("_", Pred(cond), Sng(Var("x"))))

    true, false = where(Call("is_true", (p,))), where(Call("not", (p,)))
    null = where(Call("is_null", (p,)))
    db = random_database(c, schema)
    everything = evaluate(source, db)
    assert evaluate(Plus(true, Plus(false, null)), db) == everything
    COUNTS.result(everything)


@law(examples=many(250, 500))
def test_simplified_is_unsimplified(c: Choices) -> None:
    """⟦simplify(h)⟧ = ⟦h⟧, ⟦simplify(h^F)⟧ = ⟦h^F⟧ and ⟦simplify(δ(h^F))⟧ is the change of h^F, for the same rows."""
    schema = random_schema(c)
    case = case_of(c, schema, correlated_query(c, schema) if c.number(2) else random_query(c, schema), 1)
    (batch,) = case.batches
    flat = shred(case.query).flat
    COUNTS.result(evaluate(case.query, case.db))
    COUNTS.batch(batch)
    assert evaluate(simplify(case.query), case.db) == evaluate(case.query, case.db)
    before, simple = evaluate(flat, case.parts), simplify(flat)
    assert evaluate(simple, case.parts) == before
    change = evaluate(delta(simple, batch.parts), batch.state(case.parts))
    assert evaluate(flat, batch.after(case.parts)) == before + change


def test_coverage() -> None:
    """The cases above were not empty ones."""
    COUNTS.check_results()
