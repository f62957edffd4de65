"""Reading versions, going back to them, and what happened between two of them: for views and relations alike."""

import copy
import json
import shutil
import sys
import warnings
from collections import Counter
from itertools import combinations
from random import Random
from types import SimpleNamespace

import pytest
from support.shop import (
    ANN,
    BOB,
    FILMS,
    VIEWS,
    Customer,
    customer,
    item,
    movie,
    opened,
    order,
    parts,
    related,
    tags,
)
from support.sizes import many
from support.states import refused, state

import ripplenest as rn
from ripplenest import errors
from ripplenest.intake.apply import Session
from ripplenest.state.commits import Commits
from ripplenest.state.notes import ROLLBACKS
from ripplenest.state.state import State
from ripplenest.store.snapshot import Snapshot


def key(row):
    """A plain row as something that can be counted."""
    match row:
        case dict():
            return tuple((name, key(value)) for name, value in row.items())
        case list():
            return ("bag", *sorted(map(key, row), key=repr))
    return row


def counted(rows):
    return Counter(map(key, rows))


def names(db):
    return [db.view(name) for name in db.views] + [db.relation(name) for name in db.relations]


def history_of(db):
    """Batches of all kinds; by version, the rows of every view and relation at that time."""
    db.load("C", [ANN, BOB])
    db.load("M", FILMS)
    for view in VIEWS:
        db.create(view)
    seen = {db.version: {h.name: h.rows() for h in names(db)}}
    ann = db  # batches address rows by key
    changes = [
        lambda b: b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3, 5, ("z", "z"))]),
        lambda b: (b.insert("M", [movie("Jarhead", "Drama", "Mendes")]), b.delete("M", [movie(*FILMS[0].values())])),
        lambda b: b.at("C", custkey=7).orders.at(orderkey=11).items.at_all(part=1).tags.insert(["q"]),
        lambda b: b.delete("C", [BOB]),
        lambda b: b.upsert("C", [customer(8, "Bea", [order(21, item(1)), order(21, item(1))])]),
        lambda b: b.at("C", custkey=7).orders.delete([order(12)]),
        lambda _: None,
    ]
    for seq, change in enumerate(changes, 1):
        with ann.batch("s", seq) as b:
            change(b)
        seen[db.version] = {h.name: h.rows() for h in names(db)}
    return seen


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A state, closed, and what its versions held."""
    folder = tmp_path_factory.mktemp("made") / "state"
    with opened(folder) as db:
        return folder, history_of(db)


@pytest.fixture
def past(made, tmp_path):
    folder, seen = made
    shutil.copytree(folder, tmp_path / "state")
    with opened(tmp_path / "state") as db:
        yield db, dict(seen)


def test_every_version_can_be_read(past):
    db, seen = past
    assert len(seen) == 8 and len({str(rows) for rows in seen.values()}) == 7
    for n, rows in seen.items():
        assert {h.name: h.as_of(n).rows() for h in names(db)} == rows
    last = db.version
    assert db.view("tags").as_of(("s", 1)).rows() == seen[last - 6]["tags"]
    assert repr(db.view("tags").as_of(("s", 1))).endswith(" as of ('s', 1)>")


def test_changed_rows_lead_from_any_version_to_any_other(past):
    """rows(v) = rows(since) − went + came; and only rows that changed, or changed inside, are named."""
    db, seen = past
    touched = 0
    for since, upto in [*combinations(seen, 2)][:: many(2, 1)]:
        for h in names(db):
            went, came = (counted(rows) for rows in h.as_of(upto).changed_rows(since))
            old, new = counted(seen[since][h.name]), counted(seen[upto][h.name])
            assert old - new == went and new - old == came, (h.name, since, upto)
            touched += sum(went.values())
    assert touched > many(50, 100)


@pytest.mark.parametrize("tracked", [True, False])
def test_a_changed_row_costs_what_it_costs(tmp_path, tracked, monkeypatch):
    """A change deep inside one of many rows reads what that row holds, and scans nothing, once that is asked for; until
    then whoever reads much is told."""
    monkeypatch.setattr(sys.modules["ripplenest.api.changes"], "SCANNED", 200)  # ripplenest.view is the decorator
    with opened(tmp_path) as db:
        db.load("C", [customer(i, "Ann", [order(i, item(1), item(2, 3, ("a",)))]) for i in range(300)])
        db.create(parts)
        if tracked:
            db.track("parts")
            db.track("C")
        since = db.version
        with db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=7).items.insert([item(9)])
        scanned, plain = [], Snapshot.scan
        monkeypatch.setattr(Snapshot, "scan", lambda self, table: (scanned.append(table), plain(self, table))[1])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for h in (db.view("parts"), db.relation("C")):
                went, came = h.changed_rows(since)
                assert len(went) == len(came) == 1 and "9" in str(came) and "9" not in str(went)
        assert ["track('parts')" in str(w.message) for w in said] == ([] if tracked else [True])
        assert bool(scanned) != tracked
        with pytest.raises(errors.UnknownView, match="possible parts, C"):
            db.track("nothing")


def test_a_load_after_rollbacks(tmp_path):
    """What a rollback undid can be loaded again; what one of a rollback brought back is there."""
    with opened(tmp_path, retain=20) as db:
        empty = db.version
        first = db.load("M", FILMS)
        assert db.load("M", FILMS) == first
        db.rollback(empty)
        second = db.load("M", FILMS)
        assert second > first and len(db.relation("M").rows()) == len(FILMS)
        undone = db.rollback(first + 1)
        assert db.relation("M").rows() == []
        db.rollback(second)
        with pytest.raises(errors.AlreadyLoaded):
            db.load("M", FILMS[:1])
        assert db.load("M", FILMS) == second
        db.rollback(undone)
        assert db.load("M", FILMS) == db.version and len(db.relation("M").rows()) == len(FILMS)


def test_which_versions_are_in_force():
    """Random histories of commits and rollbacks, against what the newest version is made of, by definition."""
    chance, answers = Random(3), Counter()
    for _ in range(300):
        made_of, rollbacks = [frozenset()], []
        for n in range(1, chance.randrange(2, 25)):
            if chance.randrange(3) == 0:
                to = chance.randrange(n)
                rollbacks.append([n, to])
                made_of.append(made_of[to] | {n})
            else:
                made_of.append(made_of[-1] | {n})
        meta = {ROLLBACKS: json.dumps(rollbacks)}
        there = SimpleNamespace(version=len(made_of) - 1, all_meta=lambda found=meta: found)
        for n in set(range(1, len(made_of))) - {at for at, _ in rollbacks}:
            assert State(there).in_force(n) == (n in made_of[-1]), (rollbacks, n)
            answers[n in made_of[-1]] += 1
    assert min(answers.values()) > 500


def test_changes_when_access_keys_come_meanwhile(tmp_path):
    """A batch that another one overtakes is computed again, also when that one made an access key; and what a handle
    reads of a version, it reads by the keys of then."""
    with opened(tmp_path) as db, opened(tmp_path) as other:
        db.load("C", [ANN, BOB])
        db.create(tags)
        since, overlay = db.version, State.overlay

        def overtaken(self, snapshot):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(State, "overlay", overlay)
                with other.batch() as b:
                    b.at("C", name="Ann").orders.insert([order(31)])
            patched.undo()
            return overlay(self, snapshot)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(State, "overlay", overtaken)
            with db.batch() as b:
                b.at("C", name="Ann").orders.insert([order(32)])
        assert {31, 32} <= {o["orderkey"] for c in db.relation("C").rows() for o in c["orders"] or []}
        assert db.relation("C").changed_rows(since) != ([], [])


def test_a_batch_whose_version_is_gone_is_computed_again(tmp_path, monkeypatch):
    """Few versions are kept, and others were faster: the files that it would read are gone."""
    with opened(tmp_path, retain=1) as other:
        other.load("C", [ANN, BOB])
        other.create(tags)
    with opened(tmp_path) as db, opened(tmp_path) as other:
        plain, batch, gone = Session.run, Commits._batch, []

        def overtaken(self, *args):
            monkeypatch.setattr(Session, "run", plain)
            for i in range(5):
                with other.batch() as b:
                    b.insert("C", [customer(100 + i, "Eve", [order(1, item(1, 1, ("t",)))])])
                other.compact(everything=True)
            return plain(self, *args)

        def seen(self, *args):
            try:
                return batch(self, *args)
            except errors.StateError as e:
                gone.append(type(e))
                raise

        monkeypatch.setattr(Session, "run", overtaken)
        monkeypatch.setattr(Commits, "_batch", seen)
        with db.batch() as b:
            b.delete("C", [BOB])
        assert [c["custkey"] for c in db.relation("C").rows()] == [7, *range(100, 105)] and db.verify().ok
        assert gone == [errors.NotKept]


def test_what_was_not_there_is_not_empty(tmp_path):
    """A version from before a view or relation was made has no rows of it to show, which is not the same as none."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey")
        db.load("C", [ANN])
        made = db.version
        db.create(tags)
        with pytest.raises(errors.StateError, match="no such table yet"):
            db.view("tags").as_of(made).rows()
        assert db.relation("C").as_of(made).rows() == db.relation("C").rows()


