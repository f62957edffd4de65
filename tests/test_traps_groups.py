"""Traps of aggregates that others shipped, each with what went wrong there, by way of a database and its batches.

Every view is compared with the interpreter after every batch, and what the trap is about is said beside it.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from test_traps import Kept

import ripplenest as rn
from ripplenest import Bag, errors


@rn.record
class Part:
    k: int | None
    x: float
    n: int | None
    d: rn.Decimal[18, 6] | None


@rn.record
class Place:
    k: int | None


# mypy: disable-error-code="no-untyped-def, arg-type, no-any-return"


@rn.view
def whole(A: Bag[Part]):
    """Without keys: one row, whatever there is."""
    return [{"n": len(A), "x": sum(a.x for a in A), "k": rn.count(a.k for a in A), "s": sum(a.n for a in A)}]


@rn.view
def correlated(P: Bag[Place], A: Bag[Part]):
    """Folds of what a place has."""
    return [
        {
            "k": p.k,
            "n": len([a for a in A if a.k == p.k]),
            "s": sum(a.n for a in A if a.k == p.k),
            "d": rn.avg(a.d for a in A if a.k == p.k),
            "some": any(a.n > 1 for a in A if a.k == p.k),
        }
        for p in P
    ]


@rn.view
def keyed(A: Bag[Part]):
    """A key without rows is no row."""
    return [{"k": k, "n": len(xs), "x": sum(a.x for a in xs), "s": sum(a.n for a in xs)} for k, xs in
            rn.group_by(A, lambda a: a.k)]  # fmt: skip


@rn.view
def once(A: Bag[Part]):
    return [k for k in {a.k for a in A}]  # noqa: C416 - a bag of them


@rn.view
def joined(P: Bag[Place], A: Bag[Part]):
    return [{"p": p.k, "a": a.k, "n": a.n} for p, a in rn.full_join(P, A, lambda p, a: p.k == a.k)]


@rn.view
def left(A: Bag[Part], P: Bag[Place]):
    return [k for k in rn.difference([a.k for a in A], [p.k for p in P])]  # noqa: C416 - a bag of them


@rn.view
def large(A: Bag[Part]):
    """What is read of a sum is whether it is above 2."""
    return [a.x for a in A if sum(other.n for other in A if other.k == a.k) > 2]


@rn.view
def own(A: Bag[Part]):
    """Of each key of theirs the rows that = finds, which are none of NULL."""
    return [
        {
            "k": k,
            "n": len([a for a in A if a.k == k]),
            "s": sum(a.n for a in A if a.k == k),
            "d": rn.avg(a.d for a in A if k == a.k),
            "some": any(a.n > 1 for a in A if a.k == k),
            "all": all(a.n > 1 for a in A if a.k == k),
        }
        for k in {a.k for a in A}
    ]


@rn.view
def several(A: Bag[Part]):
    """The same of a key with several fields, and in a condition."""
    return [
        {"key": key, "n": len([a for a in A if a.k == key["k"] and a.n == key["n"]])}
        for key, rows in rn.group_by(A, lambda a: {"k": a.k, "n": a.n})
        if len(rows) > len([a for a in A if a.k == key["k"] and a.n == key["n"]]) - 1
    ]


VIEWS = (whole, correlated, keyed, once, joined, left, large, own, several)


@pytest.fixture
def kept(tmp_path) -> Iterator[Kept]:
    with rn.open(tmp_path / "state", engine="local") as db:
        yield Kept(db, {"A": Part, "P": Place}, *VIEWS)


def part(k: int | None, x: float = 1.0, n: int | None = 1, d: Any = None) -> dict[str, Any]:
    return {"k": k, "x": x, "n": n, "d": d}


def of(kept: Kept, k: int | None) -> Any:
    (found,) = (row for row in kept.answer(correlated) if row["k"] == k)
    return found


def test_a_count_of_nothing_is_0_where_it_is_correlated(kept: Kept) -> None:
    """The count bug (ClickHouse 111615, spark 40811, duckdb 24514): the place has no row of its own."""
    kept.batch({"P": [{"k": 1}, {"k": 2}]})
    assert (of(kept, 1)["n"], of(kept, 1)["s"], of(kept, 1)["some"]) == (0, None, False)
    kept.batch({"A": [part(1)]})
    assert (of(kept, 1)["n"], of(kept, 2)["n"]) == (1, 0)
    kept.batch(delete={"A": [part(1)]})
    assert of(kept, 1)["n"] == 0


def test_a_keyed_group_of_nothing_is_no_row(kept: Kept) -> None:
    """Treating both alike is the other mistake (SPARK-43098)."""
    assert kept.answer(keyed) == [] and len(kept.answer(whole)) == 1
    kept.batch({"A": [part(1)]})
    kept.batch(delete={"A": [part(1)]})
    assert kept.answer(keyed) == [] and kept.answer(whole)[0]["n"] == 0


def test_a_global_fold_keeps_and_regains_its_row(kept: Kept) -> None:
    """risingwave 4954, 5882; turso 8258; pgsql-ivm 90."""
    for _ in range(3):
        kept.batch({"A": [part(1), part(2)]})
        assert len(kept.answer(whole)) == 1
        kept.batch(delete={"A": [part(1), part(2)]})
        assert len(kept.answer(whole)) == 1


def test_a_group_that_was_emptied_fills_again(kept: Kept) -> None:
    """turso 8531: it was gone for ever."""
    kept.batch({"A": [part(1)], "P": [{"k": 1}]})
    kept.batch(delete={"A": [part(1)]})
    kept.batch({"A": [part(1, n=5)]})
    assert [row["s"] for row in kept.answer(keyed)] == [5] and of(kept, 1)["s"] == 5


def test_a_sum_whose_last_value_goes_is_null_again(kept: Kept) -> None:
    """risingwave 7412: rows of NULL are left, and their sum is not 0."""
    kept.batch({"A": [part(1, n=3), part(1, n=None)], "P": [{"k": 1}]})
    kept.batch(delete={"A": [part(1, n=3)]})
    assert of(kept, 1)["s"] is None and of(kept, 1)["n"] == 1
    assert kept.answer(keyed) == [{"k": 1, "n": 1, "x": 1.0, "s": None}]


def test_a_sum_of_zero_is_no_missing_group(kept: Kept) -> None:
    """doris 68113: presence is a count of rows."""
    kept.batch({"A": [part(1, n=4), part(1, n=-4)]})
    assert kept.answer(keyed) == [{"k": 1, "n": 2, "x": 2.0, "s": 0}]
    kept.batch({"A": [part(2, n=0)]})
    assert {row["k"] for row in kept.answer(keyed)} == {1, 2}


def test_null_and_nan_are_keys(kept: Kept) -> None:
    """A delta join by = never finds the row again (voltdb 3901, HIVE-24775); as a condition NULL equals nothing."""
    kept.batch({"A": [part(None), part(None)], "P": [{"k": None}]})
    assert kept.answer(keyed) == [{"k": None, "n": 2, "x": 2.0, "s": 2}]
    assert of(kept, None)["n"] == 0
    kept.batch(delete={"A": [part(None), part(None)]})
    assert kept.answer(keyed) == [] == kept.answer(once)


def test_a_key_that_is_null_has_no_rows_by_equal(kept: Kept) -> None:
    """What is folded of the rows of a key is folded with the group of that key, whose rows are equal by <=>."""
    kept.batch({"A": [part(None), part(None, n=5), part(1, n=3)]})
    rows = {row["k"]: row for row in kept.answer(own)}
    assert rows[None] == {"k": None, "n": 0, "s": None, "d": None, "some": False, "all": True}
    assert (rows[1]["n"], rows[1]["s"], rows[1]["some"]) == (1, 3, True)
    kept.batch({"A": [part(None, n=None), part(1, n=None)]}, delete={"A": [part(None, n=5)]})
    found = {(row["key"]["k"], row["key"]["n"]): row["n"] for row in kept.answer(several)}
    assert found == {(None, 1): 0, (None, None): 0, (1, 3): 1, (1, None): 0}
    kept.batch(delete={"A": [part(None), part(None, n=None)]})
    assert {row["k"] for row in kept.answer(own)} == {1}


def test_doubles_do_not_drift(kept: Kept) -> None:
    """0.1 + 0.2 - 0.1 - 0.2 and 2^54 + 1 - 2^54 (doris 68113, jazz 1298); fixed point would wrap or lose 10^-39
    (materialize 15186)."""
    kept.batch({"A": [part(1, 0.1), part(1, 0.2)]})
    assert kept.answer(whole)[0]["x"] == math.fsum([0.1, 0.2])
    kept.batch({"A": [part(1, 2.0**54), part(1, 1.0), part(1, 1e-39), part(1, 1e300)]}, {"A": [part(1, 0.1)]})
    kept.batch(delete={"A": [part(1, 2.0**54), part(1, 1e300)]})
    assert kept.answer(whole)[0]["x"] == math.fsum([0.2, 1.0, 1e-39])
    kept.batch(delete={"A": [part(1, 0.2), part(1, 1.0), part(1, 1e-39)]})
    assert kept.answer(whole)[0]["x"] is None


def test_nan_and_infinity_can_be_taken_back(kept: Kept) -> None:
    """They absorb in a sum, so they are counted apart (DBToaster; materialize 8492)."""
    kept.batch({"A": [part(1, 2.5), part(1, math.inf)]})
    assert kept.answer(whole)[0]["x"] == math.inf
    kept.batch({"A": [part(1, -math.inf)]})
    assert math.isnan(kept.answer(whole)[0]["x"])
    kept.batch(delete={"A": [part(1, math.inf), part(1, -math.inf)]})
    assert kept.answer(whole)[0]["x"] == 2.5


def test_a_decimal_sum_does_not_wrap_on_its_way(kept: Kept) -> None:
    """An intermediate overflow that the result does not have (datafusion-comet 6002); doris 68123 wraps."""
    large = Decimal("999999999999.999999")
    kept.batch({"A": [part(1, d=large)] * 40 + [part(1, d=-large)] * 39, "P": [{"k": 1}]})
    assert of(kept, 1)["d"] == (large / 79).quantize(Decimal(10) ** -10)


def test_an_answer_beyond_its_type_changes_nothing(kept: Kept) -> None:
    kept.batch({"A": [part(1, n=2**62)]})
    for other in {*kept.db.views} - {"keyed"}:
        kept.db.drop(other)
    before = kept.db.version
    for policy in ("incremental", "full"):
        for beside in (1, 40):  # by rows, and by columns
            with pytest.raises(errors.EvaluationError) as caught, kept.db.batch(policy=policy) as b:
                b.insert("A", [part(1, n=2**62), *(part(k, n=3) for k in range(2, beside))])
            assert str(caught.value).startswith("view keyed, sum(x1.n): long overflow\n")
            assert str(caught.value).endswith("\n  row      key 1")
    assert kept.db.version == before and kept.answer(keyed)[0]["s"] == 2**62


def test_a_row_that_is_not_there_cannot_reach_a_group(kept: Kept) -> None:
    """It would be there -1 times (differential-dataflow 346; materialize 17908, 17963)."""
    kept.batch({"A": [part(1)]})
    with pytest.raises(errors.RipplenestError), kept.db.batch() as b:
        b.delete("A", [part(2)])
    assert kept.answer(once) == [1]


def test_one_of_several_equal_rows_is_still_there(kept: Kept) -> None:
    """Distinct keeps a row while one copy is left (openivm-spark, HIVE-28050); EXCEPT ALL takes copy by copy."""
    kept.batch({"A": [part(1), part(1)]})
    kept.batch(delete={"A": [part(1)]})
    assert kept.answer(once) == [1] == kept.answer(left)
    kept.batch({"P": [{"k": 1}]})
    assert kept.answer(left) == []


def test_who_compares_a_sum_hears_when_the_comparison_changes(tmp_path) -> None:
    """Who is asked for is read when a sum passes the bound, and not with every new sum."""
    (found,) = rn.explain(large).json()["groups"]
    assert found["shown"] == {"answer": "value > 2"} and found["nothing"] == ["bool? null"]
    with rn.open(tmp_path / "state", engine="local") as db:
        kept = Kept(db, {"A": Part}, large)
        kept.batch({"A": [part(1, float(i), n=int(i == 0)) for i in range(20)]})
        reports = [kept.batch({"A": [part(1, n=n)]}) for n in (1, 1, 5, -6)]
    read = [r.rows_read for r in reports]
    assert [r.rows_out.get("large", 0) > 1 for r in reports] == [False, True, False, True]
    assert max(read[0], read[2]) < 20 <= min(read[1], read[3])


def test_in_and_out_in_one_batch_is_nothing(kept: Kept) -> None:
    """An answer that was never passed on cannot be taken back (materialize 7472)."""
    kept.batch({"P": [{"k": 1}]})
    kept.batch({"A": [part(1)]})
    report = kept.batch({"A": [part(1)]}, {"A": [part(1)]})
    assert not report.rows_out and of(kept, 1)["n"] == 1


def test_both_sides_of_an_outer_join_in_one_batch(kept: Kept) -> None:
    """The row without partner goes when its partner comes, and comes again when that goes."""
    kept.batch({"P": [{"k": 1}]})
    assert kept.answer(joined) == [{"p": 1, "a": None, "n": None}]
    kept.batch({"A": [part(1)], "P": [{"k": 2}]})
    kept.batch({"A": [part(3)]}, {"P": [{"k": 1}]})
    assert [(row["p"], row["a"]) for row in kept.answer(joined)] == [(None, 1), (None, 3), (2, None)]


def test_the_place_and_its_rows_in_one_batch(kept: Kept) -> None:
    """Old and new mixed: the answer of nothing is passed on with a place that gets rows at once."""
    kept.batch({"A": [part(7, n=2)], "P": [{"k": 7}]})
    assert of(kept, 7)["s"] == 2
    kept.batch(delete={"A": [part(7, n=2)], "P": [{"k": 7}]})
    kept.batch({"P": [{"k": 7}, {"k": 7}]})
    assert [row["n"] for row in kept.answer(correlated)] == [0, 0]


@rn.view
def outer(A: Bag[Place], P: Bag[Place], E: Bag[Place]):
    """A group whose places are bags of a side of a join, which is there or not, and made of another bag."""
    return [
        {"e": e.k, "p": p.k}
        for e in E
        for p, j in rn.full_join(P, [{"of": [e for a in h["all"]]} for h in [{"all": A} for f in E]], lambda p, j: True)  # noqa: ARG005
        for g in [{"rows": rows} for key, rows in rn.group_by(j["of"], lambda x: x.k)]
        if len([1 for k in rn.group_by(g["rows"], lambda x: x.k)]) <= 1
    ]


def test_a_place_that_is_a_bag_made_of_bags(tmp_path: Path) -> None:
    one, two, none = {"k": 1}, {"k": 2}, {"k": None}
    with rn.open(tmp_path / "state", engine="local") as db:
        kept = Kept(db, {"A": Place, "P": Place, "E": Place}, outer)
        kept.batch({"A": [one], "P": [one, none], "E": [two]})
        assert len(kept.answer(outer)) == 2
        kept.batch({"A": [one, none], "E": [none, two]}, {"P": [one]})
        kept.batch({"P": [two]}, {"A": [one, one, none]})
        assert kept.answer(outer) == []
