"""None and [] take their types from what stands beside them: rows are those that Python makes."""

from typing import Any

import pytest
from support.in_order import in_order
from support.written import functions, is_refused

from ripplenest.nrc.errors import RipplenestError, TypeMismatch, Unsupported
from ripplenest.nrc.surface.beside import NO_ROW, NOTHING
from ripplenest.nrc.syntax import Empty, Lit
from ripplenest.nrc.walk import nodes

HEAD = """
import ripplenest as rn
from ripplenest import Bag

@rn.record
class R:
    id: int
    x: float
    s: str
    ns: Bag[int]

@rn.record
class Row:
    id: int
    x: float | None

def of(m):
    return {"id": m.id, "x": None} if m.id > 1 else {"id": m.id, "x": m.x}

def in_branches(m):
    if m.id > 2:
        return {"x": None, "y": m.s}
    if m.id > 1:
        return {"x": m.x, "y": None}
    return {"x": None, "y": None}

def a_pair(m):
    return m.x, None
"""
VALUES = [(1, 0.5, "a", [1, 2]), (2, -1.0, "b", []), (3, 4.0, "a", [7])]
# what is returned for M: Bag[R], and the type of its rows
TYPED = [
    ('[{"x": m.x} for m in M] + [{"x": None}]', "⟨x: double?⟩"),
    ('[{"x": None}] + [{"x": None}] + [{"x": m.x} for m in M] + [{"x": None}]', "⟨x: double?⟩"),
    ('[{"x": m.x, "y": None} for m in M] + [{"x": None, "y": m.s} for m in M]', "⟨x: double?, y: string?⟩"),
    ('[{"a": {"x": None}} for m in M] + [{"a": {"x": m.x}} for m in M]', "⟨a: ⟨x: double?⟩⟩"),
    ('[{"a": None} for m in M] + [{"a": {"x": m.x}} for m in M]', "⟨a: ⟨x: double?⟩?⟩"),
    ('[{"a": {"x": None}} for m in M] + [{"a": {"x": 1} if m.id > 1 else None} for m in M]', "⟨a: ⟨x: long?⟩?⟩"),
    ('[{"a": None if m.id > 1 else {"x": None}} for m in M] + [{"a": {"x": m.x}} for m in M]', "⟨a: ⟨x: double?⟩?⟩"),
    ('[{"xs": []}] + [{"xs": m.ns} for m in M]', "⟨xs: Bag(long)⟩"),
    ('[{"xs": [{"y": None}]}] + [{"xs": [{"y": n} for n in m.ns]} for m in M]', "⟨xs: Bag(⟨y: long?⟩)⟩"),
    ("[[]] + [[m.ns, []] for m in M]", "Bag(Bag(long))"),
    ('[{"all": [{"x": None}] + [{"x": m.x} for m in M]}]', "⟨all: Bag(⟨x: double?⟩)⟩"),
    ("[None, *[m.x for m in M], None]", "double?"),
    ("[*(m.x for m in M), None]", "double?"),
    ("[(m.id, None) for m in M] + [(None, m.s) for m in M]", "⟨_1: long?, _2: string?⟩"),
    ("{(m.id, None) for m in M} | {(0, m.s) for m in M}", "⟨_1: long, _2: string?⟩"),
    ("{None} | {m.s for m in M}", "string?"),
    ('[{**{"x": m.x, "y": m.s}, "x": None} for m in M] + [{"x": m.x, "y": ""} for m in M]', "⟨x: double?, y: string⟩"),
    ('[dict(x=None, y=m.s) for m in M] + [{"x": m.x, "y": None} for m in M]', "⟨x: double?, y: string?⟩"),
    ('[{"x": None}] if len(M) > 3 else [{"x": m.x} for m in M]', "⟨x: double?⟩"),
    ("[of(m) for m in M]", "⟨id: long, x: double?⟩"),
    ("[in_branches(m) for m in M]", "⟨x: double?, y: string?⟩"),
    ("rn.top(2, [(m.x, 1) for m in M] + [(None, 1)], key=lambda r: r[0] or 0.0)", "⟨_1: double?, _2: long⟩"),
    ('[{"n": len(g)} for k, g in rn.group_by([(None, 1)] + [(m.s, 2) for m in M], lambda t: t[0])]', "⟨n: long⟩"),
]
REFUSED: list[tuple[str, str, type[RipplenestError], str]] = [
    ('[{"x": 1, "y": None}] + [{"x": m.id, "y": None} for m in M]', "None", Unsupported, "None has no type here"),
    ("[None, None]", "None", Unsupported, "None has no type here"),
    ("[[], []]", "[]", Unsupported, "[] has no type here"),
    ('[{"x": None}] + [{"y": m.x} for m in M]', "None", Unsupported, "None has no type here"),
    ('[{"x": None, "y": 1}] + [{"x": m.x, "y": "a"} for m in M]', "[{", TypeMismatch, "y is long and string"),
    ('[{"ns": None}] + [{"ns": m.ns} for m in M]', "None", TypeMismatch, "a bag cannot be joined with None"),
    ('[{"x": {"y": None}["y"]}] + [{"x": m.x} for m in M]', "None", Unsupported, "None has no type here"),
    ("[*rn.top(2, M, key=lambda m: a_pair(m)), *M]", "None", Unsupported, "None has no type here"),
    ('[{"x": m.x} for m in M] * [{"x": None}]', "None", Unsupported, "None has no type here"),
    ('[{"n": len([None])}] + [{"n": m.id} for m in M]', "None", Unsupported, "None has no type here"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module of a function for each expression."""
    return functions(tmp_path_factory.mktemp("beside") / "beside.py", HEAD, [e for e, *_ in (*TYPED, *REFUSED)])


@pytest.mark.parametrize(("n", "row"), [*enumerate(t for _, t in TYPED)], ids=[e for e, _ in TYPED])
def test_it_has_the_type_of_what_is_beside_it(made: Any, n: int, row: str) -> None:
    function, rows = getattr(made, f"f{n}"), [made.R(*values) for values in VALUES]
    view = made.rn.view(function)
    assert str(view.row) == row
    kept = [t for t in nodes(view.query.body) if isinstance(t, Lit | Empty)]
    assert not [t for t in kept if (t.type if isinstance(t, Lit) else t.row) in (NOTHING, NO_ROW)]
    assert in_order(view(rows)) == in_order([*function(rows)])


@pytest.mark.parametrize(("n", "place", "kind", "part"), [(n, *r[1:]) for n, r in enumerate(REFUSED)])
def test_or_it_is_said_where_it_has_none(
    made: Any, n: int, place: str, kind: type[RipplenestError], part: str
) -> None:
    is_refused(made, n + len(TYPED), place, kind, part)


def test_a_variable_says_the_type(made: Any) -> None:
    """Of None, and of rows that have it."""

    def declared(M: made.Bag[made.R]) -> list[Any]:
        rows: list[made.Row] = [{"id": m.id, "x": None} for m in M]
        none: float | None = None
        return rows + [{"id": m.id, "x": none} for m in M]

    assert str(made.rn.view(declared).row) == "⟨id: long, x: double?⟩"