@pytest.mark.parametrize("wrong", [-1, 99, ("s", 99), ("nobody", 1), True, "3", (1, 2)])
def test_versions_that_are_none(past, wrong):
    db, _ = past
    for use in (db.view("tags").as_of, db.relation("M").as_of, db.view("tags").changed_rows, db.rollback):
        with refused(db, errors.StateError):
            use(wrong)


def test_the_history_says_what_was_done(past):
    db, _ = past
    entries = db.history()
    assert [e.version for e in entries] == list(range(db.version, -1, -1))
    kinds = [e.note.get("kind") for e in reversed(entries)]
    assert kinds == [None, "relation", "relation", "load", "load", *["create"] * len(VIEWS), *["batch"] * 7]
    assert (entries[0].source, entries[0].seq) == ("s", 7)
    times = [e.time for e in entries]
    assert times == sorted(times, reverse=True) and all(t.utcoffset().total_seconds() == 0 for t in times)
    assert db.history(2) == entries[:2]


# ---------------------------------------------------------------- rollback


def test_a_rollback_is_a_new_version_with_the_old_rows(past):
    db, seen = past
    for n in [*seen, *reversed(seen)]:
        before = db.version
        assert db.rollback(n) == before + 1 == db.version
        assert {h.name: h.rows() for h in names(db)} == seen[n]
        assert db.verify(deep=True).ok
        assert db.history(1)[0].note.items() >= {"kind": "rollback", "to": n}.items()
    assert db.rollback(("s", 3)) and {h.name: h.rows() for h in names(db)} == seen[db.version - 16 - 5]
    with db.batch("s", 8) as b:
        b.insert("M", [movie("New", "Drama", "x")])
    assert db.verify(deep=True).ok


