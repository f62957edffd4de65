"""Auxiliary maps: whatever is kept, every map and the view hold the same (law 6 in each way to materialise).

The terms are sums of products of up to four generators over few relations, so that self-joins, several changed parts,
components of two and three generators, and maps shared by statements all come up; ``Seen`` counts that they did.
"""

from collections import Counter
from collections.abc import Callable

import pytest
from support.choices import Choices, seeded
from support.correlated import correlated_cases
from support.joining import joins
from support.laws import law
from support.programs import Running, planned, query_of
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta import materialize as delta_maps
from ripplenest.delta.compile import Options, Stages
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.delta.program import MapKind
from ripplenest.nrc.errors import QueryError, TooBig
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import (
    At,
    Call,
    Elem,
    Expr,
    For,
    Pred,
    Proj,
    Query,
    Rel,
    Sng,
    Var,
)
from ripplenest.nrc.types import LONG, Record

COUNTS: Counter[str] = Counter()


def join_case(c: Choices, batches: int, weighed: bool = False) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, joins(c, schema, weighed), batches)


def join_cases(batches: int, weighed: bool = False) -> Callable[[Choices], Case]:
    return lambda c: join_case(c, batches, weighed)


def see(stages: Stages, case: Case) -> None:
    """What a case is good for."""
    kept = {m.name for m in stages.program.of_kind(MapKind.AUXILIARY)}
    COUNTS["cases"] += 1
    COUNTS["kept"] += bool(kept)
    COUNTS["joined maps"] += any(len(m.products[0].generators) > 1 for m in stages.program.of_kind(MapKind.AUXILIARY))
    COUNTS["maps that read maps"] += any(s.map in kept and kept & set(s.reads) for s in stages.program.statements)
    COUNTS["shared"] += any(len(c.candidate.uses) > 1 for c in stages.choices if c.kept)
    COUNTS["several parts"] += any(len(batch.parts) > 1 for batch in case.batches)
    reads = [rel for s in stages.program.statements for c in s.products for _, rel in c.generators if rel.name in kept]
    COUNTS["after its own part"] += any(rel.at is At.NEW for rel in reads)


def law_6(case: Case, mode: Materialize) -> None:
    query = query_of(case.schema, case.query)
    stages, program = planned(query, Options(mode))
    if mode == "full":
        see(stages, case)
    running = Running.start(program, case.parts)
    for parts, batch in case.steps():
        running = running.apply(batch.delta)
        assert running.maps() == Running.start(program, batch.after(parts)).maps()
        assert running.nested() == evaluate(query.body, batch.nested_after(case.schema, parts))


@pytest.mark.parametrize("mode", MODES)
@law(join_cases(3), examples=many(12, 60))
def test_joins(mode: Materialize, case: Case) -> None:
    """The program of each mode after any batches = recomputation, map by map and nested (design law 6)."""
    law_6(case, mode)


@pytest.mark.parametrize("mode", MODES)
@law(join_cases(3, weighed=True), examples=many(6, 60))
def test_weighed_joins(mode: Materialize, case: Case) -> None:
    """As above, on rows that are there as often as columns say, which maps keep for whoever reads them."""
    law_6(case, mode)
    stages, _ = planned(query_of(case.schema, case.query), Options(mode))
    own = {m.name for m in stages.program.of_kind(MapKind.AUXILIARY)}
    reading = (c for s in stages.program.statements for c in s.products if own & {rel.name for _, rel in c.generators})
    COUNTS["weighed cases"] += 1
    COUNTS["times read from maps"] += any(c.times for c in reading)


@pytest.mark.parametrize("mode", ["first", "full"])
@law(correlated_cases, examples=many(10, 60))
def test_correlated_views(mode: Materialize, case: Case) -> None:
    """As above, on nested views whose dictionaries have domains: maps of domains and parts."""
    law_6(case, mode)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@law(join_cases(5), examples=3000, fresh=True)
def test_joins_long(mode: Materialize, case: Case) -> None:
    """As above, on more cases and longer histories."""
    law_6(case, mode)


ROW = Record((("a", LONG), ("b", LONG)))


def view(*generators: str, equal: tuple[str, ...], head: str) -> Expr:
    """``x:R`` as generators, ``x.a=y.b`` as conditions, ``x.a`` as the column of the result."""
    body: Expr = Sng(column(head))
    for condition in equal:
        left, _, right = condition.partition("=")
        body = For("_", Pred(Call("eq", (column(left), column(right)))), body)
    for generator in reversed(generators):
        x, _, name = generator.partition(":")
        body = For(x, Rel(name, ROW), body)
    return body


def column(path: str) -> Elem:
    return Proj(Var(path[0]), path[2:])


def kept(e: Expr, mode: Materialize = "full") -> set[str]:
    stages, _ = planned(Query("V", e, (("R", ROW), ("S", ROW))), Options(mode))
    return {m.name for m in stages.program.of_kind(MapKind.AUXILIARY)}


def test_equal_maps_have_one_name() -> None:
    """Whatever variables are called, in which order generators stand, and which side of = a column is on."""
    one = kept(view("x:R", "y:R", "z:S", equal=("x.b=y.a", "y.b=z.a"), head="x.a"))
    assert one == kept(view("z:S", "u:R", "x:R", equal=("z.a=u.b", "u.a=x.b"), head="x.a"))
    assert one != kept(view("x:R", "y:R", "z:S", equal=("x.b=y.a", "y.a=z.a"), head="x.a"))
    ring = ("x.b=y.a", "y.b=z.a", "z.b=w.a", "w.b=x.a")
    turned = ("w.a=z.b", "x.a=w.b", "y.a=x.b", "z.a=y.b")
    assert kept(view("x:R", "y:R", "z:R", "w:R", equal=ring, head="x.a")) == kept(
        view("w:R", "z:R", "y:R", "x:R", equal=turned, head="x.a")
    )


def test_too_many_maps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every subset of the leaves of a star is a map: 2^n of them."""
    monkeypatch.setattr(delta_maps, "MAX_MAPS", 20)
    leaves = [chr(ord("a") + i) for i in range(5)]
    relations = tuple((f"T{x}", ROW) for x in leaves)
    body: Expr = Sng(column("x.a"))
    for x in leaves:
        body = For(x, Rel(f"T{x}", ROW), For("_", Pred(Call("eq", (column("x.b"), column(f"{x}.a")))), body))
    star = Query("V", For("x", Rel("R", ROW), body), (("R", ROW), *relations))
    with pytest.raises(TooBig, match="too many maps"):
        planned(star, Options("full"))
    planned(star, Options("cost"))


def test_another_mode_is_refused() -> None:
    """The message says which there are."""
    case = join_case(seeded(1), 1)
    with pytest.raises(QueryError) as error:
        planned(query_of(case.schema, case.query), Options("some"))  # type: ignore[arg-type]
    assert error.value.possible == MODES


def test_coverage() -> None:
    """The laws above saw what they are about."""
    if COUNTS["cases"] < 50:
        pytest.skip("the tests of this module did not all run")
    for kind in ("kept", "joined maps", "maps that read maps", "shared", "several parts", "after its own part"):
        assert COUNTS[kind] >= COUNTS["cases"] / 20, f"{kind}: {COUNTS}"
    assert COUNTS["times read from maps"] >= COUNTS["weighed cases"] / 10, COUNTS
