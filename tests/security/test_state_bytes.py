"""R29, R30: the bytes of a state directory are nobody's code and nobody's path.

Digests find accidents. Whoever writes the directory on purpose can compute them too, so here they always fit: what
opens such a state must still run nothing of it and open no file that is not the store's own.
"""

import builtins
import ctypes
import json
import os
import pickle
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.shop import ANN, BOB, FILMS, customers, movie, opened, related

import ripplenest as rn
from ripplenest import errors
from ripplenest.nrc.serial import type_to_json
from ripplenest.nrc.types import LONG, Record
from ripplenest.state.declared import Declared
from ripplenest.store import making
from ripplenest.store.specs import Change

MARK = "_".join(("ran", "by", "the", "state"))  # this file is compiled, too, and does not have it whole


@pytest.fixture
def good(folder: Path) -> Path:
    """A state with rows and views, closed."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        db.create(related)
        with db.batch() as b:
            b.insert("M", FILMS)
    return folder / "state"


# ---------------------------------------------------------------- R29: no code


class Touch:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (MARK,)


PICKLED = pickle.dumps(Touch())
CODE = f"__import__('os').mkdir('{MARK}')"
EVIL = (
    *(CODE, f"exec({CODE!r})", f"!!python/object/apply:os.mkdir ['{MARK}']", PICKLED.decode("latin-1"), PICKLED.hex()),
    *(f'{{"py/reduce": [{{"py/function": "os.mkdir"}}, ["{MARK}"]]}}', f'{{"is": "os.mkdir", "of": "{MARK}"}}'),
    *(
        '{"format": 1, "query": {"is": "__class__"}}',
        '{"__class__": "os.mkdir"}',
        "[]",
        "null",
        "7",
        '"x"',
        "{",
        "[" * 10_000,
    ),
)


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Text of the state must not reach what runs text; nothing may be unpickled or started."""
    monkeypatch.chdir(tmp_path)

    def guard(plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            assert not any(MARK in str(a) for a in args[:1]), f"{plain.__name__} of {args[0]!r}"
            return plain(*args, **kwargs)

        return call

    def never(*args: Any, **_: Any) -> Any:
        raise AssertionError(f"called with {args!r}")

    for name in ("eval", "exec", "compile", "__import__"):
        monkeypatch.setattr(builtins, name, guard(getattr(builtins, name)))
    nothing = ((pickle, "loads"), (pickle, "load"), (pickle, "Unpickler"), (os, "system"), (subprocess, "Popen"))
    for module, name in nothing:
        monkeypatch.setattr(module, name, never)
    yield
    assert not list(tmp_path.iterdir())


def test_the_payloads_are_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R29: whoever does run them makes a folder, which the tests below look for."""
    monkeypatch.chdir(tmp_path)
    for run in (lambda: pickle.loads(PICKLED), lambda: eval(CODE), lambda: exec(f"exec({CODE!r})")):  # noqa: S301, S307
        run()
        (tmp_path / MARK).rmdir()


def declared(payload: str) -> dict[str, str]:
    """A declaration of each kind with the payload in one place of it or another."""
    relation = {"row": payload, "key": [], "immutable": [], "arrays": []}
    row = type_to_json(Record((("k", LONG),)))
    view = {"query": payload, "options": {}, "program": payload}
    return {
        "relation:whole": payload,
        "relation:row": json.dumps(relation),
        "relation:key": json.dumps(relation | {"row": row, "key": [payload]}),
        "relation:path": json.dumps(relation | {"row": row, "immutable": [payload], "arrays": payload}),
        "view:whole": payload,
        "view:query": json.dumps(view),
        "view:options": json.dumps(view | {"options": {"materialize": payload}}),
        "unfolded:whole": payload,
    }


@pytest.mark.usefixtures("guarded")
def test_declarations_are_data() -> None:
    """R29: what a state says of relations and views is JSON of a known shape, or refused by an error of ours."""
    refused = 0
    for payload in EVIL:
        for key, text in declared(payload).items():
            found = Declared()
            try:
                found.read({key: text})
                assert not found.views  # which are read when they are asked for
            except (errors.CorruptState, errors.ViewChanged) as error:
                assert all(line.isprintable() for line in str(error).split("\n"))
                refused += 1
            else:  # which bags are arrays is only asked of relations that there are
                assert key.startswith("unfolded") and not found.relations
    assert refused >= len(EVIL) * 7


@pytest.mark.usefixtures("guarded")
def test_a_state_with_hostile_declarations_does_not_open(good: Path, folder: Path) -> None:
    """R29: the same through the front door, for one payload."""
    for key, text in declared(CODE).items():
        state = folder / key.replace(":", "-")
        shutil.copytree(good, state)
        with rn.open(state, engine="local") as db:
            db._store.commit(Change(meta={key: text}), db.version)
        with pytest.raises(errors.CorruptState):
            rn.open(state, engine="local")


@pytest.mark.usefixtures("guarded")
def test_notes_are_data(good: Path) -> None:
    """R29: the note, source and digest of a version, and settings that nobody knows, are texts and stay texts."""
    with rn.open(good, engine="local") as db:
        for n, payload in enumerate(EVIL):
            change = Change(
                meta={f"{payload}:{n}": payload},
                source=payload,
                seq=1,
                digest=payload,
                note={"kind": payload, payload: [payload]},
            )
            db._store.commit(change, db.version)
    with rn.open(good, engine="local") as db:
        for n, payload in enumerate(EVIL):
            known = db._store.applied(payload, 1)
            assert known is not None and known.digest == payload
            assert db._store.snapshot().note(known.version) == {"kind": payload, payload: [payload]}
            assert db._store.meta(f"{payload}:{n}") == payload
            with pytest.raises(errors.BatchConflict), db.batch(payload, 1) as b:
                b.insert("M", [movie("x")])
        assert db.view("related").rows() == related(FILMS)


@pytest.mark.usefixtures("guarded")
def test_segments_hold_no_objects(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R29: Arrow has types whose definition is a pickle, which its older versions loaded while they read a file."""
    plain = making.clustered
    marked = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": PICKLED}

    def clustered(table: pa.Table, keys: Any, room: Any) -> tuple[pa.Table, Any]:
        made, indexes = plain(table, keys, room)
        fields = [field.with_metadata(marked) for field in made.schema]
        bare = pa.Table.from_batches([b.replace_schema_metadata() for b in made.to_batches()], made.schema)
        return bare.cast(pa.schema(fields, metadata={"pandas": CODE})), indexes

    monkeypatch.setattr(making, "clustered", clustered)
    with rn.open(good, engine="local") as db, db.batch() as b:
        b.insert("M", [movie("Jarhead")])
    monkeypatch.setattr(making, "clustered", plain)
    assert any(b"arrow.py_extension_type" in file.read_bytes() for file in (good / "segments").iterdir())
    with rn.open(good, engine="local") as db, suppress(pa.ArrowInvalid):  # where Arrow finds it a type of its own
        assert db.view("related").rows() == related([*FILMS, movie("Jarhead")])


# ---------------------------------------------------------------- R30: no paths


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests of catalogue rows fit, whatever is in them."""
    found = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("ripplenest.store") and callable(getattr(module, "seal", None)):
            monkeypatch.setattr(module, "seal", lambda *_: "0" * 64)
            found += 1
    assert found >= 3


def forge(state: Path, old: str, new: str) -> int:
    """Name ``new`` wherever the catalogue names the file ``old``."""
    with sqlite3.connect(state / "catalogue.sqlite") as c:
        tables = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        named = [t for t in tables if any(column[1] == "file" for column in c.execute(f"PRAGMA table_info({t})"))]
        changed = sum(c.execute(f"UPDATE {t} SET file = ? WHERE file = ?", (new, old)).rowcount for t in named)
    c.close()
    return changed


class Watch:
    """How often a file was opened or read since: Linux tells."""

    OPENED = 0x20 | 0x1  # IN_OPEN, IN_ACCESS

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK)
        assert self._fd >= 0
        assert libc.inotify_add_watch(self._fd, os.fsencode(path), self.OPENED) >= 0

    def events(self) -> int:
        try:
            return len(os.read(self._fd, 65536)) // struct.calcsize("iIII")
        except BlockingIOError:
            return 0


def pointing(outside: Path, file: str) -> dict[str, str]:
    """Names for a copy of the file that is not among the store's own."""
    return {
        "upwards": f"../../{outside.name}",
        "absolute": str(outside),
        "through the folder": f"../segments/../../{outside.name}",
        "not flat": f"x/../../../{outside.name}",
        "a link": file,
        "a link of another name": "0000000001-link.deltas",
        "a folder": file,
    }


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
@pytest.mark.usefixtures("fitting")
@pytest.mark.parametrize("how", list(pointing(Path("o"), "f")))
def test_segments_are_files_of_the_store(folder: Path, how: str) -> None:
    """R30: a catalogue that names a file elsewhere, or a name that leads elsewhere, is CorruptState before that file is
    opened. It holds the very bytes, so that whoever opens it would believe it, and no later write removes it."""
    with opened(folder / "state") as db:
        with db.batch() as b:
            b.insert("M", FILMS)
        db.create(related)
    state, outside = folder / "state", folder / "outside"
    (file,) = sorted(p.name for p in (state / "segments").iterdir())[:1]
    mine = state / "segments" / file
    shutil.copy(mine, outside)
    name = pointing(outside, file)[how]
    assert forge(state, file, name) > 0 or name == file
    mine.unlink()
    if "link" in how:
        (mine.parent / name).symlink_to(outside)
    elif how == "a folder":
        mine.mkdir()
    elif how == "not flat":
        (mine.parent / "x").mkdir()
    watch = Watch(outside)
    for _ in range(2):
        with pytest.raises(errors.CorruptState), rn.open(state, engine="local") as db:
            assert sum(db._store.snapshot().scan("M").counts().values()) == len(FILMS)
    assert watch.events() == 0
    with pytest.raises(errors.StateError), rn.open(state, engine="local") as db, db.batch() as b:
        b.insert("M", [movie("x")])
        b.delete("M", FILMS)
    assert watch.events() == 0 and outside.stat().st_size > 0


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_the_watch_sees(folder: Path) -> None:
    """R30: an open and a read are two events, and a mapping of Arrow's is one, too."""
    (folder / "file").write_bytes(b"x" * 64)
    watch = Watch(folder / "file")
    assert watch.events() == 0
    (folder / "file").read_bytes()
    assert watch.events() >= 2
    with pa.memory_map(str(folder / "file")):
        assert watch.events() >= 1
