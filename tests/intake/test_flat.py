"""Relations without inner bags: by columns a batch does what it does by rows, and fails with the same words.

Every combination of verbs, keys present or not, NULL and NaN, rows that come and go in one batch, on what earlier
batches have left.
"""

import tempfile
from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law

import ripplenest as rn
from ripplenest.errors import BatchConflict
from ripplenest.intake import apply
from ripplenest.nrc.errors import RipplenestError
from ripplenest.nrc.values import NAN
from ripplenest.state import commits

COUNTS: Counter[str] = Counter()
NEVER = 1 << 40


@rn.record
class Inner:
    b: float | None
    c: str


@rn.record
class Row:
    a: int
    inner: Inner
    d: str | None


@rn.view
def related(R: rn.Bag[Row]):
    return [{"a": r.a, "others": [s.d for s in R if s.inner.c == r.inner.c]} for r in R]


def random_row(c: Choices) -> dict[str, object]:
    if c.one_in(3):
        inner = {"b": c.pick((1.5, None, NAN, -0.0, 0.0)), "c": c.pick(("x", "y"))}
        return {"a": c.number(4), "inner": inner, "d": c.pick((None, "", "é"))}
    return {"a": c.number(2), "inner": {"b": 0.0, "c": "x"}, "d": None}


def random_batch(c: Choices) -> list[tuple[str, list[dict[str, object]]]]:
    verbs = ("insert", "insert", "delete", "upsert")
    return [(c.pick(verbs), [random_row(c) for _ in range(c.number(4))]) for _ in range(1 + c.number(3))]


def life(key: str | None, batches: list[list[tuple[str, list[dict[str, object]]]]], few: int) -> list[object]:
    """What each batch did or said, and what there was after it."""
    seen: list[object] = []
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(apply, "FEW", few)
        with rn.open(f"{folder}/s", engine="local") as db:
            db.relation("R", Row, key=key)
            db.create(related)
            for operations in batches:
                try:
                    with db.batch() as b:
                        for verb, rows in operations:
                            getattr(b, verb)("R", rows)
                    seen.append((b.report.rows_in, b.report.rows_out))
                except RipplenestError as error:
                    seen.append(str(error))
                    COUNTS[type(error).__name__] += 1
                snapshot = db._state.snapshot()
                seen.append({t: snapshot.scan(t).counts() for t in sorted(db._store.tables())})
                COUNTS["rows"] += len(snapshot.scan("R").counts())
            assert db.verify().ok
    return seen


def random_batches(c: Choices) -> list[list[tuple[str, list[dict[str, object]]]]]:
    return [random_batch(c) for _ in range(1 + c.number(5))]


@pytest.mark.parametrize("key", [None, "a"])
@law(random_batches, examples=25)
def test_by_columns_as_by_rows(key: str | None, batches: list[list[tuple[str, list[dict[str, object]]]]]) -> None:
    if key is None:
        batches = [[(verb.replace("upsert", "insert"), rows) for verb, rows in batch] for batch in batches]
    assert life(key, batches, 0) == life(key, batches, NEVER)


def test_enough_was_met() -> None:
    assert COUNTS["DuplicateKey"] > 20 and COUNTS["RowNotThere"] > 20 and COUNTS["rows"] > 500, COUNTS


def test_tiny_operations_are_run_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    run = apply.FlatChanges.run
    monkeypatch.setattr(apply.FlatChanges, "run", lambda self, verb, given: (seen.append(verb), run(self, verb, given)))
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Row, key="a")
        many = [{"a": i, "inner": {"b": None, "c": "x"}, "d": None} for i in range(100)]
        with db.batch() as b:
            b.insert("R", many)
            b.delete("R", many[:90])
        with db.batch() as b:
            for row in many[:90]:
                b.insert("R", [row])
        assert seen == ["insert", "delete"]


def test_a_batch_of_an_earlier_release_is_not_applied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is of rows and not of columns."""
    digest = commits._digest
    rows = [{"a": i, "inner": {"b": None, "c": "x"}, "d": None} for i in range(3)]

    def again(rows: list[dict[str, object]]) -> rn.Report:
        with db.batch("s", 1) as b:
            b.insert("R", rows)
        return b.report

    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Row, key="a")
        with monkeypatch.context() as patch:
            patch.setattr(commits, "_digest", lambda operations, by_columns=False: digest(operations, by_columns))
            assert again(rows).applied
        assert not again(rows[::-1]).applied
        with pytest.raises(BatchConflict):
            again(rows[1:])
