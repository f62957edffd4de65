"""What is equated with a sum equals it as in mathematics, and each column says what it has to be."""

import datetime as dt
from collections import Counter
from typing import Any

from support.choices import Choices
from support.laws import law

from ripplenest.nrc.interpret import elem
from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.exact import exact_elem
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Var
from ripplenest.nrc.types import INT, LONG

UTC, MICRO = dt.UTC, dt.timedelta(microseconds=1)
ENDS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
MOMENTS: dict[str, list[Any]] = {
    "date": [dt.date.min, dt.date.max, *(dt.date(2024, 2, 26 + n) for n in range(4))],
    "timestamp": [
        dt.datetime.min.replace(tzinfo=UTC), dt.datetime.max.replace(tzinfo=UTC),
        *(dt.datetime(2024, 2, 26, tzinfo=UTC) + n * MICRO for n in range(4)),
    ],
}  # fmt: skip
COUNTS: Counter[str] = Counter()
COLUMNS = [Proj(Var(name), "v") for name in "abc"]


def total(c: Choices, kind: str, columns: list[Elem]) -> Elem:
    """A sum of columns and constants."""
    found: Elem | None = None
    for t in columns:
        found = t if found is None else Call(f"{c.pick(('add', 'sub'))}_{kind}", (found, t))
    more = Lit(c.pick((-2, -1, 1, 3)), INT if kind == "int" else LONG)
    if found is None:
        return more
    moved = ((f"add_{kind}", (found, more)), (f"sub_{kind}", (found, more)), (f"add_{kind}", (more, found)))
    ways = (found, *(Call(fn, args) for fn, args in moved))
    return c.pick((*ways, Call(f"mul_{kind}", (found, more)))) if c.one_in(6) else c.pick(ways)


def in_mathematics(t: Elem, env: dict[str, Any]) -> int | None:
    """What a sum comes to, however great that is."""
    match t:
        case Lit(int() as n):
            return n
        case Proj(Var(name)):
            found: int | None = dict(env[name])["v"]
            return found
        case Call(fn, args):
            p, q = (in_mathematics(a, env) for a in args)
            if p is None or q is None:
                return None
            return p + q if fn.startswith("add") else p - q if fn.startswith("sub") else p * q
    raise AssertionError(t)


@law(examples=1500)
def test_sums_equal_what_they_do_in_mathematics(c: Choices) -> None:
    kind = c.pick([*ENDS])
    columns = [COLUMNS[i] for i in range(2 + c.one_in(3))]
    at = 1 + c.number(len(columns) - 1)
    sides = total(c, kind, columns[:at]), total(c, kind, columns[at:])
    asked = Call("eq", sides[:: c.pick((1, -1))])
    found = exact_elem(asked)
    least, most = ENDS[kind]
    values = [None, least, least + 1, most, most - 1, *range(-3, 4)]
    keys = [t for t in conjuncts(found) if isinstance(t, Call) and column_of(t.args[0]) is not None]
    is_sum = any(isinstance(s, Call) for s in sides)
    for _ in range(6):
        env = {name: (("v", c.pick(values)),) for name in "abc"}
        p, q = (in_mathematics(s, env) for s in sides)
        if is_sum and keys:
            assert elem(found, env) == (None if p is None or q is None else p == q)
            COUNTS["equal"] += p == q and p is not None
            COUNTS["beyond"] += any(x is not None and not least <= x <= most for x in (p, q))
    COUNTS[f"{len(keys)} columns of {len(columns)}"] += bool(keys)
    COUNTS["as it is"] += found == asked


@law(examples=400)
def test_days_and_moments_equal_those_so_much_after_them(c: Choices) -> None:
    kind = c.pick([*MOMENTS])
    n = c.pick((-2, -1, 1, 2))
    moved = Call("days_after" if kind == "date" else "micros_after", (COLUMNS[1], Lit(n, LONG)))
    own = c.pick((COLUMNS[0], Call("coalesce", (COLUMNS[0], COLUMNS[0]))))  # one that is computed of a row
    asked = Call("eq", (own, moved)[:: c.pick((1, -1))])
    found = exact_elem(asked)
    assert len([*conjuncts(found)]) == 2
    unit = dt.timedelta(days=1) if kind == "date" else MICRO
    for _ in range(4):
        a, b = (c.pick([*MOMENTS[kind], None]) for _ in range(2))
        meant = None if a is None or b is None else (a - b) // unit == n
        assert elem(found, {"a": (("v", a),), "b": (("v", b),)}) == meant
        COUNTS[f"{kind} {meant}"] += 1


def test_enough_was_met() -> None:
    if COUNTS:
        few = {what: n for what, n in COUNTS.items() if n < 10}
        assert not few, COUNTS
        wanted = {"2 columns of 2", "3 columns of 3", "as it is", "equal", "beyond", "date True", "timestamp True"}
        assert wanted <= COUNTS.keys(), COUNTS
