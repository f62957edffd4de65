"""What is read of a blob is checked first, block by block: a changed bit is named, or no answer rests on it.

Blocks are of a few bytes here, so that there are many. Each is damaged in turn, and everything is asked.
"""

import random
import shutil
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Keys, index_of, matched
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec, blocks
from ripplenest.store.blocks import Blocks, root, trailer
from ripplenest.store.encoding import decode, encode
from ripplenest.store.index import filters, indexes
from ripplenest.store.index.indexes import KeyIndex, entries_of, upper
from ripplenest.store.mapped import Mapped, lightened, touch

KINDS = ("bool", "int", "long", "double", "string", "date", "timestamp", "binary")
TYPES = (*(Base(k, True) for k in KINDS), Base("decimal", True, 30, 2), Base("long"))
INTS = st.integers(1, 5)
PAIRS = st.tuples(st.sampled_from([None, 1, 2, 4]), st.sampled_from([None, "a", "c"]))
LONGEST = 300  # letters of a text: more than a block


def row(chance: random.Random, i: int) -> tuple[object, ...]:
    text = chance.choice(["", "é\0", "x" * chance.randrange(LONGEST), f"text {i % 7}"])
    values = (
        bool(i % 2), i % 11, -i, i / 4, text, date(2000, 1, 1 + i % 28),
        datetime(2000, 1, 1, i % 24, tzinfo=UTC), text.encode() + b"\xff", Decimal(i) / 4,
    )  # fmt: skip
    return (*(None if chance.randrange(9) == 0 else v for v in values), i)


def some_rows(chance: random.Random, n: int, weights: tuple[int, ...] = (1, 1, 2, -1)) -> Rows:
    return Rows.of_pairs(TYPES, [(row(chance, i), chance.choice(weights)) for i in range(n)])


def blob(table: pa.Table) -> tuple[bytes, str]:
    """The bytes of a blob, and what the catalogue has of them."""
    data = b"".join(encode(table))
    digests = trailer([memoryview(data)])
    return data + digests, root(digests)


def opened(data: bytes, known: str) -> tuple[pa.Table, Blocks]:
    found = Blocks(pa.py_buffer(data), known, "file", 0)
    return decode(found), found


def damaged(data: bytes, place: int, chance: random.Random) -> bytes:
    """A bit flipped, or some bytes that are zero."""
    if chance.randrange(2) and any(data[place : place + 16]):
        return data[:place] + bytes(len(data[place : place + 16])) + data[place + 16 :]
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


@pytest.fixture
def small(monkeypatch):
    """Blocks of 64 bytes, and fences at every fourth entry."""
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(indexes, "STEP", 4)


@pytest.mark.usefixtures("small")
def test_rows_that_are_taken_are_right_or_a_block_is_named():
    chance = random.Random(1)
    table = some_rows(chance, 60).arrow()
    data, known = blob(lightened(table))
    seen: Counter[str] = Counter()
    for start in (*range(0, 1500, 8), *range(1500, len(data), 40)):  # what says where columns are comes first
        bad = damaged(data, start, chance)
        for places in ([0], [59], [7, 8], chance.sample(range(60), 5)):
            try:
                found = Mapped(*opened(bad, known)).taken(np.array(places))
            except CorruptState as e:
                assert e.where.startswith("file@") and len(str(e.wanted)) == len(str(e.got)) == 64
                seen["named"] += 1
            else:
                assert found.equals(table.take(places))
                seen["right"] += 1
        with pytest.raises(CorruptState, match="stored bytes have changed"):
            Mapped(*opened(bad, known)).whole()
    assert min(seen["named"], seen["right"]) > 100, seen


