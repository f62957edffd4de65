"""Declaring, loading, creating and reopening: each once, in any order, by any process."""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.shop import (
    ANN,
    BOB,
    FILMS,
    VIEWS,
    Customer,
    Movie,
    customer,
    customers,
    item,
    liked,
    movie,
    movies,
    opened,
    order,
    parts,
    related,
    tags,
)
from support.states import recomputed, refused, state, unchanged

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.run.joiner import PythonJoiner
from ripplenest.state.declared import Declared
from ripplenest.store import Store, turns

ALL = {view.name: view for view in VIEWS}


def test_rows_and_views_are_there(db):
    assert db.relations == ("C", "M")
    assert sorted(db.views) == sorted(ALL)
    assert db.version == 10
    recomputed(db, ALL, {"C": [ANN, BOB], "M": FILMS})


@pytest.mark.parametrize("steps", ["load create batch", "create load batch", "batch create", "create batch"])
def test_any_order_of_load_create_and_batch(tmp_path, steps):
    with opened(tmp_path) as db:
        rows = {"C": [], "M": []}
        for step in steps.split():
            match step:
                case "load":
                    db.load("C", [ANN, BOB])
                    db.load("M", FILMS)
                    rows = {"C": [ANN, BOB], "M": list(FILMS)}
                case "create":
                    for view in VIEWS:
                        db.create(view)
                case "batch":
                    with db.batch() as b:
                        b.insert("C", [customer(1, "Drama", [order(1, item(1))])])
                        b.insert("M", [movie("Jarhead", "Drama", "Mendes")])
                    rows["C"] = [*rows["C"], customer(1, "Drama", [order(1, item(1))])]
                    rows["M"] = [*rows["M"], movie("Jarhead", "Drama", "Mendes")]
        recomputed(db, ALL, rows)


def test_doing_it_again_changes_nothing(db):
    with unchanged(db):
        db.relation("C", Customer, key="custkey")
        db.relation("M", Movie)
        for view in VIEWS:
            assert db.create(view).name == view.name
        assert db.load("C", [BOB, ANN]) == db.load("C", [ANN, BOB])


def test_a_load_into_rows_is_refused(db):
    with refused(db, errors.AlreadyLoaded, "load C", "loaded before"):
        db.load("C", [ANN])
    db.relation("N", Movie)
    with db.batch() as b:
        b.insert("N", FILMS)
    with refused(db, errors.AlreadyLoaded, "load N", "has rows already", "batch"):
        db.load("N", FILMS)


def test_a_load_after_everything_was_deleted(tmp_path):
    with opened(tmp_path) as db:
        db.create(movies)
        for verb in ("insert", "delete"):
            with db.batch() as b:
                getattr(b, verb)("M", FILMS)
        db.load("M", FILMS[:1])
        assert db.view("movies").rows() == FILMS[:1]


def test_relations_of_other_rows_than_records(tmp_path):
    @rn.view
    def words(W: Bag[str]):
        return [{"w": w, "same": [x for x in W if x == w]} for w in W]

    @rn.view
    def cells(G: Bag[Bag[int | None]]):
        return [c for row in G for c in row]

    with rn.open(tmp_path, engine="local") as db:
        db.relation("W", str)
        db.relation("G", Bag[int | None])
        db.load("W", ["a", "b", "a"])
        db.create(words)
        db.create(cells)
        with db.batch() as b:
            b.delete("W", ["a"])
            b.insert("G", [[1, 2], [], [1, None], [1, 2]])
        with db.batch() as b:
            b.delete("G", [[2, 1], []])
        assert db.view("words").rows() == words(["a", "b"])
        assert db.view("cells").rows() == [None, 1, 1, 2]
        with refused(db, errors.RowNotThere, "operation 0 (delete G): rows[0]", "other inner bags"), db.batch() as b:
            b.delete("G", [[9]])


PROCESS = """
import json, sys
sys.path.insert(0, {tests!r})
from support.shop import *
db = opened({state!r})
for seq in {seqs}:
    with db.batch("files", seq) as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.insert([item(seq)])
print(json.dumps([db.version, db.view("parts").rows()]))
"""


