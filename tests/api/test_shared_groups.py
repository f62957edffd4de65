"""Groups that several views have: stored once, right for all of them, whoever comes and goes.

Law (shared): after any batches, definitions and rollbacks each view is what the interpreter makes of the relations, and
of the maps that views share there are those that some view has, once.
"""

# mypy: disable-error-code="no-untyped-def, arg-type, attr-defined, no-any-return"

import tempfile
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support.choices import Choices
from support.compiling import forget
from support.laws import law
from support.shop import ANN, BOB, FILMS, Customer, Movie, customer, item, movie, opened, order
from support.shop_model import OPERATIONS, Model
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.api import database
from ripplenest.delta import compile as compiler
from ripplenest.delta.groups.shared import Shared
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.reserved import is_shared
from ripplenest.state import views

COUNTS: Counter[str] = Counter()


@rn.view
def per_order(C: Bag[Customer]):
    return [
        {"c": c.custkey, "o": o.orderkey, "total": sum(x.qty for x in o.items), "most": max(x.qty for x in o.items)}
        for c in C
        for o in c.orders
    ]


@rn.view
def nested(C: Bag[Customer]):
    """The totals of ``per_order`` in an inner bag, in its condition, and the greatest of them."""
    return [
        {
            "name": c.name,
            "orders": [
                {
                    "key": o.orderkey,
                    "sum": sum(i.qty for i in o.items),
                    "first": rn.top(2, [{"p": i.part, "q": i.qty} for i in o.items], key=lambda i: i.q),
                }
                for o in c.orders
            ],
            "best": max(sum(i.qty for i in o.items) for o in c.orders),
        }
        for c in C
    ]


@rn.view
def extremes(C: Bag[Customer]):
    """Of one map of rows in order, as in ``nested``, of which more rows are first here."""
    return [
        {
            "who": who.custkey,
            "best": max(sum(x.qty for x in bought.items) for bought in who.orders),
            "least": min(sum(x.qty for x in bought.items) for bought in who.orders),
            "three": [
                {"of": o.orderkey, "rows": rn.top(3, [{"p": i.part, "q": i.qty} for i in o.items], key=lambda i: i.q)}
                for o in who.orders
            ],
        }
        for who in C
    ]


@rn.view
def kinds(M: Bag[Movie]):
    return [{"gen": g, "n": len(ms)} for g, ms in rn.group_by(M, lambda m: m.gen)]


@rn.view
def others(M: Bag[Movie], C: Bag[Customer]):
    """The counts of ``kinds`` beside folds of both relations, one of them without a key."""
    return [
        {"what": what, "many": len(films), "all": len(M), "fans": sum(c.custkey for c in C if c.name == what)}
        for what, films in rn.group_by(M, lambda film: film.gen)
    ]


@rn.view
def compared(M: Bag[Movie], C: Bag[Customer]):
    """With a domain of places, which is the view's own, beside what it shares with ``others``."""
    return [
        {
            "name": m.name,
            "all": len(M),
            "fans": sum(c.custkey for c in C if c.name == m.gen),
            "later": len([x for x in M if x.name > m.name]),
        }
        for m in M
    ]


def another() -> Any:
    """``per_order``, which needs something else then."""

    @rn.view
    def per_order(C: Bag[Customer]):
        return [{"c": c.custkey, "o": o.orderkey, "least": min(x.qty for x in o.items)} for c in C for o in c.orders]

    return per_order


VIEWS = (per_order, nested, extremes, kinds, others, compared)


def shared(db: Database) -> set[str]:
    return {table for table in db._store.tables() if is_shared(table)}


def check(db: Database, rows: dict[str, Any], made: dict[str, Any]) -> None:
    for name, view in made.items():
        assert db.view(name).rows() == view(**{r: rows[r] for r, _ in view.query.relations}), name
    asked = Counter(m for v in db._declared.views.values() for m in v.plan.shared)
    assert shared(db) == asked.keys()
    COUNTS["checked"] += 1
    COUNTS["groups of several views"] += sum(n > 1 and table[0] in "GOT" for table, n in asked.items())


