"""R21 to R23: deletes of what is not there, deep updates that lead nowhere, and NULL in every place.

``test_batches.py`` and ``test_deep.py`` try the API call by call. Whatever is refused leaves the version and the whole
state as they were. R20 is in ``test_bad_rows.py``, R24 in ``test_edge_values.py``.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.shop import (
    ANN,
    BOB,
    FILMS,
    Customer,
    Movie,
    customer,
    customers,
    item,
    movie,
    movies,
    opened,
    order,
    tags,
)
from support.states import recomputed, refused, state

import ripplenest as rn
from ripplenest import Bag, errors


@pytest.fixture
def db(folder: Path) -> Iterator[rn.Database]:
    """Two customers, three films, and two views."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in (customers, tags):
            db.create(view)
        yield db


# ---------------------------------------------------------------- R21: deletes


def test_random_batches_against_a_bag(folder: Path) -> None:
    """R21: batches of inserts and deletes of a few equal rows, with inner bags and without. A batch is refused exactly
    when one of its deletes finds no row left at its turn, and then nothing of it happened; otherwise the rows are those
    of a plain bag. Deleting and inserting again in one batch is among them."""
    chance = Random(21)
    rows = [("O", order(k, *map(item, parts))) for k in (1, 2) for parts in ((), (1,), (1, 1))]
    rows += [("M", movie(name)) for name in "abc"]
    held: Counter[int] = Counter()
    seen: Counter[str] = Counter()
    with rn.open(folder / "state", engine="local") as db:
        db.relation("O", ORDER)
        db.relation("M", Movie)
        db.create(orders)
        db.create(movies)
        for _ in range(60):
            batch = [_operation(chance) for _ in range(chance.randint(1, 3))]
            after, possible = _applied(held, batch)
            version = db.version
            try:
                with db.batch() as b:
                    for verb, which in batch:
                        for name in dict.fromkeys(rows[i][0] for i in which):
                            getattr(b, verb)(name, [rows[i][1] for i in which if rows[i][0] == name])
            except errors.RowNotThere:
                assert not possible and db.version == version, batch
            else:
                assert possible, batch
                held = +after
                seen["again"] += any(v == "delete" and set(w) & set(u) for v, w in batch for _, u in batch[1:])
                seen["several"] += any(n > 1 for n in held.values())
            seen["possible" if possible else "impossible"] += 1
            there = [rows[i] for i in held.elements()]
            assert db.view("movies").rows() == movies([row for name, row in there if name == "M"])
            assert db.view("orders").rows() == orders([row for name, row in there if name == "O"])
    assert seen["possible"] > 20 and seen["impossible"] > 20 and seen["again"] > 5 and seen["several"] > 5, seen


Step = tuple[str, list[int]]


def _operation(chance: Random) -> Step:
    """A verb, and which rows; one of them more often than others, so that there are several of it."""
    which = chance.choices(range(9), weights=[*[1] * 8, 8], k=chance.randint(1, 3))
    return chance.choice(("insert", "delete", "delete")), which


def _applied(held: Counter[int], batch: list[Step]) -> tuple[Counter[int], bool]:
    """The rows after a batch, and whether every delete finds one."""
    after, possible = held.copy(), True
    for verb, which in batch:
        for i in which:
            after[i] += 1 if verb == "insert" else -1
            possible = possible and after[i] >= 0
    return after, possible


@rn.record
class Part:
    part: int
    qty: int
    tags: Bag[str]


ORDER = rn.record(type("Order", (), {"__annotations__": {"orderkey": int, "items": Bag[Part]}}))


@rn.view
def orders(O: Bag[ORDER]):  # type: ignore[valid-type] # noqa: E741
    return [{"k": o.orderkey, "all": o.items, "parts": [i.part for i in o.items]} for o in O]