def test_a_new_process_continues(db):
    folder, tests = str(db._store.path), str(Path(__file__).parents[1])
    with db.batch("files", 1) as b:
        b.upsert("C", [ANN])
    before = state(db)
    db.close()
    with opened(folder) as again:
        assert state(again) == before
    for seqs in ([2], [2, 3]):
        code = PROCESS.format(tests=tests, state=folder, seqs=seqs)
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    rows = [customer(7, "Ann", [ANN["orders"][0], order(12, item(2), item(3))]), BOB]
    with opened(folder) as again:
        assert json.loads(run.stdout) == [again.version, parts(rows)]
        recomputed(again, ALL, {"C": rows, "M": FILMS})


def test_two_objects_on_one_directory(tmp_path):
    """The older one sees what the other declares, and keeps the other's views fresh."""
    with opened(tmp_path) as old, opened(tmp_path) as new:
        new.load("M", FILMS)
        new.create(related)
        new.relation("N", Movie)
        assert old.views == ("related",) and old.relations == ("C", "M", "N")
        with old.batch() as b:
            b.insert("M", [movie("Jarhead", "Drama", "Mendes")])
            b.insert("N", FILMS)
        with new.batch() as b:
            b.delete("M", FILMS[:1])
        rows = [*FILMS[1:], movie("Jarhead", "Drama", "Mendes")]
        assert old.view("related").rows() == new.view("related").rows() == related(rows)


class Interrupted(PythonJoiner):
    """Before it joins for the first time in a while, somebody else does something."""

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile

    def join(self, tasks, targets):
        self.meanwhile()
        return super().join(tasks, targets)


def test_a_batch_is_computed_again_when_a_view_comes_in_between(tmp_path):
    with opened(tmp_path) as db, opened(tmp_path) as other:
        db.create(movies)
        db.create(parts)
        db._engines._made["local"] = Interrupted(lambda: "tags" in other.views or other.create(tags))
        with db.batch("s", 1) as b:
            b.insert("C", [ANN])
        assert b.report.version == db.version and db.view("tags").rows() == tags([ANN])


@pytest.mark.parametrize("what", ["relation", "create", "other views"])
def test_two_that_declare_the_same_at_once(tmp_path, monkeypatch, what):
    """Who comes second finds it there, whenever the other one commits."""
    with rn.open(tmp_path, engine="local") as one, rn.open(tmp_path, engine="local") as other:
        if what != "relation":
            one.relation("C", Customer, key="custkey")
        declare = {
            "relation": lambda db: db.relation("C", Customer, key="custkey"),
            "create": lambda db: db.create(parts),
            "other views": lambda db: db.create(parts if db is one else tags),
        }[what]
        done, known = [], Store.tables

        def meanwhile(store: Store) -> Any:
            if store is one._store and not done:
                done.append(declare(other))
            return known(store)

        monkeypatch.setattr(Store, "tables", meanwhile)
        declare(one)
        assert done and list(one.relations) == ["C"]
        assert {*one.views} == {"relation": set(), "create": {"parts"}, "other views": {"parts", "tags"}}[what]


def test_a_batch_that_always_comes_second_gives_up_and_can_be_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "WAIT", 0)  # the other one does not wait for its turn
    with opened(tmp_path) as db, opened(tmp_path) as other:
        others = []

        def meanwhile():
            others.append({**BOB, "custkey": 100 + len(others)})
            with other.batch() as b:
                b.insert("C", others[-1:])

        db.create(tags)
        db._engines._made["local"] = Interrupted(meanwhile)
        with pytest.raises(errors.Stale, match="another commit came first"), db.batch("s", 1) as b:
            b.insert("C", [ANN])
        assert len(others) == turns.TRIES + turns.IN_TURN and db.view("tags").rows() == tags(others)
        del db._engines._made["local"]
        with db.batch("s", 1) as b:
            b.insert("C", [ANN])
        assert db.view("tags").rows() == tags([ANN, *others])