def test_views_that_came_later_match_the_rows_of_then(tmp_path):
    with opened(tmp_path) as db:
        db.load("M", FILMS[:1])
        then = db.version
        with db.batch() as b:
            b.insert("M", FILMS[1:])
        db.create(related)
        assert db.view("related").rows() == related(FILMS)
        db.rollback(then)
        assert db.relation("M").rows() == FILMS[:1] and db.view("related").rows() == related(FILMS[:1])
        assert db.verify(deep=True).ok


def test_batches_that_were_undone_stay_applied(past):
    """A (source, seq) is applied once: what comes after a rollback is new, and a late retry does nothing."""
    db, seen = past
    first = min(seen)
    db.rollback(first)
    held = state(db)
    with db.batch("s", 7) as b:
        pass
    assert not b.report.applied and state(db) == held
    with pytest.raises(errors.BatchGap), db.batch("s", 9):
        pass


def test_a_load_that_was_undone_can_be_done_again(tmp_path):
    with opened(tmp_path) as db:
        db.create(related)
        empty = db.version
        loaded = db.load("M", FILMS)
        assert db.load("M", FILMS) == loaded == db.version
        undone = db.rollback(empty)
        assert db.view("related").rows() == []
        again = db.load("M", FILMS)
        assert again == db.version == undone + 1 and db.view("related").rows() == related(FILMS)
        assert db.load("M", FILMS) == again
        with pytest.raises(errors.AlreadyLoaded):
            db.load("M", FILMS[:1])
        db.rollback(loaded)  # undoes the rollback, too
        assert db.load("M", FILMS) == loaded < again and db.view("related").rows() == related(FILMS)
        db.rollback(empty)
        assert db.load("M", FILMS[:2]) == db.version and db.view("related").rows() == related(FILMS[:2])


