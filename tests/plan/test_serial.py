"""Law: what another process is told of rules of maps and of products is what they are, for random views."""

import json
from collections import Counter

from attrs import evolve
from support.choices import Choices
from support.correlated import correlated_query, folding_query
from support.joining import OF_FEW_DIGITS, grouped_chain
from support.laws import law
from support.nearest import nearest_query
from support.programs import planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import random_schema
from support.sizes import many

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Const, Op, Product, Scalar
from ripplenest.plan.serial import map_of_json, map_to_json, product_of_json, product_to_json

COUNTS: Counter[str] = Counter()


@law(examples=many(90, 400))
def test_what_is_told_is_what_is_heard(c: Choices) -> None:
    make = c.pick((random_query, correlated_query, folding_query, grouped_query, grouped_chain, nearest_query))
    schema = OF_FEW_DIGITS if make is grouped_chain else random_schema(c)
    _, plan = planned(query_of(schema, make(c, schema)), Options(c.pick(MODES)))
    for m in plan.maps:
        told = map_of_json(json.loads(json.dumps(map_to_json(m))))
        assert repr(told) == repr(evolve(m, build=(), triggers=(), trees=(), once=(), ways={}))
        count(m)
        for p in (*m.build, *(p for _, products in m.triggers for p in products)):
            heard = product_of_json(json.loads(json.dumps(product_to_json(p))))
            assert repr(heard) == repr(p)  # 1 is not 1.0, and no NaN equals itself
            count_product(p)


def count(m: PlannedMap) -> None:
    COUNTS["of nothing"] += m.answers is not None and m.answers.nothing is not None
    COUNTS["folded"] += m.folding is not None
    COUNTS["first rows"] += m.ranked is not None


def count_product(p: Product) -> None:
    scalars = [*p.head, *p.conditions]
    COUNTS["a constant"] += any(isinstance(s, Const) for s in scalars)
    COUNTS["a scalar of scalars"] += any(is_deep(s) for s in scalars)
    COUNTS["orders"] += bool(p.others)


def is_deep(s: Scalar) -> bool:
    return isinstance(s, Op) and any(isinstance(a, Op) for a in s.args)


def test_it_meets_all_of_it() -> None:
    kinds = ("of nothing", "folded", "first rows", "a constant", "a scalar of scalars", "orders")
    assert all(COUNTS[kind] for kind in kinds), COUNTS
