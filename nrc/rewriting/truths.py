"""What comparisons can be, all together: in which cases a row may be, and where each of them is."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import prod

from ripplenest.nrc.rewriting.bands import OPPOSITE, operands, uncast
from ripplenest.nrc.rewriting.gaps import as_difference, needed
from ripplenest.nrc.rewriting.keyed import Around
from ripplenest.nrc.rewriting.normal import decided
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, may_be_null
from ripplenest.nrc.walk import nodes, replace_part

CASES = 12  # that a row may be in: more make more products than reading the rows again costs
SAME = ("eq", "ne")
MAYBE = Base("bool", True)
Value = tuple[bool | None, tuple[Elem, ...]]  # of a comparison, and the conditions that say so
Case = tuple[tuple[Call, bool | None, tuple[Elem, ...]], ...]  # what each comparison is, and where


def cases(
    comparisons: Mapping[Call, int], around: Around, asking: Sequence[Elem], most: int = CASES
) -> list[Case] | None:
    """Those that there can be, as far as terms are ``asking`` for them: of n values that one column is compared with,
    one more. None of more than ``most``, of which each counts as often as its comparisons are made in cases in turn
    (``nrc/rewriting/absent.py``)."""
    found: list[Case] = [()]
    for c in comparisons:
        found = [(*case, (c, *value)) for case in found for value in _asked(c, case, asking, around)]
        found = [case for case in found if is_possible(said(case))]
        if len(found) > most:
            return None
    every = sum(prod(1 if value is None else comparisons[c] for c, value, _ in case) for case in found)
    return found if every <= most else None


def _asked(c: Call, case: Case, asking: Sequence[Elem], around: Around) -> list[Value]:
    """What ``c`` can be; anything, where the others say that it is not asked for."""
    if any(c in nodes(decided(told(t, case, around))) for t in asking):
        return _values(c, around)
    return [(False, ())]


def is_possible(conditions: Sequence[Elem]) -> bool:
    """Whether no two of them exclude each other."""
    nulls, there = _known(conditions)
    return not nulls & there and needed(conditions, lambda _: True) is not None


def _known(conditions: Iterable[Elem]) -> tuple[set[Elem], set[Elem]]:
    """What is NULL where these are true, and what is not."""
    nulls, there = set[Elem](), set[Elem]()
    for t in conditions:
        match t:
            case Call("is_null", (p,)):
                nulls.add(p)
            case Call("not", (Call("is_null", (p,)),)):
                there.add(p)
            case Call(args=args):
                there.update(uncast(p) for a in args for p in operands(a))
    return nulls, there


def untrue(c: Call, around: Around) -> list[tuple[Elem, ...]]:
    """Where ``c`` is false or NULL: no two of these at once."""
    return [conditions for value, conditions in _values(c, around) if value is not True]


def _values(c: Call, around: Around) -> list[Value]:
    """What ``c`` can be, and where it is: no two at once, and one of them anywhere."""
    found = _sides(c)
    there: tuple[Elem, ...] = ()
    for p in (p for a in c.args for p in operands(a) if may_be_null(elem_type(p, around.types))):
        absent = Call("is_null", (uncast(p),))
        found.append((None, (*there, absent)))
        there = (*there, Call("not", (absent,)))
    return found


def _sides(c: Call) -> list[Value]:
    """The same, of values that are there: what is not the same is less, or more."""
    if c.fn in SAME:
        apart: list[Value] = [(c.fn == "ne", (as_difference(Call(fn, c.args)),)) for fn in ("lt", "gt")]
        return [(c.fn == "eq", (Call("eq", c.args),)), *apart]
    said = as_difference(c)
    assert isinstance(said, Call)
    return [(True, (said,)), (False, (Call(OPPOSITE[said.fn], said.args),))]


def said(case: Case) -> list[Elem]:
    """The conditions that say that a row is in it."""
    return [cond for _, _, conditions in case for cond in conditions]


def told(t: Elem, case: Case, around: Around) -> Elem:
    """``t`` of a row that is in it."""
    nulls, there = _known(said(case))
    t = reduce(lambda t, c: replace_part(t, c[0], truth(c[0], c[1], around)), case, t)
    return reduce(lambda t, p: replace_part(t, is_null(p), Lit(p in nulls, BOOL)), [*nulls, *there], t)


def is_null(p: Elem) -> Elem:
    return Call("is_null", (p,))


def truth(c: Elem, value: bool | None, around: Around) -> Lit:
    return Lit(value, MAYBE if value is None or may_be_null(elem_type(c, around.types)) else BOOL)
