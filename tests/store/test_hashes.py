"""Hashes of access keys: the same everywhere, of texts by words, and by which of two ways a stored index has them."""

import random
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archived import unpacked

from ripplenest.data import hashing
from ripplenest.data.hashing import fingerprints, hash_columns
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec
from ripplenest.store.index import indexes

BYTES = 1 << 64


def columns() -> list[pa.Array]:
    numbers = [pa.array([1, None, -1]), pa.array([0.5, None, 1.0]), pa.array([True, None, False])]
    money = pa.array([Decimal("1.5"), None, Decimal("-2.25")], pa.decimal128(20, 2))
    return [*numbers, money, pa.array(["a", None, "\0"]), pa.array([date(2020, 2, 29), None, date(1, 1, 1)])]


@pytest.mark.parametrize(
    ("texts", "golden"),
    [
        ("blake2b", [10268507319685550195, 10181361808531197615, 5193837504080177211]),
        ("words", [2394325052752499271, 10181361808531197615, 13600348868783111216]),
    ],
)
def test_hashes_are_the_same_everywhere(texts, golden):
    """Indexes on disk hold these numbers: another hash function is another state format."""
    assert hash_columns(columns(), 3, texts).tolist() == golden
    sliced = [pa.concat_arrays([c[1:], c]).slice(2) for c in columns()]
    assert hash_columns(sliced, 3, texts).tolist() == golden
    many = [pa.concat_arrays([c] * 100) for c in columns()]
    assert hash_columns(many, 300, texts).tolist() == golden * 100


def mix(x: int) -> int:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> shift)) * factor % BYTES
    return x ^ (x >> 31)


@pytest.mark.parametrize("many", [0, 1, 7, 8, 15, 22])
def test_numbers_are_mixed_alike_in_blocks(many, monkeypatch):
    """One by one, and what is given stays as it is."""
    monkeypatch.setattr(hashing, "BLOCK", 7)
    given = np.random.default_rng(many).integers(0, BYTES, many, np.uint64)
    before = given.tolist()
    assert hashing.mix(given).tolist() == [mix(x) for x in before]
    assert given.tolist() == before


def by_words(text: bytes) -> int:
    """The definition, as the head of ``data/hashing.py`` writes it."""
    golden = 0x9E3779B97F4A7C15
    words = [int.from_bytes(text[i : i + 8], "little") for i in range(0, len(text), 8)]
    terms = [mix((word + mix((i + 1) * golden % BYTES)) % BYTES) for i, word in enumerate(words)]
    return mix((len(text) * golden + sum(terms)) % BYTES)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.binary(max_size=40), max_size=40), st.integers(0, 5), st.integers(1, 7))
def test_texts_are_hashed_by_words(texts, start, piece):
    """However many there are, wherever they are in the memory of a column, in whatever pieces, and each by itself or
    each value once."""
    array = pa.array([b"before"] * start + texts, pa.binary()).slice(start)
    golden = [mix((0x9E3779B97F4A7C15 + (0x6E756C6C if t is None else by_words(t))) % BYTES) for t in texts]
    for few, often in ((0, 0.0), (0, 2.0), (100, 0.0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hashing, "FEW", few)
            patch.setattr(hashing, "PIECE", piece)
            patch.setattr(hashing, "SAMPLE", 1)
            patch.setattr(hashing, "OFTEN", often)
            assert hash_columns([array], len(texts)).tolist() == golden
            if all(t is None or t.isascii() for t in texts):
                assert hash_columns([array.cast(pa.string())], len(texts)).tolist() == golden


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | st.text(max_size=20), max_size=40), st.integers(0, 5), st.integers(1, 7))
def test_fingerprints_are_the_same_in_pieces(texts, start, piece):
    array = pa.array(["before"] * start + texts, pa.string()).slice(start)
    whole = fingerprints([array], len(texts)).tolist()
    for often in (0.0, 2.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hashing, "PIECE", piece)
            patch.setattr(hashing, "SAMPLE", 1)
            patch.setattr(hashing, "OFTEN", often)
            assert fingerprints([array], len(texts)).tolist() == whole


def test_what_is_often_there_is_hashed_once(monkeypatch):
    """Of texts that all differ nobody makes a dictionary but of the first of each piece."""
    hashed, whole = [], hashing._words_of_texts
    monkeypatch.setattr(
        hashing, "_words_of_texts", lambda column, seed: hashed.append(len(column)) or whole(column, seed)
    )
    for different, most in ((100, 100), (100_000, hashing.PIECE)):
        hashed.clear()
        hash_columns([pa.array([f"text {i % different}" for i in range(100_000)])], 100_000)
        assert max(hashed) == most


def thue_morse(letters: int) -> str:
    return "".join("ab"[i.bit_count() % 2] for i in range(letters))