def test_who_is_slow_has_a_turn_beside_those_who_are_quick(tmp_path):
    """Each of its attempts takes longer than theirs: without turns it would never be the newest."""
    done, ready = threading.Event(), threading.Event()

    def quick(k: int) -> None:
        with opened(tmp_path) as db:
            while not done.is_set():
                with db.batch() as b:
                    b.upsert("C", [customer(k, "x", [])])
                ready.set()

    with opened(tmp_path) as db, ThreadPoolExecutor() as pool:
        attempts = []
        db.create(tags)
        others = [pool.submit(quick, k) for k in (1, 2)]
        db._engines._made["local"] = Interrupted(lambda: attempts.append(time.sleep(0.2)))
        try:
            assert ready.wait(60)
            for _ in range(2):
                with db.batch() as b:
                    b.upsert("C", [ANN])
            batches = len(attempts)
            for define in (db.create, db.replace, lambda v: db.drop(v.name)):
                define(parts)
            db.relation("M").add("year", int, 2000)
        finally:
            done.set()
        for other in others:
            other.result()
        assert turns.TRIES < batches <= 2 * (turns.TRIES + 3)


def test_a_load_and_a_declaration_are_done_again_when_another_commit_came_first(tmp_path, monkeypatch):
    """Rows that can be read once are read once; who loads the same meanwhile has loaded it."""
    with opened(tmp_path) as db, opened(tmp_path) as other:
        db.create(tags)
        others = [lambda: other.load("M", FILMS)]
        db._engines._made["local"] = Interrupted(lambda: others and others.pop()())
        db.load("C", iter([ANN, BOB]))
        assert db.view("tags").rows() == tags([ANN, BOB]) and others == []
        db.rollback(db.version - 1)
        others.append(lambda: other.load("C", iter([ANN, BOB])))
        assert db.load("C", iter([ANN, BOB])) == other.version and db.relation("C").count() == 2
        once = iter([lambda: other.relation("N", Movie), lambda: None])
        check = Declared.check_free
        monkeypatch.setattr(Declared, "check_free", lambda *args: (next(once, lambda: None)(), check(*args)))
        assert db.relation("N", Movie).rows() == [] and db.version == other.version


def test_who_names_a_relation_that_is_there_waits_for_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "WAIT", 3)
    with opened(tmp_path) as db, turns.turn(tmp_path):
        started = time.monotonic()
        assert db.relation("M", Movie).rows() == []
        assert time.monotonic() - started < turns.WAIT / 2


def test_a_load_of_a_relation_that_changed_meanwhile_is_refused(tmp_path):
    def rows():
        other.relation("M").add("year", int, 2000)
        yield from FILMS

    with opened(tmp_path) as db, opened(tmp_path) as other:
        with pytest.raises(errors.RelationChanged, match="declared anew by another object"):
            db.load("M", rows())
        assert db.relation("M").rows() == []


def test_a_turn_of_one_who_hangs_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "WAIT", 0.05)
    with opened(tmp_path) as db, turns.turn(tmp_path):
        with db.batch() as b:
            b.insert("C", [ANN])
        assert b.report.version == db.version


def test_a_closed_database_says_so(db):
    db.close()
    for use in (lambda: db.version, lambda: db.view("tags"), db.batch, lambda: db.load("M", FILMS)):
        with pytest.raises(errors.StateError, match="closed"):
            use()


HOSTILE = ("a.b", "a b", "`x`", "'; drop table version; --", "../up", "c0", "w", "é", "{0}", "%s", "\0", "N" * 500)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_relation_names(tmp_path, name):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation(name, Customer, key="custkey")
        db.load(name, [ANN])
        with db.batch(name, 1) as b:
            b.insert(name, [BOB])
            b.at(name, custkey=7).orders.at(orderkey=12).items.insert([item(1)])
        before = state(db)
    with rn.open(tmp_path / "state", engine="local") as db:
        assert state(db) == before
        assert db.relations == (name,)
        assert sum(before["tables"][name].values()) == 2
        assert sum(before["tables"][f"{name}.orders.items"].values()) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("name", ["\ud800", 7, None, ""])
def test_names_that_are_no_text(db, name):
    with refused(db, errors.WrongValue, "relation name"):
        db.relation(name, Movie)


def test_names_that_are_taken(db):
    with refused(db, errors.NameTaken, "tags", "in use"):
        db.relation("tags", Movie)
    with refused(db, errors.NameTaken, "C.orders"):
        db.relation("C.orders", Movie)
    db.relation("D.orders", Movie)
    with refused(db, errors.NameTaken, "D.orders"):
        db.relation("D", Customer)

    def customers_twice():
        @rn.view
        def C(M: Bag[Movie]):
            return M

        return C

    with refused(db, errors.NameTaken, "C: "):
        db.create(customers_twice())
    assert customers.name in db.views and liked.name in db.views
