"""R31: what is written is its owner's alone, by us and by the JVM, whatever the umask is."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, customer, item, movie, opened, order

from ripplenest.spark import frames, session


@pytest.fixture(autouse=True)
def anybody() -> Iterator[None]:
    """As in a container that never set a umask: files are everybody's unless somebody says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[Path, int]:
    """Every folder and file below ``folder``, itself included, with its mode."""
    found = [folder, *(Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))]
    return {path: stat.S_IMODE(path.lstat().st_mode) for path in found if not path.is_symlink()}


def wrong(found: dict[Path, int]) -> dict[Path, str]:
    return {path: oct(mode) for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)}


def test_the_umask_of_these_tests_gives_all_away(tmp_path: Path) -> None:
    """R31: a plain file would be everybody's."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    assert {m for p, m in modes(tmp_path).items() if p != tmp_path} == {0o666, 0o777}


def test_a_state_is_its_owner_s(tmp_path: Path) -> None:
    """R31: 0700 and 0600 for all that a state has between calls, and 0700 for folders made on the way to it."""
    seen: set[str] = set()
    with opened(tmp_path / "made" / "too" / "state") as db:
        db.load("C", [ANN, BOB])
        for view in VIEWS:
            db.create(view)
        for i in range(12):
            with db.batch() as b:
                b.insert("M", [movie(f"m{i}"), *FILMS])
                b.insert("C", [customer(100 + i, "x", [order(1, item(1))])])
            found = modes(tmp_path / "made")
            assert wrong(found) == {}
            seen |= {path.suffix for path in found}
    assert wrong(modes(tmp_path / "made")) == {}
    assert {".sqlite", ".deltas", ".merges"} <= seen


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """R31: it is its owner's to share; what is inside of it is not."""
    (tmp_path / "state").mkdir(mode=0o755)
    with opened(tmp_path / "state") as db:
        db.load("M", FILMS)
    assert wrong(modes(tmp_path / "state")) == {tmp_path / "state": "0o755"}


def test_the_jvm_starts_with_a_umask(monkeypatch: pytest.MonkeyPatch) -> None:
    """R31: Spark's own files have the umask that its process started with; ours is as it was afterwards."""
    seen = []

    def start(*_: Any) -> None:
        seen.append(os.umask(0o077))
        os.umask(seen[0])

    monkeypatch.setattr(session, "_active", lambda: None)
    monkeypatch.setattr(session, "_variables", lambda _: {})
    monkeypatch.setattr(session, "_start", start)
    session.local_session()
    assert (seen, os.umask(0)) == ([0o077], 0)


def test_what_the_jvm_writes_is_its_owner_s(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """R31: shuffles have rows in files; so have frames on their way to the JVM."""
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    with opened(tmp_path / "state", engine="spark", spark=spark) as db:
        db.create(VIEWS[3])
        with db.batch() as b:
            b.insert("C", [ANN, customer(9, "x", [order(1, item(1, 1, ("t",)))])])
    found = modes(Path(spark.conf.get("spark.local.dir")))
    assert any("shuffle" in path.name and path.suffix == ".data" for path in found)
    assert wrong(found) == {} == wrong(modes(tmp_path / "state"))


PROGRAM = """
import json, os, sys
os.umask(0)
sys.path.insert(0, {tests!r})
from support.shop import *
from ripplenest.spark import frames
frames.SMALL_ROWS = 0
rows = [customer(i, {secret!r}, [order(1, item(1, 1, ("t",)))]) for i in range(50)]
orders = "Bag(⟨orderkey: long, items: Bag(⟨part: long, qty: long, tags: Bag(string)⟩)⟩)?"
relation = f"relation C : Bag(⟨custkey: long, name: string?, orders: {{orders}}⟩)"
wrong = rn.parse(relation + "\\nview v = [{{d: to_date(c.name)}} | c in C]").views[0]
found = []
with opened({state!r}, engine="spark") as db:
    db.create(VIEWS[2])
    with db.batch() as b:
        b.insert("C", rows)
    db.view("parts").nested().repartition(2).write.parquet({out!r})
    found.append(db.spark.conf.get("spark.local.dir"))
    for top in (*found, {state!r}, {out!r}):
        for at, folders, files in os.walk(top):
            for name in (".", *files):
                found.append([os.path.join(at, name), os.lstat(os.path.join(at, name)).st_mode & 0o777])
    try:
        db.create(wrong)
    except rn.RipplenestError as error:
        found.append(str(error))
print(json.dumps(found))
"""


@pytest.mark.long
def test_a_process_whose_umask_is_000(tmp_path: Path) -> None:
    """R31, R32: a whole run in a process of its own. The value for which a view has no value is in no message and in no
    log, neither of the JVM nor of pyspark."""
    secret = "2023-02-" + "29"  # looks like a date, so that it reaches Spark's own cast
    tests, state, out = Path(__file__).parents[1], tmp_path / "state", tmp_path / "out"
    text = PROGRAM.format(tests=str(tests), state=str(state), out=str(out), secret=secret)
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, *found, error = json.loads(done.stdout)
    assert all(any(path.startswith(str(top)) for path, _ in found) for top in (state / "segments", out))
    assert len(found) > 30 and "shuffle" in str(found) and ".parquet" in str(found)
    assert [f for f in found if f[1] & 0o077] == []
    assert "CAST_INVALID_INPUT" in error
    assert secret not in error and secret not in done.stderr
