"""Sum maps of products in a database: of a chain of matrices, kept fresh, shared, recomputed, verified, rolled back and
explained. The entries are the largest there are, so that sums have more digits than a decimal."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.summing import adding_up

import ripplenest as rn
from ripplenest.data.rows import Rows
from ripplenest.delta.program import Map
from ripplenest.nrc.functions.integers import decoded, encoded
from ripplenest.nrc.syntax import At
from ripplenest.run import trees, upward
from ripplenest.run.inputs import Run
from ripplenest.store.specs import Change

RELATIONS = "\n".join(f"relation {x} : Bag(⟨i: long, j: long, w: long?⟩)" for x in "ABCD")
ROWS = """[⟨i: a.i, l: d.j, a: a.w, b: b.w, c: c.w, d: d.w⟩
  | a in A, b in B, b.i = a.j, c in C, c.i = b.j, d in D, d.i = c.j]"""
PRODUCT = f"{RELATIONS}\nview product = group[g](r in {ROWS} by i: r.i, l: r.l of w: sum(r.a, r.b, r.c, r.d))"
SHORT = "[⟨i: b.i, l: d.j, b: b.w, c: c.w, d: d.w⟩ | b in B, c in C, c.i = b.j, d in D, d.i = c.j]"
PART = f"{RELATIONS}\nview part = group[g](r in {SHORT} by i: r.i, l: r.l of w: avg(r.b, r.c, r.d))"
MOST = 2**63 - 1


def view_of(text: str) -> Any:
    (view,) = rn.parse(text, "chain").views
    return view


def entry(i: int, j: int, w: int | None) -> dict[str, int | None]:
    return {"i": i, "j": j, "w": w}


PATHS = {
    "A": [entry(1, 1, 2), entry(2, 2, 0)],
    "B": [entry(1, 1, MOST), entry(1, 2, -MOST), entry(2, 1, 1), entry(2, 2, None)],
    "C": [entry(1, 1, MOST), entry(2, 1, MOST), entry(1, 2, 7), entry(2, 2, 7)],
    "D": [entry(1, 1, 1), entry(2, 1, None), entry(2, 2, 1), entry(1, 2, 0)],
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "state") as found:
        for relation in rn.parse(PRODUCT, "chain").relations:
            found.relation(relation.name, relation.annotation)
            found.load(relation.name, PATHS[relation.name])
        found.create(view_of(PRODUCT), materialize="full")
        yield found


def summed(db: rn.Database) -> dict[str, Map]:
    return {m.name: m for kept in db._declared.views.values() for m in kept.program.maps if m.summed}


def fresh(db: rn.Database) -> rn.Database:
    """``db``, in which all is what it should be, also by the interpreter."""
    found = db.verify(deep=True)
    assert found.ok and not found.not_compared, found
    return db


def rows_of(db: rn.Database, table: str) -> dict[Any, int]:
    return db._store.snapshot().scan(table).counts()


def widest(db: rn.Database) -> str:
    """The map of the matrices B, C and D."""
    (found,) = [name for name, m in summed(db).items() if set(m.reads) == {*"BCD"}]
    return found


def test_each_part_of_a_chain_is_one_row_for_its_ends(db: rn.Database) -> None:
    """Of each part that is what is left of a delta there is a map, with the sums of what is multiplied in it."""
    parts = sorted("".join(sorted(m.reads)) for m in summed(db).values())
    assert [part for part in parts if len(part) > 1] == ["AB", "ABC", "BC", "BCD", "CD"]
    assert all(len(factors) == len(m.reads) for m in summed(db).values() for factors in m.summed)
    ends = [row[:2] for row in rows_of(db, widest(db))]
    assert len(set(ends)) == len(ends)


@pytest.mark.parametrize("heavier", [0, 10**6])
def test_it_is_built_of_two_of_its_parts(db: rn.Database, heavier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that joins less, in each engine; what it may be built of is explained."""
    monkeypatch.setattr(trees, "HEAVIER", heavier)
    monkeypatch.setattr(trees, "LEAST", 0)
    whole = rows_of(fresh(db), widest(db))
    db.drop("product")
    db.create(view_of(PRODUCT), materialize="full")
    assert rows_of(fresh(db), widest(db)) == whole
    kept = {m["name"]: m["built_of"] for m in db.view("product").explain().json()["maps"]}
    spans = {name: "".join(sorted({*m.reads})) for name, m in summed(db).items()}
    assert {" ".join(sorted(spans.get(t, t) for t in split)) for split in kept[widest(db)]} == {"B CD", "BC D"}
    assert "built of" in str(db.view("product").explain())
    assert not any(kept[name] for name, read in spans.items() if len(read) == 1)


