"""Where in an order the rows are of which a comparison is true, though what is compared may be beyond their type."""

import datetime as dt
import operator
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from support.choices import Choices
from support.laws import law

import ripplenest as rn
from ripplenest import Bag
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.ends import edge
from ripplenest.nrc.rewriting.exact import exact_elem
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import INT, LONG, Base, Record, nullable

OPS = ("lt", "le", "gt", "ge")
UTC, SECOND = dt.UTC, dt.timedelta(seconds=1)
FIRST, LAST = dt.datetime.min.replace(tzinfo=UTC), dt.datetime.max.replace(tzinfo=UTC)
VALUES: dict[str, list[Any]] = {
    "int": [-(2**31), 2**31 - 1, *range(-4, 5)],
    "long": [-(2**63), 2**63 - 1, *range(-4, 5)],
    "date": [dt.date.min, dt.date.max, *(dt.date(2024, 2, 26 + n) for n in range(4))],
    "timestamp": [FIRST, LAST, *(dt.datetime(2024, 2, 26, tzinfo=UTC) + n * SECOND for n in range(4))],
}
ADDED = {"date": "days_after", "timestamp": "micros_after"}
BETWEEN = {"date": "days_between", "timestamp": "micros_between"}
COUNTS: Counter[str] = Counter()
K, V, M = (Proj(Var(name), "v") for name in "kvm")


def moved(c: Choices, kind: str, t: Elem) -> Elem:
    """``t``, or so much before or behind it."""
    if c.one_in(4):
        return t
    by = c.pick((-(2**31), -1, 0, 1, 3, 2**31 - 1, -(10**12), 10**6)) if kind == "timestamp" else c.number(9) - 4
    more = Lit(by, INT if kind == "int" else LONG)
    if kind in ADDED:
        return Call(ADDED[kind], (t, more))
    return Call(f"{c.pick(('add', 'sub'))}_{kind}", (t, M if c.one_in(3) else more))


@law(examples=1500)
def test_it_is_true_of_what_is_behind_the_edge(c: Choices) -> None:
    kind = c.pick([*VALUES])
    t = nullable(Base(kind))
    types = {name: Record((("v", t),)) for name in "kvm"}
    sides = c.pick(((K, moved(c, kind, V)), (moved(c, kind, K), V)))
    if kind in BETWEEN and c.one_in(2):  # how far the two lie apart
        apart = Call("to_long", (Call(BETWEEN[kind], (K, V)),)) if kind == "date" else Call(BETWEEN[kind], (K, V))
        sides = apart, Lit(c.pick((-(10**6), -1, 0, 1, 2, 10**6)), LONG)
    asked = exact_elem(Call(c.pick(OPS), sides[:: c.pick((1, -1))]))
    v, m = (c.pick([None, *VALUES[kind]]) for _ in range(2))
    found = {descending: edge(asked, K, descending, types) for descending in (True, False)}
    (descending, (value, is_open)) = next((d, e) for d, e in found.items() if e[0] is not None)
    assert found[not descending] == (None, False), "rows are behind it in one of two orders"
    assert value is not None and nullable(elem_type(value, types)) == t
    env = {"v": (("v", v),), "m": (("v", m),)}
    at = elem(value, env)
    behind = {(True, True): operator.lt, (True, False): operator.le, (False, True): operator.gt}
    says = behind.get((descending, is_open), operator.ge)
    for k in VALUES[kind]:
        is_behind = at is not None and says(k, at)
        assert is_behind == (elem(asked, {**env, "k": (("v", k),)}) is True), (k, at)
        COUNTS["behind" if is_behind else "before"] += 1
    COUNTS[kind] += 1
    COUNTS["open" if is_open else "closed"] += 1
    COUNTS["clipped"] += isinstance(value, Call) and at in (VALUES[kind][0], VALUES[kind][1])
    COUNTS["nothing"] += isinstance(value, Call) and at is None and None not in (v, m)


def test_enough_was_met() -> None:
    if COUNTS:
        assert all(COUNTS[kind] > 200 for kind in (*VALUES, "closed")), COUNTS
        assert COUNTS["open"] > 100, COUNTS
        assert COUNTS["clipped"] > 50 and COUNTS["nothing"] > 20 and COUNTS["before"] > COUNTS["behind"] / 2, COUNTS


@rn.record
class Held:
    id: int
    g: int
    n: int
    d: rn.Decimal[8, 2]


@rn.view
def below_the_first(R: Bag[Held], S: Bag[Held]):
    """What is compared is of first rows, and of no stored one."""
    return [
        {
            "n": max((r.n for r in R if r.n < first.n and r.id != s.id), default=None),
            "d": max((r.d for r in R if r.d < first.d and r.id != s.id), default=None),
        }
        for s in S
        for first in rn.top(1, [x for x in S if x.g == s.g], key=lambda x: x.n)
    ]


def test_what_is_compared_may_be_of_first_rows(tmp_path: Path) -> None:
    chance = Random(2)
    with rn.open(tmp_path / "state", engine="local") as db:
        for name in "RS":
            db.relation(name, Held, key="id")
        db.create(below_the_first)
        for _ in range(12):
            with db.batch() as b:
                for name in "RS":
                    d = Decimal(chance.randrange(9)).scaleb(-1)
                    b.upsert(name, [Held(chance.randrange(9), chance.randrange(2), chance.randrange(8), d)])
            assert db.verify(deep=True).ok
        assert len(db.view("below_the_first").rows()) > 3
