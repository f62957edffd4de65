"""What users write, texts and numbers: it comes back, or is refused, on either catalogue."""

import secrets

import pytest
from support.postgres_states import TYPES, all_said, files, one, rows

from ripplenest.errors import BatchConflict
from ripplenest.nrc.errors import StateError
from ripplenest.store import Change, Store, TableSpec

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server

NASTY = (
    "\0",
    "a\0",
    "\x1b",
    "\x1b0000",
    "\ud800",
    "\udfff\ud800",
    "🎬",
    "é",
    "e\u0301",
    "",
    "'; DROP TABLE meta",
    "%s",
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_any_text_comes_back(tmp_path, url, kind):
    catalogue = url if kind == "postgresql" else None
    tables = tuple(TableSpec(name, TYPES) for name in NASTY)
    meta = {f"k{name}": name for name in NASTY}
    with Store.open(tmp_path / "state", catalogue=catalogue) as s:
        s.commit(Change(tables=tables, meta=meta), 0)
        for i, name in enumerate(NASTY, 1):
            more = {"source": name, "seq": 7, "digest": name, "note": {name: [name]}}
            s.commit(Change({name: rows(((i, "x"), 1))}, **more), i)
            with pytest.raises(BatchConflict):
                s.commit(Change(source=name, seq=7), i + 1)
    with Store.open(tmp_path / "state", catalogue=catalogue) as s:
        assert set(s.tables()) == set(NASTY) and s.all_meta() == meta
        assert [e.source for e in s.history()[:-2]] == list(reversed(NASTY))
        for i, name in enumerate(NASTY, 1):
            found = s.applied(name, 7)
            assert (found.version, found.digest, found.note) == (i + 1, name, {name: [name]})
            assert s.last_seq(name) == 7 and s.snapshot().scan(name).counts() == {(i, "x"): 1}
        s.vacuum(keep=0)
        assert [s.applied(name, 7).digest for name in NASTY] == list(NASTY)
        assert s.applied("\0\0", 7) is None and s.last_seq("\0\0") is None


def test_a_name_that_is_too_long_is_refused_without_showing_it(store, tmp_path):
    """PostgreSQL's indexes hold about 2,700 bytes."""
    long = secrets.token_hex(20_000)
    tables = (TableSpec(f"t{long}", TYPES),)
    for change in (one(1, f"s{long}"), Change(tables=tables), Change(meta={f"k{long}": ""})):
        with pytest.raises(StateError, match="index row") as caught:
            store.commit(change, 1)
        assert long[:50] not in all_said(caught.value)
    assert store.version == 1 and not files(tmp_path / "state")
    assert store.commit(one(1, note={"n": long}, meta={"k": long}), 1) == 2  # where there is no index


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_largest_numbers(tmp_path, url, kind):
    with Store.open(tmp_path / "state", catalogue=url if kind == "postgresql" else None) as s:
        for n, seq in enumerate((2**63 - 1, 0, -(2**63))):
            s.commit(Change(source="s", seq=seq, digest="d"), n)
            assert s.applied("s", seq).version == n + 1
        assert s.last_seq("s") == 2**63 - 1
        for source, seq in (("s", 2**63), ("s", -(2**63) - 1), ("s", True), ("s", 1.0), ("s", "1"), (7, 1)):
            for ask in (lambda: s.applied(source, seq), lambda: s.commit(Change(source=source, seq=seq), 3)):  # noqa: B023
                with pytest.raises(StateError, match="not the name of a batch"):
                    ask()
        assert s.version == 3
