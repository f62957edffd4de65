"""The labels that a product makes: folds beside them are left out that say nothing but which place they are of. And the
places it asks for: what joins their sources is not left out."""

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, InL, Lit, OutL, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.types import LONG, Label, Record, Site
from ripplenest.shred.domains import binding, guarding, labels_made, places_asked

BAG, PLACE = Site("ι", (("a", LONG),)), Site("G", (("p", LONG), ("q", LONG)))
ROW = Record((("a", LONG), ("b", LONG)))
R, S = Rel("R", ROW), Rel("S", ROW)
G = Total(
    "G",
    Record((("label", Label((PLACE,))), ("row", Record((("value", LONG),))))),
    nothing=Tuple((("value", Lit(0, LONG)),)),
)
A, B, C = Proj(Var("x"), "a"), Proj(Var("x"), "b"), Proj(Var("y"), "a")
P, Q = (OutL(Proj(Var("s"), "label"), PLACE, name) for name in "pq")
VALUE = Proj(Proj(Var("s"), "row"), "value")


def eq(a: Elem, b: Elem) -> Elem:
    return Call("eq", (a, b))


@pytest.mark.parametrize(
    ("label", "conditions", "left"),
    [
        (A, (eq(P, A), eq(Q, B)), "xy"),
        (A, (eq(A, P), Call("same", (B, Q))), "xy"),
        (A, (eq(P, A), eq(Q, Lit(1, LONG)), eq(A, C)), "xy"),
        (A, (eq(P, A),), "xsy"),
        (A, (eq(P, A), eq(Q, B), eq(Q, C)), "xsy"),
        (A, (eq(P, A), eq(Q, B), Call("gt", (VALUE, A))), "xsy"),
        (A, (eq(P, A), eq(Q, P)), "xsy"),
        (VALUE, (eq(P, A), eq(Q, B)), "xsy"),
    ],
    ids=["each", "turned", "constant", "too few", "twice", "answer", "by each other", "in the label"],
)
def test_folds_that_say_nothing_else(label: Elem, conditions: tuple[Elem, ...], left: str) -> None:
    made = InL("ι", (("a", label),))
    c = Comprehension((("x", R), ("s", G), ("y", S)), conditions, made)
    (found,) = labels_made(c, made, Label((BAG,)), BAG)
    assert "".join(var for var, _ in found.generators) == left
    asked = tuple(t for t in conditions if left == "xsy" or t == eq(A, C))
    assert found.conditions == asked and found.head == Tuple((("a", label),))


COUNTS: Counter[str] = Counter()
NAMES = "abcdef"


PAIRS = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(["eq", "same", "eq", "lt"]))


@given(st.lists(PAIRS, min_size=3, max_size=9), st.sets(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_sources_that_are_joined_stay_joined(pairs: list[tuple[str, str, str]], needed: set[str]) -> None:
    """And none is kept that is not on a way between two that are needed."""
    conditions = tuple(Call(fn, (Proj(Var(x), "a"), Proj(Var(y), "b"))) for x, y, fn in pairs)
    c = Comprehension(tuple((x, R) for x in NAMES), conditions, Tuple(()))
    kept = binding(c, frozenset(needed))
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(NAMES)
    graph.add_edges_from((x, y) for x, y, fn in pairs if fn != "lt")
    assert needed <= kept.keys() <= {x for part in nx.connected_components(graph) if part & needed for x in part}
    own = graph.subgraph(kept)
    assert nx.number_connected_components(own) == sum(bool(p & needed) for p in nx.connected_components(graph))
    assert all(x in needed or own.degree(x) > 1 for x in kept)
    COUNTS["more than needed"] += len(kept) > len(needed)
    COUNTS["none more"] += len(kept) == len(needed) > 1


@pytest.mark.parametrize(
    ("conditions", "kept"),
    [
        ((), "x"),
        ((Call("lt", (A, C)),), "xy"),
        ((Call("lt", (A, C)), Call("lt", (C, Proj(Var("z"), "a")))), "xyz"),
        ((Call("lt", (C, Proj(Var("z"), "a"))),), "x"),
        ((Call("lt", (A, Call("mod_long", (C, B)))),), "x"),
        ((Call("lt", (A, VALUE)), Call("lt", (VALUE, C))), "x"),
        ((Call("lt", (A, Proj(Proj(Var("t"), "row"), "value"))),), "xt"),
        ((Call("lt", (A, Proj(Proj(Var("u"), "row"), "value"))),), "x"),
    ],
    ids=["none", "another", "by way of it", "of others", "that can fail", "of its rows", "a total", "one behind it"],
)
def test_what_fails_is_asked_for_by_all_that_conditions_compare(conditions: tuple[Elem, ...], kept: str) -> None:
    """And with those of them that have a value for all rows."""
    c = Comprehension(
        (("x", R), ("y", S), ("z", S), ("t", G), ("s", G), ("u", G)), (eq(P, A), eq(Q, B), *conditions), Tuple(())
    )
    assert "".join(v for v, _ in c.generators if v in guarding(c, "s", frozenset("x"), frozenset("tu"))) == kept
    assert guarding(c, "s", frozenset("x"), frozenset()) == frozenset(kept) - {"t"}
    assert guarding(c, "s", frozenset(), frozenset("u")) == frozenset("xyz")


@pytest.mark.parametrize(
    ("conditions", "kept"),
    [
        ((eq(P, A), eq(Q, C)), "xy"),
        ((eq(P, A), eq(Q, B), eq(VALUE, C)), "xsy"),
        ((eq(P, A), eq(Q, Lit(1, LONG)), eq(VALUE, C)), "xsy"),
        ((eq(P, A), eq(Q, C), eq(VALUE, C)), "xy"),
        ((eq(P, A), eq(Q, B), Call("gt", (VALUE, C))), "xy"),
    ],
    ids=["told by both", "an answer", "of one parameter", "told by both, and an answer", "no equality"],
)
def test_answers_join_and_places_do_not(conditions: tuple[Elem, ...], kept: str) -> None:
    """Of a fold that has a row for each place: which one it is says nothing of what tells it."""
    c = Comprehension((("x", R), ("s", G), ("y", S)), conditions, Tuple(()))
    assert "".join(binding(c, frozenset("xy"), groups=frozenset("s"))) == kept
    assert "".join(binding(c, frozenset("xy"))) == "xy"


def test_a_group_is_not_asked_for_by_its_own_answers() -> None:
    c = Comprehension((("x", R), ("s", G), ("y", S)), (eq(P, A), eq(Q, B), eq(VALUE, C)), Tuple(()))
    (asked,) = places_asked(c, PLACE, fails=False, by_groups=True)
    assert "".join(var for var, _ in asked.generators) == "x"


def test_enough_was_met() -> None:
    assert COUNTS["more than needed"] > 5 and COUNTS["none more"] > 5
