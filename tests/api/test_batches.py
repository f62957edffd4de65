"""Batches of whole rows: once each, all or nothing, with every multiplicity."""

import pyarrow as pa
import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, Movie, Order, customer, item, liked, movie, opened, order, related
from support.states import recomputed, refused, unchanged

import ripplenest as rn
from ripplenest import Bag, errors

ALL = {view.name: view for view in VIEWS}
JARHEAD = movie("Jarhead", "Drama", "Mendes")


def test_the_paper(db):
    """Section 2: Jarhead relates to Drive by genre and to Skyfall by director."""
    with db.batch(source="imdb", seq=17) as b:
        b.insert("M", [JARHEAD])
    assert db.view("related").rows() == [
        {"name": "Drive", "related": ["Jarhead"]},
        {"name": "Jarhead", "related": ["Drive", "Skyfall"]},
        {"name": "Rush", "related": ["Skyfall"]},
        {"name": "Skyfall", "related": ["Jarhead", "Rush"]},
    ]
    r = b.report
    assert (r.version, r.source, r.seq, r.applied, r.verdict) == (db.version, "imdb", 17, True, "incremental")
    assert r.rows_in == {"M": 1} and r.rows_out["related"] == 1 and r.rows_out["related/D[related.related]"] == 4
    assert db.report == r


def test_phases(db):
    """A report says how long each phase took, which is all of the batch; history keeps what the batch did."""
    with db.batch(source="imdb", seq=17) as b:
        b.insert("M", [JARHEAD])
    assert list(b.report.phases) == ["snapshot", "digest", "intake", "views", "commit"]
    assert all(seconds > 0 for seconds in b.report.phases.values())
    assert sum(b.report.phases.values()) == pytest.approx(b.report.seconds)
    note = db.history(1)[0].note
    assert set(note) == {"kind", *b.report.to_dict()} - {"phases"}
    assert note["seconds"] == pytest.approx(b.report.seconds - b.report.phases["commit"])
    with db.batch(source="imdb", seq=17) as again:
        again.insert("M", [JARHEAD])
    assert again.report.phases == {}


@pytest.mark.parametrize(
    "rows",
    [
        FILMS,
        tuple(FILMS),
        iter(FILMS),
        [Movie(**m) for m in FILMS],
        pa.Table.from_pylist(FILMS),
        pa.Table.from_pylist(FILMS).select(["dir", "name", "gen"]),
        pa.RecordBatch.from_pylist(FILMS),
    ],
    ids=["list", "tuple", "generator", "records", "table", "reordered", "record batch"],
)
def test_kinds_of_rows(tmp_path, rows):
    with opened(tmp_path) as db:
        db.create(related)
        with db.batch() as b:
            b.insert("M", rows)
            b.insert("M", pa.Table.from_pylist(FILMS).slice(0, 0))
        assert db.view("related").rows() == related(FILMS)


def test_arrow_with_inner_bags(tmp_path):
    with opened(tmp_path) as db:
        for view in VIEWS:
            db.create(view)
        db.load("C", pa.Table.from_pylist([ANN, BOB]))
        with db.batch() as b:
            b.at("C", custkey=7).orders.insert(pa.Table.from_pylist([order(13, item(1, 5, ("x", "x")))]))
            b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1).tags.insert(pa.table({"t": ["z"]}))
        first = order(11, item(1, 2, ("a", "z")), item(2, 1))
        rows = [customer(7, "Ann", [first, order(12), order(13, item(1, 5, ("x", "x")))]), BOB]
        recomputed(db, ALL, {"C": rows, "M": []})


# ---------------------------------------------------------------- once


def test_a_retry_changes_nothing_whatever_the_order_of_its_rows(db):
    rows = [customer(1, "x", [order(1, item(1)), order(1, item(1))]), customer(2, "y", [])]
    with db.batch("s", 5) as b:
        b.insert("C", rows)
    for _ in range(20):
        with unchanged(db), db.batch("s", 5) as again:
            again.insert("C", rows[::-1])
        assert not again.report.applied
        assert again.report.version == b.report.version
    assert "applied before" in str(again.report)


def test_the_same_labels_whatever_the_order(tmp_path):
    """P11: a state does not depend on the order of rows within an operation."""
    rows = [order(1, item(i % 2, i % 2, ("a", "b"))) for i in range(4)]
    tables = []
    for name, given in (("a", rows), ("b", rows[::-1])):
        with rn.open(tmp_path / name, engine="local") as db:
            db.relation("O", Order)
            with db.batch("s", 1) as b:
                b.insert("O", given)
            snapshot = db._store.snapshot()
            tables.append({t: snapshot.scan(t).counts() for t in db._store.tables()})
    assert tables[0] == tables[1]


def test_a_batch_of_nothing_counts(db):
    with db.batch("s", 1):
        pass
    with db.batch("s", 2) as b:
        b.insert("M", [])
    assert b.report.rows_in == {} and b.report.seq == 2


