"""The order in which a product reads its sources: from the change outwards, constants last, else a scan."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import combinations, pairwise
from itertools import product as cartesian
from math import prod
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest
from attrs import evolve
from support.choices import Choices
from support.laws import law
from support.products import product
from support.programs import Running, planned

from ripplenest.data.order import By, Ordering
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.normal import Comprehension, term
from ripplenest.nrc.syntax import At, Call, Elem, Expr, For, Lit, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import BOOL, LONG, STRING, Base, Record
from ripplenest.plan.evaluate import Row, fulfils, value
from ripplenest.plan.evaluate import evaluate as run
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Col, Const, Edge, Key, Op, Product, Scalar, Source, Step, cols, sources_of
from ripplenest.plan.ranges import pays, ranged

EXACT = Base("decimal", False, 10, 2)
TYPES = (Base("long", True), STRING, EXACT)
SOURCES = (Source("R", At.DELTA, TYPES), Source("S", At.OLD, TYPES), Source("T", At.NEW, TYPES))


def key(source: int) -> Scalar:
    return Col(source, 0, TYPES[0])


def text(source: int) -> Scalar:
    return Col(source, 1, STRING)


def op(fn: str, a: Scalar, b: Scalar) -> Scalar:
    return Op(fn, (a, b), BOOL)


def steps(*conditions: Scalar) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """(source, columns, via) of each step."""
    return [(s.source, s.columns, s.via) for s in product(SOURCES, conditions, ()).steps]


FINER = Const(Decimal("1.000"), Base("decimal", False, 12, 3))
DRAMA = Const("Drama", STRING)


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ((), [(0, (), ()), (1, (), ()), (2, (), ())]),
        ((op("eq", key(0), key(1)), op("eq", text(1), text(2))), [(0, (), ()), (1, (0,), (0,)), (2, (1,), (1,))]),
        ((op("eq", key(2), key(0)), op("eq", key(1), key(2))), [(0, (), ()), (2, (0,), (0,)), (1, (0,), (2,))]),
        ((op("eq", key(1), key(0)), op("eq", text(1), text(0))), [(0, (), ()), (1, (0, 1), (0,)), (2, (), ())]),
        ((op("eq", text(1), DRAMA), op("lt", key(0), key(1))), [(0, (), ()), (1, (1,), ()), (2, (), ())]),
        ((op("eq", DRAMA, text(1)), op("eq", key(2), key(0))), [(0, (), ()), (2, (0,), (0,)), (1, (1,), ())]),
        ((op("eq", text(1), DRAMA), op("eq", key(1), key(0))), [(0, (), ()), (1, (0,), (0,)), (2, (), ())]),
        ((op("eq", key(1), Const(1, LONG)),), [(0, (), ()), (1, (0,), ()), (2, (), ())]),
        ((op("eq", Col(1, 2, EXACT), FINER),), [(0, (), ()), (1, (), ()), (2, (), ())]),
    ],
)
def test_the_order_of_reading(conditions, wanted) -> None:
    assert steps(*conditions) == wanted


CHANGED, AMOUNT = op("eq", key(0), key(1)), Col(1, 2, EXACT)


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ([op("lt", key(1), key(0))], [((), 0)]),  # without keys from one end on
        ([op("lt", Col(1, 2, EXACT), Col(0, 2, EXACT)), op("ge", Col(1, 2, EXACT), FINER)], [((), 2)]),
        ([CHANGED, op("lt", Col(1, 2, EXACT), Col(0, 2, EXACT))], [((0,), 2)]),  # a value that may move
        ([CHANGED, op("lt", text(1), text(0)), op("ge", text(0), text(2))], []),  # by which a row is known, too
        ([CHANGED, op("lt", text(1), text(0)), op("ge", text(0), DRAMA)], [((0,), 1)]),  # of rows that fulfil this
        ([CHANGED, op("lt", AMOUNT, Col(0, 2, EXACT)), op("gt", text(1), text(0))], [((0,), 2), ((0,), 1)]),  # either
        ([CHANGED, op("lt", AMOUNT, Col(0, 2, EXACT)), op("lt", text(1), text(0))], [((0,), 2), ((0,), 1)]),
        ([op("lt", key(1), key(0)), op("gt", text(1), text(0)), op("lt", AMOUNT, FINER)], [((), 0), ((), 1)]),
        ([op("lt", key(1), key(0)), op("gt", text(1), text(2))], [((), 0)]),  # by values of one source
        ([op("lt", key(1), key(0)), op("gt", key(1), key(0)), op("gt", text(1), text(0))], [((), 0)]),  # both ends
        ([CHANGED, op("lt", text(1), text(0)), op("gt", text(1), text(0))], [((0,), 1)]),
        ([CHANGED, op("lt", key(1), key(0)), op("gt", key(1), key(0))], []),  # which is no key
        ([op("lt", key(1), Op("add_long", (key(0), key(2)), TYPES[0]))], []),  # by one source
    ],
)
def test_what_is_read_between_values(conditions: list[Scalar], wanted: list[tuple[tuple[int, ...], int]]) -> None:
    """The second source, of what changes in the first."""
    found = product(SOURCES, conditions, ())
    (step,) = (s for s in found.steps if s.source == 1)
    assert wanted == [(r.order.key, r.order.by[0].column) for r in ranged(step) if pays(found, step, r)]
    shared = (SOURCES[0], evolve(SOURCES[1], table="M/0123456789abcdef"), SOURCES[2])  # sums are no stored rows
    assert not any(ranged(s) for s in product(shared, conditions, ()).steps if s.source == 1)


def test_what_is_read_of_rows() -> None:
    """By heads, by conditions, and by how often they count."""
    p = product(SOURCES, [CHANGED], (text(0), Op("add_long", (key(2), key(2)), TYPES[0])))
    assert p.columns_read == ((0, 1), (0,), (0,))
    assert evolve(p, times=(Col(1, 2, EXACT),)).columns_read == ((0, 1), (0, 2), (0,))


def test_one_end_beside_keys_where_a_value_may_move() -> None:
    """In a row that changes, and is known by the rest: else all that the end says is read anyway."""
    below = [CHANGED, op("lt", Col(1, 2, EXACT), Col(0, 2, EXACT))]

    def paid(changed: At, *head: Scalar) -> bool:
        p = product((evolve(SOURCES[0], at=changed), *SOURCES[1:]), below, head)
        (step,) = (s for s in p.steps if s.source == 1)
        return any(pays(p, step, r) for r in ranged(step))

    assert paid(At.DELTA, key(0), key(1))
    assert not paid(At.DELTA, Col(0, 2, EXACT))
    assert not paid(At.OLD, key(0))


# ---------------------------------------------------------------- laws

COUNTS: Counter[str] = Counter()
TABLES = {at: Rel("R", Record((("a", LONG), ("b", Base("long", True)))), at) for at in At}
HUGE = 2**63 - 1  # a + 1 has no value


def random_comprehension(c: Choices) -> Comprehension:
    """One to four generators; equalities of columns, constants, sums, which can fail, disjunctions; cycles."""
    names = [f"x{i}" for i in range(c.pick((2, 3, 3, 4, 1)))]
    columns = [[Proj(Var(x), field) for field in "ab"] for x in names]

    def equality() -> Elem:
        one = c.number(len(columns))
        own, other = c.pick(columns[one]), c.pick(columns[one - (not c.one_in(4))])
        both = Call("add_long", (other, c.pick(columns[(one - 2) % len(columns)])))
        side = c.pick((Call("add_long", (other, ONE)), other, other, Lit(c.number(3), LONG), both))
        return Call(c.pick(("eq", "eq", "same", "lt")), (own, side)[:: c.pick((1, -1))])

    def condition() -> Elem:
        return Call(c.pick(("or", "or", "and")), (equality(), equality())) if c.one_in(4) else equality()

    states = [c.pick((At.DELTA, At.OLD, At.NEW, At.OLD)) for _ in names]
    conditions = [condition() for _ in range(c.number(4) + c.number(3))]
    if c.one_in(4):  # a cycle, which one change goes round
        states = [At.DELTA if i == 0 else c.pick((At.OLD, At.NEW)) for i in range(len(names))]
        conditions = [Call("eq", (own[0], before[1])) for before, own in pairwise([*columns, columns[0]])]
        conditions += [condition()] if c.one_in(2) else []
    elif len(names) > 2 and c.one_in(5):  # of the last one more is known than of what leads to it
        first, through, last = columns[:3]
        pairs = (through[0], first[0]), (last[c.number(2)], through[0]), (last[0], first[1])
        conditions += [Call(c.pick(("eq", "same")), pair) for pair in pairs]
    generators = tuple((x, TABLES[at]) for x, at in zip(names, states, strict=True))
    return Comprehension(generators, tuple(conditions), Tuple((("k", columns[0][0]),)))


ONE = Lit(1, LONG)
HEAD = Record((("k", LONG),))
SCALED = (LONG, Base("long", True))  # of the columns of R


def random_rows(c: Choices) -> dict[Row, int]:
    numbers = (0, 1, HUGE) if c.one_in(2) else (0, 1, 2)
    return {(c.pick(numbers), c.pick((*numbers, None))): 1 + c.number(2) for _ in range(1 + c.number(6))}


@law(examples=400)
def test_what_is_decided_holds(c: Choices) -> None:
    """Each source is read once, and each condition asked once, as soon as what it reads is known unless it can fail;
    each key is what a condition equates its column with, read before, or several say that is equal; nothing unread has
    more keys, and no change of those that come first, by what cannot fail; of what has as many, nothing has more by
    conditions, unless these are equal to those by which an order finds it, and none is compared with what was read, if
    it is not. Builds begin where fewest are beside others.
    """
    for p in lower(random_comprehension(c), HEAD):
        for order, keyed in ((p.steps, p.conditions), (p.cautious_steps, [q for q in p.conditions if total(q)])):
            is_an_order(p, order, keyed)
            for i, step in enumerate(order):
                is_change = p.how(step) == "change"
                told = [q for q in keyed if total(q)] if is_change else keyed
                later = [s.source for s in order[i:] if (p.how(s) == "change") == is_change]
                most = following(p, told, order[:i], later, is_change)
                by_conditions = sum(equates(told, step.source, k) for k in step.keys)
                by = 0 if is_change or not step.via else by_conditions
                if by < most[2] and any(step.via == (between.via,) for between in ranged(step)):
                    by = most[2]
                    COUNTS["by what is compared"] += 1
                if i == 0 and not is_change:
                    begins(p, keyed, -most[-1], step.source)
                else:
                    lies = not is_change and lies_in(p, step.source, {b.source for b in order[:i]})
                    assert most == (bool(step.via), len(step.keys), by, lies, -step.source)
                COUNTS["implied"] += by_conditions < len(step.keys)
                COUNTS["several"] += len(step.via) > 1
                COUNTS["joined changes"] += is_change and bool(step.via)
        COUNTS["cautious"] += p.steps != p.cautious_steps


Next = tuple[bool, int, int, bool, int]


def following(p: Product, told: Sequence[Scalar], order: Sequence[Any], left: list[int], is_change: bool) -> Next:
    """What is read behind ``order``, of what is left: whether by keys, how many, how many of them conditions say,
    whether it lies between what was read, and minus its source."""
    found: list[Next] = []
    for s in left:
        via, keys = reach([*told, *also(p)], s, order)
        lies = not is_change and lies_in(p, s, {b.source for b in order})
        said = 0 if is_change or not via else reach(told, s, order)[1]
        found.append((via, keys if via or not is_change else 0, said, lies, -s))
    return max(found)


def begins(p: Product, keyed: Sequence[Scalar], usual: int, first: int) -> None:
    """A build begins where fewest sources are found by none of those before them, and else where it usually would."""
    every = range(len(p.sources))
    found = {s: beside(p, keyed, s) for s in every} if beside(p, keyed, usual) else {usual: 0}
    assert first == min(found, key=lambda s: (found[s], s != usual, s))
    COUNTS["begun elsewhere"] += first != usual


def beside(p: Product, keyed: Sequence[Scalar], first: int) -> int:
    """How many are found by none of those before them, if ``first`` is read first."""
    order, left, found = [SimpleNamespace(source=first, via=())], [s for s in range(len(p.sources)) if s != first], 0
    while left:
        via, *_, lies, last = following(p, keyed, order, left, False)
        groups = [g for g in reached(order) if reach([*keyed, *also(p)], -last, of(g))[0]] if via else []
        most = max(groups, key=lambda g: reach([*keyed, *also(p)], -last, of(g))[1], default=())
        order.append(SimpleNamespace(source=-last, via=tuple(most)[:1]))
        left.remove(-last)
        found += not via and not lies
    return found


def of(group: Iterable[int]) -> list[Any]:
    """Steps that hang together."""
    first, *others = group
    return [SimpleNamespace(source=first, via=()), *(SimpleNamespace(source=s, via=(first,)) for s in others)]


def is_an_order(p: Product, order: Sequence[Step], keyed: Sequence[Scalar]) -> None:
    """``order`` reads all that ``p`` does, by keys that it has, and asks all that it asks."""
    assert sorted(s.source for s in order) == list(range(len(p.sources)))
    asked = Counter(q for s in order for q in (*s.ready, *s.guarded))
    more = [(q, s) for s in order for q in s.ready if q not in p.conditions]
    assert asked == Counter([*(q for q in p.conditions if sources_of(q)), *(q for q, _ in more)])
    assert all(any(equates([q], s.source, k) for k in s.keys) for q, s in more)  # which rows are read, and no more
    assert all(not s.guarded for s in order[:-1])
    for i, step in enumerate(order):
        before = {s.source for s in order[:i]}
        COUNTS[p.how(step)] += 1
        is_first_asked(step, before)
        assert {i for k in step.keys for i in sources_of(k.scalar)} == {*step.via} <= before
        assert all(equates([*keyed, *also(p)], step.source, k) for k in step.keys)
        assert all(equates(step.ready, step.source, k) for k in step.keys)
        assert len({*step.columns}) == len(step.keys)
        asks = step.band.edges if step.band else ()
        assert all({*()} < sources_of(e.scalar) <= before for e in asks)
        assert all(any(says(q, step.source, e) for q in p.conditions) for e in asks)
        COUNTS["bands"] += bool(asks)
        for read_between in ranged(step):  # in the order of one column, by one source
            edges = read_between.band.edges
            assert {*step.via, *(i for e in edges for i in sources_of(e.scalar))} == {read_between.via}
            assert read_between.order == Ordering(step.columns, (By(edges[0].column),))
            assert {e.column for e in edges} == {edges[0].column} and edges[0].column not in step.columns
            assert all(any(says(q, step.source, e) for q in p.conditions) for e in edges)
            kept = pays(p, step, read_between)
            assert kept or (step.via and len(edges) == 1)
            opposite = {e is None for r in ranged(step) for e in r.band.both[:1]} == {True, False}
            if kept and step.via and len(edges) == 1 and not opposite:
                assert not {c for s in p.head for c in cols(s)} & {c for e in edges for c in cols(e.scalar)}
                COUNTS["may move"] += 1
            COUNTS["between"] += 1
        assert any({*step.via} <= group for group in reached(order[:i])) or not step.via
        assert step.via == () or step.alone is None or {*step.alone.columns} <= {*step.columns}
        assert (p.how(step) == "change") == (p.sources[step.source].at is At.DELTA)
        if p.how(step) == "change":
            assert {p.sources[s].at for s in before} <= {At.DELTA}


def also(p: Product) -> list[Scalar]:
    """The equalities of columns that its conditions imply together, and none of them says."""
    told = [q for q in p.conditions if isinstance(q, Op) and q.fn in ("eq", "same") and are_columns(*q.args)]
    graph = nx.Graph([q.args for q in told if isinstance(q, Op)])
    found: list[Scalar] = []
    for group in nx.connected_components(graph):
        fn = "eq" if any(isinstance(q, Op) and q.fn == "eq" and {*q.args} <= group for q in told) else "same"
        pairs = ((a, b) for a, b in combinations(group, 2) if are_columns(a, b) and not graph.has_edge(a, b))
        found.extend(Op(fn, pair, BOOL) for pair in pairs)
    return found


def are_columns(a: Scalar, b: Scalar) -> bool:
    return isinstance(a, Col) and isinstance(b, Col) and a.source != b.source


def lies_in(p: Product, source: int, before: set[int]) -> bool:
    """Whether what was read says what a column of ``source`` is less or greater than."""
    less = [q.args for q in p.conditions if isinstance(q, Op) and q.fn == "lt"]
    compared = [*less, *((without_one(b), a) for a, b in less)]
    found = ((own, sources_of(other)) for own, other in compared if isinstance(own, Col) and own.source == source)
    return any(others and others <= before for _, others in found)


def without_one(t: Scalar) -> Scalar:
    """x of x + 1, which has a value where it is no more than something."""
    match t:
        case Op("add_long", (x, Const())):
            return x
    return t


def says(condition: Scalar, source: int, edge: Edge) -> bool:
    """Whether ``condition`` says where an edge is, whichever way it is true."""
    match condition:
        case Op("or", args):
            COUNTS["edges of several ways"] += 1
            return all(says(a, source, edge) for a in args)
        case Op("and", args):
            return any(says(a, source, edge) for a in args)
        case Op("eq", args):
            return {*args} == {Col(source, edge.column, SCALED[edge.column]), edge.scalar}
    return compares(condition, source, edge)


def compares(condition: Scalar, source: int, edge: Edge) -> bool:
    """Whether ``condition`` compares the column of an edge with what it is."""
    own = Col(source, edge.column, SCALED[edge.column])
    return isinstance(condition, Op) and condition.fn == "lt" and any(
        (own, edge.scalar) == (a, b) or is_moved_back(own, edge.scalar, a, b)
        for a, b in (condition.args, condition.args[::-1])
    )


def is_moved_back(own: Scalar, edge: Scalar, a: Scalar, b: Scalar) -> bool:
    """Whether ``edge`` is ``b`` moved back by the constant by which ``a`` is ``own`` moved."""
    match a, edge:
        case Op(fn, (x, Const(int() as n))), Op(back, (y, Const(int() as m))):
            COUNTS["moved edges"] += (fn, x, y, n) == (back, own, b, -m)
            return (fn, x, y, n) == (back, own, b, -m)
    return False


@law(examples=400)
def test_the_orders_that_rows_choose_among(c: Choices) -> None:
    """Each begins with the one change and what it leads to, each with something else, and makes the same rows of it,
    and so of a part of it for each; in a build with what is read first."""
    whole, found = c.one_in(2), random_comprehension(c)
    if whole:
        found = evolve(found, generators=tuple((var, evolve(rel, at=At.OLD)) for var, rel in found.generators))
    for p in lower(found, HEAD, whole):
        first, *others = p.orders
        assert first is p and (not others or any(len(s.via) > 1 for s in p.steps))
        for order in others:
            is_an_order(p, order.steps, p.conditions)
        begins = [order.steps[1] for order in p.orders if others]
        assert len({s.source for s in begins}) == len(begins)
        assert all(s.via == (p.steps[0].source,) for s in begins)
        if others:
            changes = sum(s.at is At.DELTA for s in p.sources)
            assert changes == 1 or (whole and not changes)
            COUNTS["orders" if changes else "orders of builds"] += 1
            inputs = [random_rows(c) for _ in p.sources]
            results = [outcome(order, inputs) for order in p.orders]
            assert all(found == results[0] for found in results if found is not None and results[0] is not None)


def total(q: Scalar) -> bool:
    """Whether no sum is in it: of all functions here, only sums can fail."""
    return not isinstance(q, Op) or (q.fn != "add_long" and all(map(total, q.args)))


def is_first_asked(step: Step, before: set[int]) -> None:
    """Its conditions are about its source and those before it; those that can fail are last, but its keys."""
    for q in (*step.ready, *step.guarded):
        assert sources_of(q) <= before | {step.source}
    for q in step.ready:
        assert step.source in sources_of(q) or not total(q)
        assert total(q) or any(equates([q], step.source, k) for k in step.keys)
        COUNTS["keys that can fail"] += not total(q)
    for q in step.guarded:
        assert not total(q)
        COUNTS["guarded"] += 1


def equates(conditions: Sequence[Scalar], source: int, key: Key) -> bool:
    fn = "same" if key.null_safe else "eq"
    own = [(a, b) for q in conditions if isinstance(q, Op) and q.fn == fn for a, b in (q.args, q.args[::-1])]
    return any(isinstance(a, Col) and (a.source, a.column, b) == (source, key.column, key.scalar) for a, b in own)


def reach(conditions: Sequence[Scalar], source: int, before: Sequence[Any]) -> tuple[bool, int]:
    """(whether what was read before gives keys for ``source``, the most columns that sources which were reached from
    one another give, or constants)."""
    found: list[tuple[frozenset[int], int]] = []
    for q in conditions:
        for own, other in (q.args, q.args[::-1]) if isinstance(q, Op) and q.fn in ("eq", "same") else ():
            if isinstance(own, Col) and own.source == source and source not in sources_of(other):
                found.append((sources_of(other), own.column))
    joined = max((len({c for read, c in found if read and read <= group}) for group in reached(before)), default=0)
    return joined > 0, joined or len({c for read, c in found if not read})


def reached(read: Sequence[Any]) -> list[frozenset[int]]:
    """Sources that hang together by the keys that they were read by."""
    graph = nx.Graph([(s.source, via) for s in read for via in s.via])
    graph.add_nodes_from(s.source for s in read)
    return [frozenset(group) for group in nx.connected_components(graph)]


@law(examples=2400)
def test_both_orders_make_the_rows(c: Choices) -> None:
    """Against every combination of rows: the cautious order has a value wherever the product has one."""
    for p in lower(random_comprehension(c), HEAD):
        inputs = [random_rows(c) for _ in p.sources]
        wanted = every_combination(p, inputs)
        COUNTS["rows"] += bool(wanted)
        assert outcome(p.cautious(), inputs) == wanted
        found = outcome(p, inputs)
        assert found == wanted or (found is None and p.steps != p.cautious_steps)
        COUNTS["only cautiously"] += found != wanted
        COUNTS["no value"] += wanted is None


@law(examples=500)
def test_disjoint_joins_are_the_comprehension(c: Choices) -> None:
    """⟦c⟧ = ⊎ of its products, none of which counts a row of another."""
    made = random_comprehension(c)
    rows = {at: {row: n for row, n in random_rows(c).items() if HUGE not in row} for at in At}
    products = lower(made, HEAD)
    COUNTS["several joins"] += len(products) > 1
    db = {TABLES[at].key: BagValue({tuple(zip("ab", row, strict=True)): n for row, n in rows[at].items()}) for at in At}
    found: Counter[Row] = Counter()
    for p in products:
        found.update(run(p, [rows[s.at] for s in p.sources]))
    assert BagValue({(("k", k),): n for (k,), n in found.items()}) == evaluate(term((made,), HEAD), db)


def outcome(p: Product, inputs: Sequence[dict[Row, int]]) -> dict[Row, int] | None:
    try:
        return run(p, inputs)
    except EvaluationError:
        return None


def every_combination(p: Product, inputs: Sequence[dict[Row, int]]) -> dict[Row, int] | None:
    """The rows of ``p`` by its conditions and head alone; None when it has no value."""
    out: Counter[Row] = Counter()
    for rows in cartesian(*(counts.items() for counts in inputs)):
        combination = {i: row for i, (row, _) in enumerate(rows)}
        try:
            if fulfils(p.conditions, combination):
                out[tuple(value(s, combination) for s in p.head)] += p.weight * prod(n for _, n in rows)
        except EvaluationError:
            return None
    return {row: n for row, n in out.items() if n}


def test_digests_do_not_depend_on_the_order() -> None:
    """What a map is does not change with how it is read."""
    query = Query("V", For("x", R, For("y", Rel("S", ROW), joined())), (("R", ROW), ("S", ROW)))
    _, p = planned(query)
    turned = tuple(tuple(evolve(m, build=tuple(map(backwards, m.build))) for m in level) for level in p.levels)
    assert any(backwards(q) != q for m in p.maps for q in m.build)
    assert evolve(p, levels=turned).digests == p.digests


def backwards(p: Product) -> Product:
    return evolve(p, steps=p.steps[::-1], cautious_steps=p.cautious_steps[::-1])


# ---------------------------------------------------------------- run

ROW = Record((("k", LONG), ("g", Base("string", True))))
R = Rel("R", ROW)


def rows(*pairs: tuple[int, str | None]) -> BagValue:
    return BagValue.of(tuple(zip(ROW.names, pair, strict=True)) for pair in pairs)


def test_a_constant_is_probed() -> None:
    """Inner bags that no equality leads to but one with a constant: what it does not find is not read."""
    drama: Elem = Call("eq", (Proj(Var("y"), "g"), Lit("Drama", STRING)))
    below: Elem = Call("lt", (Proj(Var("y"), "k"), Proj(Var("x"), "k")))
    inner = SngBag("ι", For("y", R, For("_", Pred(Call("and", (drama, below))), Sng(Proj(Var("y"), "k")))))
    body = For("x", R, For("b", inner, Sng(Tuple((("k", Proj(Var("x"), "k")), ("b", Var("b")))))))
    _, program = planned(Query("V", body, (("R", ROW),)), Options("none"))
    assert (1,) in program.indexes["R"]
    running, held = Running.start(program, {"R": rows()}), BagValue()
    changes = [rows((1, "Drama"), (2, None)), rows((3, "Action"), (4, "Drama")), -rows((1, "Drama"))]
    for change in changes:
        held += change
        running = running.apply({"R": change})
        assert running.nested() == evaluate(body, {"R": held})


def test_what_can_fail_is_asked_last() -> None:
    """A row that no combination of the view reaches may hold what a condition has no value for, in builds as in
    triggers: building is not stricter than keeping."""
    one = Lit(1.0, Base("double"))
    inverse = Call("div_double", (one, Call("to_double", (Proj(Var("x"), "k"),))))
    tenth = Call("gt", (inverse, Lit(0.1, Base("double"))))
    body = For("x", R, For("_", Pred(tenth), For("y", Rel("S", ROW), joined())))
    query = Query("V", body, (("R", ROW), ("S", ROW)))
    for mode in MODES:
        _, program = planned(query, Options(mode))
        running = Running.start(program, {"R": rows((0, "Drama"), (1, "Action")), "S": rows((3, "Action"))})
        assert running.nested() == BagValue({1: 1})
        after = running.apply({"R": rows((0, "War")), "S": rows((4, "Action"))})
        assert after.nested() == BagValue({1: 2})
        assert (
            after.maps()
            == Running.start(
                program, {"R": rows((0, "Drama"), (0, "War"), (1, "Action")), "S": rows((3, "Action"), (4, "Action"))}
            ).maps()
        )


def joined() -> Expr:
    same = Call("eq", (Proj(Var("x"), "g"), Proj(Var("y"), "g")))
    return For("_", Pred(same), Sng(Proj(Var("x"), "k")))


def test_coverage() -> None:
    if COUNTS:
        wanted = (
            "change",
            "probe",
            "scan",
            "cautious",
            "keys that can fail",
            "guarded",
            "rows",
            "only cautiously",
            "no value",
            "several joins",
            "several",
            "joined changes",
            "implied",
            "orders",
            "orders of builds",
            "bands",
            "between",
            "edges of several ways",
            "begun elsewhere",
        )
        assert min(COUNTS[what] for what in wanted) >= 10, COUNTS
