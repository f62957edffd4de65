"""The cut keeps meaning: ⟦h⟧ = ⟦cut h⟧ over the maps of the groups, whose definitions are linear."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from support.choices import Choices
from support.laws import law
from support.nesting import agrees, nested
from support.queries import grouped_query
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta.pull import FOLDED
from ripplenest.delta.strata import Answer, Cut, Cutter
from ripplenest.nrc import folds
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.interpret import Database, elem, evaluate, look_up
from ripplenest.nrc.normal import normal
from ripplenest.nrc.syntax import Call, DictEmpty, DictExpr, DictLit, DictPlus, DictRel, DictUnion, Group
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import Label
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import BagContext, Context, NoContext, RecordContext, dictionaries
from ripplenest.shred.terms import Shredded, shred

COUNTS: Counter[str] = Counter()


def grouped_case(c: Choices) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, grouped_query(c, schema), 1)


class Folded(Mapping[LabelValue, BagValue]):
    """The map of a group: for any label, what the rows of its definition fold to; nothing where there are none."""

    def __init__(self, cut: Cut, db: Database) -> None:
        self.cut, self.db = cut, db

    def __getitem__(self, label: LabelValue) -> BagValue:
        rows = look_up(self.cut.definition, label, self.db, {}, {})
        assert rows is not None
        groups: dict[Value, list[tuple[Value, int]]] = {}
        for row, n in rows:
            groups.setdefault(field_of(row, "k"), []).append((field_of(row, "v"), n))
        if not groups:
            raise KeyError(label)
        COUNTS["groups"] += len(groups)
        return BagValue.of((*key, *shown(self.cut, members)) for key, members in groups.items())

    def __iter__(self) -> Iterator[LabelValue]:
        raise AssertionError("a group is asked for its labels")

    def __len__(self) -> int:
        raise AssertionError


def shown(cut: Cut, members: list[tuple[Any, int]]) -> Iterator[tuple[str, Value]]:
    found = tuple(answered(a, members) for a in cut.answers)
    yield from ((name, elem(t, {FOLDED: found})) for name, t in cut.shown)


def answered(a: Answer, members: list[tuple[Any, int]]) -> tuple[str, Value]:
    rows = [(tuple(field_of(v, f"a{i}") for i in a.args), n) for v, n in members]
    return a.name, folds.answer(a.fn, rows, a.type)


def cut_context(cutter: Cutter, c: Context) -> Context:
    match c:
        case NoContext():
            return c
        case RecordContext(fields):
            return RecordContext(tuple((n, cut_context(cutter, inner)) for n, inner in fields))
        case BagContext(d, rows):
            return BagContext(cut_dictionary(cutter, d), cut_context(cutter, rows))


def cut_dictionary(cutter: Cutter, d: DictExpr) -> DictExpr:
    match d:
        case DictLit():
            return cutter.definition(d)
        case DictPlus(left, right) | DictUnion(left, right):
            return type(d)(cut_dictionary(cutter, left), cut_dictionary(cutter, right))
        case DictRel() | DictEmpty():
            return d


@law(grouped_case, examples=many(150, 600))
def test_theorem_8_with_groups(case: Case) -> None:
    assert nested(shred(case.query), case.parts) == evaluate(case.query, case.db)


@law(grouped_case, examples=600)
def test_the_cut_keeps_meaning(case: Case) -> None:
    s = shred(case.query)
    cutter = Cutter.of("v", (s.flat, *dictionaries(s.context)))
    cut = Shredded(cutter.term(s.flat), cut_context(cutter, s.context))
    db: dict[str, Any] = dict(case.parts)
    for name, found in cutter.found.items():  # inner ones first
        db[name] = Folded(found, db)
    assert agrees(check(cut.flat).row, check(s.flat).row)
    direct = evaluate(case.query, case.db)
    assert nested(cut, db) == direct
    for found in cutter.found.values():
        d = found.definition
        assert not any(isinstance(n, Group) for n in nodes(d))
        normal(d.body, {d.var: Label((d.site,))})
        COUNTS["total"] += found.total
        COUNTS["pulled"] += any(isinstance(t, Call) for _, t in found.shown)
        COUNTS["repeated"] += bool(cutter.repeated)
        COUNTS["by keys"] += not found.total
        COUNTS["correlated"] += bool(d.site.params)
        COUNTS["of labels"] += any(isinstance(t, Label) for _, t in d.site.params)
        COUNTS["in another"] += any(name in cutter.found for name in (getattr(n, "name", "") for n in nodes(d)))
    COUNTS["filled"] += bool(direct) and bool(cutter.found)


def test_what_was_covered() -> None:
    names = ("total", "by keys", "correlated", "of labels", "in another", "filled", "groups", "pulled", "repeated")
    assert all(COUNTS[name] > 5 for name in names), COUNTS