def test_deletes_in_an_inner_bag(db: rn.Database) -> None:
    """R21, in an inner bag, by its owner's key and by label: beyond what is there, after it was taken, and delete and
    insert again in one batch."""
    label = next(row[2] for row in db._store.snapshot().scan("C").counts() if row[0] == 7)
    first, second = ANN["orders"]
    for address in ({"custkey": 7}, {"label": label}):
        for deletes in ([[second, second]], [[second], [second]], [[first], [order(99)]], [[order(12, item(1))]]):
            where = f"operation {len(deletes) - 1} (delete C.orders): rows["
            with refused(db, errors.RowNotThere, where), db.batch() as b:
                for rows in deletes:
                    b.at("C", **address).orders.delete(rows)
        with refused(db, errors.RowNotThere, "operation 0 (delete C.orders)"), db.batch() as b:
            b.at("C", **address).orders.delete([order(13)])
            b.at("C", **address).orders.insert([order(13)])
        with db.batch() as b:
            b.at("C", **address).orders.delete([first, second])
            b.at("C", **address).orders.insert([second, first, second])
            b.at("C", **address).orders.delete([second])
        assert db.view("customers").rows() == customers([ANN, BOB])
    with db.batch() as b:
        b.at("C", custkey=7).orders.delete([first, second])
    assert not db._store.snapshot().scan("C.orders.items").counts()


# ---------------------------------------------------------------- R22: labels


@pytest.fixture
def labels(db: rn.Database) -> dict[str, int]:
    """What labels of inner bags are made of: of Ann's orders, of order 12's items, and of a bag of another relation."""
    db.relation("D", Customer, key="custkey")
    db.load("D", [ANN])

    def of(table: str, column: int, value: int) -> int:
        rows = db._store.snapshot().scan(table).counts()
        return next(int(row[-1]) for row in rows if row[column] == value)  # type: ignore[call-overload]

    return {"orders": of("C", 0, 7), "items": of("C.orders", 1, 12), "other": of("D", 0, 7)}