def test_it_is_kept_fresh_whatever_comes_and_goes(db: rn.Database) -> None:
    """NULL in a matrix, several of them in a batch, sums beyond 38 digits that no answer has; and computed again.

    incremental-faq, section "Incrementalize it!".
    """
    sums = [decoded(row[-1]) for row in rows_of(fresh(db), widest(db))]
    for policy in ("incremental", "full", "incremental"):
        with db.batch(policy=policy) as b:
            b.insert("D", [entry(1, 3, MOST)])
        assert max(abs(decoded(row[-1])) for row in rows_of(fresh(db), widest(db))) < 10**38
        with db.batch(policy=policy) as b:
            b.delete("A", PATHS["A"][:1])
            b.delete("B", PATHS["B"][1:2])
        assert max(abs(decoded(row[-1])) for row in rows_of(fresh(db), widest(db))) > 10**56
        with db.batch(policy=policy) as b:
            b.insert("B", PATHS["B"][1:2])
            b.insert("A", PATHS["A"][:1])
            b.delete("D", [entry(1, 3, MOST)])
        assert sorted(decoded(row[-1]) for row in rows_of(fresh(db), widest(db))) == sorted(sums)
        assert all(n == 1 for table in summed(db) for n in rows_of(db, table).values())


@pytest.mark.parametrize("w", [0, MOST])
def test_a_change_goes_up_the_tree(db: rn.Database, w: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does to a part of the chain is joined in its place, in each way that is explained, if it fits 62 bits."""
    taken: list[tuple[str, ...]] = []
    least = upward._least

    def counted(run: Run, part: str, plain: upward.Products, others: Sequence[upward.Products]) -> upward.Products:
        found = least(run, part, plain, others)
        taken.append(tuple(s.table for p in found for s in p.sources if found != plain and s.at is At.DELTA))
        return found

    monkeypatch.setattr(upward, "_least", counted)
    with adding_up(), db.batch(policy="incremental") as b:
        b.insert("C", [entry(1, 1, w), entry(2, 1, w)])  # which B has with opposite signs
    fresh(db)
    spans = {name: "".join(sorted({*m.reads})) for name, m in summed(db).items()}
    assert {spans[table] for tables in taken for table in tables} == ({"BC", "CD"} if w == 0 else set())
    statements = db.view("product").explain().json()["statements"]
    (own,) = [s["ways"] for s in statements if s["part"] == "C" and s["map"].startswith("G/")]
    ways = [[spans.get(read["table"], read["table"]) for read in way] for way in own]
    assert sorted(map(sorted, ways)) == [["A", "BCD"], ["AB", "CD"], ["ABC", "D"]]
    assert "adds up to much less" in str(db.view("product").explain())


def test_a_rollback_takes_sums_back(db: rn.Database) -> None:
    before, sums = db.version, {table: rows_of(db, table) for table in summed(db)}
    with db.batch() as b:
        b.insert("B", [entry(1, 2, 8)])
        b.delete("C", PATHS["C"][:2])
    db.rollback(before)
    assert {table: rows_of(fresh(db), table) for table in sums} == sums


def test_a_wrong_sum_is_found(db: rn.Database) -> None:
    table = widest(db)
    types = db._store.tables()[table].types
    row = next(row for row in rows_of(db, table) if row[-2])
    wrong = (*row[:-1], encoded(decoded(row[-1]) + 1))
    db._store.commit(Change({table: Rows.of_pairs(types, [(row, -1), (wrong, 1)])}), db.version)
    (d,) = db.verify().differences
    assert (d.table, d.too_many.rows, d.missing.rows) == (table, ((wrong, 1),), ((row, 1),))
    assert "map of sums of w·w1·w2 by i, j" in d.of


def test_views_share_sum_maps(db: rn.Database) -> None:
    db.create(view_of(PART), materialize="full")
    own = {m.name for m in db._declared.views["part"].program.maps if m.summed}
    assert own and own <= {m.name for m in db._declared.views["product"].program.maps}
    with db.batch() as b:
        b.insert("C", [entry(2, 1, 0), entry(1, 3, 5)])
    fresh(db).drop("product")
    with db.batch() as b:
        b.delete("D", PATHS["D"][:2])
    fresh(db)


def test_explain_says_what_is_summed(db: rn.Database) -> None:
    text = " ".join(db.view("product").explain().text.split())
    assert "sums of w·w1 by i, j" in text and "sums of w·w1·w2 by i, j" in text
