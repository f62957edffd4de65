"""``ripplenest migrate`` on the state of the first release, and on what it cannot migrate."""

import json

import pytest
from support.archived import unpacked

import ripplenest as rn


@pytest.fixture
def old(tmp_path):
    return unpacked("0.1.0", tmp_path / "first")


def test_what_became_of_a_state(old, tmp_path, run):
    done = run("migrate", old, tmp_path / "new")
    assert done.exit_code == 0 and done.stderr == ""
    for shown in ("relation", "rows", "C ", "M ", "views: ", "parts", "batches known as applied: "):
        assert shown in done.stdout, shown
    again = run("migrate", old, tmp_path / "other", "--json")
    said = json.loads(again.stdout)
    assert said["left_out"] == said["publications"] == {} and said["batches"] > 12
    assert run("verify", tmp_path / "new").exit_code == run("verify", tmp_path / "other").exit_code == 0
    with rn.open(tmp_path / "other") as db:
        assert said["relations"] == {name: len(db.relation(name).rows()) for name in db.relations}
        assert set(said["views"]) == set(db.views) and said["version"] == db.version


def test_a_publication_ends_with_the_old_state(old, tmp_path, run, monkeypatch):
    """It is named, with the command that goes on with it."""
    from ripplenest.migration import older  # noqa: PLC0415 - patched here
    from ripplenest.publish.target import Target  # noqa: PLC0415

    monkeypatch.setattr(older.Older, "publications", lambda _: [Target("parts", "/lake/parts")])
    said = run("migrate", old, tmp_path / "new").stdout
    assert "published no longer: view parts at /lake/parts; ripplenest adopt goes on" in said


def test_what_is_not_migrated(state, old, tmp_path, run):
    for given, wanted in (
        ((state, tmp_path / "new"), "another format"),
        ((old, old), "there already"),
        ((old / "segments", tmp_path / "new"), "there is no state"),
    ):
        done = run("migrate", *given)
        assert done.exit_code == 2 and wanted in done.stderr.replace("\n", " "), done.stderr
    assert not (tmp_path / "new").exists()
    assert "ripplenest migrate" in run("status", old).stderr
