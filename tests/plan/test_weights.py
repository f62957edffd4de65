"""Weights in plans: what is asked last, what plans are told apart by, and rows that are there less than 0 times.

What they come to is also a law of the modules beside this one, over random views.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.programs import Running, planned
from support.schemas import Schema
from support.sizes import many
from support.strategies import case_of

import ripplenest as rn
from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.errors import EvaluationError
from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.surface.text import parse_file
from ripplenest.plan.families import member
from ripplenest.run import sizes
from ripplenest.run.joiner import Joiner, PythonJoiner, Task
from ripplenest.run.local import LocalJoiner

TEXT = """
record Row = ⟨a: long?, b: string⟩
record More = ⟨a: long?, n: long⟩
relation R: Bag(Row)
relation S: Bag(More)
view V = {}
"""


def view(term: str) -> Any:
    (found,) = parse_file(TEXT.replace("{}", term)).views
    return found


@pytest.fixture(params=[PythonJoiner, LocalJoiner])
def joiner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Joiner:
    monkeypatch.setattr(sizes, "FEW", 0)
    made: Joiner = request.param()
    return made


def rows(term: str, joiner: Joiner, *inputs: list[tuple[Any, ...]]) -> dict[tuple[object, ...], int]:
    """The rows of the one product of a view over ⟨a, b⟩ and, if it reads two tables, ⟨a, n⟩."""
    (m,) = planned(view(term).query)[1].maps
    (p,) = m.build
    given = [Rows.of_pairs(s.types, [(row, 1) for row in own]) for s, own in zip(p.sources, inputs, strict=True)]
    return joiner.join([Task("V", p, tuple(given))], [m.whole])["V"].counts()


JOINED = "for x in R union for y in S where y.a = x.a union for _ in weigh(monus(y.n, x.a)) union sng(x.b)"


def test_a_weight_that_can_fail_is_asked_about_what_fulfils_all_conditions(joiner: Joiner) -> None:
    """2^63 - 1 - (-1) is too much, which nobody minds of a row without a partner, or for which another weight is 0."""
    most = 2**63 - 1
    assert rows(JOINED, joiner, [(2, "x"), (-1, "y")], [(2, 5), (-3, most), (None, most)]) == {("x",): 3}
    with pytest.raises(EvaluationError, match="long overflow"):
        rows(JOINED, joiner, [(-1, "y")], [(-1, most)])
    both = JOINED.replace("union sng", "union for _ in weigh(monus(y.n, 5)) union sng")
    assert rows(both, joiner, [(-5, "y")], [(-5, 5)]) == {}
    with pytest.raises(EvaluationError, match="long overflow"):
        rows(both, joiner, [(-5, "y")], [(-5, most)])


@pytest.mark.parametrize("weight", [0, None])
def test_a_head_is_not_asked_for_rows_that_are_not_there(weight: int | None, joiner: Joiner) -> None:
    term = "for x in R union for _ in weigh(x.a) union sng(7 mod x.a)"
    assert rows(term, joiner, [(weight, "x"), (2, "y"), (3, "z")]) == {(1,): 5}
    with pytest.raises(EvaluationError, match="division by zero"):
        rows("for x in R union for _ in weigh(to_int(1)) union sng(7 mod x.a)", joiner, [(0, "x")])


@pytest.mark.parametrize(("term", "got"), [
    ("for x in R union for _ in p(x.b = 'no') union sng(1)", None),
    ("for x in R union sng(7 mod (x.a - 3))", "7 mod (x1 - 3), x1: long?"),
    ("for x in R union for _ in p(9 / to_double(x.a - 3) > 1.0) union sng(x.b)", "9.0 / to_double(x1 - 3), x1: long?"),
    ("for x in R union for y in S where y.a = 9 mod (x.a - 3) union sng(x.b)", "9 mod (x1 - 3), x1: long?"),
    ("for x in R union for _ in weigh(5 mod (x.a - 3)) union sng(x.b)", "5 mod (x1 - 3), x1: long?"),
    ("for x in R union sng(to_date(x.b))", "to_date(x1), x1: string"),
])  # fmt: skip
def test_who_is_told_of_a_failure_is_told_of_what(term: str, got: str | None, joiner: Joiner) -> None:
    """The innermost function, in the first combination for which it has no value, as written; no values (R32)."""
    given = [[(2, "2024-02-29"), (None, "2024-02-29"), (3, "no")], *[[(1, 2), (None, 3)]] * ("in S" in term)]
    term = term.replace("'no'", '"no"')
    if got is None:
        assert rows(term, joiner, *given) == {(1,): 1}
    else:
        with pytest.raises(EvaluationError) as caught:
            rows(term, joiner, *given)
        assert caught.value.got == got


def test_a_message_shows_so_much_of_a_scalar(joiner: Joiner) -> None:
    """Parts that it has in common would be written again and again."""
    doubled = "x.a"
    for _ in range(6):
        doubled = f"({doubled} + {doubled})"
    with pytest.raises(EvaluationError) as caught:
        rows(f"for x in R union sng(7 mod ({doubled} - {doubled}))", joiner, [(2, "x")])
    assert len(str(caught.value.got)) < 200 and "_" in str(caught.value.got) and "x1: long?" in str(caught.value.got)


def test_weights_are_multiplied_where_one_alone_would_fit(joiner: Joiner) -> None:
    term = "for x in R union for _ in weigh(x.a) union for _ in weigh(x.a) union sng(x.b)"
    assert rows(term, joiner, [(-(2**31), "x"), (2**31 + 5, "y")]) == {("x",): 2**62, ("y",): (2**31 + 5) ** 2}
    with pytest.raises(EvaluationError, match="overflow"):
        rows(term, joiner, [(2**32, "x")])


INNER = """for x in R
union for b in sng[i](for y in S where y.a = x.a union for _ in weigh({t}) union sng(y.n))
union sng(⟨b: x.b, i: b⟩)"""
OUTER = """for x in R
union for _ in weigh(x.a - {t})
union for b in sng[i](for y in S where y.n ≥ length(x.b) union for _ in weigh(y.a) union sng(y.n))
union sng(⟨a: x.a, i: b⟩)"""
VIEWS = {t: INNER.replace("{t}", t) for t in ("y.n", "x.a", "monus(y.n, x.a)", "2")}
VIEWS |= {f"rows with bags, {t}": OUTER.replace("{t}", t) for t in ("1", "2")}
COUNTS: Counter[str] = Counter()


@pytest.mark.parametrize("force_domain", [False, True])
@pytest.mark.parametrize("name", VIEWS)
@law(examples=many(7, 100))
def test_weights_of_inner_bags(name: str, force_domain: bool, c: Choices) -> None:
    """Of what is inside of the bag, of the row around it, and of both; kept by keys and with a domain. And of rows that
    hold one: two of one label, the weights of which add up to 0, hold it both."""
    query = view(VIEWS[name]).query
    schema = Schema(query.relations)
    _, program = planned(query, Options(force_domain=force_domain))
    case = case_of(c, schema, query.body, 3)
    running = Running.start(program, case.parts)
    for parts, batch in case.steps():
        running = running.apply(batch.delta)
        assert running.maps() == Running.start(program, batch.after(parts)).maps()
        wanted = evaluate(query.body, batch.nested_after(schema, parts))
        assert running.nested() == wanted
        COUNTS["batches"] += 1
        COUNTS["weighed"] += any(n not in (0, 1) for row, _ in wanted for _, n in _inner(row))


def _inner(row: Value) -> BagValue:
    found = field_of(row, "i")
    assert isinstance(found, BagValue)
    return found


def plan_of(term: str) -> Any:
    return planned(view(term).query)[1]


def test_what_differs_in_weights_has_other_rows() -> None:
    """Stored rows of one are not taken for those of the other."""
    terms = [f"for x in R union for _ in weigh({t}) union sng(x.b)" for t in ("2", "3", "x.a", "monus(x.a, 1)")]
    terms += ["for x in R union sng(x.b)", "for x in R where x.a ≠ 0 union sng(x.b)"]
    terms += ["for x in R where x.a ≠ 0 union for _ in weigh(x.a) union for _ in weigh(x.a) union sng(x.b)"]
    assert len({plan_of(t).digests["V"] for t in terms}) == len(terms)


def test_constants_of_weights_are_those_of_families() -> None:
    """Products that differ in a constant weight only are one join."""
    made = [plan_of(f"for x in R union for _ in weigh({n}) union sng(x.b)").maps[0].build[0] for n in (2, 3)]
    one, other = map(member, made)
    assert one.family is other.family and one.constants != other.constants


def test_rows_that_are_there_less_than_0_times(tmp_path: Path) -> None:
    """As those of ⊖ are: stored, found by what adds to them, sound, and an error for who reads them."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", parse_file(TEXT.replace("{}", "∅[long]")).relations[0].annotation)
        db.load("R", [{"a": 2, "b": "x"}, {"a": -1, "b": "y"}, {"a": None, "b": "z"}])
        db.create(view("for x in R union for _ in weigh(x.a) union sng(x.b)"))
        assert db.verify().ok
        with pytest.raises(EvaluationError, match="a row is there less than 0 times"):
            db.view("V").rows()
        with db.batch() as b:
            b.insert("R", [{"a": 3, "b": "y"}])
            b.delete("R", [{"a": None, "b": "z"}])
        assert db.view("V").rows() == ["x", "x", "y", "y"] and db.verify(deep=True).ok
        with pytest.raises(EvaluationError, match="overflow"), db.batch() as b:
            b.insert("R", [{"a": 2**63 - 1, "b": "x"}])
        assert db.view("V").rows() == ["x", "x", "y", "y"]


def test_coverage() -> None:
    if COUNTS:
        assert COUNTS["weighed"] > COUNTS["batches"] / 8, COUNTS