def test_texts_that_repeat_themselves_have_hashes_of_their_own():
    """Their upper halves, too, which is what is stored. Polynomials of the bytes, modulo 2⁶⁴, take the words of Thue
    and Morse for equal."""
    word = thue_morse(1 << 12)
    opposite = word.translate({97: 98, 98: 97})
    texts = [word, opposite, *("a" * i for i in range(600)), *("\0" * i for i in range(1, 600))]
    pairs = (("8 bytes ", "bytes 8 "), ("ab", "ba"))
    texts += [part * i + other * (40 - i) for part, other in pairs for i in range(40)]
    chance = random.Random(1)
    for _ in range(500):  # words in another order
        parts = [f"part {i:03d}" for i in range(6)]
        chance.shuffle(parts)
        texts.append("".join(parts))
    texts = list(dict.fromkeys(texts))
    found = hash_columns([pa.array(texts)], len(texts)) >> np.uint64(32)
    assert len(set(found.tolist())) == len(texts) > 1500
    same = hashing.fingerprints([pa.array([word, opposite])], 2)
    assert same[0] == same[1]


def test_many_texts_are_hashed_without_a_loop_over_them(monkeypatch):
    monkeypatch.setattr(hashing, "_word_hash", lambda *_: pytest.fail("one by one"))
    monkeypatch.setattr(hashing, "_digest", lambda _: pytest.fail("one by one"))
    assert len(hash_columns([pa.array([f"text {i}" for i in range(200_000)])], 200_000)) == 200_000


# ---------------------------------------------------------------- stored ones


@pytest.fixture
def older(tmp_path):
    """A state of format 4: its indexes have texts by blake2b."""
    return unpacked("0.2.0", tmp_path)


def probed(store: Store, everything: bool) -> int:
    """Compare what probes find with what scans have, by every access key; how many there were."""
    snapshot, found = store.snapshot(), 0
    for name, spec in snapshot.tables.items():
        rows = snapshot.scan(name).counts()
        for columns in spec.indexes:
            keys = {tuple(row[c] for c in columns) for row in rows}
            for asked in [keys] if everything else [{key} for key in keys]:
                wanted = {row: n for row, n in rows.items() if tuple(row[c] for c in columns) in asked}
                assert snapshot.probe(name, columns, asked).counts() == wanted
                found += len(asked)
    return found


def ways(store: Store) -> set[str]:
    """How the indexes of live segments hash texts."""
    snapshot = store.snapshot()
    return {
        store._reader.index(segment, columns).texts
        for name in snapshot.tables
        for segment in snapshot.segments(name)
        for columns in segment.indexes
    }


def test_an_older_index_is_read_with_its_own_hash(older):
    """In place, beside new ones, until they are merged; nothing is found that is not there, or missed."""
    types = (Base("string"), Base("string", True), Base("string", True))
    with Store.open(older) as store:
        assert ways(store) == {"blake2b"} and probed(store, False) == probed(store, True) > 60
        assert [str(t) for t in store.tables()["M"].types] == [str(t) for t in types]
        more = Rows.of_pairs(types, [((f"new {i}", "Drama", None), 1) for i in range(30)])
        store.commit(Change({"M": more}), store.version)
        assert ways(store) == {"blake2b", "words"} and probed(store, True)
    with Store.open(older) as store:
        assert ways(store) == {"blake2b", "words"} and probed(store, False) == probed(store, True) > 90
        assert store.check_segments() > 0
        store.compact(everything=True)
        assert "words" in ways(store) and probed(store, True) > 90


def test_a_state_of_format_4_becomes_one_of_5_when_it_is_written_to(older):
    """Before that it stays one, which its release can read."""

    def told(store):
        with store._catalogue.transaction() as c:
            return store._catalogue.setting(c, "format")

    with Store.open(older) as store:
        assert probed(store, True)
        assert told(store) == "4"
        version = store.commit(Change(), store.version)
        assert told(store) == "5"
    with Store.open(older) as store:
        assert store.version == version and told(store) == "5"


def test_an_index_of_unknown_hashes_is_named(tmp_path, monkeypatch):
    spec = TableSpec("t", (Base("string"),), ((0,),))
    rows = Rows.of_pairs(spec.types, [((f"text {i}",), 1) for i in range(50)])
    monkeypatch.setattr("ripplenest.store.commit.REMEMBERED", 0)
    with Store.open(tmp_path / "state") as store:
        plain = indexes.KeyIndex.table

        def table(self):
            found = plain.fget(self)
            return found.replace_schema_metadata({**found.schema.metadata, b"hash": b"crc"})

        monkeypatch.setattr(indexes.KeyIndex, "table", property(table))
        store.commit(Change({"t": rows}, (spec,)), 0)
        with pytest.raises(CorruptState, match="other hashes"):
            store.snapshot().probe("t", (0,), [("text 1",)])