@settings(max_examples=200, deadline=None)
@given(st.integers(16, 40), st.integers(0, 50), st.sampled_from([1, 4, 8, 16]), st.sets(st.integers(0, 20), max_size=4))
def test_values_and_spans_touch_the_blocks_that_they_are_in(size, begin, width, places):
    """Law: the blocks that are checked are those that have a byte of a value, wherever it begins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", size)
        data = bytes(begin + 21 * width)
        digests = trailer([memoryview(data)])
        known = root(digests)
        spots = np.array(sorted(places), np.int64)
        read = {b // size for p in places for b in range(begin + p * width, begin + (p + 1) * width)}
        found = [Blocks(pa.py_buffer(data + digests), known, "file", 0) for _ in range(3)]
        found[0].values(begin, width, spots)
        found[1].spans(begin + spots * width, begin + (spots + 1) * width)
        for p in places:
            found[2].span(begin + p * width, begin + (p + 1) * width)
        assert all(set(np.flatnonzero(f.checked).tolist()) == read for f in found)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("at", range(len(TYPES)))
def test_every_byte_that_arrow_reads_of_a_value_is_checked(at, absent):
    """By the layout of Arrow: whether it is NULL, where a text begins and ends, what it is."""
    chance = random.Random(5)
    table = some_rows(chance, 3000).arrow().select([at])
    table = table if absent else table.filter(table.column(0).is_valid())
    data, known = blob(table.combine_chunks())
    for place in (0, table.num_rows - 1, *chance.sample(range(table.num_rows), 200)):
        found, checks = opened(data, known)
        column = found.column(0).chunk(0)
        valid, *buffers = ((b and b.address - checks.data.address) for b in column.buffers())
        assert (valid is not None) == (column.null_count > 0)
        read = [] if valid is None else [valid + place // 8]
        match str(column.type):
            case "string" | "binary":
                read += range(buffers[0] + 4 * place, buffers[0] + 4 * place + 8)
                ends = np.frombuffer(column.buffers()[1], np.int32)
                read += range(buffers[1] + int(ends[place]), buffers[1] + int(ends[place + 1]))
            case "bool":
                read.append(buffers[0] + place // 8)
            case _:
                wide = column.type.bit_width // 8
                read += range(buffers[0] + wide * place, buffers[0] + wide * (place + 1))
        touch(checks, column, np.array([place]))
        assert all(checks.checked[b // blocks.BLOCK] for b in read)
        assert not checks.whole


@pytest.mark.usefixtures("small")
def test_what_says_where_columns_are_is_checked_before_it_is_believed():
    """Zeros where a message has its length would end the table."""
    table = pa.table({"c0": pa.array(range(100))})
    data, known = blob(table)
    named = 0
    for at in range(0, len(data), 8):
        try:
            found, checks = opened(data[:at] + bytes(8) + data[at + 8 :], known)
        except CorruptState:
            named += 1
        else:
            assert found.num_rows == 100 and found.column(0).num_chunks == 1 and not checks.whole
    assert 20 < named < len(data) // 8 - 20


def test_bytes_of_another_blob_are_named():
    """With the digests that belong to them: what the catalogue has tells them apart."""
    one, other = (blob(pa.table({"c0": pa.array([n] * 50)})) for n in (1, 2))
    assert len(one[0]) == len(other[0])
    for data in (one[0], one[0][: -blocks.DIGEST] + bytes(blocks.DIGEST)):
        with pytest.raises(CorruptState, match="stored bytes have changed"):
            opened(data, other[1])


@pytest.mark.parametrize("known", ["", "z" * 64, "0" * 63, "0" * 64 + "/0", "0" * 64 + "/x", "0" * 65])
def test_a_digest_that_is_none_is_named(known):
    with pytest.raises(CorruptState, match="the digest of stored bytes"):
        opened(blob(pa.table({"c0": pa.array([1])}))[0], known)


@pytest.mark.parametrize(("step", "few"), [(4, 16), (64, 16), (64, 0)])
@pytest.mark.usefixtures("small")
def test_keys_are_looked_up_rightly_or_a_block_is_named(monkeypatch, step, few):
    """Also where what is between two fences is in several blocks, of which some only lead the search."""
    monkeypatch.setattr(indexes, "STEP", step)
    monkeypatch.setattr(indexes, "FEW", few)
    chance = random.Random(2)
    table = pa.table({"c0": pa.array([chance.randrange(40) for _ in range(300)])})
    data, known = blob(KeyIndex.of(entries_of(index_of(table, (0,))), (0,), 7).table)
    every = [Keys((0,), Rows.of_counts((Base("long"),), {(key,): 1})) for key in range(45)]
    held = table.column(0).to_pylist()
    wanted = [[i for i, v in enumerate(held) if v == key] for key in range(45)]
    seen: Counter[str] = Counter()

    def values(places):
        return [table.column(0).take(pa.array(places)).combine_chunks()]

    for start in range(0, len(data), many(32, 16)):
        bad = damaged(data, start, chance)
        for asked, keys in enumerate(every):
            try:
                stored = KeyIndex.read(*opened(bad, known), "file")
                _, places = matched(stored, values, keys.hashes, keys.arrays)
            except CorruptState:
                seen["named"] += 1
            else:
                assert sorted(places) == wanted[asked]
                seen["found" if len(places) else "not there"] += 1
    assert min(seen["named"], seen["found"], seen["not there"]) > 100, seen


@pytest.mark.usefixtures("small")
def test_a_filter_is_made_of_what_was_checked(monkeypatch):
    """Whatever bit of the hashes is flipped: a key that is there is not passed over."""
    monkeypatch.setattr(filters, "FEW", 0)
    chance = random.Random(5)
    hashes = np.sort(np.array([chance.randrange(1 << 64) for _ in range(40)], np.uint64))
    index = KeyIndex.of(entries_of((hashes, np.arange(40))), (3,), 7)
    data, known = blob(index.table)
    named = 0
    for start in range(len(data)):
        try:
            found = KeyIndex.read(*opened(damaged(data, start, chance), known), "file").possible(upper(hashes))
        except CorruptState:
            named += 1
        else:
            assert found is not None and found.tolist() == list(range(40))
    assert named > 4 * len(hashes)


@settings(max_examples=many(35, 200), deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=60), st.lists(st.integers(0, 13), max_size=8), INTS,
    st.sampled_from([0, 16]),
)  # fmt: skip
def test_a_search_between_fences_is_a_search(known, asked, step, few):
    """Law: spans of an index of which nothing was read = spans of one that is in memory, however hashes repeat."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", 64)
        patch.setattr(indexes, "STEP", step)
        patch.setattr(indexes, "FEW", few)
        hashes = np.sort(np.array(known, np.uint64)) << np.uint64(40)
        index = KeyIndex.of(entries_of((hashes, np.arange(len(known))[::-1].copy())), (3,), 7)
        stored = KeyIndex.read(*opened(*blob(index.table)), "file")
        wanted = np.array(asked, np.uint64) << np.uint64(40)
        for got, expected in zip(stored.spans(wanted), index.spans(wanted), strict=True):
            assert got.tolist() == expected.tolist()
        entries = np.arange(len(known))
        assert stored.rows(entries).tolist() == index.rows(entries).tolist()


