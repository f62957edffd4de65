"""What folds the rows of a key of a group is folded with the group: the same rows, of fewer groups."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.programs import check_law_6
from support.queries import Queries, Scope
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta.groups.fuse import fuse, fuse_dict
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Let,
    LetVar,
    Lit,
    Pred,
    Proj,
    Rel,
    Sng,
    SngBag,
    Term,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Record, Type
from ripplenest.nrc.walk import nodes, replace_elem
from ripplenest.plan.lower import nullable_base
from ripplenest.shred.contexts import dictionaries
from ripplenest.shred.terms import shred

COUNTS: Counter[str] = Counter()


class GroupBys(Queries):
    """Group-bys as both surfaces make them, whose inner bags are folded; and what is nearly one."""

    def named(self) -> Expr:
        """A group-by, perhaps of a bag that has a name."""
        rows = self.rows()
        if self.c.one_in(4):
            return Let("Y", rows, self.group_by(LetVar("Y"), check(rows).row))
        return self.group_by(rows, check(rows).row)

    def group_by(self, rows: Expr, row: Type) -> Expr:
        scope = Scope(self.schema)
        inside = scope.bind("x", row)
        paths = [t for t, _ in inside.base_paths()]
        if not paths:
            return rows
        keys = [self.c.pick(paths) for _ in range(1 + self.c.one_in(3))]
        key = Tuple(tuple((f"_{i}", t) for i, t in enumerate(keys))) if len(keys) > 1 else keys[0]
        members: Expr = Sng(Var("y"))
        if self.c.one_in(3):
            there = Call("not", (Call("is_null", (replace_elem(self.c.pick(paths), {"x": Var("y")}),)),))
            asked = self.condition(scope.bind("y", row), 1) if self.c.one_in(2) else there
            members = For("_", Pred(asked), members)
        for i, t in enumerate(keys[: len(keys) - self.c.one_in(5)]):
            own: Elem = Proj(Var("k"), "key")
            same = (replace_elem(t, {"x": Var("y")}), Proj(own, f"_{i}") if len(keys) > 1 else own)
            equal = self.c.pick(("same", "eq"))
            COUNTS[equal] += 1
            members = For("_", Pred(Call(equal, same if self.c.number(2) else same[::-1])), members)
        found = self.of_key(row)
        site, groups = self.site(), self.folds(inside.base_paths(), 0) if self.c.one_in(3) else ()
        bag = SngBag(self.site(), For("y", rows, members))
        return For("k", Group(site, "x", rows, (("key", key),), groups), For("b", bag, found))

    def of_key(self, row: Type) -> Expr:
        """What is made of a key and its rows: folds, perhaps of some of them, and the rows."""
        fields: list[tuple[str, Elem]] = [("k", Proj(Var("k"), "key")), ("b", Var("b"))][self.c.number(3) :]
        folds: list[tuple[str, Expr]] = []
        for i in range(1 + self.c.number(2)):
            made = self.folds(Scope(self.schema).bind("z", row).base_paths(), 1)
            folds.append((f"s{i}", Group(self.site(), "z", Flatten(Sng(Var("b"))), None, made)))
            fields += [(f"{f.name}_{i}", Proj(Var(f"s{i}"), f.name)) for f in made]
        head: Expr = Sng(Tuple(tuple(fields)))
        for var, fold in reversed(folds):
            head = For(var, fold, head)
        return head

    def rows(self) -> Expr:
        """Rows that are there, made without sites, so that the term can stand in two places."""
        self.positive += 1
        made = self.source(Scope(self.schema), 6)
        self.positive -= 1
        if any(isinstance(n, SngBag | Group) for n in nodes(made)):
            return Rel(*self.c.pick(self.schema.relations))
        return made


def made(c: Choices) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, GroupBys(c, schema).named(), 2)


def groups(term: Term) -> int:
    return sum(isinstance(n, Group) for n in nodes(term))


def of_some(term: Term) -> int:
    """How often something is folded where a condition is true."""
    asked = (n.args[2] for n in nodes(term) if isinstance(n, Call) and n.fn == "if")
    return sum(isinstance(t, Lit) and t.value in (None, True) for t in asked)


@law(made, examples=many(200, 3000))
def test_fused_is_what_it_was(case: Case) -> None:
    """Law (fuse): ⟦fuse h⟧ = ⟦h⟧, for the flat term and where inner bags are looked up."""
    s = shred(case.query)
    flat = simplify(s.flat)
    fused = simplify(fuse(flat))
    assert evaluate(fused, case.parts) == evaluate(flat, case.parts)
    before = [simplify_dict(d) for d in dictionaries(s.context)]
    after = [simplify_dict(fuse_dict(d)) for d in before]
    COUNTS["groups"] += groups(flat)
    COUNTS["fused"] += groups(flat) - groups(fused)
    COUNTS["of some rows"] += of_some(fused) > of_some(flat)
    COUNTS["terms"] += 1
    COUNTS["named"] += isinstance(case.query, Let) and groups(flat) > groups(fused)
    COUNTS["fewer inside"] += sum(map(groups, before)) > sum(map(groups, after))


@law(made, examples=many(38, 1500))
def test_law_6_of_group_bys(case: Case) -> None:
    check_law_6(case)


def test_a_name_that_is_bound_twice_is_two_variables() -> None:
    """Of what stands between a group and a fold of its key, nothing is taken for a row of the group."""
    row = Record((("a", LONG), ("b", LONG)))
    i, j, k = Var("i"), Var("j"), Var("k")
    same = Pred(Call("same", (Proj(j, "a"), Proj(k, "k"))))
    rows = For("j", Rel("R", row), For("_", same, Sng(Proj(i, "b"))))
    fold = Group("f", "y", rows, None, (Fold("v", "sum", (Var("y"),), nullable_base(LONG)),))
    body = For("i", Rel("S", row), For("s", fold, Sng(Proj(Var("s"), "v"))))
    e = For("k", Group("g", "i", Rel("R", row), (("k", Proj(i, "a")),), ()), body)
    db = {"R": BagValue({(("a", 1), ("b", 2)): 1}), "S": BagValue({(("a", 7), ("b", 50)): 1})}
    assert evaluate(e, db) == evaluate(fuse(e), db) == BagValue({50: 1})


def test_coverage() -> None:
    if COUNTS:
        assert COUNTS["fused"] > COUNTS["terms"] / 3 and COUNTS["groups"] - COUNTS["fused"] > COUNTS["terms"], COUNTS
        assert COUNTS["named"] > 5 and COUNTS["of some rows"] > many(9, 150), COUNTS


TWICE = (
    "for {0} in fold[{0}](y in (for j in R where j.a <=> k.{1} union sng(j)) of n: {2}) union sng(⟨n: {0}.n, k: k.{1}⟩)"
)


@pytest.mark.parametrize("key", ["a", "n"])
def test_folds_of_one_name_are_two_columns(key: str) -> None:
    """And neither is that of a key."""
    names = Environment({"R": Record((("a", LONG), ("b", LONG)))})
    both = " ⊎ ".join(f"({TWICE.format(site, key, fold)})" for site, fold in (("s", "sum(y.a)"), ("t", "sum(y.b)")))
    e = parse_expr(f"for k in group[g](i in R by {key}: i.a) union ({both})", names)
    db = {"R": BagValue({(("a", 3), ("b", 2)): 2, (("a", 4), ("b", 5)): 1})}
    found = fuse(e)
    assert sum(isinstance(n, Group) for n in nodes(found)) == 1
    assert evaluate(found, db) == evaluate(e, db)
