"""What a product joins of a change: rows that cancel as far as it reads them are none."""

from collections import Counter
from pathlib import Path

from support.choices import Choices
from support.laws import law
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, LONG
from ripplenest.plan.evaluate import value
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source, Step
from ripplenest.run.changed import joined

COUNTS: Counter[str] = Counter()
TYPES = (LONG, LONG, LONG)
OWN = tuple(Col(0, i, LONG) for i in range(3))


def product(c: Choices) -> Product:
    def compared(a: Scalar, b: Scalar) -> Scalar:
        return Op(c.pick(("lt", "le", "eq", "ne")), (a, b), BOOL)

    asked = [compared(c.pick(OWN), Const(c.number(3), LONG)) for _ in range(c.number(3))]
    others = [compared(c.pick(OWN), Col(1, 0, LONG)) for _ in range(c.number(2))]
    head = tuple(own for own in OWN if c.one_in(3))
    sources = (Source("R", At.DELTA, TYPES), Source("S", At.OLD, (LONG,)))
    steps = (Step(0), Step(1))
    return Product(sources, (*asked, *others), head, 1, steps, steps, ())


@law(examples=many(500, 6000))
def test_what_is_joined_makes_the_same(c: Choices) -> None:
    """Law: of rows that fulfil what is asked of them alone, as many agree in what else the product reads."""
    p = product(c)
    change = Rows.of_pairs(TYPES, [(tuple(c.number(3) for _ in TYPES), c.pick((1, -1, 2))) for _ in range(c.number(7))])
    found = joined(p, 0, change)
    assert sums(p, found) == sums(p, change)
    COUNTS["fewer"] += len(found) < len(change.as_read(p.columns_read[0]))
    COUNTS["nothing"] += not len(found) and bool(len(change.as_read(p.columns_read[0])))


def sums(p: Product, rows: Rows) -> Counter[tuple[object, ...]]:
    own, found = p.conditions_on(0), Counter[tuple[object, ...]]()
    for row, n in rows.pairs():
        if all(value(s, {0: row}) is True for s in own):
            found[tuple(row[i] for i in p.columns_joined[0])] += n
    return Counter({row: n for row, n in found.items() if n})


def test_some_were_fewer() -> None:
    assert min(COUNTS["fewer"], COUNTS["nothing"]) > 20, COUNTS


@rn.record
class Limit:
    id: int
    n: int


@rn.view
def allowed(K: Bag[Limit], U: Bag[Limit]):
    return [{"id": u.id} for k in K if k.id == 1 and k.n > 0 for u in U]


def test_nothing_is_read_as_long_as_the_answer_is_the_same(tmp_path: Path) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("K", Limit, key="id")
        db.relation("U", Limit, key="id")
        db.create(allowed)
        with db.batch() as b:
            b.insert("U", [Limit(n, n) for n in range(500)])
            b.insert("K", [Limit(1, 5)])
        read = []
        for n in (7, 0, -2, 3):
            with db.batch(policy="incremental") as b:
                b.upsert("K", [Limit(1, n)])
            read.append(b.report.rows_read)
        assert [n >= 500 for n in read] == [False, True, False, True] and read[0] == read[2] < 3
        assert len(db.view("allowed").rows()) == 500 and db.verify().ok
