"""A view goes on under other fields where its source would mean the same, and is named where it would not."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import StateError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.showing import shown
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import Bag as BagType
from ripplenest.nrc.values import from_value, to_value


@rn.record
class X:
    p: int
    n: int | None


@rn.record
class F:
    id: int
    p: int
    s: str
    xs: Bag[X]
    ns: Bag[int]


@rn.record
class G:
    a: int
    s: str


def truth(F: Bag[F]) -> list[Any]:
    return [f.id for f in F if not f.p] + [f.id for f in F if f.s]


def values(F: Bag[F], G: Bag[G]) -> list[Any]:
    return [{"id": f.id, "not": not f.p, "either": f.p == 1 or any(6 // g.a > 1 for g in G)} for f in F]


def chosen(F: Bag[F]) -> list[Any]:
    return [{"id": f.id, "some": [x.p for x in (f.xs if f.p == 1 else [])]} for f in F]


def without(F: Bag[F], G: Bag[G]) -> list[Any]:
    return [{"id": f.id, "d": rn.difference([f.p], [g.a for g in G]), "i": rn.intersect(f.ns, [f.p])} for f in F]


def bags(F: Bag[F], G: Bag[G]) -> list[Any]:
    return [{"id": f.id, "or": f.ns or [], "co": rn.coalesce(f.ns, [g.a for g in G])} for f in F]


def cut(F: Bag[F], G: Bag[G]) -> list[Any]:
    return [f.id for f in rn.top(2, F, key=lambda f: f.p)] + [g.a for g in rn.top(1, G, key=lambda g: g.a)]


def by_row(G: Bag[G]) -> list[Any]:
    return [{"s": g.s, "n": len(gs)} for g, gs in rn.group_by(G, lambda g: g)]


def inner(F: Bag[F]) -> list[Any]:
    return [{"id": f.id, "n": len(rn.difference(f.xs, [x for e in F if e.id == f.id + 1 for x in e.xs]))} for f in F]


def plain(F: Bag[F], G: Bag[G]) -> list[Any]:
    """What follows whatever becomes of the fields that it reads."""
    return [
        {
            "id": f.id,
            "late": f.p > 1,
            "kind": "a" if f.p > 1 else "b",
            "sum": sum(x.p * x.n for x in f.xs),
            "max": max(x.p for x in f.xs),
            "all": all(x.p > 1 for x in f.xs),
            "of": [g.s for g in G if g.a == f.p],
            "top": rn.top(1, f.ns, key=lambda n: n),
            "last": not any(e.p > f.p for e in F if e.s == f.s),
        }
        for f in F
        if f.p
    ]


def grouped(F: Bag[F]) -> list[Any]:
    return [{"p": p, "n": len(fs), "ids": [f.id for f in fs]} for p, fs in rn.group_by(F, lambda f: f.p)]


VIEWS = [rn.view(f) for f in (truth, values, chosen, without, bags, cut, by_row, inner, plain, grouped)]
# A relation, what is done to it, what it is then, who minds, and fields of two rows that come.
CHANGES: list[tuple[str, Any, str, set[str], dict[str, Any]]] = [
    ("F", lambda r: r.widen("p", int | None), "F.p may be NULL", {"truth", "values", "without"}, {"p": [None, 1]}),
    ("F", lambda r: r.widen("ns", Bag[int] | None), "F.ns may be NULL", {"bags"}, {"ns": [None, []]}),
    ("F", lambda r: r.widen("xs", Bag[X] | None), "F.xs may be NULL", {"chosen"}, {"xs": [None, []]}),
    (
        "F", lambda r: r.widen("xs.p", int | None), "F.xs.p may be NULL", {"inner"},
        {"xs": [[{"p": None, "n": 1}] * 2, [{"p": None, "n": None}]]},
    ),
    ("F", lambda r: r.widen("s", str | None), "F.s may be NULL", set(), {"s": [None, "x"]}),
    ("F", lambda r: r.add("new", int | None), "rows of F have other fields", {"cut"}, {"new": [None, 1]}),
    (
        "F", lambda r: r.add("xs.new", int, default=1), "rows of F.xs have other fields", {"inner"},
        {"xs": [[{"p": 1, "n": 1, "new": n} for n in (1, 2)], [{"p": 1, "n": 1, "new": 1}]]},
    ),
    ("G", lambda r: r.widen("a", int | None), "G.a may be NULL", set(), {"a": [None, 1]}),
    ("G", lambda r: r.widen("s", str | None), "G.s may be NULL", set(), {"s": [None, "x"]}),
    ("G", lambda r: r.add("new", str, default="x"), "rows of G have other fields", {"by_row"}, {"new": ["y", "x"]}),
]  # fmt: skip
ROWS = {
    "F": [
        {"id": i, "p": p, "s": s, "xs": [{"p": x, "n": n} for x in (1, 1, p) for n in (1, None)], "ns": [i, p]}
        for i, (p, s) in enumerate([(0, "x"), (1, ""), (2, "x"), (2, "x")])
    ],
    "G": [{"a": 1, "s": "x"}, {"a": 2, "s": "y"}, {"a": 2, "s": "y"}],
}


def opened(folder: Path | str) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("F", F, key="id")
    db.relation("G", G)
    for name, rows in ROWS.items():
        db.load(name, rows)
    for view in VIEWS:
        db.create(view)
    return db


def odd(db: Database, name: str, what: dict[str, Any]) -> None:
    """Rows with what could not be there before."""
    rows = ROWS[name][:1] * 2 if name == "G" else [{**ROWS["F"][n], "id": 8 + n} for n in (1, 2)]
    with db.batch() as b:
        b.insert(name, [{**row, **{field: value[n] for field, value in what.items()}} for n, row in enumerate(rows)])


def meant(db: Database, view: rn.View) -> list[Any]:
    """What the source means over the fields that relations have now."""
    declared = {name: db._declared.relations[name].row for name, _ in view.query.relations}
    q = view.again(declared)
    given = {name: to_value(db.relation(name).rows(), BagType(row), name) for name, row in declared.items()}
    found = evaluate(q.body, {name: bag for name, bag in given.items() if isinstance(bag, BagValue)})
    rows: list[Any] = from_value(found, BagType(check(q.body).row), "", shown(q))
    return rows


@pytest.mark.parametrize(("name", "change", "says", "minds", "come"), CHANGES, ids=[c[2] for c in CHANGES])
def test_a_view_means_what_its_source_does_or_is_named(
    name: str, change: Any, says: str, minds: set[str], come: dict[str, Any]
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        with opened(folder) as db:
            before = {v.name: db.view(v.name).rows() for v in VIEWS}
        with rn.open(folder, engine="local") as db:  # it is known of what is stored
            version, row = db.version, db._declared.relations[name].row
            if minds:
                with pytest.raises(StateError, match=says) as caught:
                    change(db.relation(name))
                assert {v.name for v in VIEWS if f"db.drop('{v.name}')" in str(caught.value)} == minds
                assert (db.version, db._declared.relations[name].row) == (version, row)
                assert {v.name: db.view(v.name).rows() for v in VIEWS} == before
                for mind in minds:
                    db.drop(mind)
            change(db.relation(name))
            db.rebuild()
            odd(db, name, come)
            for view in VIEWS:
                if view.name not in minds:
                    assert db.view(view.name).rows() == meant(db, view), view.name
            assert db.verify(deep=True).ok


def test_what_is_assumed_follows_names() -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        db.relation("F").rename("p", "q")
        db.relation("F").rename("xs.p", "q")
        with pytest.raises(StateError, match=r"F\.q may be NULL"):
            db.relation("F").widen("q", int | None)
        with pytest.raises(StateError, match=r"rows of F\.xs have other fields"):
            db.relation("F").add("xs.new", int, default=1)


def spread(F: Bag[F]) -> list[Any]:
    return [{**f, "more": 1} for f in F]


def within(F: Bag[F]) -> list[Any]:
    return [{"id": f.id, "xs": [dict(x, more=1) for x in f.xs]} for f in F]


def perhaps(F: Bag[F]) -> list[Any]:
    return [{"id": f.id, "f": f if f.id > 1 else None} for f in F]


def joined(F: Bag[F], G: Bag[G]) -> list[Any]:
    return [{"g": g.a, "f": f} for g, f in rn.left_join(G, F, lambda g, f: g.a == f.id)]


def first(G: Bag[G]) -> list[Any]:
    return [{"first": min(G, key=lambda g: g.a)}]


def whole(F: Bag[F]) -> list[Any]:
    return [{"f": f, "xs": f.xs} for f in F]


def of_fields(F: Bag[F]) -> list[Any]:
    return [{"id": f.id, "ns": f.ns} for f in F]


def other(G: Bag[G]) -> list[Any]:
    return [{**g, "more": 1} for g in G]


OWN = [rn.view(f) for f in (spread, within, perhaps, joined, first, whole, of_fields, other)]


@pytest.mark.parametrize(
    ("name", "change", "differ"),
    [
        ("F", lambda r: r.add("new", int, default=1), ["joined", "perhaps", "spread"]),
        ("F", lambda r: r.add("xs.new", int, default=1), ["within"]),
        ("F", lambda r: r.rename("s", "t"), ["joined", "perhaps", "spread"]),
        ("F", lambda r: r.rename("xs.n", "m"), ["within"]),
        ("F", lambda r: r.widen("s", str | None), []),
        ("G", lambda r: r.add("new", int, default=1), ["other"]),
        ("G", lambda r: r.rename("s", "t"), ["first", "other"]),
    ],
    ids=["add", "add within", "rename", "rename within", "widen", "add, a first row", "rename, a first row"],
)
def test_views_that_show_the_fields_that_were_there_are_named(name: str, change: Any, differ: list[str]) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("F", F, key="id")
        db.relation("G", G)
        for relation, rows in ROWS.items():
            db.load(relation, rows)
        for view in OWN:
            db.create(view)
        if "other" in differ and "first" not in differ:
            db.drop("first")  # which is refused, as above
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            change(db.relation(name))
        said = f"rows of {name} are shown with the fields that they had before"
        then = "db.replace(view), of a class that has them, shows the others"
        named = [f"view {', '.join(differ)}: {said}; {then}"] if differ else []
        assert [str(w.message) for w in caught if w.filename == __file__] == named
        kept = [view for view in OWN if view.name in db.views]
        assert [view.name for view in kept if db.view(view.name).rows() != meant(db, view)] == [
            view.name for view in OWN if view.name in differ
        ]


TEXT = """
record X = ⟨p: long⟩
record E = ⟨a: long, xs: Bag(X)⟩
relation E : Bag(E) key a
view less = [{a: e.a, xs: difference(e.xs, [x | f in E, f.a = e.a + 1, x in f.xs])} | e in E]
view names = [{a: e.a} | e in less, x in e.xs]
"""


def test_views_of_files_are_read_again() -> None:
    """Those that they read, too."""
    program = rn.parse(TEXT)
    with TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation(program.relation("E"))
        for view in program.views:
            db.create(view)
        with pytest.raises(StateError, match=r"rows of E\.xs have other fields") as caught:
            db.relation("E").add("xs.new", int | None)
        assert "db.drop('less'); db.drop('names') first" in str(caught.value)
        db.relation("E").add("new", int | None)


@rn.view
def ours(F: Bag[F]) -> list[Any]:
    return [f for f in F if f.p > 0]


@rn.view
def inlined(F: Bag[F]) -> list[Any]:
    return [{"id": r.id, "is": not r.p} for r in ours(F)]


def test_views_that_others_read_are_read_again() -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("F", F, key="id")
        db.create(inlined)
        db.relation("F").widen("s", str | None)
        with pytest.raises(StateError, match=r"F\.p may be NULL"):
            db.relation("F").widen("p", int | None)
