"""What equalities say together, and what is compared with an answer or with that of nothing."""

from collections import Counter
from itertools import combinations, product

from support.choices import Choices
from support.laws import law

from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.answered import answers
from ripplenest.nrc.rewriting.equated import follows, implied
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Call, Elem, Lit, Proj, Rel, Var
from ripplenest.nrc.types import LONG, Record

COUNTS: Counter[str] = Counter()
COLUMNS = [Proj(Var(x), "a") for x in "uvwxy"]
EVERY = [{x: (("a", v),) for x, v in zip("uvwxy", values, strict=True)} for values in product((0, 1, None), repeat=5)]


@law(examples=60)
def test_what_follows_is_what_is_always_true(c: Choices) -> None:
    """An equality follows exactly where it is true of all values for which those that are told are."""
    told = {frozenset(pair): equal(c, *pair) for pair in (two(c) for _ in range(1 + c.number(5)))}
    fulfilling = [env for env in EVERY if all(elem(t, env) is True for t in told.values())]
    found = [*implied([*told.values()])]
    assert len({frozenset(t.args) for t in found}) == len(found)
    for pair in combinations(COLUMNS, 2):
        for t in (Call(fn, sides) for fn in ("eq", "same") for sides in (pair, pair[::-1])):
            always = all(elem(t, env) is True for env in fulfilling)
            assert follows(t, [*told.values()]) == (always and frozenset(pair) not in told)
            COUNTS["follows"] += always and frozenset(pair) not in told
            COUNTS["of NULL"] += always and t.fn == "same" and not follows(Call("eq", pair), [*told.values()])
    assert not {frozenset(t.args) for t in found} & told.keys()


@law(examples=200)
def test_answers_and_what_is_asked_of_nothing(c: Choices) -> None:
    """One of the two is true exactly where the equality is, and never both."""
    asked = equal(c, side(c), side(c))
    for known, nothing in answers(asked):
        COUNTS["answers"] += 1
        for env in EVERY:
            either = elem(known, env) is True, all(elem(t, env) is True for t in nothing)
            assert sum(either) == (elem(asked, env) is True), asked


def test_what_conditions_say_is_taken_first() -> None:
    """Of two changes that hang together by nothing that whose key a condition says, not what several imply."""
    row = Record((("a", LONG), ("b", LONG)))
    x, y, r, m = (Var(name) for name in "xyrm")
    pairs = (Proj(r, "a"), Proj(m, "a")), (Proj(m, "a"), Proj(x, "a")), (Proj(r, "b"), Proj(y, "b"))
    changed, stored = (Rel("R", row, at) for at in (At.DELTA, At.OLD))
    generators = tuple(zip("xyrm", (changed, changed, stored, stored), strict=True))
    (join,) = joins(Comprehension(generators, tuple(Call("eq", pair) for pair in pairs), Lit(1, LONG)))
    first = join.reads()[2]
    assert (first.var, [e.column for e in first.keys]) == ("r", ["b"])


def two(c: Choices) -> tuple[Elem, Elem]:
    one = c.number(len(COLUMNS))
    return COLUMNS[one], COLUMNS[one - 1 - c.number(len(COLUMNS) - 1)]


def equal(c: Choices, a: Elem, b: Elem) -> Call:
    return Call(c.pick(("eq", "same")), (a, b))


def side(c: Choices) -> Elem:
    other = Lit(1, LONG) if c.one_in(4) else c.pick(COLUMNS)
    return c.pick((c.pick(COLUMNS), other, Call("coalesce", (c.pick(COLUMNS), other))))


def test_enough_was_met() -> None:
    if COUNTS:
        assert COUNTS["follows"] > 100 and COUNTS["of NULL"] > 10 and COUNTS["answers"] > 100, COUNTS