@pytest.mark.parametrize(
    "weights", [(1,), (-3,), (1, 2), (-128, 127), (128, 1), (-(2**31), 5), (2**31, 0 - 1), (2**63 - 1, 1)]
)
@pytest.mark.parametrize("types", [(Base("long"),), ()])
def test_stored_weights_are_those_that_were_given(weights, types):
    """Law: Mapped(lightened(table)).whole() = table, and so for rows that are taken."""
    n = 50 if types else len(weights)
    pairs = [((i,) if types else (), weights[i % len(weights)]) for i in range(n)]
    table = Rows.of_pairs(types, pairs).arrow()
    found = Mapped(*opened(*blob(lightened(table))))
    assert found.whole().equals(table) and found.whole().schema.equals(table.schema, check_metadata=True)
    assert found.taken(np.array([n - 1, 0])).equals(table.take([n - 1, 0]))
    assert ("w" in lightened(table).column_names) == (len(weights) > 1 or not types)


def test_rows_that_are_few_are_ones_whatever_was_asked_before():
    table = Rows.of_pairs((Base("long"),), [((i,), 1) for i in range(5000)]).arrow()
    found = Mapped(*opened(*blob(lightened(table))))
    assert [found.taken(np.arange(n)).column("w").to_pylist() for n in (2, 3000, 1)] == [[1] * 2, [1] * 3000, [1]]


# ---------------------------------------------------------------- states


SPEC = TableSpec("t", TYPES, ((9,), (4,), (1, 8), (0,)))


def build(folder: Path, chance: random.Random) -> None:
    with Store.open(folder) as store:
        store.commit(Change({"t": some_rows(chance, 70, (1,))}, (SPEC,)), 0)
        store.commit(Change({"t": some_rows(chance, 20)}), 1)


