"""Products whose rows are windows of joins, and the two that they are made of, make the same rows."""

from collections import Counter

from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, LONG
from ripplenest.plan.evaluate import evaluate
from ripplenest.plan.halves import halves
from ripplenest.plan.product import Col, Const, Key, Op, Product, Scalar, Source, Step, sources_of

WIDTHS = (3, 2, 3)  # places ⟨region, day, id⟩, customers ⟨id, region⟩, sales ⟨customer, day, n⟩
SOURCES = tuple(Source(name, At.OLD, (LONG,) * width) for name, width in zip("LCO", WIDTHS, strict=True))
PLACES, CUSTOMERS, SALES = range(3)
COUNTS: Counter[str] = Counter()


def col(source: int, column: int) -> Col:
    return Col(source, column, LONG)


def equal(a: Scalar, b: Scalar) -> Op:
    return Op("eq", (a, b), BOOL)


def product(c: Choices) -> Product:
    """Joined from the places on, in one of two orders, with perhaps a condition on one source, a weight, and times."""
    link, own = equal(col(SALES, 0), col(CUSTOMERS, 0)), equal(col(CUSTOMERS, 1), col(PLACES, 0))
    ends = [Op(c.pick(("le", "lt", "ge", "gt")), (col(SALES, 1), col(PLACES, 1)), BOOL) for _ in range(1 + c.one_in(3))]
    more = c.pick(([], [], [Op("gt", (col(SALES, 2), Const(1, LONG)), BOOL)], [equal(col(SALES, 2), col(PLACES, 2))]))
    partial = c.one_in(5)
    if partial:
        ratio = Op("div_long", (Const(6, LONG), col(SALES, 2)), LONG)
        more = [Op("gt", (ratio, col(CUSTOMERS, 0)), BOOL)]
    conditions = (link, own, *ends, *more)
    by_customers = [(CUSTOMERS, (Key(1, col(PLACES, 0), False),)), (SALES, (Key(0, col(CUSTOMERS, 0), False),))]
    by_sales = [(SALES, ()), (CUSTOMERS, (Key(0, col(SALES, 0), False), Key(1, col(PLACES, 0), False)))]
    read, steps = {PLACES}, [Step(PLACES)]
    for source, keys in c.pick((by_customers, by_customers, by_sales)):
        read.add(source)
        via = tuple(dict.fromkeys(i for k in keys for i in sources_of(k.scalar)))
        ready = tuple(t for t in conditions if source in sources_of(t) and sources_of(t) <= read)
        steps.append(Step(source, keys, via, ready))
    head = (*(col(PLACES, i) for i in range(3)), c.pick((col(SALES, 2), col(CUSTOMERS, 0), Const(1, LONG))))
    times = c.pick(((), (), (col(SALES, 2),), (col(CUSTOMERS, 0), col(SALES, 2))))
    can_fail = (*more,) if partial else ()
    return Product(SOURCES, conditions, head, c.pick((1, -1, 3)), (*steps,), (*steps,), can_fail, times)


def rows(c: Choices, width: int) -> dict[tuple[object, ...], int]:
    return {tuple(1 + c.number(3) for _ in range(width)): c.pick((1, 1, 2, -1)) for _ in range(c.number(6))}


@law(examples=many(300, 3_000))
def test_both_make_the_same_rows(c: Choices) -> None:
    p, inputs = product(c), [rows(c, width) for width in WIDTHS]
    h = halves(p, 3)
    COUNTS["partial" if p.partial else "windows"] += 1
    assert (h is None) is bool(p.partial)
    if h is None:
        return
    made = evaluate(h.rows, inputs)
    steps = (Step(0), Step(1, ready=h.both.conditions))
    both = Product(h.both.sources, h.both.conditions, h.both.head, h.both.weight, steps, steps, (), h.both.times)
    wanted = evaluate(p, inputs)
    assert evaluate(both, [inputs[h.places], made]) == wanted
    COUNTS["something"] += bool(wanted)
    COUNTS["weights"] += bool(wanted) and p.weight != 1
    COUNTS["times"] += bool(wanted) and bool(p.times)


def test_enough_was_met() -> None:
    if COUNTS:
        often = ("partial", "windows", "something", "weights", "times")
        assert min(COUNTS[what] for what in often) > many(20, 200), COUNTS
