"""JSON of queries and types: every construct and every constant comes back, and nothing else is believed."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import law
from support.strategies import Case, cases

from ripplenest.nrc import syntax as s
from ripplenest.nrc import types as t
from ripplenest.nrc.errors import CorruptState, RipplenestError, TooDeep, TypeMismatch
from ripplenest.nrc.serial import query_from_json, query_to_json, type_from_json, type_to_json
from ripplenest.nrc.values import NAN

ROW = t.Record((("a", t.STRING), ("n", t.Base("decimal", True, 10, 2))))
SITE = t.Site("v.f", (("x.a", t.STRING), ("l", t.Label((t.Site("w", ()),), True))))
X = s.Var("x")
R = s.Rel("R", ROW, s.At.NEW)
D = s.DictRel("R.f", ROW, s.At.DELTA)

GROUP = s.Group("α", "x", R, (("k", s.Proj(X, "a")),), (s.Fold("n", "count", (), t.LONG),))
SAMPLES: dict[Any, tuple[Any, ...]] = {
    t.Type: (t.Base("timestamp", True), ROW, t.Bag(ROW, True), t.Label((SITE,), True), t.Dict(t.INT)),
    s.Elem: (
        X,
        s.Proj(X, "a"),
        s.TRUE,
        s.Call("eq", (X, s.Proj(X, "a"))),
        s.Tuple((("a", X), ("b", s.UNIT_ELEM))),
        s.InL("v.f", (("x.a", s.Proj(X, "a")),)),
        s.OutL(X, SITE, "x.a"),
        s.IsSite(X, "v.f"),
    ),
    s.Expr: (
        R,
        s.LetVar("X"),
        s.Let("X", R, s.LetVar("X")),
        s.For("x", R, s.Sng(X)),
        s.Pred(s.TRUE),
        s.Sng(X),
        s.SngBag("v.f", R, (s.Sorting(("a",), True),)),
        s.Flatten(s.SngBag("v.f", R)),
        s.Product(R, R),
        s.Plus(R, s.Neg(R)),
        s.Neg(R),
        s.Empty(ROW),
        s.Apply(D, X),
        s.Weigh(s.Lit(2, t.LONG)),
        GROUP,
        s.Top("α", "x", R, (s.Order(s.Proj(X, "a"), True), s.Order(s.TRUE, nulls_first=True)), 3),
    ),
    s.DictExpr: (
        D,
        s.DictLit(SITE, "l", R),
        s.DictPlus(D, s.DictEmpty(ROW)),
        s.DictUnion(D, D),
        s.DictEmpty(ROW),
    ),
}

CONSTANTS = [
    ("bool", False), ("int", -(2**31)), ("long", 2**63 - 1), ("string", 'a"\u202e\x00é😀'), ("binary", b"\x00\xff"),
    ("double", 0.1), ("double", -0.0), ("double", 5e-324), ("double", float("inf")), ("double", float("nan")),
    ("decimal", Decimal("1.50")), ("decimal", Decimal("-1E-38")), ("date", date(1, 1, 1)),
    ("timestamp", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)), ("string", None), ("double", None),
]  # fmt: skip


def as_expr(node: Any) -> s.Expr:
    """``node`` inside a term of its own sort or the next."""
    if isinstance(node, get_args(s.Elem)):
        return s.Sng(node)
    if isinstance(node, get_args(s.DictExpr)):
        return s.Apply(node, X)
    return node if isinstance(node, get_args(s.Expr)) else s.Empty(node)


def again(body: s.Expr) -> s.Expr:
    return query_from_json(query_to_json(s.Query("q", body))).body


@pytest.mark.parametrize("union", SAMPLES, ids=["Type", "Elem", "Expr", "DictExpr"])
def test_every_construct_comes_back(union: Any) -> None:
    assert [type(node) for node in SAMPLES[union]] == list(get_args(union)), "a construct without a sample"
    for node in SAMPLES[union]:
        assert again(as_expr(node)) == as_expr(node)


def test_types_come_back() -> None:
    for node in SAMPLES[t.Type]:
        assert type_from_json(type_to_json(node)) == node


@pytest.mark.parametrize(("kind", "value"), CONSTANTS)
def test_constants_come_back_with_their_type(kind: t.Kind, value: object) -> None:
    literal = s.Lit(value, t.Base(kind, False, 38, 2))
    body = again(s.Sng(literal))
    assert isinstance(body, s.Sng) and isinstance(body.elem, s.Lit)
    assert body.elem.type == literal.type
    assert type(body.elem.value) is type(value) and repr(body.elem.value) == repr(value)


def test_the_one_nan_comes_back() -> None:
    """Comparisons ask for it by identity: another NaN would equal nothing, once a state is reopened."""
    body = again(s.Sng(s.Lit(NAN, t.Base("double"))))
    assert isinstance(body, s.Sng) and isinstance(body.elem, s.Lit)
    assert body.elem.value is NAN


def test_every_kind_of_constant_is_tried() -> None:
    assert {kind for kind, _ in CONSTANTS} == set(get_args(t.Kind))


def test_the_text_is_deterministic_ascii_with_sorted_keys() -> None:
    query = s.Query("é", s.Plus(R, R), (("R", ROW),))
    text = query_to_json(query)
    assert text.isascii() and text == query_to_json(query_from_json(text))
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_a_constant_of_another_type_is_refused() -> None:
    for value, base in ((1, t.STRING), (True, t.INT), (1, t.DOUBLE), (datetime(2024, 1, 1), t.Base("date"))):
        with pytest.raises(TypeMismatch):
            query_to_json(s.Query("q", s.Sng(s.Lit(value, base))))


# ---------------------------------------------------------------- depth


def nested(depth: int) -> s.Query:
    elem: s.Elem = X
    for _ in range(depth - 2):
        elem = s.Tuple((("a", elem),))
    return s.Query("q", s.Sng(elem))


def test_terms_come_back_up_to_the_limit_of_depth() -> None:
    assert query_from_json(query_to_json(nested(100))) == nested(100)
    with pytest.raises(TooDeep):
        query_to_json(nested(101))


def test_types_that_are_too_deep_are_refused() -> None:
    deep: t.Type = t.INT
    for _ in range(100):
        deep = t.Bag(t.Record((("a", deep),)))
    assert type_from_json(type_to_json(deep)) == deep
    for _ in range(5000):
        deep = t.Bag(deep)
    with pytest.raises(TooDeep):
        type_to_json(deep)


@pytest.mark.parametrize("levels", [460, 2000, 200_000])
def test_deep_json_is_an_error_of_ours(levels: int) -> None:
    wide = '{"format":1,"type":' + '{"is":"Bag","nullable":false,"row":' * levels
    for text in ("[" * levels, "[" * levels + "]" * levels, wide + '{"is":"Dict"}' + "}" * (levels + 1)):
        with pytest.raises(CorruptState):
            type_from_json(text)


def test_a_stored_term_beyond_the_limits_is_corrupt_state() -> None:
    body = '{"is":"Neg","of":' * 100 + '{"is":"LetVar","name":"X"}' + "}" * 100
    with pytest.raises(CorruptState, match="nested too deeply"):
        query_from_json(f'{{"format":1,"query":{{"name":"q","body":{body},"relations":[]}}}}')


# ---------------------------------------------------------------- damage

GOOD = json.loads(query_to_json(s.Query("q", s.For("x", R, s.Sng(s.Lit(1, t.INT))), (("R", ROW),))))


def broken(**query: object) -> str:
    return json.dumps({**GOOD, "query": {**GOOD["query"], **query}})


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "1" * 5000, "{}", '{"format":1}', '{"format":1,"query":NaN}', '{"format":1,"query":[]}',
        json.dumps({**GOOD, "format": 2}),
        type_to_json(ROW),
        broken(more=1),
        broken(name=None),
        broken(relations=""),
        broken(relations=[["R"]]),
        broken(relations={"R": "R"}),
        broken(body={}),
        broken(body={"is": "Base"}),
        broken(body={"is": ["Sng"]}),
        broken(body={"is": "LetVar"}),
        broken(body={"is": "LetVar", "name": 3}),
        broken(body={"is": "LetVar", "name": "X", "at": ""}),
        broken(body={"is": "Rel", "name": "R", "row": {"is": "Record", "fields": []}, "at": "?"}),
    ],
)  # fmt: skip
def test_foreign_json_is_corrupt_state(text: str) -> None:
    with pytest.raises(CorruptState):
        query_from_json(text)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int", 2**31), ("int", True), ("int", "1"), ("string", 1), ("double", 1.5), ("decimal", "x"), ("date", "2024"),
     ("binary", "0g"), ("timestamp", []), ("number", 1)],
)  # fmt: skip
def test_damaged_constants_are_corrupt_state(kind: str, value: object) -> None:
    base = {"kind": kind, "nullable": False, "precision": 0, "scale": 0}
    with pytest.raises(CorruptState):
        query_from_json(broken(body={"is": "Sng", "elem": {"is": "Lit", "value": value, "type": base}}))


JUNK = st.sampled_from([None, 0, -1, 2.5, "", "is", "Base", [], {}, [[]], {"is": "Var"}, True])


@given(st.data())
def test_no_damage_escapes_as_another_error(data: st.DataObject) -> None:
    """Any one value of the JSON is replaced, or taken away: the answer is a query or an error of ours."""
    raw = json.loads(json.dumps(GOOD))
    node: Any = raw
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner) or data.draw(st.booleans()):
            break
        node = inner
    if data.draw(st.booleans()):
        node[key] = data.draw(JUNK)
    else:
        del node[key]
    try:
        query_from_json(json.dumps(raw))
    except RipplenestError as error:
        assert isinstance(error, CorruptState)


@law(cases(), examples=100)
def test_random_queries_come_back(case: Case) -> None:
    query = s.Query("q", case.query, tuple(case.schema.relations))
    text = query_to_json(query)
    assert query_to_json(query_from_json(text)) == text
    assert repr(query_from_json(text)) == repr(query)
