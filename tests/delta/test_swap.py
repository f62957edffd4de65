"""Swap: what is swapped for the program of another view is what would be compiled."""

from collections import Counter
from itertools import permutations

import pytest
from support.choices import Choices
from support.faq import RELATIONS, RINGS, random_faq
from support.laws import law
from support.programs import query_of
from support.queries import grouped_query
from support.schemas import random_schema
from support.sizes import many

import ripplenest as rn
from ripplenest.delta.compile import Front, Options, Stages, derived, front
from ripplenest.delta.groups import swap
from ripplenest.delta.groups.swap import swapped
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.delta.program import MapKind
from ripplenest.nrc.walk import at_sites

COUNTS: Counter[str] = Counter()


def is_compiled(found: Stages, wanted: Stages) -> None:
    """Equal in all that ``Stages`` have, and what no equality of maps looks at."""
    assert found.program.statements == wanted.program.statements
    assert [(m, m.trees, m.at) for m in found.program.maps] == [(m, m.trees, m.at) for m in wanted.program.maps]
    assert found.choices == wanted.choices
    assert found == wanted and found.program.fingerprint == wanted.program.fingerprint


@pytest.mark.parametrize("materialize", MODES)
@law(examples=many(3, 400))
def test_swap(materialize: Materialize, c: Choices) -> None:
    """Law (swap): the program of a random functional aggregate query over one ring, with another in it, is that of the
    query over that one (incremental-faq, section "What's this paper about?"). All rings without inverse are of one
    shape; one that adds up has other maps, and is compiled."""
    faq = random_faq(c, inside=bool(c.number(2)))
    text = {name: f"{RELATIONS}\nview {name} = {faq.text(ring)}" for name, ring in RINGS.items()}
    fronts = {name: _front(own, materialize) for name, own in text.items()}
    stages = {name: derived(found) for name, found in fronts.items()}
    for old, new in permutations(RINGS, 2):
        found = swapped(fronts[old], stages[old], fronts[new])
        assert (found is not None) == (RINGS[old].picks and RINGS[new].picks), (old, new)
        if found is not None:
            is_compiled(found, stages[new])
            COUNTS["swapped"] += 1
            COUNTS["with auxiliary maps"] += bool(found.program.of_kind(MapKind.AUXILIARY))
            COUNTS["by sums of columns"] += any(m.trees for m in found.program.maps)
    COUNTS["cyclic"] += faq.is_cyclic
    COUNTS["inside"] += faq.inside
    COUNTS[f"{len(faq.variables)} variables"] += 1


def _front(text: str, materialize: Materialize) -> Front:
    (view,) = rn.parse(text, "faq").views
    return front(view.query, Options(materialize))


@pytest.mark.parametrize("materialize", ["full", "cost"])
@law(examples=many(15, 2500))
def test_a_view_of_another_name(materialize: Materialize, c: Choices) -> None:
    """Of any view; the shape of its maps says nothing of names."""
    schema = random_schema(c)
    body = grouped_query(c, schema)
    known = front(query_of(schema, body), Options(materialize))
    other = front(query_of(schema, at_sites(body, lambda site: f"{site} of A"), "A"), Options(materialize))
    found = swapped(known, derived(known), other)
    COUNTS["renamed"] += found is not None
    COUNTS["not renamed"] += found is None
    if found is not None:
        is_compiled(found, derived(other))


OF_TWO = """relation R : Bag(⟨x: long, a: decimal(4,2), b: decimal(6,2)⟩)
relation S : Bag(⟨x: long, c: decimal(4,2), d: decimal(7,0), i: int⟩)
"""
BEST = "view v = [⟨x: r.x, f: max(s.c | s in S, s.x = r.x)⟩ | r in R]"
SUM = "view v = [⟨f: sum(t.f | t in [⟨f: max(s.i | s in S, s.x = r.x)⟩ | r in R])⟩ | u in R]"
ASKED = "view v = [⟨x: r.x⟩ | r in R, to_int(max(s.d + s.d | s in S, s.x = r.x)) > 3]"
# Maps that a view has alone, and maps of all views, which take their turns in the order of their names.
TWO = "view v = [⟨x: r.x, f: max(s.c | s in S, s.x = r.x), g: sum(s.c | s in S, s.x < r.x)⟩ | r in R]"


@pytest.mark.parametrize(
    ("one", "other", "of_one_shape"),
    [
        (BEST, BEST.replace("max", "min"), True),
        (BEST, BEST.replace("max(s.c", "max(s.c + s.d"), False),  # which reads another column
        (BEST.replace("max(s.c", "max(s.c + r.a"), BEST.replace("max(s.c", "max(s.c · r.a"), True),  # another type
        (BEST, BEST.replace("s.x = r.x", "s.x < r.x"), False),
        (BEST, BEST.replace("s.x = r.x", "s.x = r.x, s.c > 0"), False),
        (BEST, BEST.replace("max", "sum"), False),
        # Sums of columns are in maps of their own, and there is room for them, or not.
        (BEST.replace("max(s.c", "sum(s.c + s.c"), BEST.replace("max(s.c", "sum(s.c - s.c"), False),
        (SUM, SUM.replace("max", "min"), True),
        (SUM, SUM.replace("s.i", "to_long(s.i)"), False),
        # What has a value for all rows is asked inside of maps.
        (ASKED, ASKED.replace("max", "min"), True),
        (ASKED, ASKED.replace("+", "·"), False),
        (TWO, TWO.replace("view v", "view A"), True),
        (TWO, TWO.replace("view v", "view H"), True),
        (TWO, TWO.replace("view v", "view A").replace("max", "min"), True),
    ],
)
@pytest.mark.parametrize("materialize", MODES)
def test_of_one_shape(one: str, other: str, of_one_shape: bool, materialize: Materialize) -> None:
    """What a head makes of columns may differ, and their types, but not which ones are read, nor sums of them."""
    known, wanted = _front(OF_TWO + one, materialize), _front(OF_TWO + other, materialize)
    found = swapped(known, derived(known), wanted)
    assert (found is not None) == of_one_shape
    if found is not None:
        is_compiled(found, derived(wanted))


def test_programs_are_remembered_by_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for other options, which keep other maps; and the last ones only."""
    programs, other = swap.Programs(), BEST.replace("max", "min")
    asked: tuple[tuple[str, Materialize], ...] = ((BEST, "full"), (other, "full"), (other, "none"), (BEST, "none"))
    for text, options in asked:
        wanted = _front(OF_TWO + text, options)
        is_compiled(programs.compile(wanted.query, wanted.options), derived(wanted))
    assert len(programs._known) == 2
    monkeypatch.setattr(swap, "MOST", 3)
    for n in range(5):
        asks = "".join(f", s.c > {k}" for k in range(n))
        wanted = _front(OF_TWO + BEST.replace("s.x = r.x", f"s.x = r.x{asks}"), "none")
        programs.compile(wanted.query, wanted.options)
    assert len(programs._known) == 3


def test_coverage() -> None:
    if COUNTS["swapped"] and COUNTS["renamed"]:
        wanted = ("swapped", "with auxiliary maps", "cyclic", "inside", *(f"{n} variables" for n in range(2, 7)))
        assert min(COUNTS[what] for what in wanted) >= 1, COUNTS
        assert COUNTS["renamed"] > 9 * COUNTS["not renamed"], COUNTS
