"""P1: the tables of views, domains, arrays and maps lie beside those of relations, so a name is ours or theirs.

Relations and views with hostile names, declared in any order, have right rows or are refused clearly. The names are
those that a state with these relations and views really has, and what is near them.
"""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import evolve, frozen
from support.sizes import many
from support.states import MEMORY, refused, state

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.delta.compile import Options, compile_view
from ripplenest.delta.program import MapKind
from ripplenest.nrc.printing.text import part, quoted_name
from ripplenest.nrc.reserved import of_a_map
from ripplenest.nrc.serial import query_from_json, query_to_json
from ripplenest.nrc.syntax import Query
from ripplenest.schema import relation as relations
from ripplenest.store.specs import Change

COUNTS: Counter[str] = Counter()


@rn.record
class Order:
    n: int
    items: Bag[int]


@rn.record
class Row:
    k: int
    v: int
    orders: Bag[Order]


@rn.record
class Pair:
    k: int
    v: int


@frozen
class Named:
    query: Query


PAIRS = "Bag(⟨k: long, v: long⟩)"
PLAIN = "Bag(⟨k: long, v: long, orders: Bag(⟨n: long, items: Bag(long)⟩)⟩)"
BODIES = (
    "[{k: x.k, ys: [y.v | y in B, y.k = x.k]} | x in A]",
    "[{k: x.k, ys: [y.v | y in B, y.k < x.k]} | x in A]",
    "[{k: x.k, w: z.v} | x in A, y in B, z in A, x.v = y.k, y.v = z.k]",
    "[{k: x.k, ns: [{n: o.n, ys: [y.v | y in B, y.k = o.n]} | o in x.orders]} | x in A]",
    "[{k: x.k, v: y.v} | x in A, y in B, x.v = y.k, y.v > 0]",
)


def view(name: str, body: str, a: str, b: str, rows: tuple[str, str] = (PLAIN, PLAIN)) -> Named:
    """``body`` over the relations ``a`` and ``b``, whatever they are called."""
    if a == b:
        body = body.replace(" in B", " in A")
    plain = rn.parse(f"relation A0 : {rows[0]}\nrelation B0 : {rows[1]}\nview v = {_renamed(body)}").view("v").query
    text = query_to_json(plain)
    for own, given in (("A0", a), ("B0", b)):
        text = text.replace(f'"{own}"', json.dumps(given))
    return Named(evolve(query_from_json(text), name=name))


def _renamed(body: str) -> str:
    return body.replace(" in A", " in A0").replace(" in B", " in B0")


def ours() -> list[str]:
    """Every name of a stored table of a state with relations R and S and all bodies as views v0, v1, …"""
    with rn.open(TemporaryDirectory(dir=MEMORY).name, engine="local") as db:
        for name in ("R", "S"):
            db.relation(name, Row, immutable="orders")
        for i, body in enumerate(BODIES):
            db.create(view(f"v{i}", body, "R", "S"), materialize="full")
        return sorted(db._store.tables())


OURS = ours()
NEAR = ("M/", "M", "G/0123456789abcdef", "R.orders/", "R.", "R.order", "v0/D[]", "v0/D", "v0/", "R.[]", "view:v0", "ΔR")
POOL = (*OURS, *NEAR, "R.orders.items/arrays", "R⁺", "M/0123456789abcdef ΔR", "relation:R", "R.orders.n")


def test_the_pool_has_every_kind_of_map() -> None:
    """Vacuity: without auxiliary maps, domains and arrays this module would say nothing of them."""
    for shape in ("M/", "/D[", "/Dom[", "/arrays", "R.orders", "v0"):
        assert any(shape in name for name in OURS), shape


def random_rows(rng: random.Random) -> list[dict[str, Any]]:
    def order() -> dict[str, Any]:
        return {"n": rng.randrange(4), "items": [rng.randrange(3) for _ in range(rng.randrange(3))]}

    return [
        {"k": rng.randrange(4), "v": rng.randrange(4), "orders": [order() for _ in range(rng.randrange(3))]}
        for _ in range(rng.randrange(1, 4))
    ]