def test_a_rollback_brings_arrays_back(tmp_path):
    """Bags that were arrays then, and are shredded now because a view looked into them."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders.items")
        db.load("C", [ANN, BOB])
        then, rows = db.version, db.relation("C").rows()
        with db.batch() as b:
            b.insert("C", [customer(9, "Cy", [order(31, item(5, 2, ("t",)))])])
        db.create(tags)
        assert db.relation("C").as_of(then).rows() == rows
        went, came = db.relation("C").changed_rows(then)
        assert went == [] and [c["custkey"] for c in came] == [9]
        db.rollback(then)
        assert db.relation("C").rows() == rows and db.view("tags").rows() == tags([ANN, BOB])
        assert db.verify(deep=True).ok


# ---------------------------------------------------------------- retention


def test_old_versions_go_and_batches_stay_known(tmp_path):
    with opened(tmp_path, retain=4) as db:
        db.create(related)
        pinned = db.view("related").as_of(db.version)
        for seq in range(1, 31):
            with db.batch("s", seq) as b:
                b.insert("M", [movie(f"m{seq}", "Drama", "d")])
        usage = db.usage
        assert (usage.oldest, usage.newest, usage.retain) == (db.version - 4, db.version, 4) and usage.orphans == ()
        assert len(db.history()) == 5
        with pytest.raises(errors.StateError, match="no longer kept") as caught:
            pinned.rows()
        assert not isinstance(caught.value, errors.CorruptState)
        with pytest.raises(errors.StateError, match="no longer kept"):
            db.view("related").changes(since=2)
        with db.batch("s", 3) as b:
            b.insert("M", [movie("m3", "Drama", "d")])
        assert not b.report.applied
        with pytest.raises(errors.BatchConflict), db.batch("s", 3) as b:
            b.insert("M", [movie("other", "Drama", "d")])
    with opened(tmp_path) as db:  # the setting is the state's, and so is the memory of batches
        assert db.usage.retain == 4 and db.usage.files == usage.files
        with pytest.raises(errors.BatchGap), db.batch("s", 32):
            pass


def test_a_vacuum_leaves_what_versions_need(past):
    db, seen = past
    rows, files = {h.name: h.rows() for h in names(db)}, db.usage.files
    swept = db.vacuum(3)
    assert swept.versions == db.version - 3 and swept.files >= 0
    for n in range(db.version - 3, db.version + 1):
        assert {h.name: h.as_of(n).rows() for h in names(db)} == seen[n]
    db.compact(everything=True)
    swept = db.vacuum(0)
    assert swept.files > 0 and swept.bytes > 0 and db.usage.files < files
    assert {h.name: h.rows() for h in names(db)} == rows and db.verify(deep=True).ok
    assert db._store.check_segments() > 0


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "3"])
def test_numbers_of_versions_that_are_none(past, tmp_path, wrong):
    db, _ = past
    with refused(db, errors.StateError, "0 or more"):
        db.vacuum(wrong)
    with pytest.raises(errors.StateError, match="1 or more"):
        rn.open(tmp_path / "state", engine="local", retain=wrong)


def test_rows_are_not_shared_with_the_caller(past):
    db, _ = past
    rows = db.relation("C").rows()
    copy.deepcopy(rows)[0].clear()
    assert db.relation("C").rows() == rows


def test_a_view_that_was_there_before_says_when(tmp_path):
    """Not only since when it is there again."""
    with opened(tmp_path) as db:
        db.create(parts)
        first = db.version
        with db.batch():
            pass
        db.drop("parts")
        gone = db.version
        db.create(parts)
        with pytest.raises(errors.StateError, match="no such table then") as error:
            db.view("parts", as_of=gone).rows()
        assert error.value.wanted == f"version {first} to {gone - 1}, {db.version} or later"
        assert db.view("parts", as_of=first).rows() == db.view("parts").rows()
