"""In which other ways a statement can make its rows: of what its part changes in a sum map."""

import ripplenest as rn
from ripplenest.delta.compile import Options, compile_view
from ripplenest.nrc.syntax import At, Keys

ENTRY = "Bag(⟨i: long, j: long, w: long⟩)"
LONG = [f"relation {x} : {ENTRY}" for x in "ABCD"]
CHAIN = "\n".join((*LONG, """view p = group[g](
  r in [⟨i: a.i, l: d.j, x: a.w, y: b.w, z: c.w, v: d.w⟩
    | a in A, b in B, b.i = a.j, c in C, c.i = b.j, d in D, d.i = c.j]
  by i: r.i, l: r.l of w: sum(r.x, r.y, r.z, r.v))"""))
SQUARES = "\n".join((*LONG, """view p = group[g](
  r in [⟨i: a.i, l: c.j, x: a.w, y: b.w, z: c.w⟩ | a in A, b in A, b.i = a.j, c in B, c.i = b.j]
  by i: r.i, l: r.l of w: sum(r.x, r.y, r.z))"""))


def ways(text: str, part: str, keys: Keys = ()) -> set[frozenset[str]]:
    """Of the view's group, by what each joins: relations, sum maps as what these are of, and of what changes a Δ."""
    (view,) = rn.parse(text, "upward").views
    program = compile_view(view.query, Options("full", keys=keys)).program
    sums = {m.name: "".join(sorted(rel.name for _, rel in m.products[0].generators)) for m in program.maps if m.summed}
    (s,) = [s for s in program.statements if s.map.startswith("G/") and s.part == part]
    found = [c for _, *others in s.ways for c in others]
    return {frozenset("Δ" * (r.at is At.DELTA) + sums.get(r.name, r.name) for _, r in c.generators) for c in found}


LEFT, RIGHT, LAST = (frozenset(way) for way in ({"ΔAB", "CD"}, {"A", "ΔBCD"}, {"ΔABC", "D"}))


def test_what_joins_fewer_tables_than_the_product() -> None:
    """ΔB meets A on one side, and C and D, of which the sums are kept, on the other."""
    assert ways(CHAIN, "B") == {LEFT, RIGHT, LAST}
    assert ways(CHAIN, "C") == {frozenset({"AB", "ΔCD"}), RIGHT, LAST}


def test_a_change_at_an_end_meets_one_side() -> None:
    assert ways(CHAIN, "A") == ways(CHAIN, "D") == set()


def test_what_is_found_by_a_key_is_no_more_than_the_change() -> None:
    """Where an entry of B meets one of A, or one path through C and D, that is as many rows as have changed."""
    assert ways(CHAIN, "B", (("A", ("i",)), ("C", ("j",)))) == {LEFT, RIGHT, LAST}
    assert ways(CHAIN, "B", (("A", ("j",)),)) == {LAST}
    assert ways(CHAIN, "B", (("C", ("i",)),)) == {LEFT, RIGHT, LAST}
    assert ways(CHAIN, "B", (("D", ("i",)),)) == {LEFT, RIGHT}
    assert ways(CHAIN, "B", (("C", ("i",)), ("D", ("i",)))) == set()


def test_what_changes_in_a_map_of_several_of_its_part_is_none_of_the_products() -> None:
    assert ways(SQUARES, "A") == set()
    assert ways(SQUARES, "B") == set()
