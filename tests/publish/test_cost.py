"""What a publication costs: the buckets of the rows that it touches, however many rows and versions there are."""

from collections import Counter

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from publish.tables import by_deltalake, feed

from ripplenest.data.naming import digest
from ripplenest.nrc.errors import EvaluationError
from ripplenest.publish import whole
from ripplenest.publish.columns import BUCKET, ID, OP
from ripplenest.publish.source import DELETE, INSERT, UPDATE, Edits
from ripplenest.publish.tables import FILES, Publisher
from ripplenest.publish.whole import BYTES, Whole

SCHEMA = pa.schema([(ID, pa.string()), (BUCKET, pa.int32()), ("x", pa.int64())])


class Numbers:
    """Rows id ↦ x, and what is to be done to them next."""

    view, part, where, fingerprint, structure = "numbers", "nested", "view numbers", "0", "1"
    schema = SCHEMA

    def __init__(self, rows):
        self.rows, self.next = dict(rows), []

    def whole(self):
        columns = [pa.array(self.rows, pa.string()), pa.array(self.rows.values(), pa.int64())]
        return Whole(len(self.rows), iter([pa.table(columns, names=[ID, "x"])] if self.rows else []))

    def edits(self, since):  # noqa: ARG002
        ids, xs, ops = zip(*self.next, strict=True)
        for i, x, op in self.next:
            self.rows.pop(i) if op == DELETE else self.rows.update({i: x})
        columns = [pa.array(ids, pa.string()), pa.array(xs, pa.int64()), pa.array(ops, pa.int8())]
        return Edits(pa.table(columns, names=[ID, "x", OP]), signed=False)

    def publish(self, folder, version, rebuild=False):
        return Publisher(self, str(folder / "table"), "test", version, 0, rebuild).publish()


def files(folder):
    """By bucket, how many files it has."""
    actions = pa.table(DeltaTable(str(folder / "table")).get_add_actions(flatten=True))
    return Counter(actions.column(f"partition.{BUCKET}").to_pylist())


@pytest.mark.parametrize(
    ("rows", "each", "buckets", "copied"),
    [
        (5_000, BYTES, 64, 2_000),
        (10_000, 3_000, 256, 1_000),
        pytest.param(400_000, BYTES, 64, 120_000, marks=pytest.mark.long),
    ],
)
def test_a_merge_rewrites_the_buckets_of_touched_rows(folder, monkeypatch, rows, each, buckets, copied):
    """Twelve rows: at most as many buckets are read and written as they are in."""
    monkeypatch.setattr(whole, "BYTES", each)
    ids = [digest(i) for i in range(rows)]
    numbers = Numbers((i, 0) for i in ids)
    numbers.publish(folder, 1)
    assert len(files(folder)) == buckets
    for version in (2, 3):
        numbers.next = [(i, version, UPDATE) for i in ids[version * 10 : version * 10 + 9]]
        numbers.next += [(ids[version], None, DELETE), (ids[version + 5], None, DELETE), (digest(-version), 7, INSERT)]
        touched = {int(i[:4], 16) * buckets >> 16 for i, *_ in numbers.next}
        done = numbers.publish(folder, version)
        commit = DeltaTable(str(folder / "table")).history(1)[0]
        assert BUCKET in commit["operationParameters"]["predicate"]  # and so other buckets are not read
        metrics = commit["operationMetrics"]
        assert metrics["num_target_files_removed"] <= len(touched) and (done.written, done.removed) == (10, 2)
        assert 0 < metrics["num_target_rows_copied"] < copied
    assert {row[ID]: row["x"] for row in by_deltalake(str(folder / "table"))} == numbers.rows


def test_buckets_go_by_bytes():
    """Rows of a kilobyte are in more buckets than as many rows of a few bytes; there are at most 1,024."""
    narrow, wide = (pa.table({ID: [digest(i) for i in range(100)], "x": ["x" * n] * 100}) for n in (1, 1_000))
    assert [whole.bits_for(200_000, some) for some in (narrow, wide)] == [6, 9]
    assert [whole.bits_for(rows, wide) for rows in (0, 100_000, 10**9)] == [6, 8, 10]


def test_a_table_keeps_its_buckets(folder, monkeypatch):
    """However many they would be today; written whole, it gets as many as that."""
    numbers = Numbers((digest(i), 0) for i in range(1_000))
    numbers.publish(folder, 1)
    monkeypatch.setattr(whole, "BYTES", 100)
    numbers.next = [(digest(-i), i, INSERT) for i in range(1, 1_000)]
    assert numbers.publish(folder, 2).how == "changes"
    assert set(files(folder)) <= set(range(64, 128))
    numbers.publish(folder, 3, rebuild=True)
    assert min(files(folder)) >= 512


class Streamed(Numbers):
    """Tables of a megabyte, and how much of Arrow was there when each was asked for."""

    def __init__(self, tables, fault=None):
        super().__init__({})
        self.tables, self.fault, self.held = tables, fault, []

    def whole(self):
        return Whole(self.tables * 10_000, self.made())

    def made(self):
        before = pa.total_allocated_bytes()
        for i in range(self.tables):
            self.held.append(pa.total_allocated_bytes() - before)
            ids = pa.array([digest(i, n) for n in range(10_000)])
            yield pa.table([ids, pa.array(range(10_000), pa.int64())], names=[ID, "x"])
        if self.fault:
            raise self.fault


def test_rows_are_written_as_they_are_made(folder):
    """Some tables of them are in memory, and not all."""
    streamed = Streamed(30)
    done = streamed.publish(folder, 1)
    assert done.written == len(by_deltalake(str(folder / "table"))) == 300_000
    assert max(streamed.held) < 8_000_000
    assert streamed.publish(folder, 2, rebuild=True).removed == 300_000
    assert max(streamed.held) < 8_000_000


@pytest.mark.parametrize("tables", [0, 3])
def test_what_goes_wrong_with_rows_is_told_as_it_was(folder, tables):
    """And there is no table."""
    streamed = Streamed(tables, EvaluationError("a count below 0"))
    with pytest.raises(EvaluationError, match="a count below 0"):
        streamed.publish(folder, 1)
    assert not DeltaTable.is_deltatable(str(folder / "table"))


def test_files_do_not_grow_with_the_versions(folder):
    """New rows come in files of their own, which are compacted; the feed knows nothing of it."""
    numbers = Numbers({})
    numbers.publish(folder, 0)
    numbers.next = [(digest("first"), 0, INSERT)]
    numbers.rows[digest("first")] = 0
    assert numbers.publish(folder, 1).why == "the table was empty"
    assert set(files(folder)) == {64 + int(digest("first")[:4], 16) * 64 // 2**16}
    versions = 3 * FILES
    for version in range(2, versions):
        numbers.next = [(f"{bucket:01x}000{version:028x}", version, INSERT) for bucket in range(16)]
        assert numbers.publish(folder, version).how == "changes"
        assert max(files(folder).values()) <= FILES
    table = DeltaTable(str(folder / "table"))
    operations = Counter(commit["operation"] for commit in table.history())
    assert 1 <= operations["OPTIMIZE"] <= 3 and operations.total() == versions + operations["OPTIMIZE"]
    assert set(operations) == {"WRITE", "OPTIMIZE"}  # nothing was read to add new rows
    rows = feed(str(folder / "table"), 0)
    assert {row["_change_type"] for row in rows} == {"insert"}
    assert len(rows) == len(numbers.rows) == 1 + 16 * (versions - 2)
    assert {row[ID]: row["x"] for row in by_deltalake(str(folder / "table"))} == numbers.rows
    assert table.transaction_version("test") == versions - 1
