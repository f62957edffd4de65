"""The first rows of keys under change: what sorting finds again, and reading on from where the answer ended."""

import tempfile
from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.ordering import first_copies, key_of, ordering, row_of, shown
from support.sizes import many
from support.states import MEMORY

from ripplenest.data.order import By, First, Firsts, Ordering
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import LONG, STRING, Base, nullable
from ripplenest.run.refill import refilled
from ripplenest.store import Change, Store, TableSpec

COUNTS: Counter[str] = Counter()
TYPES = (nullable(LONG), Base("double", True), nullable(STRING))


def of_pairs(counts: dict[Row, int]) -> Rows:
    return Rows.of_pairs(TYPES, counts.items())


def step(store: Store, o: Ordering, limit: int, answer: Rows, delta: Rows) -> tuple[Rows, int]:
    """One batch: the answer after it, and the rows that were read; the touched keys alone are looked at."""
    touched = {key_of(row, o) for row in delta.consolidated().counts()}
    held = {row: n for row, n in answer.counts().items() if key_of(row, o) in touched}
    tables = store.snapshot()
    done = refilled("t", o, limit, of_pairs(held), delta, lambda *asked: tables.first("t", Firsts(o, *asked)))
    after = answer.plus(done.change).consolidated()
    assert shown({row: n for row, n in after.counts().items() if key_of(row, o) in touched}) == shown(
        done.answer.counts()
    )
    store.commit(Change({"t": delta}), store.version)
    COUNTS["read"] += done.read > 0
    COUNTS["nothing read"] += not done.read
    return after, done.read


def batch(c: Choices, counts: Counter[Row], o: Ordering) -> Counter[Row]:
    """Rows come and go; now and then a key is emptied."""
    delta: Counter[Row] = Counter()
    rows = sorted((row for row, n in counts.items() if n), key=repr)
    if rows and c.one_in(4):
        gone = key_of(c.pick(rows), o)
        delta.update({row: -counts[row] for row in rows if key_of(row, o) == gone})
        COUNTS["emptied"] += 1
    for _ in range(c.pick((1, 2, 6))):
        row = c.pick(rows) if rows and c.one_in(2) else row_of(c, TYPES, 6)
        delta[row] += c.pick((1, 2)) if c.one_in(2) else -min(counts[row] + delta[row], c.pick((1, 2, 9)))
    return delta


@law(examples=many(28, 250))
def test_refilling_is_sorting(c: Choices) -> None:
    """Law: refill = sort, over any history: ties, copies, NULL, NaN, keys that are emptied and filled again."""
    o, limit, counts = ordering(c, len(TYPES)), c.pick((1, 2, 3, 8)), Counter[Row]()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(folder) as store:
        store.commit(Change(tables=(TableSpec("t", TYPES, ((0,),), (o,)),)), 0)
        answer = Rows.empty(TYPES)
        for _ in range(6):
            delta = batch(c, counts, o)
            counts.update(delta)
            rows = of_pairs(delta)
            before = Counter(answer.counts())
            answer, _ = step(store, o, limit, answer, rows)
            wanted = first_copies(counts, o, lambda _: limit)
            assert shown(answer.counts()) == shown(wanted)
            COUNTS["changed"] += before != wanted


def test_the_law_met_what_it_is_about():
    assert all(COUNTS[what] > 20 for what in ("read", "nothing read", "emptied", "changed")), COUNTS


MANY = 20_000
ORDER = Ordering((0,), (By(1),))


def of_range(first: int, end: int, weight: int = 1) -> Rows:
    return Rows.of_pairs(TYPES, [((1, float(i), "x"), weight) for i in range(first, end)])


@pytest.fixture
def crowd(tmp_path):
    """A key of 20,000 rows, and one beside it."""
    with Store.open(tmp_path / "state") as store:
        spec = TableSpec("t", TYPES, ((0,),), (ORDER,))
        store.commit(Change({"t": of_range(0, MANY).plus(Rows.of_pairs(TYPES, [((2, 0.5, "y"), 1)]))}, (spec,)), 0)
        yield store


@pytest.mark.parametrize(("limit", "batches", "most"), [(1, 300, 4), (10, 20, 13)])
def test_the_least_goes_batch_after_batch_and_few_rows_are_read(crowd, limit, batches, most):
    """However many rows went before, and so stand before the answer with their negation."""
    answer, reads = of_range(0, limit), []
    for i in range(batches):
        answer, read = step(crowd, ORDER, limit, answer, of_range(i, i + 1, -1))
        reads.append(read)
        assert answer.counts() == of_range(i + 1, i + 1 + limit).counts()
    assert max(reads) <= most and sum(reads) <= 4 * batches, reads


def test_what_comes_in_reads_nothing():
    def never(*asked: object) -> First:
        raise AssertionError(asked)

    for delta in (of_range(5, 6), of_range(-3, 0), of_range(0, 40), of_range(30, 50, -1)):
        done = refilled("t", ORDER, 20, of_range(0, 20), delta, never)
    assert done.change.is_empty and not done.read


def test_many_that_go_at_once_are_passed_over_once(crowd):
    """A change is no stored row, so what it takes away is read once, and what comes next is read beside it."""
    answer, read = step(crowd, ORDER, 2, of_range(0, 2), of_range(0, 1000, -1))
    assert answer.counts() == of_range(1000, 1002).counts() and read < 2500


@pytest.mark.parametrize(
    ("held", "delta"),
    [
        (of_range(0, 2), of_range(5, 6, -1)),  # all that there is, and what goes is not there
        (of_range(0, 3), of_range(-1, 0, -1)),  # before the bound
        (of_range(0, 4), of_range(0, 1)),  # more than there may be
        (of_range(0, 2).negated(), of_range(0, 1)),
    ],
)
def test_rows_that_are_there_less_than_nothing_are_refused(crowd, held, delta):
    with pytest.raises(LawBroken) as caught:
        refilled("t", ORDER, 3, held, delta, lambda *asked: crowd.snapshot().first("t", Firsts(ORDER, *asked)))
    assert caught.value.where.startswith("t")


def test_what_is_read_and_is_there_less_than_nothing_is_refused(crowd):
    delta = of_range(2, 3, -1).plus(of_range(3, 4, -2))
    with pytest.raises(LawBroken, match="less than 0 times"):
        refilled("t", ORDER, 3, of_range(0, 3), delta, lambda *a: crowd.snapshot().first("t", Firsts(ORDER, *a)))


def test_nothing_of_nothing_is_nothing():
    empty = Rows.empty(TYPES)
    done = refilled("t", ORDER, 3, empty, empty, lambda *_: First(empty, 0))
    assert done.answer.is_empty and done.change.is_empty and not done.read