@law(examples=many(6, 80), tries=100)
def test_what_views_share_is_stored_once_and_right_for_all(c: Choices) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        db, model, made = opened(folder), Model(c), dict[str, Any]()
        model.load()
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        past = [(db.version, deepcopy(model.customers), deepcopy(model.films))]
        for seq in range(1, 9):
            left = [view for view in VIEWS if view.name not in made]
            what = c.pick(["create", "create", "create", "drop", "drop", "replace", "rollback", "reopen"])
            if what == "create" and left:
                view = c.pick(left)
                made[view.name] = view
                db.create(view, c.pick(MODES))
            elif what == "drop" and made:
                db.drop(c.pick(sorted(made)))
                made = {name: view for name, view in made.items() if name in db.views}
            elif what == "replace" and "per_order" in made:
                made["per_order"] = another() if made["per_order"] is per_order else per_order
                db.replace(made["per_order"])
            elif what == "reopen":
                db.close()
                db = opened(folder)
            elif what == "rollback":
                to, model.customers, model.films = deepcopy(c.pick(past))
                db.rollback(to)
            COUNTS[what] += 1
            check(db, {"C": model.customers, "M": model.films}, made)
            with db.batch("test", seq, c.pick(["auto", "incremental", "full"])) as b:
                for name in [c.pick(OPERATIONS) for _ in range(3)]:
                    model.apply(name, b)
            check(db, {"C": model.customers, "M": model.films}, made)
            past.append((db.version, deepcopy(model.customers), deepcopy(model.films)))
        assert db.verify(deep=True).ok and not db.waiting
        db.close()


def test_equal_groups_of_many_views_are_one_map(tmp_path: Path) -> None:
    """Whatever views, variables and fields are called; a fold that is another one is another map."""
    view = "view v@ = group[α@](x@ in [⟨g@: m.gen, n: 1, b: m.dir is null⟩ | m in M] by k@: x@.g@ of s@: {fold})\n"
    folds = ["sum(x@.n)"] * 4 + ["count()", "max(x@.n)", "any(x@.b)", "all(x@.b)"]
    text = "".join(view.replace("{fold}", fold).replace("@", str(i)) for i, fold in enumerate(folds))
    program = rn.parse("relation M : Bag(⟨name: string, gen: string?, dir: string?⟩)\n" + text)
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("M", Movie)
        db.load("M", FILMS)
        for view in program.views:
            db.create(view)
        (one,), *others = (db._declared.views[name].plan.shared for name in ("v0", "v4", "v5", "v6", "v7"))
        assert all(db._declared.views[f"v{i}"].plan.shared == {one} for i in range(4))
        assert [len(own) for own in others] == [1, 3, 1, 1] and len(shared(db)) == 7
        with db.batch() as b:
            b.insert("M", [movie("Up", "Action")])
            b.delete("M", FILMS[:1])
        behind = [n for name, n in b.report.rows_out.items() if is_shared(name)]
        assert "out  3 v0, 3 v1" in str(b.report) and f", {sum(behind)} in {len(behind)} maps behind\n" in str(b.report)
        assert b.report.rows_out[one] == 3 and [row["s0"] for row in db.view("v0").rows()] == [3]
        for i in range(3):
            db.drop(f"v{i}")
            assert db.verify(deep=True).ok and one in shared(db)
        db.drop("v3")
        assert db.verify(deep=True).ok and shared(db) == set().union(*others)


GROUPS = "a in group[v@.a](x in M by g: x.gen of n: count()), b in group[v@.b](x in M by g: x.dir of n: count())"
JOINED = f"view v@ = [⟨g: a.g, n: a.n, m: b.n, k: c.key⟩ | {GROUPS}, c in N, c.name = a.g, b.g = a.g]\n"
TWO = """relation M : Bag(⟨name: string, gen: string?, dir: string?⟩)
relation N : Bag(⟨key: long, name: string?⟩)
"""


