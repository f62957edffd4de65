"""A chain of matrices in several rings: its product, the likeliest way through it, and the cheapest one.

    python examples/chains.py

One view multiplies the entries of three matrices along all ways from a row to a column, and adds up what the ways come
to. What "multiply" and "add up" mean is left open: it is kept over each of three rings. A second view has the same
inside of a nested one. Entries come and go, also in rings that have no inverse: when the likeliest way is closed, the
next one is there.
"""

import tempfile
from typing import Any

import ripplenest as rn
from ripplenest import Bag

W = rn.ring_variable("w")


@rn.record
class Entry:
    i: int
    j: int
    w: int


@rn.record
class Start:
    name: str
    i: int


def ways(A: Bag[Entry], B: Bag[Entry], C: Bag[Entry]):
    """The factors of each way, with its ends."""
    return [
        {"i": a.i, "l": c.j, "of": {"a": a.w, "b": b.w, "c": c.w}}
        for a in A
        for b in B
        if b.i == a.j
        for c in C
        if c.i == b.j
    ]


@rn.view
def chain(A: Bag[Entry], B: Bag[Entry], C: Bag[Entry]):
    """φ(i, l) = ⊕ over j and k of A(i, j) ⊗ B(j, k) ⊗ C(k, l)"""
    return [
        {"i": ends["i"], "l": ends["l"], "w": rn.fold(W, ((r["of"]["a"], r["of"]["b"], r["of"]["c"]) for r in rs))}
        for ends, rs in rn.group_by(ways(A, B, C), lambda r: {"i": r["i"], "l": r["l"]})
    ]


@rn.view
def reached(S: Bag[Start], A: Bag[Entry], B: Bag[Entry], C: Bag[Entry]):
    """Of each start the ends of its ways, with the likeliest way to each."""
    return [
        {
            "name": s.name,
            "to": [
                {"l": end, "w": rn.fold(rn.MaxProduct, ((r["of"]["a"], r["of"]["b"], r["of"]["c"]) for r in rs))}
                for end, rs in rn.group_by([r for r in ways(A, B, C) if r["i"] == s.i], lambda r: r["l"])
            ],
        }
        for s in S
    ]


RINGS = {"product": rn.SumProduct, "likeliest": rn.MaxProduct, "cheapest": rn.MinPlus}
SQUARE = ((1, 1, 1), (1, 2, 2), (2, 1, 3), (2, 2, 4))  # the matrix 1 2 / 3 4
ONE = ((1, 1, 1), (2, 2, 1))


def entries(*found: tuple[int, int, int]) -> list[dict[str, int]]:
    return [{"i": i, "j": j, "w": w} for i, j, w in found]


def main() -> None:
    with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
        for name in "ABC":
            db.relation(name, Entry, key=("i", "j"))
        db.relation("S", Start, key="name")
        for name, matrix in (("A", SQUARE), ("B", SQUARE), ("C", ONE)):
            db.load(name, entries(*matrix))
        db.load("S", [{"name": "first", "i": 1}, {"name": "second", "i": 2}])
        for name, ring in RINGS.items():
            db.create(chain.over(name, w=ring))
        db.create(reached)
        show("The square of 1 2 / 3 4, times one", db)

        with db.batch() as b:
            b.upsert("B", entries((2, 2, 10)))
            b.insert("C", entries((1, 2, 5)))
        show("An entry of the second matrix grows, and the third gets one", db)

        with db.batch() as b:
            b.delete("C", entries((1, 2, 5)))
        show("The entry of the third goes: the next ways are the likeliest", db)
        print("\nverified:", "all is what the rows come to" if db.verify().ok else "something is wrong")


def show(what: str, db: rn.Database) -> None:
    print(f"{what}:")
    for name in RINGS:
        rows = sorted((r["i"], r["l"], r["w"]) for r in db.view(name).rows())
        print(f"  {name}: {', '.join(f'({i}, {end}) {w}' for i, end, w in rows)}")
    for start in sorted(db.view("reached").rows(), key=lambda row: str(row["name"])):
        print(f"  likeliest from the {start['name']} row: {', '.join(map(at, start['to']))}")


def at(end: dict[str, Any]) -> str:
    return f"{end['w']} to {end['l']}"


if __name__ == "__main__":
    main()
