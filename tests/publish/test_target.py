"""Where views are published: paths, folders and what is remembered of them."""

import json
import os
import stat
from pathlib import Path

import pytest
from deltalake import DeltaTable
from publish.tables import by_deltalake, folders, published, shape_in, target
from support.shop import item

from ripplenest.nrc.errors import CorruptState, WrongValue
from ripplenest.publish import Target
from ripplenest.publish.target import folder_name


@pytest.mark.parametrize("layout", ["nested", "shredded"])
def test_paths_with_other_characters(db, folder, layout):
    """Written, merged and found again; readers other than deltalake have trouble with some of them."""
    names = ["a b#?é😀", "a'b\"c", "x=1", "a:b*&;~", ".{x}"]
    targets = [target("customers", folder / name / "t", layout) for name in names]
    for to in targets:
        published(db, to)
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3)])
    for to in targets:
        assert not published(db, to).full
        tables = [to.path] if layout == "nested" else folders(to, shape_in(db, "customers")).values()
        assert sum(len(by_deltalake(path)) for path in tables) == (2 if layout == "nested" else 8)
    assert {entry.name for entry in folder.iterdir()} == {*names, "state"}


@pytest.mark.parametrize("name", ["a%20b", "a\\b", "[a]", "a^b", "a|b", "a\nb", "a\x7fb", "a\u200bb"])
def test_paths_that_deltalake_misreads(folder, name):
    """It would write a table there and not find it, or panic."""
    for path in (folder / name / "t", f"s3://bucket/{name}") if not name.isprintable() else (folder / name / "t",):
        with pytest.raises(WrongValue, match="misreads") as caught:
            Target.of("v", path)
        assert "publish v" in str(caught.value)
        assert all(c.isprintable() or c == "\n" for c in str(caught.value))


def test_paths_are_absolute(db, folder, monkeypatch):
    monkeypatch.chdir(folder)
    to = Target.of("customers", Path("here/../t"))
    assert to == Target.of("customers", f"file://{folder}/t") == Target("customers", str(folder / "t"), "nested")
    assert Target.of("customers", "s3://bucket/t/", "shredded").folder("flat") == "s3://bucket/t/flat"
    published(db, to)
    assert DeltaTable(str(folder / "t")).version() == 0


@pytest.mark.parametrize("layout", ["nested", "shredded"])
def test_folders_are_for_their_owner_only(db, folder, layout):
    before = os.umask(0)
    try:
        published(db, target("customers", folder / "t", layout))
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "t").stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700  # which was there before


def test_a_target_is_remembered(folder):
    for to in (target("v", folder), target("v\"'\n", folder / "é", "shredded")):
        assert Target.from_json(to.to_json()) == to


@pytest.mark.parametrize("text", ["", "[]", "{}", "null",
                                  '{"view": "v"}', '{"view": "v", "path": "/p", "layout": "flat"}',
                                  '{"view": 1, "path": [], "layout": "nested"}',
                                  '{"view": "v", "path": "/p", "layout": "nested", "more": 1}'])  # fmt: skip
def test_what_is_no_target(text):
    with pytest.raises(CorruptState, match="publication"):
        Target.from_json(text)


@pytest.mark.parametrize(
    ("path", "layout"),
    [("", "nested"), ("file://host/x", "nested"), ("a\0b", "nested"), (b"a", "nested"), ("a", "flat")],
)
def test_what_cannot_be_a_target(path, layout):
    with pytest.raises(WrongValue, match="publish v"):
        Target.of("v", path, layout)


def test_a_table_says_what_it_holds(db, folder):
    """And its folder is a name that no site can lead elsewhere with."""
    to = target("customers", folder / "t", "shredded")
    published(db, to)
    for site, path in folders(to, shape_in(db, "customers")).items():
        about = DeltaTable(path).metadata()
        assert json.loads(about.description) == {"publisher": "ripplenest", "part": site or "flat", "view": "customers"}
        assert about.name == "customers" and about.configuration["delta.enableChangeDataFeed"] == "true"
    names = [folder_name(site) for site in ("../../etc", "a.b", "a-b", "A.b", "é", "", "x" * 300, "flat", "_delta_log")]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") and len(name) < 60 for name in names)
