"""Constants that objects of the program hold, and what Python says of bags: views give what Python gives."""

from typing import Any

import pytest
from support.in_order import in_order
from support.written import functions, is_refused

from ripplenest.nrc.errors import RipplenestError, TypeMismatch, Unsupported

HEAD = """
import collections, dataclasses, enum, math, types
import attrs
import ripplenest as rn
from ripplenest import Bag

class Kind(enum.Enum):
    A = "a"
    ONE = 1

class Text(enum.StrEnum):
    A = "a"

@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    most: int = 2
    kinds: tuple = ("a", "b")

@attrs.frozen
class Rates:
    by_kind: dict = attrs.Factory(lambda: {"a": 2})
    limits: Limits = Limits()

class Plain:
    def __init__(self):
        self.most = 3

    @property
    def worked_out(self):
        raise SystemExit("code of a program runs when a view is read")

LIMITS, RATES, PLAIN = Limits(), Rates(), Plain()
SPACE, PAIR = types.SimpleNamespace(most=1, inner=Plain()), collections.namedtuple("Pair", "most")(2)
NAN = math.nan

@rn.record
class R:
    id: int
    x: float
    s: str
    ns: Bag[int]
"""
VALUES = [(1, float("nan"), "a", []), (2, 1.5, "b", [0]), (3, float("inf"), "c", [7, 8])]
EXPRESSIONS = [
    "[m.id for m in M if m.s == Kind.A.value and m.id == Kind.ONE.value and Kind.A.name == 'A']",
    "[m.id for m in M if m.s == Text.A]",
    "[m.id for m in M if m.id >= LIMITS.most and m.s in LIMITS.kinds]",
    "[RATES.by_kind.get(m.s, 0) for m in M if m.id <= RATES.limits.most]",
    "[m.id for m in M if m.id < PLAIN.most - SPACE.most or m.id == SPACE.inner.most]",
    "[m.id for m in M if m.id <= PAIR.most]",
    "[m.id for m in M if not math.isnan(m.x)]",
    "[(math.isnan(m.x), math.isnan(m.id), math.isnan(NAN)) for m in M]",
    "[sum(1 for n in m.ns if n > 0) for m in M]",
    "[sum([1 for n in m.ns]) + 1 for m in M]",
    "[sum(1 for m in M if m.id > 9)]",
    "[any(m.ns for m in M), all(m.ns for m in M), any(m.ns for m in M if m.id < 2)]",
    "[(any([m.ns, []]), all([m.ns, [1]])) for m in M]",
]
REFUSED: list[tuple[str, str, type[RipplenestError], str]] = [
    ("[m.id for m in M if m.id < PLAIN.worked_out]", "PLAIN.worked_out", Unsupported, "objects that hold constants"),
    ("[m.id for m in M if m.id < PLAIN.least]", "PLAIN.least", Unsupported, "a view cannot look into the Plain"),
    ("[m.id for m in M if m.s == Kind.A]", "m.s == Kind.A", TypeMismatch, "a base value is needed here"),
    ("[m.id for m in M if math.isnan(m.s)]", "math.isnan", TypeMismatch, "math.isnan does not take these types"),
    ("[m.id for m in M if math.isnan(m.x, 1)]", "math.isnan", Unsupported, "isnan with 2 arguments"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module of a function for each expression."""
    every = [*EXPRESSIONS, *(e for e, *_ in REFUSED)]
    return functions(tmp_path_factory.mktemp("objects") / "objects.py", HEAD, every)


@pytest.mark.parametrize("n", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_views_are_what_python_makes(made: Any, n: int) -> None:
    function, rows = getattr(made, f"f{n}"), [made.R(*values) for values in VALUES]
    assert in_order(made.rn.view(function)(rows)) == in_order([*function(rows)])


@pytest.mark.parametrize(("n", "place", "kind", "part"), [(n, *r[1:]) for n, r in enumerate(REFUSED)])
def test_what_is_no_constant_is_refused(made: Any, n: int, place: str, kind: type[RipplenestError], part: str) -> None:
    is_refused(made, n + len(EXPRESSIONS), place, kind, part)