def questions(chance: random.Random, every: list[tuple[object, ...]]) -> list[tuple[tuple[int, ...], list[object]]]:
    """Access keys, and some of their values."""
    found = []
    for columns in SPEC.indexes:
        rows = chance.sample(every, 2)
        found.append((columns, [tuple(r[c] for c in columns) for r in rows]))
    return found


@pytest.mark.usefixtures("small")
def test_whatever_bit_of_a_state_is_flipped_answers_are_right_or_it_is_named(tmp_path, monkeypatch):
    """Probes, scans, changes and a check, in a process that has read nothing: the first to touch it says so."""
    monkeypatch.setattr("ripplenest.store.commit.REMEMBERED", 0)
    chance = random.Random(3)
    build(tmp_path / "state", chance)
    with Store.open(tmp_path / "state") as store:
        every = list(store.snapshot().scan("t").counts())
        asked = questions(chance, every)
        wanted = [store.snapshot().probe("t", columns, keys).counts() for columns, keys in asked]
        changes = store.snapshot().delta("t", 1).counts()
    assert all(wanted)
    seen: Counter[str] = Counter()
    for n, file in enumerate(sorted((tmp_path / "state" / "segments").iterdir())):
        data = file.read_bytes()
        for start in range(0, len(data), 300):
            state = tmp_path / f"{n}-{start}"
            shutil.copytree(tmp_path / "state", state)
            place = min(start + chance.randrange(300), len(data) - 1)
            (state / "segments" / file.name).write_bytes(damaged(data, place, chance))
            with Store.open(state) as store:
                for i in chance.sample(range(len(asked)), len(asked)):
                    try:
                        assert store.snapshot().probe("t", *asked[i]).counts() == wanted[i]
                        seen["a right probe"] += 1
                    except CorruptState as e:
                        assert str(state / "segments" / file.name) in e.where
                        seen["a named probe"] += 1
                try:
                    assert store.snapshot().delta("t", 1).counts() == changes
                    seen["right changes"] += 1
                except CorruptState:
                    seen["named changes"] += 1
                try:
                    store.check_segments()
                    seen["between blobs"] += 1  # padding
                except CorruptState:
                    seen["named by a check"] += 1
            shutil.rmtree(state)
    least = min(seen[f"a {x} probe"] for x in ("right", "named"))
    assert least > 20 and seen["named by a check"] > 10 * seen["between blobs"], seen
    assert seen["right changes"] and seen["named changes"], seen


def test_a_probe_of_a_large_segment_reads_a_few_blocks(tmp_path):
    """As many as the search and the rows need: the segment is not read."""
    n = 300_000
    types = (Base("long"), Base("long"), Base("string"))
    columns = [pa.array(np.arange(n)), pa.array(np.arange(n) % 1000), pa.array([f"text {i}" for i in range(n)])]
    with Store.open(tmp_path / "state") as store:
        store.commit(Change({"t": Rows.of_columns(types, columns)}, (TableSpec("t", types, ((0,), (2,))),)), 0)
    with Store.open(tmp_path / "state") as store:
        for columns, key in (((0,), (77,)), ((2,), ("text 5",)), ((0,), (n,))):
            found = store.snapshot().probe("t", columns, [key]).counts()
            assert found == ({} if key == (n,) else {(77, 77, "text 77"): 1} if key == (77,) else {(5, 5, "text 5"): 1})
        checked = list(store._reader._verified.values())
        total, read = sum(map(len, checked)), sum(int(c.sum()) for c in checked)
        assert len(checked) == 3 and total > 150 and 3 < read < 30, (total, read)
        assert len(store.snapshot().scan("t")) == n
        assert all(c.all() for c in store._reader._verified.values() if len(c) > 300)


@pytest.mark.parametrize("few", [0, 64])
def test_keys_that_are_not_there_cost_a_block_each(tmp_path, monkeypatch, few):
    """An insert asks for keys that are new: each costs the block that its hash would be in, and no row."""
    n, many = 300_000, 40
    monkeypatch.setattr(blocks, "BLOCK", 1 << 10)
    monkeypatch.setattr(indexes, "FEW", few)
    rows = Rows.of_columns((Base("long"),), [pa.array(np.arange(n))])
    with Store.open(tmp_path / "state") as store:
        store.commit(Change({"t": rows}, (TableSpec("t", (Base("long"),), ((0,),)),)), 0)
    with Store.open(tmp_path / "state") as store:
        assert not len(store.snapshot().probe("t", (0,), [(n,)]))
        before = sum(int(c.sum()) for c in store._reader._verified.values())
        assert not len(store.snapshot().probe("t", (0,), [(n + i,) for i in range(1, 1 + many)]))
        read = sum(int(c.sum()) for c in store._reader._verified.values()) - before
        assert many // 2 < read <= many + 2, read  # now and then a hash would be the first of a block


