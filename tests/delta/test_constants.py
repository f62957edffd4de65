"""Maps of constants never change, so nothing that reads them costs more for it; maps that read them do change."""

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta.compile import Options, compile_view
from ripplenest.delta.judge import judge

NEEDED = {"a", "b"}


@rn.record
class Film:
    id: int
    gen: str
    tags: Bag[str]


@rn.view
def some(F: Bag[Film]) -> list[int]:
    return [f.id for f in F if set(f.tags) & NEEDED]


@rn.view
def every(F: Bag[Film]) -> list[int]:
    return [f.id for f in F if set(f.tags) >= NEEDED]


@rn.view
def none_else(F: Bag[Film]) -> list[int]:
    return [f.id for f in F if set(f.tags) <= NEEDED | {"c"}]


@rn.view
def apart(F: Bag[Film]) -> list[int]:
    return [f.id for f in F if NEEDED.isdisjoint(f.tags)]


@rn.view
def totals(F: Bag[Film]) -> list[dict[str, object]]:
    return [{"tag": t, "films": len([f for f in F if t in f.tags])} for t in NEEDED | {"c"}]


@rn.view
def unlike(F: Bag[Film]) -> list[int]:
    """What is compared with other rows is paid for by nothing."""
    return [f.id for f in F if rn.exists(g for g in F if g.id > f.id and g.gen != f.gen and g.gen in NEEDED)]


@pytest.mark.parametrize("view", [some, every, none_else, apart, totals, unlike])
def test_constants_cost_nothing(view: rn.View) -> None:
    stages = compile_view(view.query, Options())
    assert judge(view.query, stages).incremental is (view is not unlike)
    program = stages.program
    constant = {m.name for m in program.maps if not program.changes(m.name)}
    read = {m.name: {*m.reads, *(r for s in program.statements_of(m.name) for r in s.reads)} for m in program.maps}
    assert constant or view is unlike
    assert all(read[name] <= constant for name in constant)
    assert all(read[m.name] - constant for m in program.maps if m.name not in constant)
