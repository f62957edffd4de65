"""The published table is the view: after every publication, for every reader, and the change feed says how it came so.

Batches are random, at every depth; each publication catches up on a random number of them.
"""

from collections import Counter
from random import Random

import pytest
from publish.shopping import random_batch, random_customer
from publish.tables import (
    READERS,
    by_deltalake,
    check,
    feed,
    flat_bag,
    folders,
    index,
    nested_bag,
    published,
    stored,
    target,
)
from publish.versions import Versions, random_versions
from support.programs import nested_of
from support.shop import ANN, BOB, FILMS, VIEWS, liked, opened, related

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.publish import publish, source
from ripplenest.publish.columns import FEED
from ripplenest.reading.touched import wanted_keys

MET: Counter[str] = Counter()
COUNTS = MET  # one worker runs this module: its last test asks what the others covered


def by_id(path):
    return {row["_id"]: text(row) for row in by_deltalake(path)}


def text(row):
    """A row without what only the feed has, to be compared: NaN is equal to itself."""
    return repr(sorted((k, v) for k, v in row.items() if k not in FEED))


def check_feed(path, before, first):
    """Between two tables, by id: what went, what came, and nothing that did not change."""
    after = by_id(path)
    rows = feed(path, first) if first is not None else []
    kinds = [row["_change_type"] for row in rows]
    went = {row["_id"]: text(row) for row in rows if row["_change_type"] in ("delete", "update_preimage")}
    came = {row["_id"]: text(row) for row in rows if row["_change_type"] in ("insert", "update_postimage")}
    assert len(went) + len(came) == len(rows)
    different = [i for i in {**before, **after} if before.get(i) != after.get(i)]
    assert went == {i: before[i] for i in different if i in before}
    assert came == {i: after[i] for i in different if i in after}
    MET.update(kinds)


def publish_one(db, to):
    """Publish, and compare with what was there before."""
    shape = db._declared.views[to.view].shape
    paths = [to.path] if to.layout == "nested" else list(folders(to, shape).values())
    before = {path: by_id(path) for path in paths}
    done = published(db, to)
    assert done.version == db.version
    for table in done.tables:
        check_feed(table.uri, before[table.uri], None if table.how == "nothing" else table.delta_version)
        MET[table.how] += 1
    check(db, to)


def run(path, seed, batches, chosen):
    r = Random(seed)
    targets = [target(view.name, path / f"n_{view.name}") for view in VIEWS]
    targets += [target(view.name, path / f"s_{view.name}", "shredded") for view in (liked, related)]
    with opened(path / "state") as db:
        db.load("C", [ANN, BOB, *(random_customer(r, key) for key in range(20, 28))])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
            index(db, view.name)
        for to in targets:
            published(db, to)
        for _ in range(batches):
            with db.batch() as b:
                MET.update(random_batch(r, db, b))
            for to in r.sample(targets, chosen):
                publish_one(db, to)
        for to in targets:
            publish_one(db, to)


def test_the_table_is_the_view_after_every_publication(folder):
    run(folder, 2, 5, 2)


def test_views_of_any_type(folder, monkeypatch):
    """Random views over random relations: bags of bags, labels of several sites, doubles with NaN, negative rows; more
    rows than are nested at a time."""
    monkeypatch.setattr(source, "CHUNK", 2)
    any_view(folder, range(3011, 3017))


def any_view(folder, seeds):
    for seed in seeds:
        for shape, history in random_versions(seed, 2):
            newest = Versions(history, wanted_keys(shape))
            for to in (target("V", folder / f"n{seed}"), target("V", folder / f"s{seed}", "shredded")):
                for version in range(len(history)):
                    publish_version(shape, newest.at(version), to, seed)


def publish_version(shape, at, to, seed):
    if to.layout == "nested" and _negative(nested_of(shape, at.history[-1])):
        with pytest.raises(EvaluationError, match="view V"):
            publish(shape, at, to, "test")
        MET["negative"] += 1
        return
    try:
        publish(shape, at, to, "test")
    except EvaluationError:  # a row that is less than not there hides behind one of another label that is nested alike
        assert to.layout == "nested" and any(n < 0 for t in shape.tables for n in at.history[-1][t].counts().values())
        MET["hidden"] += 1
        return
    MET[to.layout] += 1
    for read in READERS:
        if to.layout == "nested":
            assert nested_bag(read(to.path), shape) == nested_of(shape, at.history[-1]), (seed, read)
        else:
            for site, path in folders(to, shape).items():
                assert flat_bag(read(path), shape, site) == stored(shape, at.history[-1], site), (seed, site, read)


def _negative(value):
    if isinstance(value, BagValue):
        return any(n < 0 or _negative(v) for v, n in value)
    return isinstance(value, tuple) and any(_negative(v) for _, v in value)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_the_table_is_the_view_after_every_publication_long(folder, seed):
    run(folder, 100 + seed, 60, 5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_views_of_any_type_long(folder, seed):
    any_view(folder, range(seed * 1000, seed * 1000 + 60))


def test_what_was_met():
    if not MET["nothing"] + MET["changes"]:
        pytest.skip("the laws did not run")
    kinds = ("new", "gone", "upsert", "same again", "order in", "order out", "item in", "item out", "tag in", "tag out",
             "film in", "film out", "changes", "insert", "delete", "update_preimage", "update_postimage", "negative",
             "nested", "shredded")  # fmt: skip
    assert all(MET[kind] for kind in kinds), MET