class Struct:
    """A label as a Spark row has it."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def asDict(self) -> dict[str, Any]:
        return self.fields


def test_labels_of_other_places(db: rn.Database, labels: dict[str, int]) -> None:
    """R22: a label of another level, of another relation, of a site of a view, one that says another site than it is
    of, and values that are no label at all."""
    for label in (labels["items"], 12, (12,), {"custkey": 12}, Struct(site="C.orders", **{"C.orders.custkey": 12})):
        for verb in ("insert", "delete"):
            where = f"operation 0 ({verb} C.orders): C.orders"
            with refused(db, errors.UnknownLabel, where, "no row holds"), db.batch() as b:
                getattr(b.at("C", label=label).orders, verb)([order(1)])
    of_view = Struct(**{"o.orderkey": 12})
    wrong = (of_view, Struct(), (7, 8), (), None, "7", b"id", 7.0, [labels], "' OR 1=1 --", {"custkey": "7"}, 2**63)
    for label in wrong:
        with refused(db, errors.UnknownLabel, "C: not a label of", "C.orders(custkey: long)"), db.batch() as b:
            b.at("C", label=label).orders.insert([order(1)])
    for label in (Struct(site="C.orders.items", **{"C.orders.items.id": labels["items"]}), {"id": labels["items"]}):
        with refused(db, errors.UnknownLabel, "C.orders: not a label", "custkey: long"), db.batch() as b:
            b.at("C", label=label).orders.insert([order(1)])


def test_labels_that_go_in_the_same_batch(db: rn.Database, labels: dict[str, int]) -> None:
    """R22: a label that the batch deleted before is gone, however it went; one that it deletes after is not."""
    goes = [
        lambda b: b.delete("C", [ANN]),
        lambda b: b.upsert("C", [customer(7, "Ann", None)]),
        lambda b: b.at("C", custkey=7).orders.delete(ANN["orders"]),
        lambda b: b.at("C", label=labels["orders"]).orders.delete([order(12)]),
        lambda b: b.upsert("C", [customer(7, "Ann", ANN["orders"][:1])]),
    ]
    for go in goes:
        with refused(db, errors.UnknownLabel, "operation 1 (insert C.orders.items)", "no row holds"), db.batch() as b:
            go(b)
            b.at("C", label=labels["items"]).orders.items.insert([item(1)])
    with refused(db, errors.UnknownKey, "operation 1 (insert C.orders.items): C.orders"), db.batch() as b:
        b.at("C", custkey=7).orders.delete([order(12)])
        b.at("C", custkey=7).orders.at(orderkey=12).items.insert([item(1)])
    with db.batch() as b:
        b.at("C", label=labels["items"]).orders.items.insert([item(1)])
        b.at("C", label=labels["orders"]).orders.delete([order(12, item(1))])
    assert db.view("customers").rows() == customers([customer(7, "Ann", ANN["orders"][:1]), BOB])


def test_the_same_label_twice(db: rn.Database, labels: dict[str, int]) -> None:
    """R22: operations on one bag see each other, in their order; what the second cannot do undoes the first."""
    with refused(db, errors.RowNotThere, "operation 2 (delete C.orders.items): rows[0]"), db.batch() as b:
        for verb in ("insert", "delete", "delete"):
            getattr(b.at("C", label=labels["items"]).orders.items, verb)([item(1)])
    with db.batch() as b:
        for verb in ("insert", "insert", "delete"):
            getattr(b.at("C", label=labels["items"]).orders.items, verb)([item(1)])
        b.at("C", custkey=7).orders.at(orderkey=12).items.insert([item(2)])
    want = customer(7, "Ann", [ANN["orders"][0], order(12, item(1), item(2))])
    assert db.view("customers").rows() == customers([want, BOB])


# ---------------------------------------------------------------- R23: NULL


@rn.record
class Loose:
    k: int | None
    s: str | None
    xs: Bag[int | None] | None


@rn.view
def loosely(N: Bag[Loose], W: Bag[int | None]):
    """Groups of a NULL key, NULLs inside bags, NULL bags, and whole rows that are NULL."""
    return [
        {
            "k": n.k,
            "xs": n.xs,
            "same": [m.s for m in N if m.k == n.k or (m.k is None and n.k is None)],
            "whole": [w for w in W if w == n.k or (w is None and n.k is None)],
        }
        for n in N
    ]


NULLS = [{"k": k, "s": s, "xs": xs} for k in (None, 0) for s in (None, "") for xs in (None, [], [None], [None, None])]


def test_nulls_everywhere(folder: Path) -> None:
    """R23: NULL in keys, groups, bags and whole rows, through a load, batches and a reopened state: each is one value,
    other than 0, "" and the empty bag, and goes when it is deleted."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("N", Loose)
        db.relation("W", int | None)
        db.relation("K", Loose, key=("k", "s"))
        db.create(loosely)
        db.load("N", NULLS[::2])
        db.load("W", [None, 0, None])
        with refused(db, errors.DuplicateKey, "load K: rows[1]"):
            db.load("K", [NULLS[0], NULLS[1]])
        db.load("K", [NULLS[0]])
        with db.batch() as b:
            b.insert("N", NULLS[1::2])
            b.delete("W", [None])
        with refused(db, errors.DuplicateKey, "insert K"), db.batch() as b:
            b.insert("K", [NULLS[1]])
        with db.batch() as b:
            b.upsert("K", [NULLS[1], {"k": None, "s": "", "xs": []}, {"k": 0, "s": None, "xs": [1]}])
            b.at("K", k=None, s=None).xs.insert([None])
            b.at("K", k=None, s="").xs.insert([None, 7])
            b.at("K", k=None, s="").xs.delete([7])
        recomputed(db, {"loosely": loosely}, {"N": NULLS, "W": [0, None]})
        before = state(db)
    with rn.open(folder / "state", engine="local") as db:
        assert state(db) == before
        for rows in ([{**NULLS[0], "xs": [0]}], [NULLS[0]] * 2, [{"k": None, "s": None, "xs": [None] * 3}]):
            with refused(db, errors.RowNotThere, "delete N"), db.batch() as b:
                b.delete("N", rows)
        with refused(db, errors.RowNotThere, "delete W"), db.batch() as b:
            b.delete("W", [None, None])
        with refused(db, errors.UnknownLabel, "is NULL"), db.batch() as b:
            b.upsert("K", [NULLS[0]])
            b.at("K", k=None, s=None).xs.insert([1])
        with db.batch() as b:
            b.delete("N", NULLS[:8])
            b.delete("W", [None])
        recomputed(db, {"loosely": loosely}, {"N": NULLS[8:], "W": [0]})
        with db.batch() as b:
            b.delete("N", NULLS[8:])
            b.delete("W", [0])
            b.delete("K", [{"k": None, "s": None, "xs": [None]}, {"k": None, "s": "", "xs": [None]}])
            b.delete("K", [{"k": 0, "s": None, "xs": [1]}])
        assert not any(db._store.snapshot().scan(t).consolidated().counts() for t in db._store.tables())


