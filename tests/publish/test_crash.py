"""Publishers that die: the table is always the view at the version that it says, and the next publication makes good
what is missing, once."""

import multiprocessing
from collections import Counter
from random import Random
from time import sleep

import pytest
from deltalake import DeltaTable
from publish.dying import dying, publish_and_die
from publish.shopping import random_batch, random_customer
from publish.tables import (
    APP,
    Stored,
    by_deltalake,
    check,
    flat_bag,
    folders,
    nested_bag,
    published,
    shape_in,
    stored,
    target,
)
from support.reports import reported
from support.shop import customer, customers, item, movie, movies, opened, order, parts

import ripplenest as rn


class Crash(BaseException):
    """The process is gone."""


def crash():
    raise Crash


class Versions:
    """What each version of a database is, to compare tables with."""

    def __init__(self, db, *targets):
        self.db, self.targets, self.known = db, targets, {}
        self.note()

    def note(self):
        for to in self.targets:
            program = shape_in(self.db, to.view)
            for site in folders(to, program):
                self.known[self.db.version, to, site] = (
                    self.db.view(to.view).bag() if to.layout == "nested" else stored(program, Stored(self.db), site)
                )

    def check(self, to):
        """Every table of the target is what it says that it is; the versions that they say, None for no table."""
        program = shape_in(self.db, to.view)
        found = {None: to.path} if to.layout == "nested" else folders(to, program)
        versions = []
        for site, path in found.items():
            versions.append(None)
            if DeltaTable.is_deltatable(path):
                versions[-1] = DeltaTable(path).transaction_version(f"{APP}/{to.view}")
                rows = by_deltalake(path)
                bag = nested_bag(rows, program) if to.layout == "nested" else flat_bag(rows, program, site)
                assert bag == self.known[versions[-1], to, site], (to, site, versions)
        return versions


def change(db):
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(db.version, 9, ("q",))])
        b.insert("C", [customer(1000 + db.version, "Eve", [order(1, item(1))])])
        b.insert("M", [movie(f"film {db.version}")])


@pytest.mark.parametrize(("view", "layout"), [("customers", "nested"), ("related", "shredded")])
def test_a_publisher_that_dies_at_any_step(db, folder, view, layout):
    """Before and after each writing call of the first publication, of a change, and of a change that is none."""
    to = target(view, folder / "table", layout)
    versions, crashes, calls = Versions(db, to), 0, Counter()
    for act in (lambda: None, lambda: change(db), lambda: db.batch().__enter__().__exit__(None, None, None)):
        step = 0
        while True:
            act()
            versions.note()
            with dying(step, crash) as begun:
                try:
                    published(db, to)
                except Crash:
                    crashes += 1
                else:
                    break
                finally:
                    calls.update(begun)
            versions.check(to)
            if step % 3 == 2:  # else the next publication also finds what this one left
                published(db, to)
                check(db, to)
            step += 1
        check(db, to)
    assert crashes >= 6 and calls.keys() >= {"write_deltalake", "execute"}, (crashes, calls)


def test_what_a_crash_left_undone_is_done_by_the_next_open(db, folder):
    """Between our commit and the Delta commit, and right after both; the batch again is the same batch."""
    to = db.publish("customers", folder / "table").tables[0].uri
    for seq, step in enumerate((0, 1), 1):
        with dying(step, crash), pytest.raises(Crash), db.batch("shop", seq) as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(seq)])
        assert nested_bag(by_deltalake(to), shape_in(db, "customers")) != db.view("customers").bag() or step
        with rn.open(folder / "state", engine="local") as again:
            assert nested_bag(by_deltalake(to), shape_in(again, "customers")) == again.view("customers").bag()
            with again.batch("shop", seq) as b:
                b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(seq)])
            assert not again.report.applied and not any(done.changed for done in again.catch_up())
    assert DeltaTable(to).version() == 2


# ---------------------------------------------------------------- processes that are killed

SERVER = multiprocessing.get_context("forkserver")  # forks where deltalake has no threads yet
STEPS = {"nested": 4, "shredded": 12}  # about as many as a publication has


@pytest.mark.long
@pytest.mark.parametrize(("layout", "batches"), [("nested", 300), ("shredded", 150)])
def test_publishers_that_are_killed(folder, layout, batches):
    """R8 for publications: after each random batch, a process publishes and dies at a random step, or is killed at a
    random moment. The table is a version of the view every time, and the newest when somebody publishes in peace."""
    SERVER.set_forkserver_preload(["ripplenest.publish", "deltalake.table", "polars", "pytest"])
    to, what = target("parts", folder / "table", layout), f"a {layout} view, published by processes that are killed"
    with reported(f"publish-{layout}", what) as run, opened(folder / "state") as db:
        r = Random(run.seed)
        db.load("C", [random_customer(r, key) for key in range(30)])
        for view in (customers, movies, parts):
            db.create(view)
        versions = Versions(db, to)
        for batch in range(batches):
            with db.batch() as b:
                random_batch(r, db, b)
            versions.note()
            run.count("batches")
            run.count(_killed(r, folder / "state", to))
            said = versions.check(to)
            run.count("left behind", any(v is None or v < db.version for v in said))
            if r.randrange(4) == 0 or batch == batches - 1:
                run.count("caught up", published(db, to).changed)
                check(db, to)
        assert min(run.counts[kind] for kind in ("died", "killed", "left behind", "caught up")) > batches / 15


def _killed(r, state, to):
    """One process that publishes; how it ended."""
    timed = r.randrange(3) == 0
    step = -1 if timed else r.randrange(STEPS[to.layout])
    child = SERVER.Process(target=publish_and_die, args=(str(state), to.view, to.path, to.layout, step))
    child.start()
    if timed:
        sleep(r.uniform(0, 0.6))
        child.kill()
    child.join(60)
    assert child.exitcode in (0, 9, -9), child.exitcode
    return {0: "lived", 9: "died", -9: "killed"}[child.exitcode]
