"""Products of a statement that look alike are one: of self joins that are the same from several sides, and of some that
are the same but for something."""

from collections import Counter
from collections.abc import Mapping, Sequence

from support.choices import Choices
from support.cycles import ROW, body, random_rows
from support.laws import law
from support.related import path
from support.sizes import many

import ripplenest as rn
from ripplenest.delta.compile import Options, compile_view
from ripplenest.delta.materialize import Materialize
from ripplenest.delta.program import MapKind, Statement
from ripplenest.delta.rules import derived
from ripplenest.delta.symmetric import alike_once
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.rewriting.normal import Comprehension, normal, term
from ripplenest.nrc.syntax import At, Call, Elem, Expr, Rel, Sng, Tuple
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.walk import unique_binders

COUNTS: Counter[str] = Counter()
Held = Mapping[str, BagValue]


def around(c: Choices) -> Expr:
    """Two to four generators in a ring, each with the same conditions on itself and on the next one; in some a
    condition, a table or the head that turning the ring does not leave as it is."""
    names = [f"x{i}" for i in range(2 + c.number(3))]
    rels = [Rel("R", ROW) for _ in names]
    own, columns, equal = c.one_in(3), c.pick((("b", "a"), ("a", "a"), ("c", "c"))), c.pick(("eq", "same"))
    conditions: list[Elem] = []
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        conditions += [Call("lt", (path(name, "a"), path(name, "b")))] if own else []
        sides = path(name, columns[0]), path(following, columns[1])
        conditions.append(Call(equal, sides[:: c.pick((1, -1))]))
    if c.one_in(5):
        conditions.append(Call("lt", (path(names[0], "a"), path(names[-1], "c"))))
        COUNTS["with another condition"] += 1
    if c.one_in(5):
        rels[c.number(len(names))] = Rel("S", ROW)
        COUNTS["with another table"] += 1
    sums = Call("add_long", (path(names[0], "a"), path(names[-1], "a")))
    heads = Tuple(()), Tuple(()), Tuple(()), Tuple((("n", sums),)), Tuple((("n", path(names[0], "c")),))
    return body([*zip(names, rels, strict=True)], conditions, Sng(c.pick(heads)))


def one_change(products: Sequence[Comprehension]) -> int:
    """How many products read what one change finds."""
    return sum(sum(rel.at is At.DELTA for _, rel in p.generators) == 1 for p in products)


def rows_of(products: tuple[Comprehension, ...], e: Expr, old: Held, change: BagValue) -> BagValue:
    held = {
        rel.key: change if rel.at is At.DELTA else old[rel.name] + change if rel.at is At.NEW else old[rel.name]
        for c in products
        for _, rel in c.generators
    }
    return evaluate(term(products, expr_type(e, {}, {}).row), held)


@law(examples=many(120, 5000))
def test_symmetric(c: Choices) -> None:
    """Law (symmetric): ⊎ products = ⊎ alike_once(products), of the deltas of self joins."""
    e = around(c)
    products = normal(unique_binders(derived(e, frozenset({"R"}), telescoped=True)))
    found = alike_once(products, "R")
    for _ in range(2):
        old = {name: random_rows(c, 6) for name in "RS"}
        change = random_rows(c, 4) - random_rows(c, 3)
        wanted = rows_of(products, e, old, change)
        assert rows_of(found, e, old, change) == wanted
        COUNTS["rows"] += bool(wanted)
    COUNTS["one"] += one_change(found) == 1 < len(products)
    COUNTS["several"] += 1 < one_change(found) < len(products)
    COUNTS["none"] += found == products and len(products) > 1


def test_coverage() -> None:
    if COUNTS:
        asked = ("rows", "one", "none", "with another condition", "with another table")
        assert min(COUNTS[name] for name in asked) > 15 and COUNTS["several"] > 1, COUNTS


RELATIONS = """
relation E : Bag(⟨x: long, y: long⟩)
"""


def statement(view: str, materialize: Materialize = "none") -> Statement:
    """That of what is counted, when E changes."""
    (found,) = rn.parse(f"{RELATIONS}view v = {view}", "v").views
    program = compile_view(found.query, Options(materialize)).program
    (folded,) = program.of_kind(MapKind.GROUP)
    return next(s for s in program.statements_of(folded.name) if s.part == "E")


def test_a_cycle_is_looked_up_by_one_change() -> None:
    """From each of its edges a cycle looks alike: E is read by each changed edge once."""
    found = statement("[ {n: count(1 | a in E, b in E, b.x = a.y, c in E, c.x = b.y, c.y = a.x)} ]")
    assert [p.weight for p in found.products] == [3, 3, 1] and one_change(found.products) == 1
    assert show(found.term).count("weigh(3)") == 2


def test_a_path_is_not_the_same_from_both_ends() -> None:
    found = statement("[ {n: count(1 | a in E, b in E, b.x = a.y)} ]")
    assert [p.weight for p in found.products] == [1, 1] and one_change(found.products) == 2


def test_what_can_fail_stays_as_it_is() -> None:
    """E and ΔE may hold an edge that E⁺ has not, of which a condition has no value."""
    found = statement("[ {n: count(1 | a in E, b in E, b.x = a.x, a.y mod b.y = b.y mod a.y)} ]")
    assert one_change(found.products) == len(found.products) == 2


def test_a_map_is_looked_up_once() -> None:
    """Paths of two edges are kept: a changed edge finds those that it closes, be it the first or the last of three."""
    found = statement("[ {n: count(1 | a in E, b in E, b.x = a.y, c in E, c.x = b.y, c.y = a.x)} ]", "full")
    assert any(p.weight == 2 and len(p.generators) == 2 for p in found.products)
