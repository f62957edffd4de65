"""What a batch asks of the catalogue: one transaction that reads and one that writes, however much there is."""

import random
from collections import Counter

import pytest
import sqlalchemy as sa
from support.shop import Customer, Movie, customers, movies
from support.transactions import Made, transactions

import ripplenest as rn
from ripplenest.store import Change, Store, readable

ASKED = 11  # statements of one batch; those of a transaction that forgets a version are more
HOW_FAR = 2  # of these, that ask how far its source is: the first batch of an open state does
FORGETTING = 7
RETAIN = 20


@pytest.fixture
def db(tmp_path):
    with rn.open(tmp_path / "state", engine="local", retain=RETAIN) as db:
        db.relation("C", Customer, key="custkey")
        db.relation("M", Movie, key="name")
        for name in "XYZ":
            db.relation(name, Movie)
        db.create(movies)
        insert(db, 0)
        yield db


def insert(db: rn.Database, key: int, **batch: object) -> Made:
    """What a batch of one row asks of the catalogue."""
    with transactions() as made, db.batch(**batch) as b:
        b.insert("M", [{"name": f"m{key}", "gen": "drama", "dir": None}])
    return made


def check_few(made: Made, asked: int) -> None:
    assert (made.reads, made.writes) == (1, 1), made.statements
    assert made.asked <= asked, made.statements


@pytest.mark.parametrize("source", [None, "shop"])
def test_a_batch_reads_once_and_writes_once(db, source):
    for seq in range(1, RETAIN - 6):  # versions are not forgotten yet
        check_few(insert(db, seq, **({} if source is None else {"source": source, "seq": seq})), ASKED)
    assert db.view("movies").count() == RETAIN - 6


@pytest.mark.parametrize("source", [None, "shop"])
def test_how_far_a_source_is_is_asked_once(db, source):
    found = [insert(db, seq, **({} if source is None else {"source": source, "seq": seq})).asked for seq in range(1, 9)]
    assert max(found[1:]) <= ASKED - HOW_FAR, found


def test_statements_of_a_batch_are_handed_to_the_driver(db, monkeypatch):
    """SQLAlchemy takes ten times as long for a statement as the statement does: it made each of them once."""
    insert(db, 1)
    made: list[object] = []
    compiled = sa.engine.Connection._execute_clauseelement

    def watched(c, statement, *rest):
        made.append(statement)
        return compiled(c, statement, *rest)

    monkeypatch.setattr(sa.engine.Connection, "_execute_clauseelement", watched)
    for seq in range(2, 2 * RETAIN):  # also those of transactions that forget a version
        insert(db, seq)
    assert not made
    assert db.usage and made, "none would be seen"


@pytest.mark.parametrize("kept", [1, 64])
def test_what_is_known_of_sources_is_true_of_the_version(tmp_path, monkeypatch, kept):
    """Two objects in turns, more sources than are kept in memory, and batches that are remembered without a version:
    what is said of a source is what a state that was just opened says."""
    monkeypatch.setattr(readable, "SOURCES", kept)
    chance, last = random.Random(1), Counter[str]()
    with Store.open(tmp_path / "state") as one, Store.open(tmp_path / "state") as other:
        for n in range(60):
            store, source = chance.choice([one, other]), chance.choice("abc")
            if n % 20 == 19:
                last[source] += 1
                store.remember([(source, last[source], "digest")])
                assert store.begin(source)[1].last == last[source]
                other.commit(Change(), other.version)  # nobody else knows before the next version
            for asked in (None, last[source], last[source] + 1):
                _, found = store.begin(source, asked)
                with Store.open(tmp_path / "state") as fresh:
                    assert found == fresh.begin(source, asked)[1]
                assert found.last == (last[source] or None)
                assert (found.batch is None) == (asked is None or asked > last[source] or not asked)
            last[source] += 1
            store.commit(Change(source=source, seq=last[source], digest=f"{n}"), store.version)
    assert min(last.values()) > 10


@pytest.mark.parametrize("source", [None, "shop"])
def test_old_versions_cost_no_more_statements(db, source):
    counts = []
    for seq in range(1, 4 * RETAIN):
        made = insert(db, seq, **({} if source is None else {"source": source, "seq": seq}))
        check_few(made, ASKED + FORGETTING)
        counts.append(made.asked)
    assert db.usage.oldest == db.version - RETAIN
    assert max(counts[-RETAIN:]) <= max(counts[-2 * RETAIN : -RETAIN])


def test_a_batch_of_many_tables_asks_no_more(tmp_path):
    """Segments and access keys of all tables go in with one statement each."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey")
        db.create(customers)
        for key in range(3):
            with transactions() as made, db.batch() as b:
                order = {"orderkey": key, "items": [{"part": 1, "qty": 2, "tags": ["a", "b"]}]}
                b.insert("C", [{"custkey": key, "name": None, "orders": [order]}])
        assert len(db._store.snapshot().tables) > 4
        check_few(made, ASKED)


def test_a_retry_reads_once_and_writes_nothing(db):
    insert(db, 1, source="shop", seq=1)
    insert(db, 2, source="shop", seq=2)
    made = insert(db, 1, source="shop", seq=1)
    assert db.report is not None and not db.report.applied
    assert (made.reads, made.writes) == (1, 0), made.statements


def test_a_publication_that_is_up_to_date_costs_no_transaction(db, tmp_path):
    pytest.importorskip("deltalake")
    db.publish("movies", tmp_path / "movies")
    for key in range(1, 4):
        check_few(insert(db, key), ASKED)
        assert not db.catch_up()[0].changed


def test_the_newest_version_is_one_question(db):
    with transactions() as made:
        assert db.version
    assert (made.reads, made.writes, made.asked) == (1, 0, 1)


def test_a_relation_that_another_object_declared_is_found(db, tmp_path):
    with rn.open(tmp_path / "state", engine="local") as other:
        other.relation("Late", Movie)
    with db.batch() as b:
        b.insert("Late", [{"name": "m", "gen": None, "dir": None}])
    assert db.relation("Late").count() == 1
    with pytest.raises(rn.errors.UnknownRelation, match="Late"), db.batch() as b:
        b.insert("nowhere", [])


def test_a_closed_database_says_so_at_once(tmp_path):
    db = rn.open(tmp_path / "state", engine="local")
    db.close()
    with pytest.raises(rn.errors.StateError, match="closed"):
        db.batch()
