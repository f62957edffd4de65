"""Semi-joins of inner bags with rows that these have nothing to do with are joins with their keys."""

from collections import Counter
from pathlib import Path

from support.choices import Choices
from support.laws import law
from support.programs import check_law_6
from support.queries import Queries, Scope
from support.schemas import Schema, random_schema
from support.sizes import many
from support.strategies import Case, case_of

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta.semijoin import joined, joined_dict
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import Call, Elem, Expr, Flatten, Fold, For, Group, Pred, Proj, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import BOOL, LONG, Record, Type
from ripplenest.nrc.types import Bag as BagType
from ripplenest.nrc.walk import nodes, unique_binders
from ripplenest.shred.contexts import dictionaries
from ripplenest.shred.terms import shred

COUNTS: Counter[str] = Counter()


class SemiJoins(Queries):
    """Rows of one relation that an inner bag of another has, and what is nearly so."""

    def pairs(self) -> Expr:
        """for o in R union for u in S where exists(y in o.bag where y = u, …) union sng(…), the pairs of one o perhaps
        as an inner bag."""
        outer, row = self.c.pick([r for r in self.schema.relations if bags_in(r[1])] or self.schema.relations)
        other, own = self.c.pick([r for r in self.schema.relations if Scope(self.schema).bind("u", r[1]).base_paths()])
        scope = Scope(self.schema).bind("o", row).bind("u", own)
        wanted: Elem = Proj(Var("s"), "found")
        if self.c.one_in(4):
            wanted = Call("and", (self.condition(scope, 1), wanted))
        elif self.c.one_in(8):
            wanted = Call("not", (wanted,))
        elif self.c.one_in(12):
            wanted = Call("and", (wanted, Call("not", (wanted,))))
        fields = [(f"f{i}", t) for i, (t, _) in enumerate(scope.base_paths()[:3])]
        head: Expr = Sng(Tuple((*fields, ("s", wanted)) if self.c.one_in(8) else tuple(fields)))
        found = For("s", self.exists(scope), For("_", Pred(wanted), head))
        if self.c.one_in(3):
            bag = SngBag(self.site(), For("u", Rel(other, own), found))
            return For("o", Rel(outer, row), For("b", bag, Sng(Tuple((("b", Var("b")),)))))
        return For("o", Rel(outer, row), For("u", Rel(other, own), found))

    def exists(self, scope: Scope) -> Expr:
        """φ(y ∈ (for y in e where … union sng(y)); any()), e an inner bag of o where it has one."""
        bags = [(Flatten(Sng(t)), b.row) for t, b in scope.paths() if isinstance(b, BagType) and "o" in names(t)]
        relations = [(Rel(*r), r[1]) for r in self.schema.relations]
        source, row = self.c.pick(relations if self.c.one_in(8) else bags or relations)
        inner = scope.bind("y", row)
        own = [(t, b) for t, b in inner.base_paths() if "y" in names(t)]
        pairs = [(a, b) for a, t in own for b, u in scope.base_paths() if t.kind == u.kind and "u" in names(b)]
        rows: Expr = Sng(Var("y"))
        for _ in range(self.c.number(2)):
            rows = For("_", Pred(self.condition(inner, 1)), rows)
        for _ in range(1 + self.c.one_in(4) if pairs else 0):
            a, b = self.c.pick(pairs)
            if self.c.one_in(8):
                b = Call("coalesce", (b, a))  # of both
            equal = Call(self.c.pick(("eq", "eq", "same")), (a, b) if self.c.number(2) else (b, a))
            rows = For("_", Pred(equal), rows)
        return Group(self.site(), "x", For("y", source, rows), None, (Fold("found", "any", (), BOOL),))


def names(t: Elem) -> set[str]:
    return {n.name for n in nodes(t) if isinstance(n, Var)}


def bags_in(row: Type) -> bool:
    return any(isinstance(n, BagType) for _, n in Scope(Schema(())).bind("o", row).paths())


def schema_with_bags(c: Choices) -> Schema:
    """Of some, the first in which a relation holds a bag, and one has values."""
    for _ in range(10):
        schema = random_schema(c)
        rows = [row for _, row in schema.relations]
        if any(map(bags_in, rows)) and any(Scope(schema).bind("u", row).base_paths() for row in rows):
            return schema
    return Schema((("R", Record((("a", LONG), ("b", BagType(LONG))))),))


def made(c: Choices) -> Case:
    schema = schema_with_bags(c)
    return case_of(c, schema, SemiJoins(c, schema).pairs(), 2)


def keyed(e: Expr) -> int:
    return sum(isinstance(n, Group) and n.keys is not None for n in nodes(e))


@law(made, examples=many(200, 3000))
def test_joined_is_what_it_was(case: Case) -> None:
    """Law (semijoin): ⟦joined e⟧ = ⟦e⟧, nested, shredded, and where inner bags are looked up."""
    before = unique_binders(case.query)
    assert evaluate(joined(before), case.db) == evaluate(before, case.db)
    s = shred(case.query)
    flat = unique_binders(simplify(s.flat))
    assert evaluate(joined(flat), case.parts) == evaluate(flat, case.parts)
    inside = [simplify_dict(d) for d in dictionaries(s.context)]
    COUNTS["terms"] += 1
    COUNTS["joined"] += keyed(joined(flat)) > keyed(flat)
    COUNTS["inside"] += any(joined_dict(d) != d for d in inside)
    COUNTS["there"] += bool(evaluate(before, case.db))


@law(made, examples=many(60, 1500))
def test_law_6_of_semijoins(case: Case) -> None:
    check_law_6(case)


@rn.record
class Post:
    id: int
    tags: Bag[int]


@rn.record
class User:
    tag: int | None


@rn.view
def feeds(P: Bag[Post], U: Bag[User]):
    return [{"tag": u.tag, "posts": [p.id for p in P if rn.exists(t for t in p.tags if t == u.tag)]} for u in U]


def test_a_tag_is_looked_up_and_not_asked_of_each_pair(tmp_path: Path) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Post, key="id")
        db.relation("U", User)
        db.load("P", [Post(n, [n, n + 1, n]) for n in range(100)])
        db.load("U", [User(n) for n in (*range(100), None)])
        before = db.usage.bytes
        db.create(feeds)
        assert db.usage.bytes < 5 * before
        with db.batch() as b:
            b.insert("P", [Post(100, [7])])
        assert b.report.rows_read <= 2 and db.verify(deep=True).ok
        assert db.view("feeds").get(tag=7)["posts"] == [6, 7, 100]


@rn.view
def inverses(P: Bag[Post], U: Bag[User]):
    return [
        {"tag": u.tag, "post": p.id} for u in U for p in P if rn.exists(t for t in p.tags if t == u.tag and 10 / t > 1)
    ]


def test_what_can_fail_is_asked_of_rows_that_are_asked_for(tmp_path: Path) -> None:
    """10 / 0 > 1 is asked of no row, as no user has the tag 0."""
    with rn.open(tmp_path / "s", engine="local", policy="incremental") as db:
        db.relation("P", Post, key="id")
        db.relation("U", User)
        db.create(inverses)
        with db.batch() as b:
            b.insert("P", [Post(1, [0, 5])])
        with db.batch() as b:
            b.insert("U", [User(5), User(7)])
        assert db.view("inverses").rows() == [{"tag": 5, "post": 1}] and db.verify(deep=True).ok


def test_coverage() -> None:
    if COUNTS:
        terms = COUNTS["terms"]
        assert COUNTS["joined"] > terms / 8 and COUNTS["inside"] > terms / 20 and COUNTS["there"] > terms / 3, COUNTS