def test_null_where_there_is_none(db: rn.Database) -> None:
    """R23: NULL rows, keys and addresses where the type has no NULL."""
    db.relation("W", int)
    for relation, rows, place in [("M", [None], "rows[0]"), ("W", [1, None], "rows[1]"), ("C", [customer(None)], "rows[0].custkey")]:  # type: ignore[arg-type] # fmt: skip # noqa: E501
        for verb in ("insert", "delete"):
            with refused(db, errors.WrongValue, f"{verb} {relation}: {place}"), db.batch() as b:
                getattr(b, verb)(relation, rows)
    with refused(db, errors.WrongValue, "C.custkey: NULL"), db.batch() as b:
        b.at("C", custkey=None)


@rn.record
class Lent:
    id: int
    start: int | None
    end: int | None
    qty: int


@rn.record
class Today:
    id: int
    now: int


@rn.view
def lent(L: Bag[Lent], T: Bag[Today]):
    """Several products compute the same, of one row and of several."""
    now = max(t.now for t in T)
    valid = [x for x in L if (x.end is None or now < x.end) and (x.start is None or x.start <= now)]
    return [
        {"qty": q, "least": min((abs(x.qty * 5) for x in xs), default=-1)}
        for q, xs in rn.group_by(valid, lambda x: x.qty)
    ]


@pytest.mark.parametrize("policy", ["incremental", "auto", "full"])
def test_rows_are_told_of_the_product_that_had_them(tmp_path: Path, policy: Any) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("L", Lent, key="id")
        db.relation("T", Today, key="id")
        db.load("L", [Lent(1, 1, 9, 2)])
        db.load("T", [Today(1, 5)])
        db.create(lent)
        with pytest.raises(errors.EvaluationError, match="long overflow"), db.batch(policy=policy) as b:
            b.insert("L", [Lent(5, 1, 9, -(2**62) - 1)])
        assert db.view("lent").rows() == [{"qty": 2, "least": 10}]


@rn.view
def parts(L: Bag[Lent], M: Bag[Lent]):
    """Products of rows of other tables that look alike."""
    return [{"id": x.id, "n": 10 // x.qty} for x in L] + [{"id": y.id, "n": 10 // y.qty} for y in M]


@pytest.mark.parametrize("rows", [1, 900])
def test_rows_are_told_of_their_own_relation(tmp_path: Path, rows: int) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("L", Lent, key="id")
        db.relation("M", Lent, key="id")
        db.create(parts)
        for name, other in ("LM", "ML"):
            with pytest.raises(errors.EvaluationError, match="division by zero") as caught, db.batch() as b:
                b.insert(name, [*(Lent(i, 1, 9, 2) for i in range(rows)), Lent(1000, 1, 9, 0)])
                b.insert(other, [Lent(i, 1, 9, 2) for i in range(rows)])
            assert f"row      {name} id 1000" in str(caught.value) and f"x1 = {name}.qty" in str(caught.value)
            assert caught.value.where == "view parts"