@law(examples=many(4, 40), tries=60)
def test_turns_are_the_same_in_all_views(c: Choices) -> None:
    """Several groups change in a batch, and are joined in auxiliary maps that views share: as of whose turn is said by
    no view alone."""
    program = rn.parse(TWO + "".join(JOINED.replace("@", str(i)) for i in (0, 1, 10)))
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        for relation in program.relations:
            db.relation(relation.name, relation.annotation)
        for view in program.views:
            db.create(view, c.pick(MODES))
        plan = db._declared.plan()
        assert all(sorted(p.turns, key=plan.turns.__getitem__) == [*p.turns] for p in plan.programs)
        there: dict[str, list[Any]] = {"M": [], "N": []}
        for _ in range(5):
            with db.batch() as b:
                for name, rows in there.items():
                    gone = [rows.pop(c.number(len(rows))) for _ in range(c.number(1 + len(rows)) // 2)]
                    came = [a_row(c, name) for _ in range(1 + c.number(3))]
                    b.delete(name, gone)
                    b.insert(name, came)
                    rows.extend(came)
            assert db.verify(deep=True).ok


def a_row(c: Choices, relation: str) -> dict[str, Any]:
    what = c.pick(["a", "b", None])
    return movie(c.pick(["x", "y"]), what, c.pick(["a", "b"])) if relation == "M" else {"key": 1, "name": what}


def test_a_field_that_is_renamed_leaves_views_as_they_are(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as db:
        db.load("M", FILMS)
        db.create(kinds)
        db.create(others)
        before = shared(db)
        db.relation("M").rename("gen", "kind")
        assert db.waiting == {} and shared(db) == before
        with db.batch() as b:
            b.insert("M", [{"name": "Up", "kind": "Action", "dir": None}])
        assert db.verify(deep=True).ok


def test_a_view_of_a_release_that_shares_no_groups_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits and is readable; what another view has by now is taken as it is; nothing is left over."""
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "shared", lambda *_: Shared({}))
        forget()
        with opened(tmp_path / "s") as db:
            db.load("C", [ANN, BOB])
            db.create(per_order)
            db.create(nested)
            assert not shared(db) and "per_order/G[per_order.total]" in db._store.tables()
    forget()
    monkeypatch.setattr(database, "SMALL", -1)
    with opened(tmp_path / "s") as db:
        assert set(db.waiting) == {"per_order", "nested"} and len(db.view("nested").rows()) == 2
        assert db.rebuild("per_order") == ("per_order",)
        with db.batch() as b:
            b.insert("C", [customer(9, "Cid", [order(1, item(1, 5))])])
        db.create(extremes)
        assert db.rebuild() == ("nested",) and db.verify(deep=True).ok
        assert not any("/G[" in t or "/O[" in t or "/T[" in t for t in db._store.tables())
        check(db, {"C": db.relation("C").rows()}, {view.name: view for view in (per_order, nested, extremes)})


def test_a_view_that_waits_keeps_nobody_from_what_they_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maps are left behind by batches, also those that others have; it is rebuilt with theirs, or without."""
    with opened(tmp_path / "s") as db:
        db.load("C", [ANN, BOB])
        db.create(per_order)
        db.create(nested)
    compile_view = compiler.compile_view
    with monkeypatch.context() as patch:  # a release that makes another program of one of them

        def other(query, options):
            return compile_view(query, options if query.name == "nested" else compiler.Options(force_domain=True))

        patch.setattr(views, "compile_view", other)
        patch.setattr(database, "SMALL", -1)
        with opened(tmp_path / "s") as db:
            assert set(db.waiting) == {"per_order"}
            with db.batch() as b:
                b.insert("C", [customer(9, "Cid", [order(1, item(1, 5))])])
            db.drop("nested")
            with db.batch() as b:
                b.delete("C", [customer(9, "Cid", [order(1, item(1, 5))])])
                b.insert("C", [customer(10, "Dan", [order(2, item(1, 7))])])
            assert len(db.view("per_order").rows()) == 2
    forget()
    with opened(tmp_path / "s") as db:
        db.create(nested)  # of a map that nobody has kept fresh
        assert db.verify(deep=True).ok
        db.rebuild()
        check(db, {"C": db.relation("C").rows()}, {view.name: view for view in (per_order, nested)})
        assert db.verify(deep=True).ok and db.waiting == {}


def test_coverage() -> None:
    if COUNTS["checked"] > 50:
        names = ("groups of several views", "create", "drop", "replace", "rollback", "reopen")
        assert min(COUNTS[name] for name in names) > 1, COUNTS
