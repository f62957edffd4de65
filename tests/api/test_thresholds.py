"""Rows that are compared with one value for all of them: who is above the average, and how many are."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from pyspark.sql import SparkSession
from support.by_tasks import all_by_tasks
from support.choices import Choices
from support.compiling import forget
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database, Int
from ripplenest.errors import NotIncremental
from ripplenest.plan import planned


@rn.record
class Part:
    n: int
    small: Int


@rn.record
class Account:
    id: int
    kind: int
    age: Int | None
    balance: int | None
    score: float
    price: rn.Decimal[8, 2]
    parts: Bag[Part]


@rn.record
class Sale:
    id: int
    kind: int
    n: int
    small: Int
    share: float
    paid: rn.Decimal[9, 4] | None


@rn.view
def above(A: Bag[Account]):
    """An integer beside a double; the value moves with each row that comes."""
    return [{"id": a.id} for a in A if a.balance > rn.avg(b.balance for b in A)]


@rn.view
def dear(A: Bag[Account], S: Bag[Sale]):
    """Decimals of other digits, and an integer of 32 bits beside one of 64."""
    return [{"id": a.id} for a in A if a.price >= rn.avg(s.paid for s in S)] + [
        {"id": -a.id} for a in A if a.age < max(s.n for s in S)
    ]


@rn.view
def below(A: Bag[Account], S: Bag[Sale]):
    """An integer of 32 bits beside a double, and beside how many there are."""
    return [{"id": a.id} for a in A if a.age <= rn.avg(s.small for s in S)] + [
        {"id": -a.id} for a in A if a.age > len(S)
    ]


@rn.view
def flagged(A: Bag[Account], S: Bag[Sale]):
    """As values: NULL where there are no sales."""
    return [
        {
            "id": a.id,
            "rich": a.balance > rn.avg(s.n for s in S),
            "kind": "b" if a.score < min(s.share for s in S) else "c",
        }
        for a in A
    ]


@rn.view
def counted(A: Bag[Account], S: Bag[Sale]):
    """How many of each kind are above, and which."""
    return [
        {
            "kind": kind,
            "n": len([a for a in some if a.balance > rn.avg(s.n for s in S)]),
            "rest": sum(a.balance for a in some if a.balance <= rn.avg(s.n for s in S)),
        }
        for kind, some in rn.group_by(A, lambda a: a.kind)
    ]


@rn.view
def within(A: Bag[Account], S: Bag[Sale]):
    """Rows of inner bags, as conditions and as values."""
    return [
        {
            "id": a.id,
            "large": [{"n": p.n} for p in a.parts if p.n > rn.avg(s.n for s in S)],
            "parts": [{"n": p.n, "is": p.small < sum(s.small for s in S) // 8} for p in a.parts],
            "of": sum(p.small for p in a.parts if p.small > rn.avg(s.share for s in S)),
        }
        for a in A
    ]


@rn.view
def spenders(A: Bag[Account], S: Bag[Sale]):
    """Whose total is above the average, and above the average of totals; of nothing there is no total."""
    return [{"id": a.id} for a in A if sum(s.n for s in S if s.kind == a.id) > rn.avg(s.n for s in S)] + [
        {"id": -a.id}
        for a in A
        if sum(p.n for p in a.parts) >= rn.avg(t for t in [sum(p.n for p in b.parts) for b in A])
    ]


@rn.view
def best(A: Bag[Account], S: Bag[Sale]):
    """Whose greatest is not far from the greatest of all, and whose least is less than the least part."""
    return [
        {"id": a.id, "n": len(a.parts)}
        for a in A
        if max(s.n for s in S if s.kind == a.id) > max(s.n for s in S) - 3
    ] + [
        {"id": -a.id, "n": 0}
        for a in A
        if min(s.small for s in S if s.kind == a.kind) < min(p.small for b in A for p in b.parts)
    ]


@rn.view
def kinds(A: Bag[Account], S: Bag[Sale]):
    """Groups by what they come to, with their rows; how many there are is also known of none."""
    return [
        {"kind": k, "ids": [s.id for s in some]}
        for k, some in rn.group_by(S, lambda s: s.kind)
        if sum(s.n for s in some) > rn.avg(a.balance for a in A)
    ] + [
        {"kind": -a.id, "ids": [p.n for p in a.parts]}
        for a in A
        if len([s for s in S if s.kind == a.id]) >= rn.avg(p.n for p in a.parts)
        and len(a.parts) <= rn.avg(b.age for b in A)
    ]


@rn.view
def beside(A: Bag[Account], S: Bag[Sale]):
    """Totals beside totals, in inner bags, and where none may be 0."""
    return [
        {
            "id": a.id,
            "others": [b.id for b in A if sum(p.n for p in b.parts) < sum(s.n for s in S if s.kind == a.id)],
            "some": (sum(s.small for s in S if s.kind == a.id) or 0) < rn.avg(s.small for s in S),
        }
        for a in A
    ]


@rn.view
def ranked(A: Bag[Account], S: Bag[Sale]):
    """Totals as values, beside others that are shown: NULL of no sales."""
    return [
        {
            "id": a.id,
            "sum": sum(s.n for s in S if s.kind == a.id),
            "top": sum(s.n for s in S if s.kind == a.id) > rn.avg(s.n for s in S),
        }
        for a in A
    ] + [
        {"id": -a.id, "sum": a.balance, "top": max(p.small for p in a.parts) >= rn.avg(s.small for s in S)} for a in A
    ]


@rn.view
def often(A: Bag[Account], S: Bag[Sale]):
    """How many there are, and sums that are 0 of nothing: there, the average may be less."""
    return [{"id": a.id} for a in A if len([s for s in S if s.kind == a.id]) > rn.avg(s.n for s in S) - 3] + [
        {"id": -a.id} for a in A if (sum(s.n for s in S if s.kind == a.id) or 0) <= rn.avg(s.n for s in S)
    ]


@rn.view
def marked(A: Bag[Account], S: Bag[Sale]):
    """The same as values, of inner bags and of groups."""
    return (
        [{"id": a.id, "most": len(a.parts) > rn.avg(s.n for s in S)} for a in A]
        + [
            {"id": -a.id, "most": rn.coalesce(max(s.small for s in S if s.kind == a.id), 1) < max(s.small for s in S)}
            for a in A
        ]
        + [
            {"id": 9 + kind, "most": len(some) >= rn.avg(a.age for a in A)}
            for kind, some in rn.group_by(S, lambda s: s.kind)
        ]
    )


@rn.view
def of_their_kind(A: Bag[Account]):
    """Of each group what is above, or not below, its own average."""
    return [
        {
            "kind": kind,
            "n": len([a for a in some if a.balance > rn.avg(b.balance for b in some)]),
            "sum": sum(a.age for a in some if a.score <= rn.avg(b.score for b in some)),
            "any": any(a.balance >= 3 * rn.avg(b.balance for b in some) for a in some),
            "mean": rn.avg(b.balance for b in some),
        }
        for kind, some in rn.group_by(A, lambda a: a.kind)
    ]


@rn.view
def last(A: Bag[Account], S: Bag[Sale]):
    """Beyond which there is no other of the same kind, or some; NULL is beyond nothing, and nothing beyond it."""
    return (
        [{"id": a.id, "n": 0} for a in A if not any(b.balance > a.balance for b in A if b.kind == a.kind)]
        + [{"id": a.id, "n": 1} for a in A if not [b for b in A if b.id != a.id and b.score < a.score]]
        + [{"id": a.id, "n": 2} for a in A if all(s.n <= a.balance for s in S if s.kind == a.kind)]
        + [{"id": a.id, "n": 3} for a in A if len([s for s in S if s.small >= a.age and s.kind == a.kind]) > 0]
        + [{"id": p.n, "n": 4} for a in A for p in a.parts if not any(s.n > p.n for s in S if s.kind == p.small)]
    )


@rn.view
def first(A: Bag[Account], S: Bag[Sale]):
    """The same as values, beside what their kind comes to."""
    return [
        {
            "id": a.id,
            "first": not any(b.balance < a.balance for b in A if b.kind == a.kind and b.id != a.id),
            "above": a.score > rn.avg(b.score for b in A if b.kind == a.kind),
        }
        for a in A
    ] + [{"id": -a.id, "first": a.age <= min(s.small for s in S if s.kind == a.kind), "above": True} for a in A]


VIEWS = (
    above, dear, below, flagged, counted, within, spenders, best, kinds, beside, ranked, often, marked, of_their_kind,
    last, first,
)  # fmt: skip
READ_BETWEEN = (above, dear, below, flagged, counted, within, spenders, best, ranked, often, marked)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, views: tuple[rn.View, ...] = VIEWS, spark: SparkSession | None = None) -> Database:
    db = rn.open(folder, spark=spark, engine="local" if spark is None else "spark")
    db.relation("A", Account, key="id", keys={"parts": "n"})
    db.relation("S", Sale, key="id")
    for view in views:
        db.create(view)
    return db


def account(c: Choices, key: int) -> Account:
    parts = [Part(n, c.number(9) - 2) for n in range(9) if c.one_in(3)]
    balance, age = (None if c.one_in(4) else c.number(9) - 2 for _ in range(2))
    far = c.pick((2**53 + 1, 2**53, -(2**53) - 1, 2**31)) if c.one_in(9) else balance
    return Account(key, c.number(2), age, far, c.number(8) / 2, Decimal(c.number(800)) / 100, parts)


def sale(c: Choices, key: int) -> Sale:
    n = c.pick((2**53, -(2**53) - 1, 2**54 - 1, 2**40)) if c.one_in(12) else c.number(9) - 2
    paid = None if c.one_in(4) else Decimal(c.number(80_000)).scaleb(-4)
    return Sale(key, c.number(4), n, c.number(9) - 2, c.number(8) / 2, paid)


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
@law(examples=many(8, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(5):
            with db.batch(policy="incremental") as b:
                for name, made in (("A", account), ("S", sale)):
                    if not c.one_in(3):
                        b.upsert(name, [made(c, key) for key in range(6) if c.one_in(2)])
                    if c.one_in(2):
                        b.discard_key(name, [{"id": key} for key in range(6) if c.one_in(2)])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "AS"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()))
            COUNTS.update(str(row["rich"]) for row in db.view("flagged").rows())
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert {view.name for view in VIEWS} | {"True", "False", "None"} <= COUNTS.keys()
    assert min(COUNTS.values()) > many(8, 300), COUNTS


@pytest.mark.long
@pytest.mark.parametrize("by_tasks", [False, True])
@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
def test_on_spark(folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, by_tasks: bool) -> None:
    c = Choices(Random(7).randrange)
    if by_tasks:
        all_by_tasks(monkeypatch)
    with opened(folder / "s", spark=spark) as db:
        for _ in range(3):
            with db.batch(policy="incremental") as b:
                b.upsert("A", [account(c, key) for key in range(6)])
                b.upsert("S", [sale(c, key) for key in range(6)])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "AS"})
        assert db.verify().ok


def of_before(folder: Path, monkeypatch: pytest.MonkeyPatch, *made: rn.View) -> Database:
    """A state of an earlier release, which read totals in no order."""
    with monkeypatch.context() as before:
        forget()
        before.setattr(planned, "READABLE", ())
        with opened(folder, made) as db:
            with db.batch() as b:
                b.insert("A", [Account(i, 0, 1, i, 0.0, Decimal(0), [Part(i, i)]) for i in range(ROWS)])
                b.insert("S", [Sale(i, i, i, 0, 0.0, None) for i in range(ROWS)])
            assert one_more(db, 7) > ROWS
    forget()
    return rn.open(folder, engine="local")


def one_more(db: Database, n: int) -> int:
    with db.batch() as b:
        b.upsert("S", [Sale(-1, -1, n, 0, 0.0, None)])
    return b.report.rows_read


def test_a_state_of_before_gets_the_orders_that_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first batch, if it has some: one without stays what other releases can open until a view is replaced.
    None is built anew."""
    with of_before(tmp_path / "some", monkeypatch, spenders, above) as db:
        assert db.waiting == {} and all(one_more(db, n) < 90 for n in range(3))
        assert [entry.note["kind"] for entry in db.history(4)] == ["batch", "batch", "batch", "index"]
        assert db.verify().ok
    with of_before(tmp_path / "none", monkeypatch, spenders) as db:
        assert one_more(db, 1) > ROWS and db.history(2)[1].note["kind"] == "batch"
        db.replace(spenders)
        assert one_more(db, 2) < 90 and db.verify().ok


