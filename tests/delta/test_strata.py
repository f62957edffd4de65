"""The cut keeps meaning: ⟦h⟧ = ⟦cut h⟧ over the maps of the groups, whose definitions are linear."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import evolve
from support.choices import Choices
from support.laws import law
from support.nearest import nearest_query
from support.nesting import agrees, nested
from support.queries import grouped_query
from support.schemas import Schema, random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta.groups.alike import Alike
from ripplenest.delta.groups.pull import FOLDED
from ripplenest.delta.groups.ranking import RANKED, ROW, Ranking
from ripplenest.delta.groups.same import read_once
from ripplenest.delta.groups.strata import Answer, Cut, Cutter
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.functions import folds, meanings
from ripplenest.nrc.functions.ordering import Direction, first
from ripplenest.nrc.interpret import Database, elem, evaluate, look_up
from ripplenest.nrc.rewriting.normal import normal
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.rewriting.sink import sink
from ripplenest.nrc.surface.text import Environment, parse_expr
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Plus,
    Proj,
    Sng,
    SngBag,
    Top,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Label, Record
from ripplenest.nrc.walk import nodes, rebuild
from ripplenest.shred.contexts import BagContext, Context, NoContext, RecordContext, dictionaries
from ripplenest.shred.terms import Shredded, shred

COUNTS: Counter[str] = Counter()


def grouped_case(c: Choices) -> Case:
    schema = random_schema(c)
    query = grouped_query(c, schema)
    if c.one_in(15):  # an inner bag that is read twice
        twice = (Flatten(Sng(Var("z"))) for _ in range(2))
        query = For("z", SngBag("z", query), Plus(*twice))
    return case_of(c, schema, query, 1)


def edged_case(c: Choices) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, nearest_query(c, schema), 1)


NAMED = ("g", "m", "x", "y", "b", "l", "z")  # g and m are what the cut calls its own
INNER = (
    "group[s](b in R by k: b.k of n: min(b.n), c: count())",
    "group[s](b in (for b in R where b.k = AROUND.k union sng(b)) by k: b.k of n: max(b.n), c: min(b.k), d: any())",
    "fold[s](b in R of n: min(b.n), k: max(b.k), c: count())",
    "top[s](2, b in R order b.n)",
    "(for g in R union for m in R where m.k = g.k union sng(<n: g.n, k: m.n>))",
)
READERS = (
    "fold[r](x in INNER of n: max(coalesce(x.n, 0) - AROUND.n), k: sum(AROUND.k), c: any(x.k = AROUND.k))",
    "top[r](1, x in INNER order AROUND.n - coalesce(x.n, 0), x.k + AROUND.k desc)",
    "group[r](x in INNER by k: AROUND.k, n: x.n of m: min(AROUND.n), g: count(AROUND.k), s: sum(x.k - AROUND.n))",
)


def case_around(c: Choices) -> Case:
    """Rows of groups that are read beside values of a row around them, whose variable may be called as any other."""
    text = f"for AROUND in R union for r in {c.pick(READERS)} union sng(<k: AROUND.k, n: r.n>)"
    schema = Schema((("R", Record((("k", LONG), ("n", LONG)))),))
    read = text.replace("INNER", c.pick(INNER)).replace("AROUND", c.pick(NAMED))
    return case_of(c, schema, parse_expr(read, Environment(dict(schema.relations))), 1)


class Folded(Mapping[LabelValue, BagValue]):
    """The map of a group: for any label, what the rows of its definition fold to; nothing where there are none."""

    def __init__(self, cut: Cut, db: Database) -> None:
        self.cut, self.db = cut, db

    def __getitem__(self, label: LabelValue) -> BagValue:
        rows = look_up(self.cut.definition, label, self.db, {}, {})
        assert rows is not None
        groups: dict[Value, list[tuple[Value, int]]] = {}
        for row, n in rows:
            groups.setdefault(field_of(row, "k"), []).append((field_of(row, "v"), n))
        if not groups:
            raise KeyError(label)
        COUNTS["groups"] += len(groups)
        return BagValue.of((*key, *shown(self.cut, members)) for key, members in groups.items())

    def __iter__(self) -> Iterator[LabelValue]:
        raise AssertionError("a group is asked for its labels")

    def __len__(self) -> int:
        raise AssertionError


class First(Folded):
    """The map of first rows: for any label, the first of the rows of its definition."""

    def __init__(self, ranking: Ranking, db: Database) -> None:
        self.ranking, self.db = ranking, db

    def __getitem__(self, label: LabelValue) -> BagValue:
        r = self.ranking
        place = label.args[: len(r.definition.site.params)]
        found = look_up(r.definition, LabelValue(r.definition.site.name, place), self.db, {}, {})
        assert found is not None
        rows = [(row, n) for row, n in found if r.edge is None or self._is_behind(row, label.args[len(place)])]
        if not rows:
            raise KeyError(label)
        COUNTS["behind an edge"] += r.edge is not None
        by = [[elem(o.by, {RANKED: row}) for o in r.order] for row, _ in rows]
        kept = first(rows, by, [Direction(o.descending, o.nulls_first) for o in r.order], r.limit)
        COUNTS["first rows"] += len(kept) < len(rows)
        return BagValue.weighted((self._named(field_of(row, ROW)), n) for row, n in kept.items())

    def _is_behind(self, row: Value, edge: Value) -> bool:
        r = self.ranking
        assert r.edge is not None
        by = r.edge.by or r.order[0]
        COUNTS["so far"] += r.edge.by is not None
        of = elem(by.by, {RANKED: row})
        if of is None or edge is None:
            return False
        near, far = (edge, of) if by.descending else (of, edge)
        return meanings.less(far, near) or (not r.edge.open and meanings.equal(of, edge))

    def _named(self, row: Value) -> Value:
        """The value of a fold by its name there, and the others of a row that has some."""
        r = self.ranking.row
        if self.ranking.total and isinstance(r, Record):
            assert isinstance(row, tuple)
            return tuple((name, value) for name, (_, value) in zip(r.names, row, strict=True))
        return row


def map_of(cut: Cut | Ranking, db: Database) -> Folded:
    return Folded(cut, db) if isinstance(cut, Cut) else First(cut, db)


def shown(cut: Cut, members: list[tuple[Any, int]]) -> Iterator[tuple[str, Value]]:
    found = tuple(answered(a, members) for a in cut.answers)
    yield from ((name, elem(t, {FOLDED: found})) for name, t in cut.shown)


def answered(a: Answer, members: list[tuple[Any, int]]) -> tuple[str, Value]:
    rows = [(tuple(field_of(v, f"a{i}") for i in a.args), n) for v, n in members]
    return a.name, folds.answer(a.fn, rows, a.type)


Definition = Callable[[DictLit], DictLit]


def cut_context(cut: Definition, c: Context) -> Context:
    match c:
        case NoContext():
            return c
        case RecordContext(fields):
            return RecordContext(tuple((n, cut_context(cut, inner)) for n, inner in fields))
        case BagContext(d, rows):
            return BagContext(cut_dictionary(cut, d), cut_context(cut, rows))


def cut_dictionary(cut: Definition, d: DictExpr) -> DictExpr:
    match d:
        case DictLit():
            return cut(d)
        case DictPlus(left, right) | DictUnion(left, right):
            return type(d)(cut_dictionary(cut, left), cut_dictionary(cut, right))
        case DictRel() | DictEmpty():
            return d


@law(grouped_case, examples=many(60, 600))
def test_theorem_8_with_groups(case: Case) -> None:
    assert nested(shred(case.query), case.parts) == evaluate(case.query, case.db)


@law(grouped_case, examples=many(120, 600))
def test_folds_sink_and_keep_meaning(case: Case) -> None:
    sunk = sink(case.query)
    assert evaluate(sunk, case.db) == evaluate(case.query, case.db)
    assert agrees(check(sunk).row, check(case.query).row)
    sites = [n.site for n in nodes(sunk) if isinstance(n, Group | SngBag | Top)]
    assert len(sites) == len(set(sites))
    COUNTS["sunk"] += len(sites) > sum(isinstance(n, Group | SngBag | Top) for n in nodes(case.query))


def again(e: Expr) -> Expr:
    """A bag that is made alike at other sites, with other folds by the same names."""

    def other(f: Fold) -> Fold:
        fn = {"any": "all", "all": "any", "max": "min"}.get(f.fn, f.fn) if f.args else f.fn
        return evolve(f, fn=fn, args=() if fn == "count" else f.args)

    def expr(e: Expr) -> Expr:
        match inner := rebuild(e, expr, lambda t: t, lambda d: d):
            case Group(site, folds=folds):
                own = tuple(map(other, folds))
                return evolve(inner, site=f"{site}'", folds=own)
            case SngBag(site):
                return evolve(inner, site=f"{site}'")
            case Top(site, order=order, limit=limit):
                turned = tuple(evolve(o, descending=not o.descending) for o in order)
                return evolve(inner, site=f"{site}'", order=turned if limit == 1 else order)
            case _:
                return inner

    return expr(e)


@law(edged_case, examples=many(60, 600))
def test_the_cut_behind_edges_keeps_meaning(case: Case) -> None:
    is_cut(case)


@law(grouped_case, examples=many(186, 600))
def test_the_cut_keeps_meaning(case: Case) -> None:
    is_cut(case)


@law(case_around, examples=many(40, 600))
def test_the_cut_reads_what_is_around_it(case: Case) -> None:
    is_cut(case)


def is_cut(case: Case) -> None:
    s = shred(case.query)
    cutter = Cutter.of("v", (s.flat, *dictionaries(s.context)))
    cut = Shredded(cutter.term(s.flat), cut_context(cutter.definition, s.context))
    db: dict[str, Any] = dict(case.parts)
    for name, found in cutter.found.items():  # inner ones first
        db[name] = map_of(found, db)
    assert agrees(check(cut.flat).row, check(s.flat).row)
    direct = evaluate(case.query, case.db)
    assert nested(cut, db) == direct
    for found in cutter.found.values():
        d = found.definition
        assert not any(isinstance(n, Group | Top) for n in nodes(d))
        normal(d.body, {d.var: Label((d.site,))})
        COUNTS["total"] += found.total
        if isinstance(found, Cut):
            COUNTS["pulled"] += any(isinstance(t, Call) for _, t in found.shown)
        else:
            COUNTS["extreme" if found.total else "top"] += 1
            row = found.row.names if isinstance(found.row, Record) else ()
            COUNTS["a value of the first row"] += found.total and row[:1] == ("c0",)
            COUNTS["computed order"] += any(isinstance(o.by, Proj) and o.by.of == Var(RANKED) for o in found.order)
        COUNTS["repeated"] += bool(cutter.repeated)
        COUNTS["by keys"] += not found.total
        COUNTS["correlated"] += bool(d.site.params)
        COUNTS["of labels"] += any(isinstance(t, Label) for _, t in d.site.params)
        COUNTS["in another"] += any(name in cutter.found for name in (getattr(n, "name", "") for n in nodes(d)))
    COUNTS["filled"] += bool(direct) and bool(cutter.found)


ASKED = (
    "fold[SITE](y in (for b in top[SITEt](1, b in (for b in R where b.k = x.k union sng(b)) order b.n, b.k) "
    "union sng(b.COLUMN)) of v: max(y))",
    "fold[SITE](b in (for b in R where b.k >= x.n union sng(b)) of v: sum(b.COLUMN))",
    "fold[SITE](b in R of v: min(b.COLUMN))",
)


def case_of_values(c: Choices) -> Case:
    """Several values of what is the same for a row, which may be asked for at other places beside."""
    schema = Schema((("R", Record((("k", LONG), ("n", LONG)))),))
    ask = lambda i: c.pick(ASKED).replace("SITE", f"s{i}").replace("COLUMN", c.pick("kn"))  # noqa: E731
    every = [ask(i).replace("x.", c.pick(("x.", "x.", "z."))) for i in range(2 + c.number(3))]
    values = "".join(f"for v{i} in {own} union " for i, own in enumerate(every))
    heads = ", ".join(f"v{i}: v{i}.v" for i in range(len(every)))
    text = f"for x in R union for z in R union {values}sng(<k: x.k, {heads}>)"
    return case_of(c, schema, parse_expr(text, Environment(dict(schema.relations))), 1)


@law(case_of_values, examples=many(60, 600))
def test_a_place_is_read_once(case: Case) -> None:
    s = shred(case.query)
    cutter = Cutter.of("v", (s.flat, *dictionaries(s.context)))
    flat = cutter.term(s.flat)
    alike = Alike(frozenset(cutter.found))
    alike.add(cutter.found.values())
    one = alike.term(flat)
    once = read_once(one)
    db: dict[str, Any] = dict(case.parts)
    for found in alike.cuts:  # inner ones first
        db[found.name] = map_of(found, db)
    assert evaluate(once, db) == evaluate(one, db) == evaluate(case.query, case.db)
    asked = [n for n in nodes(once) if isinstance(n, Apply)]
    assert len(asked) == len({*asked})
    COUNTS["read once"] += once != one


@law(grouped_case, examples=many(75, 600))
def test_groups_that_are_alike_are_one(case: Case) -> None:
    """A bag that is made twice: every group has one that is like it."""
    twice = Plus(case.query, again(case.query))
    s = shred(simplify(twice))
    cutter = Cutter.of("v", (s.flat, *dictionaries(s.context)))
    cut = Shredded(cutter.term(s.flat), cut_context(cutter.definition, s.context))
    alike = Alike(frozenset(cutter.found))
    alike.add(cutter.found.values())
    one = Shredded(alike.term(cut.flat), cut_context(alike.definition, cut.context))
    db: dict[str, Any] = dict(case.parts)
    for found in alike.cuts:  # inner ones first
        db[found.name] = map_of(found, db)
    assert nested(one, db) == evaluate(twice, case.db)
    COUNTS["alike"] += len(alike.cuts) < len(cutter.found)
    columns = (w.columns or {} for w in alike.where.values())
    COUNTS["other columns"] += any(name != own for own_columns in columns for name, own in own_columns.items())
    kept = [c.kept for c in alike.cuts if isinstance(c, Ranking)]
    COUNTS["other orders"] += len(set(kept)) < len(kept)


def test_what_was_covered() -> None:
    names = (
        "total",
        "by keys",
        "correlated",
        "of labels",
        "in another",
        "filled",
        "groups",
        "pulled",
        "repeated",
        "sunk",
        "alike",
        "other columns",
        "other orders",
        "extreme",
        "top",
        "computed order",
        "first rows",
        "behind an edge",
        "so far",
        "a value of the first row",
        "read once",
    )
    assert all(COUNTS[name] > 3 for name in names), COUNTS
