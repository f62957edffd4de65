"""What is computed and equals an update by way of others is compared with the update."""

from collections import Counter
from collections.abc import Mapping

from attrs import evolve
from support.choices import Choices
from support.cycles import ROW, body, random_rows, same
from support.laws import law
from support.related import path
from support.sizes import many

from ripplenest.delta.anchored import anchored
from ripplenest.delta.factor import Computed, components
from ripplenest.delta.rules import derived
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.normal import Comprehension, conjunction, is_total, normal, term
from ripplenest.nrc.syntax import At, Call, Elem, Expr, Lit, Rel, Sng, Tuple
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import LONG
from ripplenest.nrc.walk import unique_binders

COUNTS: Counter[str] = Counter()
KNOWN = Computed()


def computed(c: Choices, var: str) -> Elem:
    """A column of ``var``, or what is computed of some, which may fail, or of nothing."""
    found = (
        Call("coalesce", (path(var, "b"), Lit(0, LONG))),
        Call("quotient_long", (path(var, "c"), Lit(2, LONG))),
        Call("quotient_long", (Lit(4, LONG), path(var, "a"))),
    )
    if c.one_in(12):
        return Call("quotient_long", (Lit(4, LONG), Lit(0, LONG)))
    return c.pick((path(var, "a"), path(var, "b"), path(var, "b"), *found))


def equated(c: Choices) -> Expr:
    """Three or four generators, any of which are equated by columns or by what is computed of them."""
    names = [f"x{i}" for i in range(3 + c.one_in(2))]
    rels = [Rel(c.pick(("R", "S", "T")), ROW) for _ in names]
    pairs = [(c.pick(names[:i]), name) for i, name in enumerate(names) if i] + [(names[0], names[-1])]
    usual = {name: computed(c, name) for name in names}
    sides = [[usual[name] if c.one_in(2) else computed(c, name) for name in pair] for pair in pairs]
    conditions = [same(c, a, b) for a, b in sides]
    head = Tuple((("n", path(names[0], "b")), ("m", path(names[-1], "c"))))
    return body([*zip(names, rels, strict=True)], conditions, Sng(head))


def rows_of(found: Comprehension, e: Expr, old: Mapping[str, BagValue], change: BagValue) -> BagValue | None:
    """None where a condition has no value that is asked when all others are true."""
    types = found.variables()
    ordered = sorted(found.conditions, key=lambda t: not is_total(t, types))
    asked = conjunction(Call("is_true", (t,)) for t in ordered)
    found = evolve(found, conditions=(asked,))
    held = {
        rel.key: change if rel.at is At.DELTA else old[rel.name] + change if rel.at is At.NEW else old[rel.name]
        for _, rel in found.generators
    }
    try:
        return evaluate(term((found,), expr_type(e, {}, {}).row), held)
    except EvaluationError:
        return None


@law(examples=many(150, 5000))
def test_anchored(c: Choices) -> None:
    """Law (anchored): ⟦anchored c⟧ = ⟦c⟧, for products of deltas."""
    e = equated(c)
    for product in normal(unique_binders(derived(e, frozenset({"R"}), telescoped=True))):
        found = anchored(product, KNOWN)
        for _ in range(2):
            old = {name: random_rows(c, 6) for name in "RST"}
            change = random_rows(c, 4) - random_rows(c, 3)
            wanted, got = rows_of(product, e, old, change), rows_of(found, e, old, change)
            assert got == wanted
            COUNTS["rows"] += bool(wanted) and found != product
            COUNTS["fails"] += wanted is None
        COUNTS["anchored"] += found != product
        COUNTS["more components"] += len(components(found)) > len(components(product))


def test_coverage() -> None:
    if COUNTS:
        assert min(COUNTS[name] for name in ("rows", "fails", "anchored", "more components")) > many(5, 100), COUNTS
