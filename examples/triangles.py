"""Triangles of a graph of who follows whom: counted, and listed by person, while edges come and go.

    python examples/triangles.py

The third edge of a triangle is looked up by both of its ends, and of two lists of edges the shorter one is read. So
what a batch reads does not depend on how many followers somebody has: "rows read" is the same for hubs of every size.
"""

import tempfile

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Person:
    name: str


@rn.record
class Follows:
    who: str
    whom: str


@rn.view
def counted(F: Bag[Follows]):
    """How many triangles there are: a follows b, b follows c, and so does a."""
    return [
        {
            "triangles": len(
                [1 for a in F for b in F if b.who == a.whom for c in F if c.who == a.who and c.whom == b.whom]
            )
        }
    ]


@rn.view
def by_person(P: Bag[Person], F: Bag[Follows]):
    """Each person with those whom they follow both directly and through somebody."""
    return [
        {
            "name": p.name,
            "closed": [
                {"through": a.whom, "whom": b.whom}
                for a in F
                if a.who == p.name
                for b in F
                if b.who == a.whom
                for c in F
                if c.who == p.name and c.whom == b.whom
            ],
        }
        for p in P
    ]


PEOPLE = ("ann", "bob", "cem", "dora")
FOLLOWS = (("ann", "bob"), ("bob", "cem"), ("ann", "cem"), ("cem", "dora"))


def edges(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"who": who, "whom": whom} for who, whom in pairs]


def fans(many: int) -> list[tuple[str, str]]:
    """So many who follow the star, whom everybody knows and who follows all of them back."""
    names = [f"fan{i}" for i in range(many)]
    return [(name, "star") for name in names] + [("star", name) for name in names]


def main() -> None:
    with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
        db.relation("P", Person, key="name")
        db.relation("F", Follows, key=("who", "whom"))
        db.load("P", [{"name": name} for name in PEOPLE])
        db.load("F", edges(*FOLLOWS))
        db.create(counted)
        db.create(by_person)
        show("Loaded", db)

        with db.batch() as b:
            b.insert("F", edges(("bob", "dora")))
            b.delete("F", edges(("ann", "cem")))
        show("bob follows dora, and ann no longer follows cem", db)

    for many in (100, 1_000):
        print(f"\nA star with {many:,} fans: ann begins to follow the star, whom bob follows already")
        print(f"  rows read: {read_at_a_hub(many)}")


def read_at_a_hub(many: int) -> int:
    """What a batch of one edge to the hub reads."""
    with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
        db.relation("F", Follows, key=("who", "whom"))
        db.load("F", edges(*FOLLOWS, *fans(many), ("bob", "star")))
        db.create(counted, materialize="none")
        with db.batch() as b:
            b.insert("F", edges(("ann", "star")))
        return b.report.rows_read


def show(what: str, db: rn.Database) -> None:
    print(f"{what}: {db.view('counted').rows()[0]['triangles']}")
    for person in sorted(db.view("by_person").rows(), key=lambda p: p["name"]):
        closed = sorted((c["through"], c["whom"]) for c in person["closed"])
        print(f"  {person['name']}: {', '.join(f'{whom} through {through}' for through, whom in closed) or 'none'}")


if __name__ == "__main__":
    main()