def test_sources_are_independent(db):
    for source, seq in [("a", 1), ("b", 100), ("a", 2), ("b", 101), ("local", 1)]:
        with db.batch(source, seq) as b:
            b.insert("M", [movie(f"{source}{seq}")])
    with db.batch() as b:
        b.insert("M", [movie("local2")])
    assert (b.report.source, b.report.seq) == ("local", 2)
    with refused(db, errors.BatchGap, "batch a:4", "wanted   3", "got      4"), db.batch("a", 4):
        pass
    with refused(db, errors.BatchGap, "batch b:99", "wanted   102"), db.batch("b", 99):
        pass
    with refused(db, errors.BatchConflict, "batch a:1", "other content", "the next batch, a:3"), db.batch("a", 1) as b:
        b.insert("M", [movie("a1"), movie("a1")])
    with db.batch("a", 3) as b:
        b.insert("M", [movie("a3")])
    assert b.report.applied


def test_a_retry_after_a_failure(db):
    with refused(db, errors.RowNotThere, "operation 1 (delete M): rows[0]"), db.batch("s", 1) as b:
        b.insert("M", [JARHEAD])
        b.delete("M", [movie("nobody")])
    with db.batch("s", 1) as b:
        b.insert("M", [JARHEAD])
    assert b.report.applied
    recomputed(db, ALL, {"C": [ANN, BOB], "M": [*FILMS, JARHEAD]})


def test_an_exception_in_the_block_discards_it(db):
    with unchanged(db), pytest.raises(ZeroDivisionError), db.batch() as b:
        b.insert("M", [JARHEAD])
        raise ZeroDivisionError


def test_misuse(db):
    with refused(db, errors.BatchMisuse, "inside the with block"):
        db.batch().insert("M", [JARHEAD])
    with pytest.raises(errors.RowNotThere), db.batch() as b:
        b.delete("M", [JARHEAD])
    with refused(db, errors.BatchMisuse, "used once"), b:
        pass
    with refused(db, errors.BatchMisuse, "no report"):
        _ = b.report
    for names, shown in [(("s", None), "both"), ((None, 1), "both"), (("load:M", 1), "reserved")]:
        with refused(db, errors.BatchMisuse, shown):
            db.batch(*names)
    for names in [("s", "1"), ("s", True), ("s", 1.0), ("s", 2**63), (7, 1), ("\ud800", 1)]:
        with refused(db, errors.WrongValue, "batch s"):
            db.batch(*names)


# ---------------------------------------------------------------- multiplicities


def test_one_of_several_equal_rows(db):
    with db.batch() as b:
        b.insert("M", [JARHEAD] * 3)
    with db.batch() as b:
        b.delete("M", [JARHEAD])
    recomputed(db, ALL, {"C": [ANN, BOB], "M": [*FILMS, JARHEAD, JARHEAD]})
    with refused(db, errors.RowNotThere, "rows[2]", "fewer"), db.batch() as b:
        b.delete("M", [JARHEAD] * 3)
    with db.batch() as b:
        b.delete("M", [JARHEAD] * 2)
    recomputed(db, ALL, {"C": [ANN, BOB], "M": FILMS})


def test_nulls_are_values(db):
    odd = [movie("n", None, None), movie("n", None, "d"), movie("n", "Drama", None)]
    with db.batch() as b:
        b.insert("M", [*odd, *odd])
    with db.batch() as b:
        b.delete("M", odd)
    recomputed(db, ALL, {"C": [ANN, BOB], "M": [*FILMS, *odd]})


def test_within_one_batch(db):
    """Operations see those before them, and what cancels out leaves nothing."""
    with db.batch() as b:
        b.insert("M", [JARHEAD])
        b.delete("M", [JARHEAD])
        b.insert("C", [customer(1, "Ann", [order(1, item(1))])])
        b.delete("C", [customer(1, "Ann", [order(1, item(1))])])
    assert b.report.rows_in == {} == b.report.rows_out
    with refused(db, errors.RowNotThere, "operation 0 (delete M)"), db.batch() as b:
        b.delete("M", [JARHEAD])
        b.insert("M", [JARHEAD])
    recomputed(db, ALL, {"C": [ANN, BOB], "M": FILMS})


def test_delete_and_insert_again(db):
    """The owner's label is the same, and its bag is the one that was inserted last."""
    new = customer(7, "Ann", [order(11, item(1, 2, ("a",))), order(13)])
    with db.batch() as b:
        b.delete("C", [ANN])
        b.insert("C", [new])
    recomputed(db, ALL, {"C": [new, BOB], "M": FILMS})
    with db.batch() as b:
        b.delete("C", [new])
        b.insert("C", [new])
    with db.batch() as b:
        b.delete("C", [new])
    recomputed(db, ALL, {"C": [BOB], "M": FILMS})
    with db.batch() as b:
        b.insert("C", [ANN])
    recomputed(db, ALL, {"C": [ANN, BOB], "M": FILMS})


