"""Laws of the cost interpretation over random terms and sizes (nrc-ivm, lemma 10, theorems 4 and 5).

Families: C is monotone; deltas are cheaper, for nested terms, shredded terms with their dictionaries, and the maps and
statements of trigger programs. Costs look at sizes only, so random sizes reach far more incremental updates than
random rows do; one test takes the sizes of rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import get_args

import pytest
from support.choices import Choices
from support.correlated import correlated_query
from support.laws import law
from support.queries import grouped_query, random_query, weighed_query
from support.schemas import Schema, random_schema
from support.strategies import Case, cases

from ripplenest.cost.domains import (
    BagCost,
    Cost,
    RecordCost,
    at_most,
    bottom,
    less,
    tcost,
)
from ripplenest.cost.interpret import Sizes, cost, dict_cost, lookup_key, sizes_of
from ripplenest.cost.sizes import nested_sizes, stored_sizes
from ripplenest.delta.compile import compile_view
from ripplenest.delta.program import MapKind
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import (
    UNIT_ELEM,
    Apply,
    At,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    For,
    Group,
    InL,
    Let,
    LetVar,
    Plus,
    Query,
    Rel,
    Sng,
    Term,
    Top,
    dict_row,
)
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import LONG as INTEGER
from ripplenest.nrc.types import UNIT, Bag, Record, Site, Type, join
from ripplenest.nrc.walk import children, nodes, rebuild, rebuild_dict
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.terms import shred

# ---------------------------------------------------------------- random costs


def random_cost(c: Choices, a: Type, most: int = 3) -> Cost:
    """A small element of A°: equal and comparable ones come often."""
    match bottom(a), a:
        case RecordCost(), Record(fields):
            return RecordCost(tuple((name, random_cost(c, t, most)) for name, t in fields))
        case BagCost(), Bag(row):
            return BagCost(1 + c.number(most), random_cost(c, row, most))
        case least, _:
            return least


def bag_cost(c: Choices, row: Type, most: int = 3) -> BagCost:
    return BagCost(1 + c.number(most), random_cost(c, row, most))


def below(c: Choices, a: Cost) -> Cost:
    """Some cost ≤ a."""
    match a:
        case RecordCost(fields):
            return RecordCost(tuple((name, below(c, inner)) for name, inner in fields))
        case BagCost(count, inner):
            return BagCost(count if c.number(2) else 1 + c.number(count), below(c, inner))
        case _:
            return a


def update(c: Choices, row: Type) -> tuple[BagCost, BagCost]:
    """size(R) and an incremental size(ΔR) < size(R)."""
    whole = BagCost(2 + c.number(3), random_cost(c, row))
    return whole, BagCost(whole.count - 1 - c.number(whole.count - 1), below(c, whole.inner))


def random_sizes(c: Choices, bags: Mapping[str, Type]) -> dict[str, BagCost]:
    """Sizes of R and ΔR for bags with rows of type ``bags[key]``; every update is incremental."""
    sizes: dict[str, BagCost] = {}
    for key, row in bags.items():
        sizes[key], sizes[At.DELTA.show(key)] = update(c, row)
    return sizes


def random_stored_sizes(c: Choices, schema: Schema) -> dict[str, BagCost]:
    """Random sizes of every part that ``schema`` is stored in, dictionaries by row and by label."""
    bags: dict[str, Type] = {}
    for name, nested in schema.relations:
        for part, row in stored_parts(name, nested).items():
            bags |= {part: row} if part == name else {part: dict_row(row, part), lookup_key(part): row}
    return random_sizes(c, bags)


def view(c: Choices, schema: Schema) -> Expr:
    """A term of random constructs, or one as people write them, with more dictionaries."""
    return c.pick((weighed_query, random_query, correlated_query))(c, schema)


def some_of(c: Choices, names: tuple[str, ...]) -> frozenset[str]:
    """One or more of ``names``, if there are any."""
    return frozenset(n for i, n in enumerate(names) if c.number(2) == 0 or i == 0)


# ---------------------------------------------------------------- lemma 10

Context = dict[str, Type]


def open_terms(e: Expr, gamma: dict[str, Bag], pi: Context) -> Iterator[tuple[Expr, dict[str, Bag], Context]]:
    """Every subterm of ``e`` outside dictionaries, with the types of its free variables."""
    yield e, gamma, pi
    match e:
        case For(var, source, body):
            yield from open_terms(source, gamma, pi)
            yield from open_terms(body, gamma, {**pi, var: expr_type(source, gamma, pi).row})
        case Let(name, bound, body):
            yield from open_terms(bound, gamma, pi)
            yield from open_terms(body, {**gamma, name: expr_type(bound, gamma, pi)}, pi)
        case Group(_, _, of) | Top(_, _, of):
            yield from open_terms(of, gamma, pi)
        case _:
            for child in children(e):
                if isinstance(child, Expr):
                    yield from open_terms(child, gamma, pi)


def monotone(c: Choices, e: Expr, large: Mapping[str, BagCost]) -> None:
    small = {key: as_bag(below(c, c_2)) for key, c_2 in large.items()}
    for term, gamma, pi in open_terms(e, {}, {}):
        gamma_2 = {name: bag_cost(c, bag.row) for name, bag in gamma.items()}
        gamma_1 = {name: as_bag(below(c, c_2)) for name, c_2 in gamma_2.items()}
        pi_2 = {name: random_cost(c, t) for name, t in pi.items()}
        pi_1 = {name: below(c, c_2) for name, c_2 in pi_2.items()}
        assert at_most(cost(term, small, gamma_1, pi_1), cost(term, large, gamma_2, pi_2))


def as_bag(c: Cost) -> BagCost:
    assert isinstance(c, BagCost)
    return c


@law()
def test_lemma_10(c: Choices) -> None:
    """Lemma 10: c₁ ≤ c₂ ⟹ C[[h]]_{ε°[x := c₁]} ≤ C[[h]]_{ε°[x := c₂]}, for all variables and sizes at once, in every
    subterm."""
    schema = random_schema(c)
    h = grouped_query(c, schema)
    monotone(c, h, {name: bag_cost(c, row) for name, row in schema.relations})
    s, sizes = shred(h), random_stored_sizes(c, schema)
    monotone(c, s.flat, sizes)
    small = {key: as_bag(below(c, c_2)) for key, c_2 in sizes.items()}
    assert all(at_most(dict_cost(d, small), dict_cost(d, sizes)) for d in dictionaries(s.context))


# ---------------------------------------------------------------- theorems 4 and 5


class Counts:
    """How many claims had something to say because h depends on what changes, and which constructs h had."""

    def __init__(self) -> None:
        self.strict: Counter[str] = Counter()
        self.constructs: set[str] = set()

    def term(self, kind: str, term: Term) -> None:
        self.strict[kind] += 1
        self.constructs.update(type(node).__name__ for node in nodes(term))


KINDS = frozenset(("nested", "flat", "dictionary", "map", "statement", "rows"))
COUNTS = Counts()


def depends(term: Term, changed: frozenset[str]) -> bool:
    """Whether ``term`` reads a part that changes."""
    return any(isinstance(node, Rel | DictRel) and node.name in changed for node in nodes(term))


def lemma_1(e: Expr) -> Expr:
    """``e`` with lemma 1 applied in all of it: let X := ∅ in e = e[X := ∅] and [l ↦ ∅](l') = ∅, to the end."""
    smaller = without_empty(e)
    return e if node_count(smaller) == node_count(e) else lemma_1(simplify(smaller))


def lemma_1_dict(d: DictExpr) -> DictExpr:
    smaller = without_empty_definitions(d)
    return d if node_count(smaller) == node_count(d) else lemma_1_dict(simplify_dict(smaller))


def node_count(term: Term) -> int:
    """Falls with each step of lemma 1. Terms with NaN in them do not equal themselves."""
    return sum(1 for _ in nodes(term))


def without_empty(e: Expr) -> Expr:
    match e:
        case Let(name, Empty() as empty, body):
            return without_empty(put(body, name, empty))
        case Apply(d, _) if (row := vanished(d)) is not None:
            return Empty(row)
        case _:
            return rebuild(e, without_empty, lambda t: t, without_empty_definitions)


def without_empty_definitions(d: DictExpr) -> DictExpr:
    return rebuild_dict(d, without_empty, without_empty_definitions)


def put(e: Expr, name: str, value: Expr) -> Expr:
    """e[X := value] for a closed value; binders are named apart."""
    if e == LetVar(name):
        return value
    return rebuild(e, lambda c: put(c, name, value), lambda t: t, lambda d: put_dict(d, name, value))


def put_dict(d: DictExpr, name: str, value: Expr) -> DictExpr:
    return rebuild_dict(d, lambda c: put(c, name, value), lambda x: put_dict(x, name, value))


def vanished(d: DictExpr) -> Type | None:
    """The row type of a dictionary without rows: [], [l ↦ ∅], and their sums and unions."""
    match d:
        case DictEmpty(row) | DictLit(_, _, Empty(row)):
            return row
        case DictPlus(left, right) | DictUnion(left, right):
            a, b = vanished(left), vanished(right)
            return None if a is None or b is None else join(a, b)
        case _:
            return None


def cheaper(kind: str, h: Expr, change: Expr, changed: frozenset[str], sizes: Sizes) -> None:
    """C[[δ(h)]] < C[[h]], so tcost(C[[δ(h)]]) < tcost(C[[h]]); or h does not depend on the change, and δ(h) = ∅."""
    if depends(simplify(h), changed) or not isinstance(change, Empty):
        COUNTS.term(kind, h)
        strictly_less(cost(change, sizes), cost(h, sizes))


def cheaper_dict(d: DictExpr, change: DictExpr, changed: frozenset[str], sizes: Sizes) -> None:
    """The same for C[[δ(d)(l)]] and C[[d(l)]]."""
    if depends(simplify_dict(d), changed) or vanished(change) is None:
        COUNTS.term("dictionary", d)
        strictly_less(dict_cost(change, sizes), dict_cost(d, sizes))


def strictly_less(a: BagCost, b: BagCost) -> None:
    assert less(a, b)
    if isinstance(b.count, int):
        assert tcost(a) < tcost(b)


def theorem_4(c: Choices) -> None:
    schema = random_schema(c)
    h, changed = random_query(c, schema), some_of(c, schema.names)
    rows = dict(schema.relations)
    for telescoped in (False, True):
        try:
            change = delta(h, changed, telescoped)
        except QueryError:  # sng_ι(e) with an e that changes: not in IncNRC⁺
            return
        for sizes in (random_sizes(c, rows), nested_sizes(rows)):
            assert at_most(cost(change, sizes), cost(h, sizes))
            cheaper("nested", h, lemma_1(change), changed, sizes)


def theorem_5(c: Choices) -> None:
    schema = random_schema(c)
    s = shred(view(c, schema))
    parts = {part: t for name, row in schema.relations for part, t in stored_parts(name, row).items()}
    flat = {name: parts[name] for name in schema.names}
    symbols = stored_sizes(flat, {part: t for part, t in parts.items() if part not in flat})
    changed = some_of(c, tuple(parts))
    for sizes, telescoped in ((random_stored_sizes(c, schema), False), (symbols, True)):
        change = delta(s.flat, changed, telescoped)
        assert at_most(cost(change, sizes), cost(s.flat, sizes))
        cheaper("flat", s.flat, lemma_1(change), changed, sizes)
        for d in dictionaries(s.context):
            step = simplify_dict(delta_dict(d, Scope(changed, telescoped)))
            assert at_most(dict_cost(step, sizes), dict_cost(d, sizes))
            cheaper_dict(d, lemma_1_dict(step), changed, sizes)


@law(examples=80)
def test_theorem_4(c: Choices) -> None:
    """Theorem 4: terms of IncNRC⁺ over nested relations, some of which change: ≤ as figure 4 has it, < by lemma 1. For
    random sizes, and for all sizes at once by symbols."""
    theorem_4(c)


@law(examples=60)
def test_theorem_5(c: Choices) -> None:
    """Theorem 5: shredded terms and all their dictionaries, when flat parts and dictionaries of the input change."""
    theorem_5(c)


@pytest.mark.long
@law(examples=3000, fresh=True)
def test_theorems_4_and_5_long(c: Choices) -> None:
    """Theorems 4 and 5 on more cases."""
    theorem_4(c)
    theorem_5(c)


@law(examples=60)
def test_theorem_5_for_trigger_programs(c: Choices) -> None:
    """Theorem 5: deltas of maps and statements are cheaper as they are; normal forms leave nothing for lemma 1."""
    schema = random_schema(c)
    program = compile_view(Query("V", view(c, schema), schema.relations)).program
    reads = {node.name: node.row for m in program.maps for node in nodes(m.term) if isinstance(node, Rel)}
    sizes, changed = random_sizes(c, reads), some_of(c, tuple(reads))
    for m in program.of_kind(MapKind.AUXILIARY):  # its size is bounded by what its definition costs
        sizes |= {m.name: cost(m.term, sizes), At.DELTA.show(m.name): bottom(Bag(m.row))}
    for m in program.maps:
        for telescoped in (False, True):
            cheaper("map", m.term, delta(m.term, changed, telescoped), changed, sizes)
    for statement in program.statements:
        h = program.by_name[statement.map].term
        cheaper("statement", h, statement.term, frozenset({statement.part}), sizes)


def incremental(part: str, sizes: Sizes) -> bool:
    """size(ΔR) < size(R), of a dictionary for its definitions."""
    change = At.DELTA.show(part)
    if lookup_key(part) in sizes:
        part, change = lookup_key(part), lookup_key(change)
    return less(sizes[change], sizes[part])


@law(cases(), examples=60)
def test_theorem_5_for_rows(case: Case) -> None:
    """Theorem 5 for the sizes of a database and of the parts of a batch that are smaller than what they change."""
    s, (batch,) = shred(case.query), case.batches
    rows = {part: t for name, row in case.schema.relations for part, t in stored_parts(name, row).items()}
    sizes = sizes_of(batch.state(case.parts), rows)
    changed = frozenset(part for part in batch.parts if incremental(part, sizes))
    cheaper("rows", s.flat, lemma_1(delta(s.flat, changed)), changed, sizes)


# ---------------------------------------------------------------- the edges of the theorems

ROW = Record((("a", INTEGER),))
R, DELTA_R, ONCE = Rel("R", ROW), Rel("R", ROW, At.DELTA), Sng(UNIT_ELEM)
SITE = Site("ι", ())


def twice(x: Expr, dx: Expr) -> Expr:
    """δ(for x in X union R) by figure 4, without lemma 1."""
    return Plus(For("x", dx, R), Plus(For("x", x, DELTA_R), For("x", dx, DELTA_R)))


@pytest.mark.parametrize(
    ("h", "change"),
    [
        (
            Let("X", ONCE, For("x", LetVar("X"), R)),
            Let("X", ONCE, Let("ΔX", Empty(UNIT), twice(LetVar("X"), LetVar("ΔX")))),
        ),
        (
            For("x", Apply(DictLit(SITE, "l", ONCE), InL("ι", ())), R),
            twice(Apply(DictLit(SITE, "l", ONCE), InL("ι", ())), Apply(DictLit(SITE, "l", Empty(UNIT)), InL("ι", ()))),
        ),
        (For("x", ONCE, R), twice(ONCE, Empty(UNIT))),
    ],
)
def test_where_strictness_rests_on_lemma_1(h: Expr, change: Expr) -> None:
    """∅ costs 1, as much as {⟨⟩}: where δ of an input-independent term is left in place, δ(h) costs what h does."""
    sizes = {"R": BagCost(3, bottom(ROW)), "ΔR": BagCost(1, bottom(ROW))}
    assert cost(change, sizes) == cost(h, sizes)
    assert less(cost(lemma_1(simplify(change)), sizes), cost(h, sizes))


def test_coverage() -> None:
    """The claims were about terms that depend on the change, of every construct."""
    if len(COUNTS.strict) < len(KINDS):
        pytest.skip("the tests of this module did not all run")
    assert min(COUNTS.strict.values()) >= 8, COUNTS.strict
    rare = {DictPlus, DictEmpty}  # shredding makes no d₁ ⊎ d₂, and [] for ∅ only: tested rule by rule
    rare |= {Group, Top}  # which has no delta: what there is after the cut has
    missing = {t.__name__ for t in {*get_args(Expr), *get_args(DictExpr)} - rare} - COUNTS.constructs
    assert not missing