class Life:
    """A state whose names are drawn, and the plain rows that its relations should have."""

    def __init__(self, db: rn.Database, rng: random.Random) -> None:
        self.db, self.rng = db, rng
        self.rows: dict[str, list[Any]] = {}
        self.types: dict[str, str] = {}
        for name in ("R", "S"):
            self.declare(name)

    def step(self) -> None:
        name = self.rng.choice((*POOL, "R", "S", "v0", "v1"))
        self.rng.choice((self.declare, self.declare, self.create, self.create, self.change))(name)

    def attempt(self, name: str, do: Callable[[], object]) -> bool:
        before = state(self.db)
        try:
            do()
        except (errors.NameTaken, errors.RelationChanged, errors.ViewChanged) as error:
            assert name in str(error) or ascii(name) in str(error), error
            assert error.possible and state(self.db) == before
            COUNTS["refused"] += 1
            return False
        COUNTS["accepted"] += 1
        return True

    def declare(self, name: str) -> None:
        immutable = self.rng.choice(((), "orders"))
        nested = name in ("R", "S") or self.rng.random() < 0.5
        declared = (Row, None, immutable) if nested else (Pair, None, ())
        if self.attempt(name, lambda: self.db.relation(name, *declared)):
            self.rows.setdefault(name, [])
            self.types[name] = PLAIN if nested else PAIRS

    def create(self, name: str) -> None:
        if self.rows:
            a, b = self.rng.choices((*self.rows, *("R", "S") * 3), k=2)
            bodies = [body for body in BODIES if self.types[a] == PLAIN or "orders" not in body]
            made = view(name, self.rng.choice(bodies), a, b, (self.types[a], self.types[b]))
            self.attempt(name, lambda: self.db.create(made, materialize="full"))

    def change(self, _: str) -> None:
        if not self.rows:
            return
        name = self.rng.choice(tuple(self.rows))
        rows = random_rows(self.rng)
        if self.types[name] == PAIRS:
            rows = [{"k": row["k"], "v": row["v"]} for row in rows]
        with self.db.batch() as b:
            b.insert(name, rows)
        self.rows[name] += rows
        COUNTS["changed"] += 1

    def check(self) -> None:
        """P1: relations have their rows, views what the interpreter makes of these, and maps their definitions."""
        for name, rows in self.rows.items():
            found = self.db.relation(name).rows()
            assert len(found) == len(rows) and sorted(map(_text, found)) == sorted(map(_text, rows)), name
        assert self.db.verify(deep=True).ok
        COUNTS["verified views"] += len(self.db.views)


def _text(value: Any) -> str:
    match value:
        case dict():
            return str(sorted((k, _text(v)) for k, v in value.items()))
        case list():
            return str(sorted(map(_text, value)))
    return str(value)


@pytest.mark.parametrize("seed", range(many(32, 120)))
def test_hostile_names_never_give_wrong_rows(seed: int) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        with rn.open(folder, engine="local") as db:
            life = Life(db, random.Random(seed))
            for _ in range(14):
                life.step()
            life.check()
            before = state(db)
        with rn.open(folder, engine="local") as db:
            assert state(db) == before


def test_what_was_covered() -> None:
    assert COUNTS["refused"] > 60 and COUNTS["accepted"] > 200 and COUNTS["verified views"] > 40, COUNTS


# ---------------------------------------------------------------- one rule


@pytest.mark.parametrize("name", [name for name in OURS if not name.startswith(("R", "S")) and "/" in name])
def test_every_name_that_the_compiler_makes_is_reserved(tmp_path: Path, name: str) -> None:
    """A map that is neither flat part nor stored part has a name that no relation or view can have."""
    assert of_a_map(name)
    with rn.open(tmp_path / "state", engine="local") as db:
        with refused(db, errors.NameTaken, "the name is one of a stored map", "possible"):
            db.relation(name, Row)
        db.relation("R", Row)
        with refused(db, errors.NameTaken, "the name is one of a stored map", "possible"):
            db.create(view(name, BODIES[0], "R", "R"))
    for declaration in (f"relation {quoted_name(name)} : {PLAIN}", f"view {quoted_name(name)} = [1 | x in R]"):
        with pytest.raises(errors.ParseError, match=r"films.nrc:2:\d+: the name is one of a stored map") as caught:
            rn.parse(f"relation R : {PLAIN}\n{declaration}", "films.nrc")
        assert caught.value.possible


@pytest.mark.parametrize("body", BODIES)
def test_maps_have_reserved_names(body: str) -> None:
    """Law: of_a_map(m) for every map m of a program but the flat part, and for no stored part."""
    program = compile_view(view("v", body, "R", "S").query, Options("full", force_domain=True)).program
    for m in program.maps:
        assert of_a_map(m.name) == (m.kind is not MapKind.FLAT), m.name
    assert not [part for part in program.parts if of_a_map(part)]


def test_parts_of_two_relations_are_apart() -> None:
    """A view over R and a relation that is called like inner bags of R is refused."""
    made = view("v", "[{k: x.k, ys: [o.n | o in x.orders], w: y.k} | x in A, y in B]", "R", "R.orders")
    with pytest.raises(errors.NameTaken, match="inner bags of another") as caught:
        rn.explain(made)
    assert "R.orders" in str(caught.value)