def test_equal_rows_without_a_key_have_bags_of_their_own(tmp_path):
    @rn.view
    def orders(R: Bag[Order]):
        return [
            {"k": o.orderkey, "parts": [i.part for i in o.items], "tags": [t for i in o.items for t in i.tags]}
            for o in R
        ]

    with rn.open(tmp_path, engine="local") as db:
        db.relation("R", Order)
        db.create(orders)
        a, more = order(1, item(1)), order(1, item(1), item(2, 2, ("t",)))
        with db.batch() as b:
            b.insert("R", [a, a, a])
            b.delete("R", [a])
            b.insert("R", [a])
            b.delete("R", [a])
            b.insert("R", [a])
        with db.batch() as b:
            b.insert("R", [a, order(2)])
            b.delete("R", [a])
        with refused(db, errors.Ambiguous, "3 rows"), db.batch() as b:
            b.at("R", orderkey=1).items.insert([item(2)])
        held = sorted(r[1] for r in db._store.snapshot().scan("R").counts() if r[0] == 1)
        assert len(held) == 3
        with db.batch() as b:
            b.at("R", label=held[1]).items.insert([item(2, 2, ("t",))])
        assert db.view("orders").rows() == orders([a, a, more, order(2)])
        with refused(db, errors.RowNotThere, "rows[2]", "fewer such rows"), db.batch() as b:
            b.delete("R", [a, a, a])
        with db.batch() as b:
            b.delete("R", [a, a])
        assert db.view("orders").rows() == orders([more, order(2)])
        with db.batch() as b:
            b.delete("R", [more, order(2)])
        assert db.view("orders").rows() == []
        assert all(not db._store.snapshot().scan(t).counts() for t in db._store.tables())


# ---------------------------------------------------------------- upsert


def test_upsert_moves_inner_rows(db):
    first, second = ANN["orders"]
    rows = [customer(7, "Anna", [second]), customer(8, "Bob", [first]), customer(9, None, [])]
    with db.batch() as b:
        b.upsert("C", rows)
    recomputed(db, ALL, {"C": rows, "M": FILMS})
    with db.batch() as b:
        b.upsert("C", rows)
    assert b.report.rows_out.get("tags") is None
    with db.batch() as b:
        b.upsert("C", [ANN])
        b.upsert("C", [customer(7, "last", None)])
    recomputed(db, ALL, {"C": [customer(7, "last", None), *rows[1:]], "M": FILMS})


# ---------------------------------------------------------------- several views, several uses


def test_shared_children(db):
    """Two parents with one label: it stays until the last lets it go, and a change reaches both."""
    rows = [customer(1, "Drama", []), customer(2, "Drama", None), ANN, BOB]
    with db.batch() as b:
        b.insert("C", rows[:2])
        b.insert("M", [JARHEAD])
    films = [*FILMS, JARHEAD]
    recomputed(db, {"liked": liked}, {"C": rows, "M": films})
    with db.batch() as b:
        b.delete("C", rows[:1])
        b.delete("M", FILMS[:1])
    recomputed(db, {"liked": liked}, {"C": rows[1:], "M": films[1:]})
    with db.batch() as b:
        b.delete("C", rows[1:2])
    recomputed(db, {"liked": liked}, {"C": [ANN, BOB], "M": films[1:]})
    with db.batch() as b:
        b.insert("C", rows[:1])
    recomputed(db, {"liked": liked}, {"C": [rows[0], ANN, BOB], "M": films[1:]})


def test_a_relation_used_twice_is_changed_on_both_sides(tmp_path):
    @rn.view
    def pairs(M: Bag[Movie]):
        return [{"a": a.name, "b": b.name} for a in M for b in M if a.gen == b.gen]

    with opened(tmp_path) as db:
        db.create(pairs)
        films = [movie("x"), movie("y"), movie("x"), movie("z", None)]
        with db.batch() as b:
            b.insert("M", films)
        assert db.view("pairs").rows() == pairs(films) and len(pairs(films)) == 9
        with db.batch() as b:
            b.delete("M", [movie("x"), movie("y")])
            b.insert("M", [movie("w")])
        assert db.view("pairs").rows() == pairs([movie("x"), movie("w"), movie("z", None)])


def test_a_view_without_a_value_refuses_the_batch(tmp_path):
    @rn.record
    class N:
        x: int

    @rn.view
    def inverse(R: Bag[N]):
        return [{"y": 10 / n.x} for n in R]

    with rn.open(tmp_path, engine="local") as db:
        db.relation("R", N)
        db.create(inverse)
        with refused(db, errors.EvaluationError), db.batch() as b:
            b.insert("R", [{"x": 2}, {"x": 0}])
        with db.batch() as b:
            b.insert("R", [{"x": 2}])
        assert db.view("inverse").rows() == [{"y": 5.0}]
