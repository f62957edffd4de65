"""Rows beside a clock, and conditions on which side of it their values lie."""

import datetime

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.types import LONG, STRING, Base, Record
from support.choices import Choices

AT, MAYBE = Base("timestamp"), Base("timestamp", True)
ROWS = {
    "K": Record((("id", LONG), ("at", AT), ("or", MAYBE), ("n", LONG), ("s", STRING))),
    "S": Record((
        ("u", LONG), ("a", AT), ("b", MAYBE), ("c", AT), ("i", LONG), ("j", LONG), ("x", STRING),
        ("y", Base("string", True)),
    )),
}  # fmt: skip
NAMES, KEYS = Environment(dict(ROWS)), {"K": ("id",)}
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
KINDS = {"k.at": ("s.a", "s.b", "s.c"), "k.or": ("s.a", "s.b"), "k.n": ("s.i", "s.j"), "k.s": ("s.x", "s.y")}


def end(c: Choices, clock: str, value: str) -> str:
    """On which side of a clock a value lies, or that it is NULL."""
    op, n = c.pick(("<", "<=", ">", ">=")), c.number(4) - 1
    said = c.pick((f"{value} {op} {clock}", f"{clock} {SWAPPED[op]} {value}"))
    if clock in ("k.at", "k.or") and c.one_in(2):
        said = c.pick((f"micros_after({value}, {n}) {op} {clock}", f"{value} {op} micros_after({clock}, {n})",
                       f"micros_between({value}, {clock}) {op} {n}"))  # fmt: skip
    if clock == "k.n" and c.one_in(4):
        said = f"{value} {op} {clock} + {n}"
    return c.pick((f"({said} or {value} is null)", f"({value} is null or {said})")) if c.one_in(4) else said


def conditions(c: Choices) -> str:
    clock = c.pick([*KINDS])
    values = [c.pick(KINDS[clock]) for _ in range(2 + c.one_in(4))]
    other = {"k.at": "k.or", "k.or": "k.at"}.get(clock, clock) if c.one_in(4) else clock
    found = [end(c, c.pick((clock, other)), value) for value in values]
    if c.one_in(3):
        found.append(c.pick(("s.u = 1", "s.i + 1 > 2", "s.a < s.c", "k.n > 0")))
    return " and ".join(found)


def rows(c: Choices) -> dict[str, BagValue]:
    made = {"K": [("id", 1)], "S": [("u", n) for n in range(4)]}
    return {
        name: BagValue.of((key, *((f, datum(c, b)) for f, b in ROWS[name].fields[1:])) for key in keys)
        for name, keys in made.items()
    }


def datum(c: Choices, t: Base) -> object:
    if t.nullable and c.one_in(3):
        return None
    n = c.number(4)
    return n if t.kind == "long" else "abcd"[n] if t.kind == "string" else START + datetime.timedelta(microseconds=n)