@pytest.mark.usefixtures("small")
def test_what_was_checked_is_not_checked_again_when_it_is_mapped_again(tmp_path, monkeypatch):
    build(tmp_path / "state", random.Random(4))
    with Store.open(tmp_path / "state") as store:
        store.snapshot().scan("t")
        store._reader.close()
        monkeypatch.setattr(Blocks, "_check", lambda *_: pytest.fail("checked again"))
        assert len(store.snapshot().scan("t")) == 90
    with Store.open(tmp_path / "state") as store, pytest.raises(pytest.fail.Exception, match="checked again"):
        store.snapshot().scan("t")


# ---------------------------------------------------------------- collisions


@settings(max_examples=many(30, 200), deadline=None)
@given(st.lists(PAIRS, max_size=20), st.lists(PAIRS, max_size=9))
def test_colliding_keys_are_sorted_out(rows, keys):
    """Law: what is matched does not depend on the hashes, nor on whether candidates are compared or sorted."""
    types = (pa.int64(), pa.string())
    stored, asked = ([pa.array([r[i] for r in some], t) for i, t in enumerate(types)] for some in (rows, keys))
    expected = sorted((k, r) for k, key in enumerate(keys) for r, row in enumerate(rows) if key == row)
    for collide in (False, True):
        for crowded in (0, 1 << 16):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("ripplenest.data.index.CROWDED", crowded)
                patch.setattr("ripplenest.data.index.CROWD", 0 if not crowded else 8)
                mixed = [
                    np.zeros(len(s), np.uint64) if collide else hash_columns(x, len(s))
                    for x, s in ((stored, rows), (asked, keys))
                ]
                order = np.argsort(mixed[0], kind="stable")
                index = KeyIndex.of(entries_of((mixed[0][order], order)), (0,), 7)
                which, places = matched(index, lambda p: [c.take(pa.array(p)) for c in stored], mixed[1], asked)
                assert sorted(zip(which.tolist(), places.tolist(), strict=True)) == expected


def test_doubles_that_collide_are_told_apart_by_their_bits():
    nan = float("nan")
    column, asked = pa.array([nan, 1.0, None, 2.0]), pa.array([nan, None, 3.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ripplenest.data.index.CROWDED", 0)
        patch.setattr("ripplenest.data.index.CROWD", 0)
        index = KeyIndex.of(entries_of((np.zeros(4, np.uint64), np.arange(4))), (0,), 7)
        which, places = matched(index, lambda p: [column.take(pa.array(p))], np.zeros(3, np.uint64), [asked])
    assert sorted(zip(which.tolist(), places.tolist(), strict=True)) == [(0, 0), (1, 2)]


def test_keys_that_all_collide_cost_no_square():
    """Each with each would be 1.6 billion pairs."""
    n = 40_000
    column = pa.array(np.arange(n))
    index = KeyIndex.of(entries_of((np.zeros(n, np.uint64), np.arange(n))), (0,), 7)
    taken: list[int] = []

    def values(places):
        taken.append(len(places))
        return [column.take(pa.array(places))]

    which, places = matched(index, values, np.zeros(n, np.uint64), [column])
    assert sorted(zip(which.tolist(), places.tolist(), strict=True)) == [(i, i) for i in range(n)] and taken == [n]


def test_an_index_of_other_fences_is_refused(tmp_path, monkeypatch):
    """They are not where this release looks, and keys would be missed."""
    rows = Rows.of_columns((Base("long"),), [pa.array(np.arange(100))])
    with Store.open(tmp_path / "state") as store:
        store.commit(Change({"t": rows}, (TableSpec("t", (Base("long"),), ((0,),)),)), 0)
    monkeypatch.setattr(indexes, "STEP", 16)
    with Store.open(tmp_path / "state") as store, pytest.raises(CorruptState, match="other fences"):
        store.snapshot().probe("t", (0,), [(77,)])
