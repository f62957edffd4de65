"""Segments that are made in little room are, byte for byte, those that are made at once."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.ordering import in_order, ordering
from support.sizes import many

from ripplenest.data import room
from ripplenest.data.order import By, Ordering
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import BOOL, LONG, STRING, Base, nullable
from ripplenest.store import blocks, encoding, segments
from ripplenest.store.blocks import BLOCK, trailer
from ripplenest.store.encoding import encode
from ripplenest.store.index import arranging
from ripplenest.store.index.arranging import in_order_of
from ripplenest.store.index.clustering import clustered, indexed
from ripplenest.store.index.indexes import KeyIndex

COUNTS: Counter[str] = Counter()
TEXT = nullable(STRING)
assert isinstance(TEXT, Base)
VALUES: dict[Base, tuple[object, ...]] = {LONG: tuple(range(50)), TEXT: ("", "a", "é\x00", None), BOOL: (True, False)}


def table_of(c: Choices) -> tuple[tuple[Base, ...], pa.Table]:
    types = (LONG, *(c.pick((LONG, TEXT, BOOL)) for _ in range(c.number(3))))
    pairs = [(tuple(c.pick(VALUES[t]) for t in types), c.pick((1, 1, 2))) for _ in range(c.number(60))]
    return types, pa.concat_tables(Rows.of_pairs(types, pairs[i::2]).arrow() for i in range(2))


@law(examples=25)
def test_a_segment_in_little_room_is_the_segment(c: Choices) -> None:
    """The same table, and the same entries of every index, whether or not the rows are in order already."""
    types, table = table_of(c)
    keys = list(dict.fromkeys(tuple(i for i in range(len(types)) if c.one_in(2)) for _ in range(3)))
    keys = [key for key in keys if key]
    wanted, indexes = clustered(table, keys, Room())
    ordered = c.one_in(2)
    table = wanted if ordered else table
    little = Room(room.CHUNK * c.pick((150, 400)))
    found, others = clustered(table, keys, little)
    assert found.equals(wanted) and list(others) == list(indexes)
    for key in keys:
        again = KeyIndex.of(indexed(found, key, little), key, 7)
        own, whole = KeyIndex.of(others[key], key, 7), KeyIndex.of(indexes[key], key, 7)
        assert own.table.equals(whole.table, check_metadata=True)
        assert key == keys[0] or again.table.equals(whole.table, check_metadata=True)
    COUNTS["in windows"] += table.nbytes > little.chunk
    COUNTS["in order"] += ordered and table.nbytes > little.chunk


def test_rows_in_order_but_for_where_pieces_meet_are_sorted() -> None:
    table = Rows.of_pairs((LONG,), [((i,), 1) for i in range(1000)]).arrow()
    wanted, _ = clustered(table, [(0,)], Room())
    half = pa.concat_tables([wanted.slice(500), wanted.slice(0, 500)]).combine_chunks()
    assert clustered(half, [(0,)], Room(room.CHUNK * half.nbytes // 2))[0].equals(wanted)


def test_entries_that_are_in_order_have_no_rows() -> None:
    table = Rows.of_pairs((LONG, BOOL), [((i, True), 1) for i in range(1000)]).arrow()
    _, indexes = clustered(table, [(0,), (1,)], Room(room.CHUNK * table.nbytes // 3))
    assert [rows for _, rows in indexes.values()] == [None, None]


@law(examples=many(50, 200))
def test_an_order_in_little_room_is_the_order(c: Choices) -> None:
    """The same entries, of keys with few rows and of one that has all, whether prefixes differ or not."""
    types = tuple(nullable(c.pick((LONG, TEXT, BOOL))) for _ in range(1 + c.number(3)))
    far = c.pick((10, 2**40))
    texts = [f"{c.pick(('', 'the same for all '))}{i}" for i in range(30)]
    numbers: list[object] = [0, *(c.number(far) for _ in range(20))]
    values = {nullable(LONG): numbers, TEXT: texts, nullable(BOOL): [True, False]}
    pairs = [(tuple(c.pick([None, *values[t]]) for t in types), 1) for _ in range(c.pick((1, 60, 60)))]
    table, o = Rows.of_pairs(types, pairs).consolidated().arrow(), ordering(c, len(types))
    wanted, little = in_order_of(table, o, Room()), Room(room.CHUNK * c.pick((64, 400)))
    found = in_order_of(table, o, little)
    for a, b in zip((*found.keyed, found.prefixes), (*wanted.keyed, wanted.prefixes), strict=True):
        assert a.tolist() == b.tolist() and a.dtype == b.dtype
    place = in_order(o)
    rows = [pairs[0] for pairs in Rows(types, table=table).pairs()]
    entries = [(int(h), place(rows[r])) for h, r in zip(*wanted.keyed, strict=True)]
    assert all(a[0] < b[0] or (a[0] == b[0] and not b[1] < a[1]) for a, b in pairwise(entries))
    COUNTS["orders in windows"] += table.nbytes > little.chunk
    COUNTS["of one key"] += table.nbytes > little.chunk and not o.key


def test_numbers_are_told_apart_in_little_room_whatever_their_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """NULL is far from all numbers, and does not put them into one window."""
    sizes: list[int] = []
    plain = arranging._arranged
    monkeypatch.setattr(arranging, "_arranged", lambda *a: sizes.append(len(a[2])) or plain(*a))
    table = Rows.of_pairs((nullable(LONG),), [((i or None,), 1) for i in range(1000)]).arrow()
    in_order_of(table, Ordering((), (By(0, True),)), Room(room.CHUNK * table.nbytes // 10))
    assert sum(sizes) == 1000 and max(sizes) < 200


@law(examples=60)
def test_digests_of_parts_are_those_of_the_whole(c: Choices) -> None:
    size = c.pick((0, 1, 7, BLOCK, BLOCK + 1, 3 * BLOCK, c.number(4 * BLOCK)))
    data = np.random.default_rng(c.number(1000)).bytes(size)
    cuts = sorted(c.number(len(data) + 1) for _ in range(c.number(8)))
    parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert trailer(map(memoryview, parts)) == trailer([memoryview(data)])
    assert len(trailer([memoryview(data)])) == -(-len(data) // BLOCK) * blocks.DIGEST


@law(examples=40)
def test_pieces_of_a_blob_are_its_bytes(c: Choices) -> None:
    _, table = table_of(c)
    table = table.combine_chunks()
    whole = b"".join(encode(table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "COPIED", -1)
        assert b"".join(encode(table)) == whole


def test_what_is_written_in_parts_is_read_again(tmp_path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "PART", 100)
        pack = segments.Pack("0000000001-0000000000000000.deltas", Room())
        blob = pack.add(pa.table({"c0": list(range(1000)), "w": [1] * 1000}))
        pack.write(segments.Disk(tmp_path))
    segments.Reader(segments.Disk(tmp_path)).check(blob)


def test_coverage() -> None:
    if COUNTS:
        assert COUNTS["in windows"] > 8 and COUNTS["in order"] > 3, COUNTS
        assert COUNTS["orders in windows"] > 8 and COUNTS["of one key"] > 3, COUNTS