ROWS = 3000


@pytest.mark.parametrize("view", READ_BETWEEN, ids=lambda view: view.name)
def test_a_value_that_moves_reads_what_lies_between(tmp_path: Path, view: rn.View) -> None:
    """Of three thousand accounts and parts some ten. Strict takes it; but of values in inner bags nobody says who holds
    them, and all of them change where there is no total any more."""
    with opened(tmp_path / "s", (view,)) as db:
        with db.batch() as b:
            made = (
                Account(i, i % 7, i, i * 10, float(i), Decimal(i), [Part(i * 10, i)]) for i in range(1, 1 + ROWS)
            )
            b.insert("A", list(made))
            b.insert("S", [Sale(i, i, 10 * i, i, float(i), Decimal(i)) for i in range(1, 1 + ROWS)])
        for n in (1, 2, 3):
            with db.batch(policy="incremental" if view is within else "strict") as b:
                b.upsert("A", [Account(-n, 9, 1, 2500, 1.0, Decimal(7), [])])
                b.upsert("S", [Sale(-n, -n, 10 * n, 1 - n, -float(n), Decimal(n))])
            assert b.report.rows_read < 90, b.report.rows_read
        assert db.verify().ok


@pytest.mark.parametrize("view", [of_their_kind, last, first], ids=lambda view: view.name)
def test_the_average_of_a_group_reads_what_lies_between(tmp_path: Path, view: rn.View) -> None:
    """And not the group, of a thousand accounts; so do its greatest and its least."""
    with opened(tmp_path / "s", (view,)) as db:
        with db.batch() as b:
            b.insert("A", [Account(i, i % 3, i, i * 10, float(i), Decimal(i), []) for i in range(1, 1 + ROWS)])
        for n in (1, 2, 3):
            with db.batch(policy="strict") as b:
                b.upsert("A", [Account(n, n % 3, n, 2500, 1.0, Decimal(7), [])])
            assert b.report.rows_read < 60, b.report.rows_read
        assert db.verify().ok


