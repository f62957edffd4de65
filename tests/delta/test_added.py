"""What of a product is only added up: which values of its rows a sum map may tell by their sums."""

import pytest

import ripplenest as rn
from ripplenest.delta.added import Added, added
from ripplenest.delta.compile import Options, compile_view
from ripplenest.delta.groups.apart import apart, made_apart
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.printing.pretty import show_elem

TEXT = """
relation A : Bag(⟨i: long, a: long⟩)
relation B : Bag(⟨i: long, x: long, y: long?, z: int, f: double, d: decimal(38,2), s: string⟩)
view v = group[g](r in [⟨a: a.a, b: b⟩ | a in A, b in B, b.i = a.i] by k: r.{key} of {folds})
"""


def of_b(folds: str, key: str = "a", split: bool = False) -> set[tuple[str, ...]]:
    """The products of columns of B that the view's statement for A may read as sums."""
    (view,) = rn.parse(TEXT.format(folds=folds, key=key), "v").views
    (m,) = (m for m in compile_view(view.query, Options("none")).program.maps if m.kind is MapKind.GROUP)
    found = _of_b(apart(m) if split else m)
    return {tuple(show_elem(found.values[i]).partition(".")[2].rstrip(")") for i in own) for own in found.summed}


def _of_b(m: Map) -> Added:
    (c,) = m.products
    (var,) = (var for var, rel in c.generators if rel.name == "B")
    return added(m, made_apart(m, c).head, frozenset((var,)), c.variables(), ())


@pytest.mark.parametrize(
    ("folds", "wanted"),
    [
        ("n: sum(r.b.x)", {("x",)}),
        ("n: sum(r.b.x, r.a, r.b.y)", {("x", "y")}),
        ("n: sum(r.b.x, r.b.y), m: avg(r.b.x, r.b.y), o: sum(r.a)", {("x", "y")}),
        ("n: sum(r.b.x * r.b.z * r.a)", {("x", "z")}),
        ("n: sum(r.b.f), m: sum(r.b.d), o: max(r.b.x), p: count(r.b.s)", set()),
        ("n: sum(r.b.z, r.b.d)", {("z", "d")}),
        ("n: sum(r.b.x, r.b.d)", set()),
        ("n: sum(r.b.x), m: any(r.b.x = 1)", set()),
    ],
)
def test_what_folds_multiply_is_one_product(folds: str, wanted: set[tuple[str, ...]]) -> None:
    """Of exact numbers, and of what nothing else looks at; of one decimal only if a sum of it has room."""
    assert of_b(folds) == of_b(folds, split=True) == wanted


def test_what_is_read_besides_is_kept() -> None:
    assert of_b("n: sum(r.b.x, r.b.y)", key="b.x") == {("y",)}
    assert of_b("n: sum(r.b.x)", key="b.x") == set()


def test_products_that_share_a_factor_are_told_apart() -> None:
    """Where each has values of its own; else what they share is kept."""
    folds = "n: sum(r.b.x, r.b.y), m: sum(r.b.x, r.b.z), o: sum(r.b.x, r.b.x), p: count(r.b.y)"
    assert of_b(folds, split=True) == {("x", "y"), ("x", "z"), ("x", "x"), ("y",)}
    assert of_b(folds) == {("z",), ("y",)}
