"""Views whose labels have every shape, over the shop, and batches that reach every one of them."""

import ripplenest as rn
from ripplenest import Bag
from support.shop import ANN, BOB, FILMS, Customer, Movie, customer, item, liked, movie, order, parts

JARHEAD = movie("Jarhead", "Drama", "Mendes")


@rn.view
def either(M: Bag[Movie]):
    """Labels of two sites in one column: a ⊎ of rows whose inner bags were made differently."""
    by_gen = [{"n": m.name, "xs": [x.name for x in M if x.gen == m.gen]} for m in M]
    by_dir = [{"n": m.name, "xs": [x.name for x in M if x.dir == m.dir]} for m in M if m.gen == "Action"]
    return by_gen + by_dir


@rn.view
def both(M: Bag[Movie]):
    """One inner bag that is the ⊎ of two comprehensions."""
    return [
        {"n": m.name, "xs": [x.name for x in M if x.gen == m.gen] + [x.name for x in M if x.dir == m.dir]} for m in M
    ]


@rn.view
def passed_or_made(C: Bag[Customer]):
    """Labels of an input (NULL among them) ⊎ labels that are made."""
    made = [
        {"n": c.name, "os": [{"orderkey": o.orderkey, "items": o.items} for o in c.orders if o.orderkey > 11]}
        for c in C
    ]
    return [{"n": c.name, "os": c.orders} for c in C] + made


@rn.view
def passed_and_made(C: Bag[Customer]):
    """One inner bag that is an input's ⊎ a made one."""
    return [{"k": c.custkey, "os": c.orders + [o for o in c.orders if o.orderkey > 11]} for c in C if c.custkey == 7]


@rn.view
def the_same_everywhere(C: Bag[Customer], M: Bag[Movie]):
    """A label without parameters, and under it one that has some."""
    return [
        {"n": c.name, "films": [{"f": m.name, "fans": [d.custkey for d in C if d.name == m.gen]} for m in M]} for c in C
    ]


@rn.view
def bare(C: Bag[Customer]):
    """Rows that are not records."""
    return [[i.part for i in o.items] for c in C for o in c.orders]


@rn.view
def numbers(C: Bag[Customer]):
    return [c.custkey for c in C if c.custkey > 0]


@rn.view
def odd_names(C: Bag[Customer]):
    """Output names that are no identifiers, or those of physical columns, or differ in case."""
    return [
        {
            "a.b": c.custkey,
            "`x`": c.name,
            "a b": {"c0": c.custkey, "w": 1},
            "row": [
                {"label": o.orderkey, "A": 1, "a": 2, "value": [{"tag": i.part, "TAG": 0} for i in o.items]}
                for o in c.orders
            ],
            "A B": 1,
        }
        for c in C
    ]


ON_SPARK = (parts, passed_or_made, liked, either, passed_and_made, the_same_everywhere, bare, numbers, odd_names)
SHAPES = (either, both, passed_or_made, passed_and_made, the_same_everywhere, bare, numbers, odd_names)


def changes(db):
    """Batches that reach every view: the rows after each."""
    c, m = [ANN, BOB], list(FILMS)
    yield c, m
    with db.batch() as b:
        b.insert("M", [JARHEAD, JARHEAD])
        b.at("C", custkey=7).orders.at(orderkey=12).items.insert([item(5, 5, ("x",)), item(5, 5, ("x",))])
        b.insert("C", [customer(9, "Drama", [])])
    second = order(12, item(5, 5, ("x",)), item(5, 5, ("x",)))
    c = [customer(7, "Ann", [ANN["orders"][0], second]), BOB, customer(9, "Drama", [])]
    m = [*m, JARHEAD, JARHEAD]
    yield c, m
    with db.batch() as b:
        b.delete("M", [FILMS[1], JARHEAD])
        b.upsert("C", [customer(8, None, [order(12, item(1))])])
        b.at("C", custkey=7).orders.delete([c[0]["orders"][1]])
    c = [customer(7, "Ann", c[0]["orders"][:1]), customer(8, None, [order(12, item(1))]), c[2]]
    yield c, [FILMS[0], FILMS[2], JARHEAD]
    with db.batch() as b:
        b.delete("C", c)
        b.delete("M", [FILMS[0], FILMS[2], JARHEAD])
    yield [], []
