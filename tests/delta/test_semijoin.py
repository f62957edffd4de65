"""Semi-joins of inner bags with rows that these have nothing to do with are joins with their keys."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path

import pytest
from support.choices import Choices
from support.laws import law
from support.programs import check_law_6
from support.queries import Queries, Scope
from support.schemas import Schema, random_schema
from support.sizes import many
from support.strategies import Case, case_of

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta.groups.exists import asked, asked_dict, is_presence
from ripplenest.delta.groups.semijoin import joined, joined_dict
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import (
    TRUE,
    Call,
    Elem,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Lit,
    Pred,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.types import BOOL, LONG, Base, Record, Type
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
        found = {s: self.asked(scope, s, 1) for s in (("s", "s1") if self.c.one_in(4) else ("s",))}
        wanted = conjunction(t for _, t in found.values())
        if self.c.one_in(4):
            wanted = Call("and", (self.condition(scope, 1), wanted))
        elif self.c.one_in(16):
            wanted = Call("not", (wanted,))
        elif self.c.one_in(12):
            wanted = Call("and", (wanted, Call("not", (wanted,))))
        fields = [(f"f{i}", t) for i, (t, _) in enumerate(scope.base_paths()[:3])]
        head: Expr = Sng(Tuple((*fields, ("s", wanted)) if self.c.one_in(8) else tuple(fields)))
        below: Expr = For("_", Pred(wanted), head)
        for s, (group, _) in found.items():
            below = For(s, group, below)
        if self.c.one_in(3):
            bag = SngBag(self.site(), For("u", Rel(other, own), below))
            return For("o", Rel(outer, row), For("b", bag, Sng(Tuple((("b", Var("b")),)))))
        return For("o", Rel(outer, row), For("u", Rel(other, own), below))

    def asked(self, scope: Scope, s: str, depth: int) -> tuple[Group, Elem]:
        """φ(y ∈ (for y in e where … union sng(y)); any()), any(…), all(not …) or count(), e an inner bag of o where it
        has one; and where its row ``s`` says that there is one. Some have such rows in turn."""
        y, x = f"y.{s}", f"x.{s}"
        bags = [(Flatten(Sng(t)), b.row) for t, b in scope.paths() if isinstance(b, BagType) and names(t) - {"u"}]
        relations = [(Rel(*r), r[1]) for r in self.schema.relations]
        source, row = self.c.pick(relations if self.c.one_in(8) else bags or relations)
        inner = scope.bind(y, row)
        conditions = self.conditions(inner, y)
        generators: list[tuple[str, Expr]] = [(y, source)]
        if depth and self.c.one_in(4):
            group, there = self.asked(inner, s + "2", depth - 1)
            generators.append((s + "2", group))
            conditions.insert(0, there)
        form = self.c.number(6)
        fold, wanted = self.fold(s, x, form)
        rows: Expr = Sng(Var(y))
        if fold.args:
            told = conjunction(conditions)
            rows = Sng(denied(told) if fold.fn == "all" else told)
        else:
            for cond in conditions:
                rows = For("_", Pred(cond), rows)
        for var, e in reversed(generators):
            rows = For(var, e, rows)
        COUNTS[fold.fn + "()" * (not fold.args)] += 1
        COUNTS["inside of one"] += len(generators) > 1
        return Group(self.site(), x, rows, None, (fold,)), wanted

    def fold(self, s: str, x: str, form: int) -> tuple[Fold, Elem]:
        """A fold of rows ``x``, and where its row ``s`` says that one is there."""
        found = Proj(Var(s), "found")
        if form == 0:
            n = Base("long")
            zero, one = Lit(0, n), Lit(1, n)
            more = Call(self.c.pick(("gt", "ne")), (found, zero)), Call("lt", (zero, found))
            least = Call("ge", (found, one)), Call("le", (one, found))
            others = Call("not", (Call("eq", (zero, found)),)), Call("gt", (found, one))
            return Fold("found", "count", (), LONG), self.c.pick((*more, *least, *others))
        if form == 1:
            return Fold("found", "all", (Var(x),), BOOL), Call("not", (found,))
        return Fold("found", "any", (Var(x),) * (form > 3), BOOL), found

    def conditions(self, inner: Scope, y: str) -> list[Elem]:
        """On rows ``y`` alone, and that they have to do with u."""
        own = [(t, b) for t, b in inner.base_paths() if y in names(t)]
        pairs = [(a, b) for a, t in own for b, u in inner.base_paths() if t.kind == u.kind and "u" in names(b)]
        found = [self.condition(inner, 1) for _ in range(self.c.number(2))]
        for _ in range(1 + self.c.one_in(4) if pairs else 0):
            a, b = self.c.pick(pairs)
            if self.c.one_in(8):
                b = Call("coalesce", (b, a))  # of both
            found.append(Call(self.c.pick(("eq", "eq", "same")), (a, b) if self.c.number(2) else (b, a)))
        if len(found) > 1 and self.c.one_in(3):
            first, second, *others = found
            return [Call("or", (first, second)), *others]
        return found


def conjunction(conditions: Iterable[Elem]) -> Elem:
    """All of them, or true."""
    return reduce(lambda a, b: Call("and", (b, a)), conditions, TRUE)


def denied(t: Elem) -> Elem:
    """Not true where ``t`` is true, as people write it."""
    match t:
        case Call("and" | "or" as fn, (a, b)):
            return Call("or" if fn == "and" else "and", (denied(a), denied(b)))
        case Call("eq", args):
            return Call("ne", args)
        case _:
            return Call("not", (t,))


def alternatives(e: Expr) -> int:
    """Conditions of rows that are one of several."""
    return sum(isinstance(n, Pred) and isinstance(n.cond, Call) and n.cond.fn == "or" for n in nodes(e))


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


def groups(e: Expr) -> int:
    return sum(isinstance(n, Group) for n in nodes(e))


def keyed(e: Expr) -> int:
    return sum(isinstance(n, Group) and n.keys is not None for n in nodes(e))


@law(made, examples=many(200, 3000))
def test_asked_is_what_it_was(case: Case) -> None:
    """Law (exists): ⟦asked e⟧ = ⟦e⟧, nested, shredded, and in what stands for inner bags."""
    before = unique_binders(case.query)
    assert evaluate(asked(before), case.db) == evaluate(before, case.db)
    s = shred(case.query)
    flat = unique_binders(simplify(s.flat))
    assert evaluate(asked(flat), case.parts) == evaluate(flat, case.parts)
    COUNTS["asked terms"] += 1
    COUNTS["asked"] += asked(flat) != flat
    COUNTS["of fewer groups"] += groups(asked(flat)) < groups(flat)
    COUNTS["alternatives"] += alternatives(asked(flat)) > alternatives(flat)


@law(made, examples=many(200, 3000))
def test_joined_is_what_it_was(case: Case) -> None:
    """Law (semijoin): ⟦joined e⟧ = ⟦e⟧, nested, shredded, and where inner bags are looked up."""
    before = asked(unique_binders(case.query))
    assert evaluate(joined(before), case.db) == evaluate(before, case.db)
    s = shred(case.query)
    flat = asked(unique_binders(simplify(s.flat)))
    assert evaluate(joined(flat), case.parts) == evaluate(flat, case.parts)
    inside = [asked_dict(simplify_dict(d)) for d in dictionaries(s.context)]
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


def test_what_finds_nothing_stays_what_is_folded() -> None:
    """NULL is no key, nor is what can fail; what can fail beside a key is asked of what the key finds."""

    def of(fn: str, t: Elem) -> Expr:
        rows = For("y", Rel("R", ROW), Sng(t))
        group = Group("ι", "x", rows, None, (Fold("found", fn, (Var("x"),), BOOL),))
        return For("u", Rel("S", LONG), For("s", group, For("_", Pred(found("s")), Sng(Var("u")))))

    a, b, u = Proj(Var("y"), "a"), Proj(Var("y"), "b"), Var("u")
    fails = Call("gt", (Call("mul_long", (u, a)), a))
    for term in (
        of("any", Call("eq", (Call("mul_long", (a, a)), u))),
        of("any", fails),
        of("all", Call("ne", (b, u))),
        of("any", Call("eq", (a, Lit(1, LONG)))),
        of("any", Call("lt", (a, u))),
    ):
        assert asked(term) == term
    equal, less = Call("eq", (a, u)), Call("lt", (a, u))
    for t in (Call("or", (equal, less)), Call("or", (equal, fails)), Call("and", (less, Call("or", (less, equal))))):
        assert asked(of("any", t)) == of("any", t)
    found_so = Call("and", (fails, Call("eq", (a, u))))
    for term in (of("any", found_so), of("any", Call("eq", (b, u))), of("all", Call("ne", (a, u)))):
        assert [n.folds[0].args for n in nodes(asked(term)) if isinstance(n, Group)] == [()]


def test_what_count_says_of_a_row_being_there() -> None:
    n = Var("n")
    zero, one = Lit(0, LONG), Lit(1, LONG)
    there = [("gt", n, zero), ("lt", zero, n), ("ge", n, one), ("le", one, n), ("ne", n, zero), ("ne", zero, n)]
    others = [("gt", n, one), ("lt", one, n), ("ge", n, zero), ("le", zero, n), ("ne", n, one), ("eq", n, one)]
    assert all(is_presence(Call(fn, (a, b)), n, "count") for fn, a, b in there)
    assert not any(is_presence(Call(fn, (a, b)), n, "count") for fn, a, b in others)
    assert is_presence(Call("not", (Call("eq", (zero, n)),)), n, "count")
    assert is_presence(n, n, "any") and not is_presence(n, n, "count")


def of_rows(s: str, var: str, conditions: Iterable[Elem], below: tuple[str, Expr] | None = None) -> Group:
    """φ(var ∈ R where conditions; any()), with rows ``below`` of another group beside them."""
    rows: Expr = Sng(Var(var))
    for cond in conditions:
        rows = For("_", Pred(cond), rows)
    rows = rows if below is None else For(*below, rows)
    return Group(f"ι{s}", f"x{s}", For(var, Rel("R", ROW), rows), None, (Fold("found", "any", (), BOOL),))


def found(s: str) -> Elem:
    return Proj(Var(s), "found")


ROW = Record((("a", LONG), ("b", Base("long", True))))


def test_rows_that_are_asked_for_inside_are_rows_of_the_chain() -> None:
    """Only where that finds them, and nothing else reads the answer."""

    def term(inside: list[Elem], *others: Elem) -> Expr:
        own = of_rows("2", "z", inside)
        group = of_rows("", "y", [*others] if others else [found("s2")], ("s2", own))
        return For("u", Rel("S", LONG), For("s", group, For("_", Pred(found("s")), Sng(Var("u")))))

    of_u = Call("eq", (Proj(Var("z"), "a"), Var("u")))
    of_y = Call("eq", (Proj(Var("z"), "a"), Proj(Var("y"), "a")))
    fails = Call("gt", (Call("mul_long", (Var("u"), Proj(Var("z"), "a"))), Var("u")))
    read_again = Call("or", (found("s2"), Call("is_null", (Proj(Var("y"), "b"),))))
    beside = Call("and", (found("s2"), Call("gt", (Proj(Var("y"), "a"), Lit(1, LONG)))))
    for term_of_both in (term([of_u]), term([of_u, fails]), term([of_u], beside)):
        assert groups(asked(term_of_both)) == 1
    for other in (term([of_y]), term([of_u], found("s2"), read_again)):
        assert asked(other) == other


def test_what_one_row_is_around_of_is_one_group() -> None:
    """And what another fold reads of the answer is not joined."""
    own = of_rows("", "y", [Call("eq", (Proj(Var("y"), "a"), Var("u")))])
    alone = For("u", Rel("S", LONG), For("s", own, For("_", Pred(found("s")), Sng(Var("u")))))
    assert joined(alone) == alone
    both = of_rows("", "y", [Call("eq", (Proj(Var("y"), a), Var(b))) for a, b in (("a", "u"), ("b", "v"))])
    asks = For("_", Pred(found("s")), Sng(Var("u")))
    reads = of_rows("1", "z", [found("s")])
    pair = For("u", Rel("S", LONG), For("v", Rel("S", LONG), For("s", both, asks)))
    read = For("u", Rel("S", LONG), For("v", Rel("S", LONG), For("s", both, For("s1", reads, asks))))
    assert keyed(joined(pair)) == 1 and joined(read) == read


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


def unused(P: Bag[Post], U: Bag[User]):
    return [u.tag for u in U if not any(t == u.tag for p in P for t in p.tags)]


def without(P: Bag[Post]):
    return [p.id for p in P if all(t != q.id or q.id < 60 for q in P for t in p.tags)]


def tagged(P: Bag[Post], U: Bag[User]):
    return [{"tag": u.tag, "post": p.id} for u in U for p in P if any(any(t == u.tag for t in p.tags) for _ in [1])]


def akin(P: Bag[Post]):
    return [
        {"a": p.id, "b": q.id}
        for p in P
        for q in P
        if p.id < q.id and any(s == t for s in p.tags for t in q.tags) and len([t for t in q.tags if t == p.id]) > 0
    ]


def sought(P: Bag[Post], U: Bag[User]):
    return [u.tag for u in U if any(any(any(t == u.tag for t in q.tags) for q in P if q.id == p.id) for p in P)]


def either(P: Bag[Post], U: Bag[User]):
    return [u.tag for u in U if any((t == u.tag and p.id > 60) or p.id == u.tag for p in P for t in p.tags)]


def neither(P: Bag[Post]):
    return [p.id for p in P if all((t != p.id or q.id == t) and (q.id != p.id or t != 7) for q in P for t in q.tags)]


@pytest.mark.parametrize("view", [unused, without, tagged, akin, sought, either, neither])
def test_what_any_and_all_ask_is_a_key(view: Callable[..., list[object]], tmp_path: Path) -> None:
    """What is equated is looked up, wherever it is said, and is what Python says of the same rows."""
    posts = [Post(n, [n, n + 2, n]) for n in range(100)]
    users = [User(n) for n in (*range(50, 150), None)]
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Post, key="id")
        db.relation("U", User)
        db.load("P", posts)
        db.load("U", users)
        created = db.create(rn.view(view))
        for made in (Post(100, [7, 300]), Post(101, [100, 101])):
            with db.batch() as b:
                b.insert("P", [made])
            posts.append(made)
            assert b.report.rows_read <= 30
        assert "SCAN" not in str(created.explain()) and db.verify().ok
        wanted = view(*(posts, users)[: len(inspect.signature(view).parameters)])
        assert wanted and sorted(map(repr, created.rows())) == sorted(map(repr, wanted))


def test_coverage() -> None:
    if COUNTS:
        terms = COUNTS["terms"]
        assert COUNTS["joined"] > terms / 8 and COUNTS["inside"] > terms / 30 and COUNTS["there"] > terms / 3, COUNTS
        assert COUNTS["asked"] > terms / 8 and COUNTS["of fewer groups"] > terms / 30, COUNTS
        assert COUNTS["alternatives"] > terms / 50, COUNTS
