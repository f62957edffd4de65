"""R16: micro-batches of Spark Structured Streaming, each applied once, whatever fails between two commits.

A stream retries the micro-batch whose end it has not noted. Its ids begin at 0 and leave nothing out, so that
(a name for the stream, the id) is a (source, seq) as it is. The name belongs to the stream's checkpoint.
"""

import json
import os
import shutil

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from support.shop import customer, item, opened, order, parts, tags
from support.states import recomputed

SCHEMA = """
    custkey long, name string,
    orders array<struct<orderkey: long, items: array<struct<part: long, qty: long, tags: array<string>>>>>
"""
SOURCE = "customers"
VIEWS = (parts, tags)
ARRIVED = (
    [customer(1, "Ann", [order(11, item(1, 2, ("a", "b")), item(2, 1)), order(12)]), customer(2, None)],
    [customer(1, "Ann", [order(11, item(1, 5))]), customer(3, "Cy", []), customer(4, "Di", [order(41, item(4))])],
    [customer(2, "Bob", [order(21, item(1, 2, ("z",)))]), customer(3, "Cy", [order(31)])],
)


def rows_after(files):
    """Each customer as it arrived last."""
    return list({row["custkey"]: row for rows in ARRIVED[:files] for row in rows}.values())


class Stream:
    """A folder of files, of which each becomes a micro-batch; and a writer that fails where ``fails`` says."""

    def __init__(self, spark, folder, checkpoint="checkpoint", at_once=1):
        self.spark, self.folder, self.checkpoint, self.at_once = spark, folder, checkpoint, at_once
        self.fails = None  # (batch id, "before" or "after" the commit)
        self.done = []  # (batch id, whether it was applied)
        (folder / "in").mkdir(exist_ok=True)

    def arrive(self, *files):
        for n in files:
            path = self.folder / "in" / f"{n}.json"
            path.write_text("\n".join(map(json.dumps, ARRIVED[n])))
            os.utime(path, (10**9 + n, 10**9 + n))  # the stream takes the oldest first

    def run(self, db):
        """All that has arrived. Raises StreamingQueryException."""

        def write(rows, batch_id):
            with db.batch(SOURCE, batch_id) as b:
                b.upsert("C", rows.orderBy(F.rand()))  # a retry may read its rows in another order
                self.fail(batch_id, "before")
            self.done.append((batch_id, b.report.applied))
            self.fail(batch_id, "after")

        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", self.at_once)
        writer = reader.json(str(self.folder / "in")).writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(self.folder / self.checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()

    def fail(self, *where):
        if self.fails == where:
            raise ConnectionError(f"lost {where[1]} the commit of {where[0]}")


@pytest.fixture
def state(tmp_path):
    with opened(tmp_path / "state") as db:
        for view in VIEWS:
            db.create(view)
        yield db, db.version


def check(db, files):
    recomputed(db, {v.name: v for v in VIEWS}, {"C": rows_after(files)})


def test_a_micro_batch_is_applied_once(spark, state, tmp_path):
    db, start = state
    stream = Stream(spark, tmp_path)
    stream.arrive(0, 1)
    stream.fails = (1, "before")
    with pytest.raises(StreamingQueryException, match="lost before the commit of 1"):
        stream.run(db)
    assert db.version == start + 1
    check(db, 1)
    stream.fails = (1, "after")
    with pytest.raises(StreamingQueryException, match="lost after the commit of 1"):
        stream.run(db)
    assert db.version == start + 2
    check(db, 2)
    stream.fails = None
    stream.arrive(2)
    with opened(db._store.path, engine="spark", spark=spark) as again:  # a new process goes on with both
        stream.run(again)
        stream.run(again)  # nothing has arrived
        check(again, 3)
    assert db.version == start + 3
    assert stream.done == [(0, True), (1, True), (1, False), (2, True)]
    assert [(e.source, e.seq) for e in db.history(3)] == [(SOURCE, 2), (SOURCE, 1), (SOURCE, 0)]


@pytest.mark.long
def test_a_stream_and_a_state_that_do_not_fit_are_refused(spark, state, tmp_path):
    """With another checkpoint a stream counts from 0 again, and other rows would be the same batch; a state that was
    brought back from a copy lacks what the stream will not send again."""
    db, _ = state
    stream = Stream(spark, tmp_path)
    stream.arrive(0)
    stream.run(db)
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    stream.arrive(1)
    stream.run(db)
    before = db.version
    with pytest.raises(StreamingQueryException, match="this batch was applied with other content"):
        Stream(spark, tmp_path, "another", at_once=2).run(db)
    assert db.version == before
    stream.arrive(2)
    with opened(tmp_path / "copy") as copy:
        with pytest.raises(StreamingQueryException, match="batches of a source come one after another"):
            stream.run(copy)
        check(copy, 1)
    stream.run(db)
    check(db, 3)