@rn.view
def judged(A: Bag[Account], S: Bag[Sale]):
    """More cases than are made."""
    return [
        {
            "id": a.id,
            "rich": a.balance > rn.avg(s.n for s in S),
            "old": a.age > rn.avg(s.small for s in S),
            "fine": a.score > rn.avg(s.share for s in S),
        }
        for a in A
    ]


@rn.view
def computed(A: Bag[Account], S: Bag[Sale]):
    """What may have no value is made in no cases; what is shown as it is becomes another of each row."""
    return [{"id": a.id, "rich": a.kind * 2 > max(s.n for s in S), "n": a.kind} for a in A]


@rn.view
def beyond(A: Bag[Account], S: Bag[Sale]):
    return [{"id": a.id, "far": a.kind - max(s.n for s in S)} for a in A]


KEPT = "is a value of each row, which most of them keep"


@pytest.mark.parametrize("view", [judged, computed, beyond], ids=lambda view: view.name)
def test_values_that_most_rows_keep_are_said_to_be_made_anew(tmp_path: Path, view: rn.View) -> None:
    with opened(tmp_path / "s", ()) as db:
        if view is beyond:
            db.create(view)
        else:
            with pytest.warns(UserWarning, match="A is read whole"):
                db.create(view)
            with db.batch() as b:
                b.insert("S", [Sale(1, 1, 2, 3, 0.5, None)])
            with pytest.raises(NotIncremental, match=KEPT) as refused, db.batch(policy="strict") as b:
                b.insert("S", [Sale(2, 1, 2, 3, 0.5, None)])
            assert "materialize" not in str(refused.value)