@pytest.mark.parametrize(("a", "b", "v"), [
    ("R", "ΔR", "v"), ("R", "R⁺", "v"), ("R", "ΔʹR", "v"), ("R.orders", "ΔR.orders", "v"), ("ΔR", "R⁺", "v"),
    ("R", "R", "ΔR"), ("R", "R", "R⁺"), ("Δv", "R", "v"), ("v⁺", "R", "v"), ("R", "ΔR.orders", "v"),
    ("R", "R.orders(l)", "v"),
])  # fmt: skip
def test_a_name_is_not_what_another_is_called_in_terms(a: str, b: str, v: str) -> None:
    """Terms, costs and values find ΔR and R⁺ by what they are called."""
    with pytest.raises(errors.NameTaken, match="is what the other is called in terms") as caught:
        rn.explain(view(v, BODIES[4], a, b))
    assert v in str(caught.value) and caught.value.got in {a, b, v, "R.orders"}


@pytest.mark.parametrize(("a", "b", "v"), [("ΔR", "ΔS", "v"), ("R⁺", "S⁺", "v⁺"), ("S.orders(l)", "R", "v")])
def test_names_that_look_like_changes_are_names(a: str, b: str, v: str) -> None:
    for body in BODIES:
        assert str(rn.explain(view(v, body, a, b))).startswith(f"{part(v)} : Bag(")


@pytest.mark.parametrize("name", ["v/D[v.ys]", "v/Dom[v.ys]"])
def test_a_view_over_a_relation_with_the_name_of_its_map(name: str) -> None:
    with pytest.raises(errors.NameTaken, match="with the name of one of its maps"):
        compile_view(view("v", BODIES[1], "R", name).query)


def test_a_map_shared_by_views_is_one_of_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12: a state from before names were reserved opens, whose relation has the name of an auxiliary map; a view that
    would read its rows instead of the map is refused."""
    made = view("v", BODIES[2], "R", "S")
    (map_,) = [m for m in compile_view(made.query, Options("full")).program.maps if m.kind is MapKind.AUXILIARY][:1]
    with monkeypatch.context() as old:
        old.setattr(relations, "check_free_of_maps", lambda *_: None)
        with rn.open(tmp_path / "state", engine="local") as db:
            for name in ("R", "S"):
                db.relation(name, Row)
            db.relation(map_.name, Pair)
            db.load(map_.name, [{"k": 1, "v": 2}])
    with rn.open(tmp_path / "state", engine="local") as db:
        assert db.relation(map_.name).rows() == [{"k": 1, "v": 2}]
        with db.batch() as b:
            b.insert(map_.name, [{"k": 3, "v": 4}])
        with refused(db, errors.NameTaken, map_.name):
            db.create(made, materialize="full")
        db.create(made, materialize="none")
        assert db.relation(map_.name).count() == 2 and db.verify(deep=True).ok


def test_a_view_that_read_a_relation_for_a_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12: rows of such a view were wrong. The state opens; the view is not readable and says which names meet, and can
    be dropped without the relation."""
    made = view("v", BODIES[2], "R", "S")
    program = compile_view(made.query, Options("full")).program
    map_ = next(m for m in program.maps if m.kind is MapKind.AUXILIARY)
    with rn.open(tmp_path / "state", engine="local") as db:
        for name in ("R", "S"):
            db.relation(name, Row)
        db.create(made, materialize="full")
    with rn.open(tmp_path / "other", engine="local") as db, monkeypatch.context() as old:
        old.setattr(relations, "check_free_of_maps", lambda *_: None)
        db.relation(map_.name, Pair)
        meta = db._store.all_meta()[f"relation:{map_.name}"]
    with rn.open(tmp_path / "state", engine="local") as db:
        db._store.commit(Change(meta={f"relation:{map_.name}": meta}), db.version)
    with rn.open(tmp_path / "state", engine="local", catch_up=False) as db:
        assert map_.name in db.waiting["v"] and "relation" in db.waiting["v"]
        with pytest.raises(errors.StateError, match="waits to be rebuilt"):
            db.view("v").rows()
        version = db.version
        with pytest.raises(errors.NameTaken, match=map_.name):
            db.rebuild()
        assert db.version == version
        with db.batch() as b:
            b.insert("R", [{"k": 1, "v": 2, "orders": []}])
        tables = set(db._store.tables())
        db.drop("v")
        assert map_.name in tables & set(db._store.tables())
