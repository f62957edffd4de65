"""What a batch asks of the catalogue: one transaction that reads and one that writes, however much there is."""

import pytest
from support.shop import Customer, Movie, customers, movies
from support.transactions import Made, transactions

import ripplenest as rn

ASKED = 11  # statements of one batch; those of a transaction that forgets a version are more
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
